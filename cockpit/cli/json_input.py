"""JSON that a command reads from a file or from standard input."""

import sys
from pathlib import Path
from typing import Any

from cockpit.cli.errors import Exit, Failure
from traces.core import duplicate_keys


def read_json(path: Path, name: str) -> Any:
    """Read a JSON file, or standard input for `-`; raise `Failure` with the `name` of the file."""
    try:
        return duplicate_keys.loads(sys.stdin.read().encode() if str(path) == "-" else path.read_bytes())
    except OSError as error:
        raise Failure(f"cannot read {name}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    except ValueError as error:
        raise Failure(f"{name} is not JSON: {error}", exit=Exit.BAD_INPUT) from error
