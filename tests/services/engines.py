"""Real stores to search in: Chroma's server and Qdrant's engine, from wheels that `make .make/engines` lays aside."""

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
    """TEST_CHROMA_URL, else a server of the wheel."""
    if given := os.environ.get("TEST_CHROMA_URL"):
        return given
    base, port = _ready("chromadb_rust_bindings"), free_port()
    options: list[str | Path] = ["chroma", "run", "--path", base / "data", "--host", "127.0.0.1", "--port", str(port)]
    return _started([sys.executable, "-c", _CHROMA, *options], port, "/api/v2/heartbeat", base)


@cache
def qdrant_url() -> str:
    """TEST_QDRANT_URL, else Qdrant's engine behind its interface and an API key."""
    if given := os.environ.get("TEST_QDRANT_URL"):
        return given
    base, port = _ready("qdrant_edge"), free_port()
    command: list[str | Path] = [sys.executable, "-m", "tests.services.qdrant_server", str(port), base, PACKAGES]
    return _started(command, port, "/healthz", base, **{qdrant_server.KEY: _OWN_KEY})


def qdrant_key() -> str:
    """TEST_QDRANT_API_KEY with a server of yours; empty where it asks for none."""
    return os.environ.get("TEST_QDRANT_API_KEY", "") if "TEST_QDRANT_URL" in os.environ else _OWN_KEY


def _ready(package: str) -> Path:
    if not (PACKAGES / package).exists():
        raise CannotStart(f"{package} is not there: `make .make/engines` lays it aside for the tests.")
    return scratch_folder("fp-eng-")


def _started(command: list[str | Path], port: int, sign: str, base: Path, **more: str) -> str:
    url = f"http://127.0.0.1:{port}"
    env = {**os.environ, "PYTHONPATH": f"{PACKAGES}{os.pathsep}{ROOT}", "HOME": str(base), **more}
    start(command, answers=lambda: _answers(url + sign), stop_signal=signal.SIGTERM, log=base / "log", env=env)
    return url


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except (urllib.error.URLError, OSError):
        return False
