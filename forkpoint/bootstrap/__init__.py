"""Load the SDK into a Python program without changing its code: `forkpoint record -- python agent.py`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent / "path"


def child_environment(environment: Mapping[str, str], *, rerun: str = "", mark: str = "") -> dict[str, str]:
    """Return the environment of a program to record or of a rerun, in which Python loads our `sitecustomize`.

    It then makes the file `mark`.
    """
    places = [str(_FOLDER), environment.get("PYTHONPATH", "")]
    return {
        **environment,
        "FORKPOINT_RECORD": "" if rerun else "1",
        "FORKPOINT_MARK": mark,
        "FORKPOINT_RERUN": rerun,
        "PYTHONPATH": os.pathsep.join(place for place in places if place),
    }
