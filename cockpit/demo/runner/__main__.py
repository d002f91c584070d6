"""The runner as a program: `forkpoint runner` with the desk's command. It ends with the process that started it."""

import os
import signal
import sys
import threading
from typing import Final

from cockpit.demo.agent import APP
from cockpit.demo.agent.shop import TOOLS
from forkpoint.bootstrap.rerun import INPUT
from forkpoint.runner.command import run

NAME: Final = "demo"
_PARALLEL: Final = 2


def main() -> None:
    """Serve as the desk's runner; the address and the token of the server are in the environment."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Each conversation has a shop of its own, in memory: nothing that its tools do lasts.
    tools = [word for name in TOOLS for word in ("--allow-tool", name)]
    options = ["--app", APP, "--name", NAME, "--parallel", str(_PARALLEL), *tools]
    sys.exit(run([*options, "--", sys.executable, "-m", "cockpit.demo.agent", INPUT]))


def _end_with_parent() -> None:
    """End when standard input does: the parent has the only other end of this pipe, however it ends."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
