"""The kinds of steps, and the events that tell of each."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

from forkpoint.hooks import Decision
from forkpoint.scopes import Journal, RunScope, Scope, StepScope
from traces.core.vocabulary import HookEvent, StepStatus, StepType

_log = logging.getLogger("forkpoint")
Told = tuple[str, dict[str, Any]]


class Step(StepScope):
    """Any step that only groups others: agent, turn, planner, or a kind of its own."""

    def __init__(self, recorder: Journal, make: Callable[[], Scope], kind: str, name: str, input: Any) -> None:
        super().__init__(recorder, make, name, input)
        self.kind = kind
        self.is_loop = kind == StepType.AGENT
        self.ends_turns = kind in {StepType.AGENT, StepType.TURN}


class ModelStep(StepScope):
    """A model call. Give `answered` whatever the client returned: the answer and its usage are found in it."""

    kind = "model"

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any, provider: str, model: str
    ) -> None:
        super().__init__(recorder, make, name, input)
        self.provider = provider
        self.model = model
        self._usage: dict[str, int] = {}
        self._turn = 0

    def answered(self, response: Any) -> None:
        self.output = response

    def used(
        self, *, tokens_in: int | None = None, tokens_out: int | None = None, tokens_cached: int | None = None
    ) -> None:
        """The token counts, where the response does not carry them; `tokens_in` counts the cached ones too."""
        given = {"input_tokens": tokens_in, "output_tokens": tokens_out, "cached_tokens": tokens_cached}
        self._usage = {name: count for name, count in given.items() if count is not None}

    def started(self) -> Told:
        return "model_called", {
            "provider": self.provider,
            "model_id": self.model,
            "name": self.name,
            "request": self.input,
        }

    def ended(self) -> Told:
        known = {"provider": self.provider, "model_id": self.model, "response": self.output}
        return "model_result", {**known, "token_usage": self._usage}

    def _tell_beginning(self) -> None:
        """A turn begins, and the one before it in the same place is over: its tool calls are done."""
        if self.run is None:
            return
        around = list(self._around())
        place = next(scope for scope in around if scope.ends_turns)
        place.end_turns(answered=True)
        self._turn = next(next(scope for scope in around if scope.is_loop).turns)
        self.run.tell(HookEvent.TURN_START, {"turn": self._turn})
        place.open_turns[self._turn] = self

    def tell_turn_end(self) -> None:
        used = {"tokens_in": "input_tokens", "tokens_out": "output_tokens", "tokens_cached": "cached_tokens"}
        payload = {"turn": self._turn, "model": self.model, "provider": self.provider, "attempts": self.retries + 1}
        counted = {name: self._usage.get(key) for name, key in used.items()}
        if self.run is not None:
            self.run.tell(HookEvent.TURN_END, {**payload, **counted, "duration_ms": self.duration_ms})

    def _around(self) -> Iterator[Scope]:
        """What holds this call, from the inside out; the last is the run."""
        scope = self.above
        while scope is not None:
            yield scope
            scope = scope.above


class ToolStep(StepScope):
    """A tool call. `decision` is what hooks say about it: nobody but the agent can heed it."""

    kind = "tool"

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, input: Any, call_id: str, version: str
    ) -> None:
        super().__init__(recorder, make, name, input)
        self.call_id = call_id
        self.version = version
        self.decision: Decision = {}
        self._asked: Any = None

    def denied(self, message: str = "") -> None:
        """Note that the call was not made, because a hook or a person was against it."""
        self.status = StepStatus.DENIED
        self.error = message or self.decision.get("message", "") or "denied"

    def started(self) -> Told:
        known = {"tool_name": self.name, "tool_version": self.version, "call_id": self.call_id}
        return "tool_called", {**known, "args": {} if self.input is None else self.input}

    def ended(self) -> Told:
        changed = {} if self.input is self._asked else {"args": self.input}
        return "tool_result", {"tool_name": self.name, "result": self.output, **changed}

    def _begin(self) -> None:
        super()._begin()
        self._asked = self.input

    def _end(self) -> None:
        if self.decision:
            self.attributes.setdefault("hook", self.decision)
        if self.input is not self._asked:
            self.attributes.setdefault("asked", self._asked)
        super()._end()

    def _tell_beginning(self) -> None:
        if self.run is not None:
            self.decision = self._told(self.run, HookEvent.PRE_TOOL_USE)

    def _tell_end(self) -> None:
        super()._tell_end()
        if self.run is None:
            return
        if self.status:
            self._told(self.run, HookEvent.POST_TOOL_USE_FAILURE, error=self.error)
        else:
            self._told(self.run, HookEvent.POST_TOOL_USE, result=self.output)
        if self.decision.get("action") == "deny" and not self.status:
            hook = self.decision["hook"]
            _log.warning("%r was called although the hook %r denied it; else say `denied()`", self.name, hook)

    def _told(self, run: RunScope, event: HookEvent, **outcome: Any) -> Decision:
        args = {} if self.input is None else self.input
        payload = {"tool_name": self.name, "args": args, **outcome, "tool_use_id": self.call_id}
        return run.tell(event, payload, tool=self.name)


class RetrievalStep(StepScope):
    """A search. Its output is a list of documents: `{id, content, score?, metadata?}`."""

    kind = "retrieval"

    def called_with(self, arguments: dict[str, Any]) -> None:
        self.input = {**arguments, **{key: value for key, value in (self.input or {}).items() if value is not None}}

    def started(self) -> None:
        return None

    def ended(self) -> Told:
        found = self.output.get("documents") if isinstance(self.output, dict) else self.output
        documents = list(found or [])
        given = self.input if isinstance(self.input, dict) else {"query": self.input}
        known = {"retriever_id": self.name, "candidate_count": len(documents), "candidate_list": documents}
        return "retrieval_executed", {**given, **known}


class PromptStep(StepScope):
    """A template filled in. Its output is the text."""

    kind = "prompt"

    def called_with(self, arguments: dict[str, Any]) -> None:
        self.input = {**self.input, "variables": self.input.get("variables") or arguments}

    def started(self) -> None:
        return None

    def ended(self) -> Told:
        given = {key: value for key, value in self.input.items() if value is not None}
        named = {
            "prompt_template_id": given.get("template_id", self.name),
            "prompt_template_version": given.get("version", ""),
            "prompt_template": given.get("template", ""),
            "prompt_variables": given.get("variables", {}),
        }
        return "prompt_rendered", {"name": self.name, **named, "rendered_prompt": self.output}


class DecisionStep(StepScope):
    """A validator's or a safety check's decision. A decorated function's falsy result means that it failed."""

    def __init__(self, recorder: Journal, make: Callable[[], Scope], kind: str, name: str, input: Any) -> None:
        super().__init__(recorder, make, name, input)
        self.kind = kind
        self._reasons: list[str] = []

    def decide(self, passed: bool, *reasons: str) -> None:
        self.output = passed
        self._reasons = [reason for reason in reasons if reason]

    def started(self) -> None:
        return None

    def ended(self) -> Told:
        passed = bool(self.output) and not self.status
        if not passed and not self.status:
            self.failed("; ".join(self._reasons) or f"{self.name} did not pass")
        decision = {"decision": "pass" if passed else "fail", "reasons": self._reasons}
        detail = {} if isinstance(self.output, bool | None) else {"output": self.output}
        return f"{self.kind}_decision", {"name": self.name, "input": self.input, **decision, **detail}


class OutputStep(StepScope):
    """What the run finally said."""

    kind = "output"

    def __init__(
        self, recorder: Journal, make: Callable[[], Scope], name: str, text: Any, citations: list[Any] | None
    ) -> None:
        super().__init__(recorder, make, name)
        self.output = text
        self._citations = citations

    def started(self) -> None:
        return None

    def ended(self) -> Told:
        cited = {"citations": self._citations} if self._citations else {}
        given = {} if self.input is None else {"input": self.input}
        return "final_output", {
            "name": self.name,
            "output": self.output,
            "response_channel": "return",
            **given,
            **cited,
        }

    def _tell_end(self) -> None:
        super()._tell_end()
        if self.run is not None:
            self.run.said = self.output
