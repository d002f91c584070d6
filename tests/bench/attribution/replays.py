"""Replays of a recorded pipeline under other settings, by the product's own engine."""

from collections.abc import Collection
from dataclasses import dataclass, field
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
from tests.bench.attribution.mechanisms import settings as given
from tests.bench.attribution.mechanisms.running import Model, Program, answered, called, documents, ranked, recorded
from tests.bench.attribution.mechanisms.settings import Settings
from tests.support.replay_runs import graph_of
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import Label, Reason, StepStatus, StepType

POLICY: Final = Policy(allow=["model", "tool"], semantic_threshold=1.0)
REEXECUTE: Final = Policy(allow=["model", "tool"], semantic_threshold=1.0, order="reexecute")


@dataclass
class Source:
    """A recording to replay, with the settings that it was made with."""

    run: RecordedRun
    settings: Settings
    graph: Graph = field(init=False)
    payloads: dict[str, JSONValue] = field(init=False)

    def __post_init__(self) -> None:
        self.graph, self.payloads = graph_of(self.run)

    @staticmethod
    def of(program: Program, settings: Settings, model: Model = answered) -> "Source":
        """A new recording."""
        return Source(recorded(program, settings, "run", model), settings)

    @property
    def answer(self) -> str:
        return text_of(self.run.steps[-1].output)


@dataclass
class Outcome:
    """What a replay came to: its answer, and what it took."""

    answer: str
    resolved: int
    live: int


@dataclass
class Engine:
    """`ReplayEnvironment` of one replay: the model and the tools of the benchmark under its settings."""

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
        output, status = called(self.settings, call.callee, call.input)
        return Answer(action="live", label=Label.SIMULATED, reason=Reason.LIVE_TOOL, output=output, status=status)

    def retriever(self, call: Call) -> RetrieverMatch:
        return RetrieverMatch(reason="retrievals of the benchmark are never asked again")

    def live_retrieval(self, call: Call, serving: RetrieverMatch) -> Answer:
        raise AssertionError("no retriever serves")

    def ask(self, call: Call) -> OperatorAnswer | None:
        return None

    def committed_answer(self, no: int) -> Answer | None:
        return None


def replay(
    source: Source,
    settings: Settings,
    *,
    model: Model = answered,
    clamp: tuple[int, JSONValue] | None = None,
    policy: Policy | None = None,
) -> Outcome:
    """The source again as it would have been under `settings`; `clamp` fixes what one step answers."""
    entries = [entry for node in source.graph.nodes if (entry := _entry(source, settings, node)) is not None]
    if clamp is not None:
        entries = [entry for entry in entries if entry["match"] != {"step": clamp[0]}] + [
            {"match": {"step": clamp[0]}, "output": clamp[1]}
        ]
    profile = OverrideProfile.model_validate({"overrides": entries})
    applied = apply_profile(profile, source.graph)
    assert not applied.refusals, applied.refusals
    engine = Engine(source, settings, model)
    context = ReplayContext(graph=source.graph, profile=applied, policy=policy or POLICY, environment=engine)
    events = list(Replayer(context).run())
    resolved = [event for event in events if isinstance(event, StepResolved)]
    return Outcome(answer=_answer(source, events), resolved=len(resolved), live=engine.live_models)


def _answer(source: Source, events: list[Event]) -> str:
    for event in reversed(events):
        if isinstance(event, StepResolved) and event.call.type is StepType.OUTPUT:
            return text_of(event.answer.output)
    return source.answer


def text_of(output: JSONValue) -> str:
    return str(output.get("text")) if isinstance(output, dict) else ""


def _entry(source: Source, settings: Settings, node: Node) -> JSONObject | None:
    """What the operator would have to set on a step to have it under these settings."""
    recorded = source.payloads[node.input_ref]
    sets: JSONObject = {}
    if not isinstance(recorded, dict):
        return None
    match node.type:
        case StepType.MODEL:
            sets = _model_sets(source.settings, settings, node.name, recorded)
        case StepType.RETRIEVAL:
            sets = _retrieval_sets(source, settings, node, recorded)
        case StepType.TOOL:
            sets = _tool_sets(source.settings, settings, node, recorded)
        case StepType.PROMPT:
            sets = _prompt_sets(settings, recorded)
        case _:
            pass
    return {"match": _match(node), **sets} if sets else None


def _match(node: Node) -> JSONObject:
    return {"step": node.no}


def _model_sets(before: Settings, after: Settings, node: str, recorded: JSONObject) -> JSONObject:
    sets: JSONObject = {}
    if (text := given.system(after, node)) != given.system(before, node):
        sets["prompt"] = {"system": text}
    if (name := given.model(after, node)) != given.model(before, node):
        sets["model"] = {"model": name}
    if (parameters := given.parameters(after, node)) != given.parameters(before, node):
        model = sets.get("model")
        sets["model"] = {**(model if isinstance(model, dict) else {}), **parameters}
    messages = recorded["messages"]
    said, says = given.user(before), given.user(after)
    if said != says and isinstance(messages, list):
        edits: list[JSONValue] = [
            {"op": "replace", "index": at, "content": says}
            for at, message in enumerate(messages)
            if isinstance(message, dict) and message.get("content") == said
        ]
        if edits:
            sets["messages"] = edits
    return sets


def _retrieval_sets(source: Source, settings: Settings, node: Node, recorded: JSONObject) -> JSONObject:
    found = documents_of(settings, recorded)
    return {"retrieval": {"documents": found}} if {"documents": found} != source.payloads[node.output_ref] else {}


def documents_of(settings: Settings, query: JSONObject) -> list[JSONValue]:
    top_k = query["top_k"]
    assert isinstance(top_k, int)
    found = ranked(str(query["query"]), documents(settings), top_k)
    return [{"id": text[1 : text.index("]")], "content": text} for text in found]


def _tool_sets(before: Settings, after: Settings, node: Node, recorded: JSONObject) -> JSONObject:
    result, status = called(after, node.tool_name, recorded)
    if (result, status) == called(before, node.tool_name, recorded):
        return {}
    return {"tool": {"output": result, "status": "error" if status is StepStatus.ERROR else "ok"}}


def _prompt_sets(settings: Settings, recorded: JSONObject) -> JSONObject:
    before = recorded["variables"]
    assert isinstance(before, dict)
    after = {name: settings[f"variable.{name}"] for name in before}
    return {"prompt": {"variables": after}} if after != before else {}
