"""What is deployed finds all that it imports in its own lock; the packages of the tests do not stand in for any."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import django

from tests.support.patience import patience_s

ROOT = Path(__file__).resolve().parents[3]
# Run in a process that can import nothing of the environment but what the lock names.
_DEPLOYED = """
import importlib, importlib.metadata, pkgutil, re, sys

def plain(name): return re.sub("[-_.]+", "-", name).lower()

with open("requirements.lock") as lock:
    locked = {plain(found[1]) for line in lock if (found := re.match("([A-Za-z0-9._-]+)==", line))}
offered = importlib.metadata.packages_distributions()
deployed = locked | {"forkpoint"}
foreign = {name for name, owners in offered.items() if not {plain(owner) for owner in owners} & deployed}

class Only:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in foreign:
            raise ModuleNotFoundError(f"No module named {name!r} in requirements.lock", name=name)

sys.meta_path.insert(0, Only())
import django
django.setup()
path = [*sys.path]
from cockpit.celery import app
assert sys.path == path  # not with the working directory
app.connection_for_write().transport  # of Redis
for name in ("celery.apps.worker", "celery.concurrency.prefork", "channels_redis.core", "channels_redis.pubsub",
             "django.core.management.commands.migrate", "storages.backends.s3", "uvicorn.main", "whitenoise.compress"):
    importlib.import_module(name)
for package in ("cockpit", "traces", "replay", "diffing"):
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)
"""


def test_every_module_of_the_product_loads_with_the_locked_packages_alone(tmp_path: Path) -> None:
    distributed = {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none", "REDIS_URL": "redis://127.0.0.1:1/0"}
    settings = {"DJANGO_SETTINGS_MODULE": "cockpit.settings", "FORKPOINT_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _DEPLOYED],
        env={**os.environ, **settings, **distributed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patience_s(120),
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_packages_are_installed_with_bytecode() -> None:
    """Also modules that nothing imports: no import can have compiled these."""
    folder = Path(django.__file__).parent / "contrib" / "gis"
    missing = [path for path in folder.rglob("*.py") if not Path(importlib.util.cache_from_source(path)).exists()]
    assert missing == []
