"""Replays of a recorded pipeline under different settings, by the product's engine."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from uuid import UUID

from replay.core.applied_profile import apply_profile
from replay.core.calls import Answer, CachedAnswer, Call, OperatorAnswer, RetrieverMatch, ToolReview
from replay.core.context import ReplayContext
from replay.core.events import Event, StepResolved
from replay.core.graph import Graph, Node
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from tests.bench.attribution.mechanisms import settings as access
from tests.bench.attribution.mechanisms.running import (
    Model,
    Program,
    documents,
    noiseless_model,
    rank_documents,
    record_run,
    tool_result,
)
from tests.bench.attribution.mechanisms.settings import Settings
from tests.support.replay_runs import graph_of
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason, StepStatus, StepType

POLICY: Final = Policy(allow=["model", "tool"], semantic_threshold=1.0)
REEXECUTE: Final = Policy(allow=["model", "tool"], semantic_threshold=1.0, order="reexecute")


@dataclass
class Source:
    """Recording to replay, with its settings."""

    run: RecordedRun
    settings: Settings

    # On demand, because a recording is often made only for its answer.
    @cached_property
    def _graph_and_payloads(self) -> tuple[Graph, dict[str, JSONValue]]:
        return graph_of(self.run)

    @property
    def graph(self) -> Graph:
        return self._graph_and_payloads[0]

    @property
    def payloads(self) -> dict[str, JSONValue]:
        return self._graph_and_payloads[1]

    @staticmethod
    def record(
        program: Program, settings: Settings, model: Model = noiseless_model, *, has_code_version: bool = False
    ) -> "Source":
        """Record a run."""
        return Source(record_run(program, settings, "run", model, has_code_version=has_code_version), settings)

    @property
    def answer(self) -> str:
        return text_of(self.run.steps[-1].output)


@dataclass
class Outcome:
    """Answer and cost of a replay."""

    answer: str
    resolved_steps: int
    live_calls: int


@dataclass
class Engine:
    """`ReplayEnvironment` of one replay: the benchmark's model and tools under its settings."""

    source: Source
    settings: Settings
    ask_model: Model
    planning: bool = False
    live_models: int = 0

    def payload(self, ref: str) -> JSONValue:
        return self.source.payloads[ref]

    def cached(self, signature: str, *, exclude: Collection[UUID]) -> CachedAnswer | None:
        return None

    def similar(self, call: Call, threshold: float) -> CachedAnswer | None:
        return None

    def provider(self, provider: str, model: str, override: str | None) -> str | None:
        return provider

    def live(self, call: Call, provider: str) -> Answer:
        assert isinstance(call.input, dict)
        self.live_models += 1
        output: JSONValue = {"message": self.ask_model(call.input, call.model)}
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_MODEL, output=output)

    def tool(self, name: str) -> ToolReview:
        return ToolReview(safe=True, executor="bench")

    def live_tool(self, call: Call, executor: str) -> Answer | None:
        assert isinstance(call.input, dict)
        output, status = tool_result(self.settings, call.callee, call.input)
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_TOOL, output=output, status=status)

    def retriever(self, call: Call) -> RetrieverMatch:
        return RetrieverMatch(reason="the benchmark does not repeat retrievals")

    def live_retrieval(self, call: Call, match: RetrieverMatch) -> Answer:
        raise AssertionError("the benchmark has no live retriever")

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None


def replay(
    source: Source,
    settings: Settings,
    *,
    model: Model = noiseless_model,
    clamp: tuple[int, JSONValue] | None = None,
    policy: Policy | None = None,
) -> Outcome:
    """Replay the source under `settings`. `clamp` fixes the output of one step."""
    entries = [entry for node in source.graph.nodes if (entry := _entry(source, settings, node)) is not None]
    if clamp is not None:
        entries = [entry for entry in entries if entry["match"] != {"step": clamp[0]}] + [
            {"match": {"step": clamp[0]}, "output": clamp[1]}
        ]
    profile = OverrideProfile.model_validate({"overrides": entries})
    applied_profile = apply_profile(profile, source.graph)
    assert not applied_profile.refusals, applied_profile.refusals
    engine = Engine(source, settings, model)
    context = ReplayContext(graph=source.graph, profile=applied_profile, policy=policy or POLICY, environment=engine)
    events = list(Replayer(context).run())
    resolutions = [event for event in events if isinstance(event, StepResolved)]
    return Outcome(answer=_answer(source, events), resolved_steps=len(resolutions), live_calls=engine.live_models)


def _answer(source: Source, events: list[Event]) -> str:
    for event in reversed(events):
        if isinstance(event, StepResolved) and event.call.type is StepType.OUTPUT:
            return text_of(event.answer.output)
    return source.answer


def text_of(output: JSONValue) -> str:
    return str(output.get("text")) if isinstance(output, dict) else ""


def _entry(source: Source, settings: Settings, node: Node) -> JSONObject | None:
    """Return the override that gives a step these settings, or None if nothing differs."""
    step_input = source.payloads[node.input_ref]
    sets: JSONObject = {}
    if not isinstance(step_input, dict):
        return None
    match node.type:
        case StepType.MODEL:
            sets = _model_sets(source.settings, settings, node.name, step_input)
        case StepType.RETRIEVAL:
            sets = _retrieval_sets(source, settings, node, step_input)
        case StepType.TOOL:
            sets = _tool_sets(source.settings, settings, node, step_input)
        case StepType.PROMPT:
            sets = _prompt_sets(settings, step_input)
        case _:
            pass
    return {"match": _match(node), **sets} if sets else None


def _match(node: Node) -> JSONObject:
    return {"step": node.no}


def _model_sets(before: Settings, after: Settings, node: str, step_input: JSONObject) -> JSONObject:
    sets: JSONObject = {}
    if (text := access.system(after, node)) != access.system(before, node):
        sets["prompt"] = {"system": text}
    if (name := access.model(after, node)) != access.model(before, node):
        sets["model"] = {"model": name}
    if (parameters := access.parameters(after, node)) != access.parameters(before, node):
        model = sets.get("model")
        sets["model"] = {**(model if isinstance(model, dict) else {}), **parameters}
    messages = step_input["messages"]
    text_before, text_after = access.user(before), access.user(after)
    if text_before != text_after and isinstance(messages, list):
        edits: list[JSONValue] = [
            {"op": "replace", "index": index, "content": text_after}
            for index, message in enumerate(messages)
            if isinstance(message, dict) and message.get("content") == text_before
        ]
        if edits:
            sets["messages"] = edits
    return sets


def _retrieval_sets(source: Source, settings: Settings, node: Node, step_input: JSONObject) -> JSONObject:
    documents = documents_of(settings, step_input)
    return (
        {"retrieval": {"documents": documents}} if {"documents": documents} != source.payloads[node.output_ref] else {}
    )


def documents_of(settings: Settings, query: JSONObject) -> list[JSONValue]:
    top_k = query["top_k"]
    assert isinstance(top_k, int)
    texts = rank_documents(str(query["query"]), documents(settings), top_k)
    return [{"id": text[1 : text.index("]")], "content": text} for text in texts]


def _tool_sets(before: Settings, after: Settings, node: Node, step_input: JSONObject) -> JSONObject:
    result, status = tool_result(after, node.tool_name, step_input)
    if (result, status) == tool_result(before, node.tool_name, step_input):
        return {}
    return {"tool": {"output": result, "status": "error" if status is StepStatus.ERROR else "ok"}}


def _prompt_sets(settings: Settings, step_input: JSONObject) -> JSONObject:
    before = step_input["variables"]
    assert isinstance(before, dict)
    after = {name: settings[f"variable.{name}"] for name in before}
    return {"prompt": {"variables": after}} if after != before else {}
