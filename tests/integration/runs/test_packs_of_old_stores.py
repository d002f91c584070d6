"""A store from before artifacts were in packs keeps its artifacts, their owners and users."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.own_store
_PROGRAM = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "cockpit.settings"
import django
django.setup()
from django.core.management import call_command
from django.db import connection
from traces.core.canonical import digest_bytes
from traces.core.ids import new_id
from traces.storage.compression import compress
call_command("migrate", "traces", "0028", verbosity=0)
owner, user = new_id(), new_id()
contents = [b'"%d%b"' % (number, b"long" * 100 * (number % 2)) for number in range(20)]
with connection.cursor() as cursor:
    for data in contents:
        encoding = ("zstd", compress(data)) if len(data) > 100 else ("", data)
        row = (digest_bytes(data), len(data), "", encoding[0], owner.bytes, encoding[1])
        cursor.execute(
            "INSERT INTO traces_artifact (sha256, size, media_type, encoding, owner, data) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            row,
        )
    cursor.execute("INSERT INTO traces_artifactuse VALUES (%s, %s)", [digest_bytes(contents[7]), user.hex])
call_command("migrate", verbosity=0)
from traces.models import ArtifactUse, Pack
from traces.storage import artifacts, integrity, sweep
names = [digest_bytes(data) for data in contents]
assert {item.sha256: item.data for item in artifacts.read(names)} == dict(zip(names, contents))
assert integrity.check_store().artifacts == len(contents)
assert set(Pack.objects.values_list("owner", flat=True)) == {owner.bytes}
assert [(use.sha256, use.run_id) for use in ArtifactUse.objects.all()] == [(names[7], user)]
artifacts.write_many({owner: {digest_bytes(b"1"): b"1"}})
assert sweep.sweep().artifacts == len(contents) + 1
assert not Pack.objects.exists()
"""


def test_stored_artifacts_become_packs(tmp_path: Path) -> None:
    environment = {**os.environ, "FORKPOINT_HOME": str(tmp_path)}
    environment.pop("DATABASE_URL", None)
    program = subprocess.run([sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, check=False)
    assert program.returncode == 0, program.stderr.decode()
