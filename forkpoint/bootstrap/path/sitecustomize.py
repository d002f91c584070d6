"""Start the SDK before the program's first line. Python loads this by its name, from its folder on PYTHONPATH."""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib costs 5 ms at every start
PACKAGE = os.path.dirname(os.path.dirname(FOLDER))  # noqa: PTH120


def run_next_sitecustomize() -> None:
    """Run the `sitecustomize` that this one hides: distributions, conda and coverage have one."""
    places = [place for place in sys.path if os.path.abspath(place or ".") != FOLDER]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", places)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def start() -> None:
    """Load this very SDK by its path: the packages beside it must not hide those of the program."""
    location = os.path.join(PACKAGE, "__init__.py")  # noqa: PTH118
    spec = importlib.util.spec_from_file_location("forkpoint", location, submodule_search_locations=[PACKAGE])
    if spec is not None and spec.loader is not None:
        forkpoint = sys.modules["forkpoint"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(forkpoint)
        forkpoint.init()
        if mark := os.environ.get("FORKPOINT_MARK"):
            # A file that was there for the program's start only, and may be gone.
            with contextlib.suppress(OSError):
                os.close(os.open(mark, os.O_CREAT | os.O_WRONLY))
        if os.environ.get("FORKPOINT_GATEWAY_RUN"):
            # Also for an agent none of whose libraries the SDK knows.
            importlib.import_module("forkpoint.capture.process_run").process_run()
        if text := os.environ.get("FORKPOINT_HOSTS"):
            session = importlib.import_module("forkpoint.session").ReplaySession.from_environment()
            # None outside of reruns.
            note = session.note_host if session is not None else str
            importlib.import_module("forkpoint.confinement.network").guard_network(text, note)
        if text := os.environ.get("FORKPOINT_SEED"):
            importlib.import_module("forkpoint.bootstrap.clock").seed_draws(text)
        if text := os.environ.get("FORKPOINT_FREEZE"):
            importlib.import_module("forkpoint.bootstrap.clock").freeze(text)


try:
    run_next_sitecustomize()
finally:
    if os.environ.get("FORKPOINT_RECORD") or os.environ.get("FORKPOINT_RERUN"):
        try:
            start()
        except Exception as error:  # noqa: BLE001 - the program runs whether it is recorded or not
            if os.environ.get("FORKPOINT_RERUN"):
                # Its tools would really run.
                print(f"forkpoint: the rerun cannot start: {error!r}", file=sys.stderr, flush=True)  # noqa: T201
                os._exit(6)
            print(f"forkpoint: nothing is recorded: {error!r}", file=sys.stderr)  # noqa: T201 - no logging is set up
