"""Model calls that a client library makes, recorded once by the innermost library that is instrumented."""

from typing import Any

from forkpoint.kinds import ModelStep
from forkpoint.recorder import recorder
from forkpoint.scopes import RunScope


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
            self._step.record_response(response)
            self._finish()

    def fail(self, error: BaseException, response: Any = None) -> None:
        """Record an error, with the part of an answer that came before it."""
        with recorder.suppress_errors():
            self._step.record_response(response)
            self._step.fail(error)
            if self._run is not None:
                self._run.fail(error)
            self._finish()

    def cut_off(self, response: Any) -> None:
        """Record a stream whose consumer stopped reading."""
        with recorder.suppress_errors():
            self._step.status = "partial"
            self.finish(response)

    def _finish(self) -> None:
        if not self._is_finished:
            self._is_finished = True
            self._step.end()
            if self._run is not None:
                self._run.end()


def start_model_call(*, provider: str, model: Any, api: str, request: Any) -> ModelCall | None:
    """Record the start of a model call with the request as it is sent; None if that failed.

    A call outside any run becomes a run of its own.
    """
    with recorder.suppress_errors():
        run = implicit_run()
        step = recorder.model(str(model or ""), provider=provider)
        step.input, step.api = request, api
        step.begin(run)
        return ModelCall(step, run)
    return None


def implicit_run(name: str = "") -> RunScope | None:
    """Begin a run for a call outside any run; None inside a run."""
    scope = recorder.enclosing_scope()
    if scope is not None and not scope.has_ended:
        return None
    run = recorder.run(name)
    run.is_implicit = True
    run.begin()
    return run
