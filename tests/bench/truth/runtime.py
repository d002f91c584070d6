"""Runs the code of an agent: answers its calls, records them as steps, and applies the changes of a fork.

Every step has a key that is the same with and without changes: the place in the program, and how often it ran.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.bench.truth import brain
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_objects
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.payloads.messages import ModelAnswer

PROVIDER: Final = "bench"
_START: Final = datetime(2026, 3, 1, tzinfo=UTC)
_RULES: Final = (
    "Lost orders are refunded within fourteen days.",
    "Shipping takes three days in winter.",
    "Billing questions about A-1042 go to Anna.",
    "Technical faults of B-77 are known since May.",
    "Orders above 250 francs need a signature.",
)
# Tools with a state.
NOTE_TOOLS: Final = frozenset({"save_note", "read_note"})
# Overrides of a fork, by the key of the step.
Changes = Mapping[str, JSONObject]


class AgentError(Exception):
    """A tool failed."""


@dataclass
class Runtime:
    """One run of a program."""

    changes: Changes = field(default_factory=dict)
    steps: list[RecordedStep] = field(default_factory=list)
    # What code chose by a value, in order: a text to write, or how to go on.
    choices: list[tuple[str, JSONValue]] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)
    _parents: list[str] = field(default_factory=list)
    _notes: dict[str, str] = field(default_factory=dict)
    _clock: int = 0

    def model(
        self,
        place: str,
        messages: Sequence[JSONValue],
        *,
        tools: Sequence[str] = (),
        model: str = "m1",
        temperature: float = 0.0,
    ) -> JSONObject:
        """Call a model; returns its message."""
        key, edit = self._next(f"{place}:model")
        settings = as_object(edit.get("model"))
        model = str(settings.get("model", model))
        request: JSONObject = {
            "messages": _edited_messages(messages, edit),
            "parameters": {"temperature": settings.get("temperature", temperature)},
        }
        if tools:
            request["tools"] = settings.get("tools") or [*map(tool_schema, tools)]
        output: JSONObject = as_object(edit.get("output")) or {
            "message": brain.answer(request, model, self._call_ids(key)),
            "finish_reason": "stop",
        }
        self._record(key, StepType.MODEL, "chat", request, output, provider=PROVIDER, model=model)
        return ModelAnswer(output).message

    def tool(self, place: str, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
        """Call a tool; raises `AgentError` if it fails."""
        key, edit = self._next(f"{place}:{name}")
        arguments = as_object(edit["arguments"]) if "arguments" in edit else arguments
        output, status = self.call_tool(name, arguments)
        if "tool" in edit:
            change = as_object(edit["tool"])
            output, status = change["output"], StepStatus(str(change.get("status", StepStatus.OK)))
        self._record(key, StepType.TOOL, name, arguments, output, tool_name=name, call_id=call_id, status=status)
        if status is not StepStatus.OK:
            raise AgentError(json.dumps(output))
        return output

    def call_tool(self, name: str, arguments: JSONObject) -> tuple[JSONValue, StepStatus]:
        """Result of a tool; notes change what later calls return."""
        key = str(arguments.get("key", ""))
        if name == "save_note":
            self._notes[key] = str(arguments.get("text"))
            return {"notes": len(self._notes)}, StepStatus.OK
        if name == "read_note":
            return self._notes.get(key, "nothing"), StepStatus.OK
        number = int(digest([name, arguments])[:6], 16)
        if name == "flaky" and number % 2:
            return {"error": f"code {number % 1000}"}, StepStatus.ERROR
        states = ("lost in transit", "delivered on Monday", "on hold")
        result: JSONObject = {
            "id": arguments.get("order_id"),
            "state": states[number % 3],
            "total": number % 7 * 50 + 100,
            "date": f"2026-04-{number % 3 * 10 + 1:02}",
            "weight": f"{number % 4 + 1}.5 kg",
        }
        return result, StepStatus.OK

    def retrieve(self, place: str, query: str, top_k: int = 2) -> list[str]:
        """Search the rules; returns texts."""
        key, edit = self._next(f"{place}:search")
        settings = as_object(edit.get("retrieval"))
        query = str(settings.get("query", query))
        documents = as_list(settings.get("documents")) or find_rules(query, top_k)
        request: JSONObject = {"query": query, "top_k": top_k}
        self._record(key, StepType.RETRIEVAL, "rules", request, {"documents": documents})
        return [str(as_object(document)["content"]) for document in documents]

    def prompt(self, place: str, template: str, variables: JSONObject) -> str:
        """Render a template."""
        key, edit = self._next(f"{place}:prompt")
        settings = as_object(edit.get("prompt"))
        template = str(settings.get("template", template))
        variables = {**variables, **as_object(settings.get("variables"))}
        text = rendered(template, variables)
        request: JSONObject = {"template": template, "variables": variables}
        self._record(key, StepType.PROMPT, "template", request, {"text": text})
        return text

    def code(
        self, place: str, type: StepType, value: JSONValue, compute: Callable[[JSONValue], JSONValue]
    ) -> JSONValue:
        """A recorded step of the agent's own code."""
        key, _ = self._next(f"{place}:{type}")
        output = compute(value)
        self._record(key, type, "code", value, output)
        return output

    @contextmanager
    def container(self, place: str, type: StepType, input: JSONValue, call_id: str = "") -> Iterator[JSONObject]:
        """A step around others; its output is what the block puts into the object."""
        key, _ = self._next(f"{place}:{type}")
        index, output = len(self.steps), dict[str, JSONValue]()
        self._record(key, type, "desk", input, None, call_id=call_id)
        self._parents.append(key)
        yield output
        self._parents.pop()
        self._clock += 1
        self.steps[index] = replace(self.steps[index], output=output, ended_at=self._now())

    @contextmanager
    def tool_container(self, place: str, name: str, arguments: JSONObject) -> Iterator[JSONObject]:
        """A tool with steps inside; its output is the `result` that the block puts into the object."""
        key, edit = self._next(f"{place}:{name}")
        index, output = len(self.steps), dict[str, JSONValue]()
        self._record(key, StepType.TOOL, name, arguments, None, tool_name=name)
        self._parents.append(key)
        yield output
        self._parents.pop()
        self._clock += 1
        result, status = output["result"], StepStatus.OK
        if "tool" in edit:
            change = as_object(edit["tool"])
            result, status = change["output"], StepStatus(str(change.get("status", StepStatus.OK)))
        self.steps[index] = replace(self.steps[index], output=result, status=status, ended_at=self._now())
        output["result"] = result if status is StepStatus.OK else f"Error: {json.dumps(result)}"

    def answer_without_step(self, place: str, name: str, arguments: JSONObject, result: JSONValue) -> None:
        """Note that another step answered a model's call of a tool; a recording need not show that."""

    def choose(self, place: str, choice: JSONValue) -> None:
        """Note what code chose at a place."""
        self.choices.append((place, choice))

    def _next(self, place: str) -> tuple[str, JSONObject]:
        self._counts[place] += 1
        key = f"{place}#{self._counts[place]}"
        return key, self.changes.get(key, {})

    def _call_ids(self, key: str) -> Callable[[], str]:
        numbers = iter(range(100))
        return lambda: f"call_{digest(key)[:8]}_{next(numbers)}"

    def _now(self) -> datetime:
        return _START + timedelta(seconds=self._clock)

    def _record(self, key: str, type: StepType, name: str, input: JSONValue, output: JSONValue, **columns: Any) -> None:
        start = self._now()
        self._clock += 1
        parent = self._parents[-1] if self._parents else None
        self.steps.append(
            RecordedStep(
                key=key,
                type=type,
                name=name,
                parent=parent,
                input=input,
                output=output,
                started_at=start,
                ended_at=self._now(),
                **columns,
            )
        )


def tool_schema(name: str) -> JSONObject:
    return {"name": name, "description": f"Does {name}"}


def rendered(template: str, variables: JSONObject) -> str:
    """Text of a template with its variables."""
    return re.sub(r"\{(\w+)\}", lambda match: str(variables.get(match[1], "")), template)


def find_rules(query: str, top_k: int) -> list[JSONValue]:
    """Documents by the number of words that they share with a query."""
    words = set(re.findall(r"\w+", query.lower()))
    scores = {text: len(words & set(re.findall(r"\w+", text.lower()))) for text in _RULES}
    best = sorted(_RULES, key=lambda text: -scores[text])[:top_k]
    return [{"id": f"r{_RULES.index(text)}", "content": text} for text in best]


def _edited_messages(messages: Sequence[JSONValue], edit: JSONObject) -> list[JSONValue]:
    new_messages = [dict(as_object(message)) for message in messages]
    if "system" in (prompt := as_object(edit.get("prompt"))):
        new_messages[0]["content"] = prompt["system"]
    for change in as_objects(edit.get("messages")):
        new_messages[int(str(change["index"]))]["content"] = change["content"]
    return [*new_messages]
