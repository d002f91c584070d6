"""Running a pipeline: for its answer alone, or with everything recorded as the product would record it."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Protocol

from tests.bench.attribution.mechanisms import settings as given
from tests.bench.attribution.mechanisms.brain import respond
from tests.bench.attribution.mechanisms.settings import Settings
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType

PROVIDER: Final = "bench"
Place = tuple[str, int]  # a node and which of its calls; the first is 0
Model = Callable[[JSONObject, str], JSONObject]  # a request and the model's name -> the message


class Runtime(Protocol):
    """What a pipeline's code can do."""

    settings: Settings

    def model(self, node: str, messages: list[JSONValue], tools: JSONValue = None) -> JSONObject: ...

    def tool(self, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue: ...

    def retrieve(self, name: str, query: str, top_k: int) -> list[str]: ...

    def prompt(self, name: str, template: str, variables: JSONObject) -> str: ...

    def agent(self, name: str, task: str, work: Callable[[], str]) -> str: ...


def answered(request: JSONObject, model: str) -> JSONObject:
    """The model without noise."""
    messages, parameters = request["messages"], request.get("parameters")
    assert isinstance(messages, list)
    return respond(messages, model, parameters if isinstance(parameters, dict) else {})


def request_of(settings: Settings, node: str, messages: list[JSONValue], tools: JSONValue) -> JSONObject:
    request: JSONObject = {"messages": list(messages), "parameters": given.parameters(settings, node)}
    return {**request, "tools": tools} if tools is not None else request


def called(settings: Settings, tool: str, arguments: JSONObject) -> tuple[JSONValue, StepStatus]:
    """A tool's result: rows by the first argument, and writes that every caller may try."""
    if tool in _WRITES:
        amount = arguments.get("amount", 0)
        cap = settings.get(f"row.{tool}.limits.cap", 0)
        accepted = not isinstance(amount, int) or not isinstance(cap, int) or not cap or amount <= cap
        return {**arguments, "state": "accepted" if accepted else "refused"}, StepStatus.OK
    key = str(next(iter(arguments.values()), ""))
    found = given.row(settings, tool, key)
    if found is None:
        return {"error": f"{tool} has nothing under {key}"}, StepStatus.ERROR
    return found, StepStatus.ERROR if "error" in found else StepStatus.OK


_WRITES: Final = frozenset({"issue_refund", "send_replacement", "escalate"})


def documents(settings: Settings) -> tuple[str, ...]:
    """The corpus, each document as one line that says its name and date."""
    names = sorted({path.split(".")[1] for path in settings if path.startswith("doc.")})
    return tuple(f"[{name}] ({settings[f'doc.{name}.date']}) {settings[f'doc.{name}.text']}" for name in names)


@lru_cache(maxsize=100_000)
def ranked(query: str, corpus: tuple[str, ...], top_k: int) -> tuple[str, ...]:
    """BM25; ties go to the document that comes first."""
    bags = [Counter(_words(text)) for text in corpus]
    mean = sum(bag.total() for bag in bags) / len(bags)
    wanted = _words(query)
    idf = {
        word: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
        for word in wanted
        for n in [sum(word in bag for bag in bags)]
    }

    def score(bag: Counter[str]) -> float:
        norm = 1.5 * (0.25 + 0.75 * bag.total() / mean)
        return sum(idf[word] * bag[word] * 2.5 / (bag[word] + norm) for word in wanted)

    order = sorted(range(len(corpus)), key=lambda at: (-round(score(bags[at]), 9), at))
    return tuple(corpus[at] for at in order[:top_k])


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def filled(template: str, variables: Mapping[str, JSONValue]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: str(variables.get(found.group(1), found.group())), template)


@dataclass
class Answering:
    """Runs for the answer alone. `clamped` are the outputs that steps have whatever they are given."""

    settings: Settings
    clamped: Mapping[Place, JSONValue] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)
    ask: Model = answered

    def model(self, node: str, messages: list[JSONValue], tools: JSONValue = None) -> JSONObject:
        kept = self._clamped(node)
        if isinstance(kept, dict):
            return kept
        return self.ask(request_of(self.settings, node, messages, tools), given.model(self.settings, node))

    def tool(self, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
        kept = self._clamped(name)
        return called(self.settings, name, arguments)[0] if kept is None else kept

    def retrieve(self, name: str, query: str, top_k: int) -> list[str]:
        kept = self._clamped(name)
        if isinstance(kept, dict):
            found = kept["documents"]
            assert isinstance(found, list)
            return [str(each["content"]) for each in found if isinstance(each, dict)]
        return list(ranked(query, documents(self.settings), top_k))

    def prompt(self, name: str, template: str, variables: JSONObject) -> str:
        kept = self._clamped(name)
        return str(kept["text"]) if isinstance(kept, dict) else filled(template, variables)

    def agent(self, name: str, task: str, work: Callable[[], str]) -> str:
        return work()

    def _clamped(self, name: str) -> JSONValue:
        if not self.clamped:
            return None
        self.seen[name] += 1
        return self.clamped.get((name, self.seen[name] - 1))


@dataclass
class Recording:
    """Runs and writes down every step; `ask` is the model, which may be noisy."""

    settings: Settings
    ask: Model = answered
    steps: list[RecordedStep] = field(default_factory=list)
    container: str = "agent"

    def model(self, node: str, messages: list[JSONValue], tools: JSONValue = None) -> JSONObject:
        request, model = request_of(self.settings, node, messages, tools), given.model(self.settings, node)
        message = self.ask(request, model)
        output: JSONObject = {"message": message}
        self._add(StepType.MODEL, node, request, output, provider=PROVIDER, model=model)
        return message

    def tool(self, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
        result, status = called(self.settings, name, arguments)
        self._add(StepType.TOOL, name, arguments, result, status=status, tool_name=name, call_id=call_id)
        return result

    def retrieve(self, name: str, query: str, top_k: int) -> list[str]:
        found = ranked(query, documents(self.settings), top_k)
        listed: list[JSONValue] = [{"id": text[1 : text.index("]")], "content": text} for text in found]
        self._add(StepType.RETRIEVAL, name, {"query": query, "top_k": top_k}, {"documents": listed})
        return list(found)

    def prompt(self, name: str, template: str, variables: JSONObject) -> str:
        text = filled(template, variables)
        self._add(StepType.PROMPT, name, {"template": template, "variables": variables}, {"text": text})
        return text

    def agent(self, name: str, task: str, work: Callable[[], str]) -> str:
        """Record an agent within the agent: its steps are its children, and their last text is its output."""
        at, outer = len(self.steps), self.container
        self._add(StepType.AGENT, name, {"task": task}, None)
        self.container = self.steps[at].key
        text = work()
        self.container = outer
        self.steps[at] = replace(self.steps[at], output={"text": text})
        return text

    def _add(self, type: StepType, name: str, input: JSONValue, output: JSONValue, **columns: Any) -> None:
        self.steps.append(
            RecordedStep(
                key=f"step-{len(self.steps) + 1}",
                type=type,
                name=name,
                parent=self.container,
                input=input,
                output=output,
                **columns,
            )
        )


Program = Callable[[Runtime], str]


def recorded(program: Program, settings: Settings, external_id: str, ask: Model = answered) -> RecordedRun:
    """The run as it would be stored: an agent, its steps, its answer."""
    runtime = Recording(settings, ask)
    answer = program(runtime)
    task: JSONObject = {"task": given.user(settings)}
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="agent", input=task, output={"text": answer})
    output = RecordedStep(
        key="output",
        type=StepType.OUTPUT,
        name="answer",
        parent="agent",
        input={"text": answer},
        output={"text": answer},
    )
    return RecordedRun(
        external_id=external_id, name="bench", app="bench", format="bench", steps=(agent, *runtime.steps, output)
    )


def result_text(value: JSONValue) -> str:
    """A tool's result as the agents hand it to their model."""
    return json.dumps(value)
