"""Runtimes of a pipeline: one returns only its answer, one records every step as the product would."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Protocol

from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.brain import respond
from tests.bench.attribution.mechanisms.settings import Settings
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType

PROVIDER: Final = "bench"
# A node, and the index of one of its calls, from 0.
Place = tuple[str, int]
# Request, model name -> message.
Model = Callable[[JSONObject, str], JSONObject]


class Runtime(Protocol):
    """Operations available to a pipeline's code."""

    settings: Settings

    def model(self, node: str, messages: list[JSONValue], tools: JSONValue = None) -> JSONObject: ...

    def tool(self, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue: ...

    def retrieve(self, name: str, query: str, top_k: int) -> list[str]: ...

    def prompt(self, name: str, template: str, variables: JSONObject) -> str: ...

    def agent(self, name: str, task: str, work: Callable[[], str]) -> str: ...


def noiseless_model(request: JSONObject, model: str) -> JSONObject:
    """Answer a request without random errors."""
    messages, parameters = request["messages"], request.get("parameters")
    assert isinstance(messages, list)
    return respond(messages, model, parameters if isinstance(parameters, dict) else {})


def request_of(settings: Settings, node: str, messages: list[JSONValue], tools: JSONValue) -> JSONObject:
    request: JSONObject = {"messages": list(messages), "parameters": access.parameters(settings, node)}
    return {**request, "tools": tools} if tools is not None else request


def tool_result(settings: Settings, tool: str, arguments: JSONObject) -> tuple[JSONValue, StepStatus]:
    """Return a tool's result: a row by the first argument, or the outcome of a write."""
    if tool in _WRITES:
        amount = arguments.get("amount", 0)
        cap = settings.get(f"row.{tool}.limits.cap", 0)
        is_accepted = not isinstance(amount, int) or not isinstance(cap, int) or not cap or amount <= cap
        return {**arguments, "state": "accepted" if is_accepted else "refused"}, StepStatus.OK
    key = str(next(iter(arguments.values()), ""))
    row = access.row(settings, tool, key)
    if row is None:
        return {"error": f"{tool} has nothing under {key}"}, StepStatus.ERROR
    return row, StepStatus.ERROR if "error" in row else StepStatus.OK


_WRITES: Final = frozenset({"issue_refund", "send_replacement", "escalate"})


def documents(settings: Settings) -> tuple[str, ...]:
    """Return the corpus: one line per document, with its name and date."""
    names = sorted({path.split(".")[1] for path in settings if path.startswith("doc.")})
    return tuple(f"[{name}] ({settings[f'doc.{name}.date']}) {settings[f'doc.{name}.text']}" for name in names)


@lru_cache(maxsize=100_000)
def rank_documents(query: str, corpus: tuple[str, ...], top_k: int) -> tuple[str, ...]:
    """Rank documents by BM25. Ties keep the corpus order."""
    bags = [Counter(_words(text)) for text in corpus]
    mean = sum(bag.total() for bag in bags) / len(bags)
    query_words = _words(query)
    idf = {
        word: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5))
        for word in query_words
        for n in [sum(word in bag for bag in bags)]
    }

    def score(bag: Counter[str]) -> float:
        norm = 1.5 * (0.25 + 0.75 * bag.total() / mean)
        return sum(idf[word] * bag[word] * 2.5 / (bag[word] + norm) for word in query_words)

    order = sorted(range(len(corpus)), key=lambda index: (-round(score(bags[index]), 9), index))
    return tuple(corpus[index] for index in order[:top_k])


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def fill(template: str, variables: Mapping[str, JSONValue]) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: str(variables.get(match.group(1), match.group())), template)


@dataclass
class AnswerRuntime:
    """Runtime that records nothing. `outputs` fixes the outputs of steps."""

    settings: Settings
    outputs: Mapping[Place, JSONValue] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    ask: Model = noiseless_model

    def model(self, node: str, messages: list[JSONValue], tools: JSONValue = None) -> JSONObject:
        output = self._fixed_output(node)
        if isinstance(output, dict):
            return output
        return self.ask(request_of(self.settings, node, messages, tools), access.model(self.settings, node))

    def tool(self, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
        output = self._fixed_output(name)
        return tool_result(self.settings, name, arguments)[0] if output is None else output

    def retrieve(self, name: str, query: str, top_k: int) -> list[str]:
        output = self._fixed_output(name)
        if isinstance(output, dict):
            documents_list = output["documents"]
            assert isinstance(documents_list, list)
            return [str(document["content"]) for document in documents_list if isinstance(document, dict)]
        return list(rank_documents(query, documents(self.settings), top_k))

    def prompt(self, name: str, template: str, variables: JSONObject) -> str:
        output = self._fixed_output(name)
        return str(output["text"]) if isinstance(output, dict) else fill(template, variables)

    def agent(self, name: str, task: str, work: Callable[[], str]) -> str:
        return work()

    def _fixed_output(self, name: str) -> JSONValue:
        if not self.outputs:
            return None
        self.calls[name] += 1
        return self.outputs.get((name, self.calls[name] - 1))


@dataclass
class Recording:
    """Runtime that records every step. `ask` is the model, which may be noisy."""

    settings: Settings
    ask: Model = noiseless_model
    steps: list[RecordedStep] = field(default_factory=list)
    container: str = "agent"

    def model(self, node: str, messages: list[JSONValue], tools: JSONValue = None) -> JSONObject:
        request, model = request_of(self.settings, node, messages, tools), access.model(self.settings, node)
        message = self.ask(request, model)
        output: JSONObject = {"message": message}
        self._add(StepType.MODEL, node, request, output, provider=PROVIDER, model=model)
        return message

    def tool(self, name: str, arguments: JSONObject, call_id: str = "") -> JSONValue:
        result, status = tool_result(self.settings, name, arguments)
        self._add(StepType.TOOL, name, arguments, result, status=status, tool_name=name, call_id=call_id)
        return result

    def retrieve(self, name: str, query: str, top_k: int) -> list[str]:
        texts = rank_documents(query, documents(self.settings), top_k)
        documents_json: list[JSONValue] = [{"id": text[1 : text.index("]")], "content": text} for text in texts]
        self._add(StepType.RETRIEVAL, name, {"query": query, "top_k": top_k}, {"documents": documents_json})
        return list(texts)

    def prompt(self, name: str, template: str, variables: JSONObject) -> str:
        text = fill(template, variables)
        self._add(StepType.PROMPT, name, {"template": template, "variables": variables}, {"text": text})
        return text

    def agent(self, name: str, task: str, work: Callable[[], str]) -> str:
        """Record a sub-agent. Its steps are its children; the text of `work` is its output."""
        position, outer = len(self.steps), self.container
        self._add(StepType.AGENT, name, {"task": task}, None)
        self.container = self.steps[position].key
        text = work()
        self.container = outer
        self.steps[position] = replace(self.steps[position], output={"text": text})
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


# Settings that are written in an agent's code: its logic and numbers, and its prose.
_LOGIC: Final = ("code.", "model.", "search.")
_PROSE: Final = ("prompt.", "tool.")


def code_version(settings: Settings) -> JSONObject:
    """Return the digests that the SDK records of an agent's code."""
    logic, source = (
        digest({path: value for path, value in settings.items() if path.startswith(kinds)})
        for kinds in (_LOGIC, _LOGIC + _PROSE)
    )
    return {"logic": logic, "source": source}


def record_run(
    program: Program,
    settings: Settings,
    external_id: str,
    ask: Model = noiseless_model,
    *,
    has_code_version: bool = False,
) -> RecordedRun:
    """Record a run as it would be stored: an agent, its steps, its answer, and the version of its code if recorded."""
    runtime = Recording(settings, ask)
    answer = program(runtime)
    task: JSONObject = {"task": access.user(settings)}
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
        external_id=external_id,
        name="bench",
        app="bench",
        format="bench",
        steps=(agent, *runtime.steps, output),
        metadata={"code": code_version(settings)} if has_code_version else {},
    )


def result_text(value: JSONValue) -> str:
    """Return a tool's result as the agents pass it to their model."""
    return json.dumps(value)
