"""The kinds of steps and the events that record them."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final, ParamSpec, TypeVar

from forkpoint.answers import Answer
from forkpoint.arguments import Arguments, Rearrange, WrongArguments
from forkpoint.hooks import Decision
from forkpoint.outputs.effects import State, repeat_effects, snapshot, with_effects
from forkpoint.outputs.errors import form_of_error
from forkpoint.outputs.forms import Form, form_of, form_of_documents
from forkpoint.scopes import Event, Journal, RunScope, Scope, StepScope
from forkpoint.vocabulary import (
    INTERCEPTION_MARK,
    MCP_SERVER_TITLE,
    OUTPUT_FORM,
    RERUN_CALL,
    HookEvent,
    StepStatus,
    StepType,
    ValueTool,
)

P = ParamSpec("P")
R = TypeVar("R")
_log = logging.getLogger("forkpoint")
# They change nothing, and no model calls them.
_VALUES: Final = frozenset(ValueTool)


class Step(StepScope):
    """A step that groups others: `agent`, `turn`, `planner` or a custom type."""

    def __init__(self, recorder: Journal, make: Callable[[], Scope], kind: str, name: str, input: Any) -> None:
        super().__init__(recorder, make, name, input)
        self.kind = kind
        self.is_loop = kind == StepType.AGENT
        self.ends_turns = kind in {StepType.AGENT, StepType.TURN}


class ModelStep(StepScope):
    """A model call. Pass the client's response to `record_response`: its answer and usage are read from it."""

    kind = "model"

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any, provider: str, model: str
    ) -> None:
        super().__init__(recorder, make, name, input)
        self.provider = provider
        self.model = model
        # The API whose request body `input` is, for requests that were recorded as they were sent.
        self.api = ""
        self._usage: dict[str, int] = {}
        self._turn = 0

    def record_response(self, response: Any) -> None:
        """Record the client's response, as the client returned it."""
        self.output = response

    def record_usage(
        self, *, tokens_in: int | None = None, tokens_out: int | None = None, tokens_cached: int | None = None
    ) -> None:
        """Record token counts that the response does not contain. `tokens_in` includes cached tokens."""
        counts = {"input_tokens": tokens_in, "output_tokens": tokens_out, "cached_tokens": tokens_cached}
        self._usage = {name: count for name, count in counts.items() if count is not None}

    def start_event(self) -> Event:
        payload = {"provider": self.provider, "model_id": self.model, "name": self.name, "request": self.input}
        return "model_called", {**payload, "api": self.api} if self.api else payload

    def end_event(self) -> Event:
        payload = {"provider": self.provider, "model_id": self.model, "response": self.output}
        return "model_result", {**payload, "token_usage": self._usage}

    def _fire_start_hooks(self) -> None:
        """Start a turn, and end the previous one in the same scope: its tool calls are done."""
        if self.run is None:
            return
        ancestors = list(self._ancestors())
        owner = next(scope for scope in ancestors if scope.ends_turns)
        owner.end_turns(only_finished=True)
        self._turn = next(next(scope for scope in ancestors if scope.is_loop).turns)
        self.run.fire_hooks(HookEvent.TURN_START, {"turn": self._turn})
        owner.open_turns[self._turn] = self

    def fire_turn_end(self) -> None:
        keys = {"tokens_in": "input_tokens", "tokens_out": "output_tokens", "tokens_cached": "cached_tokens"}
        payload = {"turn": self._turn, "model": self.model, "provider": self.provider, "attempts": self.retries + 1}
        tokens = {name: self._usage.get(key) for name, key in keys.items()}
        if self.run is not None:
            self.run.fire_hooks(HookEvent.TURN_END, {**payload, **tokens, "duration_ms": self.duration_ms})

    def _ancestors(self) -> Iterator[Scope]:
        """Yield the scopes around this call from the inside out; the last is the run."""
        scope = self.parent
        while scope is not None:
            yield scope
            scope = scope.parent


class CallStep(StepScope):
    """A call that a rerun is asked about before it is made, if its function is decorated."""

    # Of the error that passes through: the one that the call itself raised.
    own_error: Callable[[BaseException], BaseException] = staticmethod(lambda error: error)
    _error_form: Form | None = None
    # The thread or task that began it, where that counts.
    lane = ""
    # What the model calls it.
    call_id = ""
    _new_arguments: Any = None

    def ask_session(self) -> Answer | None:
        """Ask the rerun, if there is one, about this call before it is made."""
        if (session := self._recorder.session) is None:
            return None
        server = {MCP_SERVER_TITLE: title} if (title := self.attributes.get(MCP_SERVER_TITLE)) else {}
        reply = session.ask(self.kind, self.name, self.input, server, self.lane, self.call_id)
        self._new_arguments = reply.arguments
        if reply.call:
            self.attributes[RERUN_CALL] = reply.call
        return reply.answer

    def arrange(self, rearrange: Rearrange, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        if (session := self._recorder.session) is None or self._new_arguments is None:
            return args, kwargs
        try:
            return rearrange(args, kwargs, self.input, self._new_arguments)
        except WrongArguments as problem:
            session.refuse(f"{self.name} cannot run with the arguments of an override: {problem}; override its result")

    def _begin(self) -> None:
        super()._begin()
        # Lanes are numbered in the order of their first calls. The session is asked by another thread.
        self.lane = self._recorder.lane()

    def fail(self, error: BaseException | str) -> None:
        if isinstance(error, BaseException):
            error = self.own_error(error)
            self._error_form = form_of_error(error)
        super().fail(error)

    def _form(self, form_of: Callable[[Any], Form | None]) -> dict[str, Any]:
        fields = super()._form(form_of)
        if self._error_form is None:
            return fields
        output = {"output": fields[OUTPUT_FORM]} if fields else {}
        return {OUTPUT_FORM: {**self._error_form, **output}}

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        name = self.name or getattr(function, "__name__", "")
        if (session := self._recorder.session) is not None and name not in _VALUES:
            session.declare_tools([name])
        return super().__call__(function)


class ToolStep(CallStep):
    """A tool call. `decision` is the hooks' decision about it; only the agent can act on it.

    It is empty, `{"action": "deny", "message": …, "hook": …}` or `{"action": "modify_args", "args": …, "hook": …}`.
    """

    kind = "tool"

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any, call_id: str, version: str
    ) -> None:
        super().__init__(recorder, make, name, input)
        self.call_id = call_id
        self.version = version
        self.decision: Decision = {}
        # The call changes nothing and reads nothing, so that a rerun makes it.
        self.is_pure = False
        # Its answer comes with what an MCP server said, so that the client is asked again.
        self.plays_messages = False
        # What the call may change besides its result.
        self.state: State | None = None
        self._earlier_state: dict[str, bytes] = {}
        self._original_input: Any = None

    def answer(self) -> Answer | None:
        answer = None if self.is_pure else self.ask_session()
        if answer is not None and answer.has_questions and not self.plays_messages:
            # Whether the client would respond now as it did then is not known.
            answer.report_loss()
        if answer is not None and self.state is not None and not repeat_effects(self.state, answer.form):
            answer.report_loss()
        return answer

    def _form(self, form_of: Callable[[Any], Form | None]) -> dict[str, Any]:
        fields = super()._form(form_of)
        if self.state is not None:
            with self._recorder.suppress_errors():
                form = with_effects(fields.get(OUTPUT_FORM), self.state, self._earlier_state)
                return {} if form is None else {OUTPUT_FORM: form}
        return fields

    def _scope_for_call(self, *call: Any) -> Scope:
        scope = super()._scope_for_call(*call)
        if isinstance(scope, ToolStep):
            scope.is_pure, scope.state = self.is_pure, self.state
        return scope

    def deny(self, message: str = "") -> None:
        """Record that the call was not made because a hook or a person denied it."""
        self.status = StepStatus.DENIED
        self.error = message or self.decision.get("message", "") or "denied"

    def start_event(self) -> Event:
        payload = {"tool_name": self.name, "tool_version": self.version, "call_id": self.call_id}
        mark = {INTERCEPTION_MARK: True} if self.is_intercepted else {}
        return "tool_called", {**payload, "args": {} if self.input is None else self.input, **mark}

    def end_event(self) -> Event:
        new_args = {} if self.input is self._original_input else {"args": self.input}
        return "tool_result", {"tool_name": self.name, "result": self.output, **new_args, **self._form(form_of)}

    def _begin(self) -> None:
        super()._begin()
        self._original_input = self.input
        if self.state is not None:
            self._earlier_state = snapshot(self.state)

    def _end(self) -> None:
        if self.decision:
            self.attributes.setdefault("hook", self.decision)
        if self.input is not self._original_input:
            self.attributes.setdefault("asked", self._original_input)
        super()._end()

    def _fire_start_hooks(self) -> None:
        if self.run is not None:
            self.decision = self._fire(self.run, HookEvent.PRE_TOOL_USE)

    def _fire_end_hooks(self) -> None:
        super()._fire_end_hooks()
        if self.run is None:
            return
        if self.status:
            self._fire(self.run, HookEvent.POST_TOOL_USE_FAILURE, error=self.error)
        else:
            self._fire(self.run, HookEvent.POST_TOOL_USE, result=self.output)
        if self.decision.get("action") == "deny" and not self.status:
            hook = self.decision["hook"]
            _log.warning("%r was called although hook %r denied it; call `deny()` if it was not made", self.name, hook)

    def _fire(self, run: RunScope, event: HookEvent, **outcome: Any) -> Decision:
        args = {} if self.input is None else self.input
        payload = {"tool_name": self.name, "args": args, **outcome, "tool_use_id": self.call_id}
        return run.fire_hooks(event, payload, tool=self.name)


class RetrievalStep(CallStep):
    """A search. Its output is a list of documents: `{id, content, score?, metadata?}`."""

    kind = "retrieval"

    def answer(self) -> Answer | None:
        return self.ask_session()

    def set_arguments(self, arguments: dict[str, Any]) -> None:
        self.input = {**arguments, **{key: value for key, value in (self.input or {}).items() if value is not None}}

    def start_event(self) -> None:
        return None

    def end_event(self) -> Event:
        output = self.output.get("documents") if isinstance(self.output, dict) else self.output
        documents = list(output or [])
        request = self.input if isinstance(self.input, dict) else {"query": self.input}
        result = {"retriever_id": self.name, "candidate_count": len(documents), "candidate_list": documents}
        return "retrieval_executed", {**request, **result, **self._form(form_of_documents)}


class PromptStep(StepScope):
    """A rendered prompt template. Its output is the text."""

    kind = "prompt"

    def set_arguments(self, arguments: dict[str, Any]) -> None:
        self.input = {**self.input, "variables": self.input.get("variables") or arguments}

    def start_event(self) -> None:
        return None

    def end_event(self) -> Event:
        template = {key: value for key, value in self.input.items() if value is not None}
        payload = {
            "prompt_template_id": template.get("template_id", self.name),
            "prompt_template_version": template.get("version", ""),
            "prompt_template": template.get("template", ""),
            "prompt_variables": template.get("variables", {}),
        }
        return "prompt_rendered", {"name": self.name, **payload, "rendered_prompt": self.output}


class DecisionStep(StepScope):
    """The verdict of a validator or safety check. If a decorated function returns a falsy value, the check failed."""

    def __init__(self, recorder: Journal, make: Callable[[], Scope], kind: str, name: str, input: Any) -> None:
        super().__init__(recorder, make, name, input)
        self.kind = kind
        self._reasons: list[str] = []

    def decide(self, success: bool, *reasons: str) -> None:
        """Record the verdict and its reasons."""
        self.output = success
        self._reasons = [reason for reason in reasons if reason]

    def start_event(self) -> None:
        return None

    def end_event(self) -> Event:
        success = bool(self.output) and not self.status
        if not success and not self.status:
            self.fail("; ".join(self._reasons) or f"{self.name} did not pass")
        decision = {"decision": "pass" if success else "fail", "reasons": self._reasons}
        detail = {} if isinstance(self.output, bool | None) else {"output": self.output}
        return f"{self.kind}_decision", {"name": self.name, "input": self.input, **decision, **detail}


class OutputStep(StepScope):
    """The run's final output."""

    kind = "output"

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, text: Any, citations: list[Any] | None
    ) -> None:
        super().__init__(recorder, make, name)
        self.output = text
        self._citations = citations

    def start_event(self) -> None:
        return None

    def end_event(self) -> Event:
        payload = {"name": self.name, "output": self.output, "response_channel": "return"}
        if self.input is not None:
            payload["input"] = self.input
        if self._citations:
            payload["citations"] = self._citations
        return "final_output", payload

    def _fire_end_hooks(self) -> None:
        super()._fire_end_hooks()
        if self.run is not None:
            self.run.final_output = self.output
