"""A purge that is killed at any moment is continued by the next one, and loses nothing that other runs use."""

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from tests.services.warm_start import WarmProcess

pytestmark = pytest.mark.own_store
RUNS = 24
KILLS = 4
# A purge of these runs has about 1,400: each is killed before the purge ends.
MOMENTS = 300
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
# Is killed before a statement or the removal of a file, so that the moment does not depend on the speed of the machine.
_PURGE = """
import signal
from django.db import connection

moments_left = {moment}

def pass_moment(event, *_):
    global moments_left
    if event in ("statement", "os.remove"):
        moments_left -= 1
        if not moments_left:
            os.kill(os.getpid(), signal.SIGKILL)

def count_statement(execute, *arguments):
    pass_moment("statement")
    return execute(*arguments)

sys.addaudithook(pass_moment)
with connection.execute_wrapper(count_statement):
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
    for _ in range(KILLS):
        process = _start(tmp_path, _PURGE.format(moment=dice.randint(1, MOMENTS)))
        _, error = process.communicate()
        assert process.returncode == -signal.SIGKILL, error.decode()
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
