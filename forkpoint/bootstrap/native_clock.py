"""The clock of a program in another language than Python or JavaScript in a rerun with `--freeze`: by libfaketime."""

import glob
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from forkpoint.bootstrap.languages import is_node, is_other_language, is_python

# The library for programs with threads, where Linux distributions install it. The variable names another place.
_PLACES: Final = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime")
_LIBRARY: Final = "libfaketimeMT.so.1"
_VARIABLE: Final = "FORKPOINT_LIBFAKETIME"


def native_clock(words: Sequence[str], environment: Mapping[str, str], started_at: str) -> dict[str, str]:
    """Return the variables that let a program's clock start at a time; none, and a warning, if nothing can."""
    if is_node(words):
        note = "gets the recorded clock, and random numbers and ids of the recording's seed, by NODE_OPTIONS"
        print(f"{words[0]} {note}.", file=sys.stderr)
        return {}
    if not is_other_language(words):
        if not is_python(words):
            note = "reaches the programs in Python and Node that it starts, and no others"
            print(f"{words[0]}: --freeze {note}.", file=sys.stderr)
        return {}
    library = _find_library(environment)
    if library is None:
        note = "install libfaketime for its clock. Its random numbers are new."
        print(f"warning: --freeze does not reach {words[0]}: {note}", file=sys.stderr)
        return {}
    print(f"{words[0]} gets the recorded clock by libfaketime. Its random numbers are new.", file=sys.stderr)
    libraries = [library, environment.get("LD_PRELOAD", "")]
    return {
        "LD_PRELOAD": " ".join(item for item in libraries if item),
        "FAKETIME": f"@{datetime.fromisoformat(started_at).timestamp():.0f}",
        "FAKETIME_FMT": "%s",
        # Timers wait for as long as they should.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


def _find_library(environment: Mapping[str, str]) -> str | None:
    place = environment.get(_VARIABLE)
    paths = [place] if place else [path for folder in _PLACES for path in glob.glob(f"{folder}/{_LIBRARY}")]  # noqa: PTH207
    return next((path for path in paths if os.path.isfile(path)), None)  # noqa: PTH113
