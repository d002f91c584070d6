"""Model calls that a client library makes, recorded once by the innermost library that is instrumented."""

import contextvars
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from forkpoint.capture.places import find_place
from forkpoint.kinds import ModelStep
from forkpoint.recorder import recorder
from forkpoint.scopes import RunScope


@dataclass
class OuterCall:
    """A framework's model call, which the client library below may record with the exact request."""

    is_recorded: bool = False
    # What a hook of the framework saw meanwhile: the request as it was sent.
    request: Any = None


_outer_call: contextvars.ContextVar[OuterCall | None] = contextvars.ContextVar("forkpoint_outer_call", default=None)


def current_outer_call() -> OuterCall | None:
    return _outer_call.get()


@contextmanager
def outer_call() -> Iterator[OuterCall]:
    """Note whether an instrumented client library records the model call made inside."""
    call = OuterCall()
    token = _outer_call.set(call)
    try:
        yield call
    finally:
        try:
            _outer_call.reset(token)
        except ValueError:
            # A generator that is closed in another context.
            _outer_call.set(None)


class ModelCall:
    """One model call, from its request to its answer. Recording errors never reach the library."""

    def __init__(self, step: ModelStep, run: RunScope | None) -> None:
        self._step = step
        # Set for a call outside any run, which is a run of its own.
        self._run = run
        self._is_finished = False

    def finish(self, response: Any) -> None:
        """Record the answer: a value, or a `Late` one that is computed on the background thread."""
        with recorder.suppress_errors():
            if not self._is_finished:
                self._step.record_response(response)
                self._finish()

    def fail(self, error: BaseException, response: Any = None) -> None:
        """Record an error, with the part of an answer that came before it."""
        if self._is_finished:
            return
        with recorder.suppress_errors():
            self._step.record_response(response)
            self._step.fail(error)
            if self._run is not None:
                self._run.fail(error)
            self._finish()

    def cut_off(self, response: Any) -> None:
        """Record a stream whose consumer stopped reading."""
        if not self._is_finished:
            self._step.status = "partial"
            self.finish(response)

    def _finish(self) -> None:
        self._is_finished = True
        self._step.end()
        if self._run is not None:
            self._run.end()


def start_model_call(*, provider: str, model: Any, api: str, request: Any) -> ModelCall | None:
    """Record the start of a model call with the request as it is sent; None if that failed.

    A call outside any run becomes a run of its own.
    """
    with recorder.suppress_errors():
        if (outer := _outer_call.get()) is not None:
            outer.is_recorded = True
        place = find_place()
        step = recorder.model(str(model or ""), provider=provider)
        step.input, step.api = request, api
        step.begin(place.parent)
        return ModelCall(step, place.own_run)
    return None
