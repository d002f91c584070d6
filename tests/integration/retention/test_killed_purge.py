"""A purge that is killed at any moment is continued by the next one, and loses nothing that other runs use."""

import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from tests.services.warm_start import WarmProcess

pytestmark = pytest.mark.own_store
RUNS = 24
KILLS = 4
_SET_UP = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "cockpit.settings"
import django
django.setup()
from dataclasses import replace
from tests.support.recordings import order_run
from traces.models import Artifact, ArtifactUse, Deletion, LooseFile, Run, Step
from traces.retention import deletions, purge
from traces.runs import services
from traces.storage import integrity
"""
_FILL = f"""
from django.core.management import call_command
call_command("migrate", verbosity=0)
ids = []
for number in range({RUNS}):
    run = order_run(f"order-{{number}}")
    text = os.urandom(60_000).hex() if number % 4 == 0 else "shared" * 1000
    steps = tuple(replace(step, attributes={{"log": text, "n": number}}) for step in run.steps)
    ids.append(services.record(replace(run, steps=steps)).run_id)
deletions.delete(ids[: {RUNS // 2}], by="test", at_once=True)
"""
_PURGE = """
print("ready", flush=True)
purge.remove_due()
"""
_CHECK = f"""
purge.remove_due()
assert Run.objects.count() == {RUNS // 2}, Run.objects.count()
assert Step.objects.count() == {RUNS // 2} * 5
assert not Deletion.objects.exists() and not LooseFile.objects.exists()
assert integrity.check_store().lost_artifacts == ()
deletions.delete(list(Run.objects.values_list("id", flat=True)), by="test", at_once=True)
purge.remove_due()
assert not Artifact.objects.exists() and not ArtifactUse.objects.exists()
"""


def test_killed_purge_is_continued(tmp_path: Path) -> None:
    dice = random.Random(5)
    _run(tmp_path, _FILL)
    kills = 0
    for _ in range(KILLS):
        process = _start(tmp_path, _PURGE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(dice.random() * 0.4)
        kills += process.poll() is None
        process.kill()
        process.communicate()
    assert kills > 0
    _run(tmp_path, _CHECK)
    files = [path for path in (tmp_path / "artifacts").rglob("*") if path.is_file()]
    assert files == []


def _start(home: Path, program: str) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "FORKPOINT_HOME": str(home)}
    return WarmProcess([_SET_UP + program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _run(home: Path, program: str) -> None:
    process = _start(home, program)
    _, error = process.communicate()
    assert process.returncode == 0, error.decode()
