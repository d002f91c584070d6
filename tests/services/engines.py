"""Real vector stores: Chroma's server and Qdrant's engine, from the wheels of `make .make/engines`."""

import os
import signal
import sys
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

from tests.services import qdrant_server
from tests.services.processes import CannotStart, free_port, scratch_folder, start

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / ".make" / "engine-packages"
_OWN_KEY = "a key of the tests"
# The wheel's command line is the whole server; the Python package around it would bring 60 others.
_CHROMA = "import sys, chromadb_rust_bindings; chromadb_rust_bindings.cli(sys.argv[1:])"


@cache
def chroma_url() -> str:
    """Return TEST_CHROMA_URL, or start the wheel's server."""
    if url := os.environ.get("TEST_CHROMA_URL"):
        return url
    base, port = _scratch_folder_for("chromadb_rust_bindings"), free_port()
    options: list[str | Path] = ["chroma", "run", "--path", base / "data", "--host", "127.0.0.1", "--port", str(port)]
    return _start_server([sys.executable, "-c", _CHROMA, *options], port, "/api/v2/heartbeat", base)


@cache
def qdrant_url() -> str:
    """Return TEST_QDRANT_URL, or start Qdrant's engine behind its REST interface with an API key."""
    if url := os.environ.get("TEST_QDRANT_URL"):
        return url
    base, port = _scratch_folder_for("qdrant_edge"), free_port()
    command: list[str | Path] = [sys.executable, "-m", "tests.services.qdrant_server", str(port), base, PACKAGES]
    return _start_server(command, port, "/healthz", base, **{qdrant_server.KEY: _OWN_KEY})


def qdrant_key() -> str:
    """Return TEST_QDRANT_API_KEY for a server of yours (empty: no key), or the key of our server."""
    return os.environ.get("TEST_QDRANT_API_KEY", "") if "TEST_QDRANT_URL" in os.environ else _OWN_KEY


def _scratch_folder_for(package: str) -> Path:
    if not (PACKAGES / package).exists():
        raise CannotStart(f"{package} is missing. Run `make .make/engines`.")
    return scratch_folder("fp-eng-")


def _start_server(command: list[str | Path], port: int, sign: str, base: Path, **more: str) -> str:
    url = f"http://127.0.0.1:{port}"
    env = {**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{ROOT}", "HOME": str(base), **more}
    start(command, is_ready=lambda: _responds(url + sign), stop_signal=signal.SIGTERM, log=base / "log", env=env)
    return url


def _responds(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except (urllib.error.URLError, OSError):
        return False
