"""The step of a tool in the threads and processes that the tool starts: what these call is inside of it."""

import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from forkpoint.capture.patching import wrap
from forkpoint.gateway_run import OUTER_STEP
from forkpoint.lanes import as_job
from forkpoint.recorder import recorder

# The place of `env` among the arguments of `Popen`.
_ENVIRONMENT_PLACE: Final = 10
_PACKAGE: Final = __name__.partition(".")[0]
_ATTRIBUTE: Final = "_forkpoint_place"


def _patch_threads(module: ModuleType) -> None:
    wrap(module.Thread, "start", _start_thread)


def _patch_pools(module: ModuleType) -> None:
    wrap(module.ThreadPoolExecutor, "submit", _submit)


def _patch_programs(module: ModuleType) -> None:
    wrap(module.Popen, "__init__", _start_program)


def _patch_processes(module: ModuleType) -> None:
    wrap(module.BaseProcess, "start", _start_process)
    wrap(module.BaseProcess, "_bootstrap", _run_process)


def _start_thread(start: Callable[..., None]) -> Callable[..., None]:
    def wrapper(self: Any) -> None:
        if recorder.current.get() is not None:
            self.run = recorder.carry(self.run)
        start(self)

    return wrapper


def _submit(submit: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        # Also without a scope: the thread may have that of the first task.
        work = recorder.carry(function)
        # What the SDK itself does is no job of the agent: it does less of it while it records.
        if str(getattr(function, "__module__", "")).partition(".")[0] != _PACKAGE:
            # A pool may be unhashable.
            with recorder.suppress_errors():
                work = as_job(self, work)
        return submit(self, work, *args, **kwargs)

    return wrapper


def _start_program(start: Callable[..., None]) -> Callable[..., None]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        if (place := recorder.gateway_place()) and len(args) <= _ENVIRONMENT_PLACE:
            environment = kwargs.get("env")
            if environment is None or isinstance(environment, Mapping):
                kwargs["env"] = {**(os.environ if environment is None else environment), OUTER_STEP: place}
        start(self, *args, **kwargs)

    return wrapper


def _start_process(start: Callable[..., None]) -> Callable[..., None]:
    def wrapper(self: Any) -> None:
        # It is sent to the process with the object.
        setattr(self, _ATTRIBUTE, recorder.gateway_place())
        start(self)

    return wrapper


def _run_process(run: Callable[..., int]) -> Callable[..., int]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> int:
        if place := getattr(self, _ATTRIBUTE, ""):
            recorder.be_inside(place)
        return run(self, *args, **kwargs)

    return wrapper


PATCHES: Final = {
    "threading": _patch_threads,
    "concurrent.futures.thread": _patch_pools,
    "subprocess": _patch_programs,
    "multiprocessing.process": _patch_processes,
}
