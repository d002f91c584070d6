"""Checks of the services that this process depends on. One that hangs is reported, and delays no response."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Final

# Probes of orchestrators wait a few seconds.
_LIMIT_S: Final = 2.0


class NoResponse(Exception):
    """A service accepts connections and does not respond."""


class DependencyChecks:
    """Checks by name, each of which raises an exception if its service does not work."""

    def __init__(self, checks: Mapping[str, Callable[[], None]], *, limit_s: float = _LIMIT_S) -> None:
        self._checks = checks
        self.limit_s = limit_s
        self._lock = threading.Lock()
        self._futures: dict[str, Future[None]] = {}

    def run(self) -> dict[str, Exception | None]:
        """Run all checks at once; return the error of each, or None. Takes at most the limit."""
        end = time.monotonic() + self.limit_s
        futures = {name: self._start(name) for name in self._checks}
        return {name: self._error(future, end - time.monotonic()) for name, future in futures.items()}

    def _start(self, name: str) -> "Future[None]":
        """Start a check; one that still runs is not started twice, or requests would pile up threads."""
        with self._lock:
            future = self._futures.get(name)
            if future is None or future.done():
                future = self._futures[name] = Future()
                # A daemon, because one that hangs must not delay the end of the process.
                threading.Thread(target=_resolve, args=(future, self._checks[name]), name=name, daemon=True).start()
            return future

    def _error(self, future: "Future[None]", seconds: float) -> Exception | None:
        try:
            error = future.exception(max(0.0, seconds))
        except TimeoutError:
            return NoResponse(f"no response within {self.limit_s:g} s")
        return error if isinstance(error, Exception) else None


def _resolve(future: "Future[None]", check: Callable[[], None]) -> None:
    try:
        check()
    except BaseException as error:  # noqa: BLE001  # any error of a service is the result
        future.set_exception(error)
    else:
        future.set_result(None)
