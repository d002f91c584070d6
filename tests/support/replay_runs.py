"""Recorded runs for replay tests: an order desk, and any chat with tools."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast
from uuid import UUID

from replay.core.graph import Graph, Link, Node
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import EdgeKind, StepStatus, StepType
from traces.payloads.conversation import Messages
from traces.payloads.messages import ModelRequest
from traces.payloads.splitter import Splitter, split
from traces.provenance.edges import find_provenance
from traces.provenance.step_outputs import StepFacts
from traces.signatures.call_signatures import signature

SYSTEM: JSONObject = {"role": "system", "content": "You are the order desk. Answer in full sentences."}
TOOLS: JSONValue = [{"name": "get_order"}, {"name": "search_policy"}, {"name": "send_email"}]
ORDERS: dict[str, JSONValue] = {
    "A-1": {"id": "A-1", "status": "lost in transit", "carrier": "northern parcels"},
    "A-2": {"id": "A-2", "status": "delivered on monday", "carrier": "southern parcels"},
}
POLICY = "Lost parcels are refunded in full within fourteen days after the loss was reported."


@dataclass(frozen=True)
class ToolCall:
    """A model's turn that requests one tool call."""

    tool: str
    arguments: JSONObject
    result: JSONValue
    status: StepStatus = StepStatus.OK


@dataclass(frozen=True)
class Reply:
    """A model's turn that ends with an answer."""

    text: str


Turn = ToolCall | Reply
CONVERSATION: tuple[tuple[str, tuple[Turn, ...]], ...] = (
    (
        "Where is my order A-1?",
        (
            ToolCall("get_order", {"order_id": "A-1"}, ORDERS["A-1"]),
            ToolCall("search_policy", {"query": "what happens with lost parcels"}, POLICY),
            Reply("Your order A-1 was lost by northern parcels, and you get a full refund."),
        ),
    ),
    ("Thank you, that is all.", (Reply("You are welcome, have a pleasant afternoon."),)),
)


@dataclass
class _Recorder:
    model: str
    parameters: JSONObject
    steps: list[RecordedStep] = field(default_factory=list)
    history: list[JSONValue] = field(default_factory=lambda: [SYSTEM])
    last_text: str = ""

    def turn(self, number: int, user: str, turns: Sequence[Turn]) -> None:
        key = f"turn{number}"
        message: JSONObject = {"role": "user", "content": user}
        at = len(self.steps)
        self.history.append(message)
        for index, turn in enumerate(turns):
            self.model_step(f"{key}.{index}", key, turn)
        last: JSONObject = {"role": "assistant", "content": self.last_text}
        step = RecordedStep(
            key=key,
            type=StepType.TURN,
            name=f"turn {number}",
            parent="agent",
            input={"messages": [message]},
            output={"message": last},
        )
        self.steps.insert(at, step)

    def model_step(self, key: str, parent: str, turn: Turn) -> None:
        message: JSONObject = {"role": "assistant", "content": turn.text if isinstance(turn, Reply) else None}
        if isinstance(turn, ToolCall):
            message["tool_calls"] = [{"id": f"call_{key}", "name": turn.tool, "arguments": turn.arguments}]
        else:
            self.last_text = turn.text
        self.steps.append(
            RecordedStep(
                key=key,
                type=StepType.MODEL,
                name="desk",
                parent=parent,
                provider="desk",
                model=self.model,
                input={"messages": list(self.history), "tools": TOOLS, "parameters": self.parameters},
                output={"message": message, "finish_reason": "stop"},
                tokens_in=100,
                tokens_out=20,
            )
        )
        self.history.append(message)
        if isinstance(turn, ToolCall):
            self.tool_step(key, parent, turn)

    def tool_step(self, key: str, parent: str, turn: ToolCall) -> None:
        self.steps.append(
            RecordedStep(
                key=f"{key}.tool",
                type=StepType.TOOL,
                name=turn.tool,
                tool_name=turn.tool,
                parent=parent,
                call_id=f"call_{key}",
                input=turn.arguments,
                output=turn.result,
                status=turn.status,
            )
        )
        content = turn.result if isinstance(turn.result, str) else json.dumps(turn.result)
        self.history.append({"role": "tool", "content": content, "tool_call_id": f"call_{key}"})


def order_desk(
    conversation: Sequence[tuple[str, Sequence[Turn]]] = CONVERSATION,
    *,
    external_id: str = "desk-1",
    model: str = "m1",
    parameters: JSONObject | None = None,
    app: str = "desk",
) -> RecordedRun:
    """An agent step, turns with model and tool steps, and the last answer as output."""
    recorder = _Recorder(model=model, parameters={"temperature": 0.0} if parameters is None else parameters)
    for number, (user, turns) in enumerate(conversation, 1):
        recorder.turn(number, user, turns)
    agent = RecordedStep(key="agent", type=StepType.AGENT, name="order desk", input={"task": "help"})
    output = RecordedStep(
        key="output",
        type=StepType.OUTPUT,
        name="answer",
        parent="agent",
        input={"text": recorder.last_text},
        output={"text": recorder.last_text},
    )
    return RecordedRun(
        external_id=external_id, name="order desk", app=app, format="test", steps=(agent, *recorder.steps, output)
    )


def graph_of(run: RecordedRun, fork: int = 1) -> tuple[Graph, dict[str, JSONValue]]:
    """Graph of a recording as the store loads it, and its payloads by reference."""
    numbers = {step.key: number for number, step in enumerate(run.steps, 1)}
    payloads: dict[str, JSONValue] = {}
    nodes = [_node(step, numbers, payloads) for step in run.steps]
    facts = [
        StepFacts(
            no=numbers[step.key],
            type=step.type,
            input=step.input,
            output=step.output,
            provider=step.provider,
            model=step.model,
            call_id=step.call_id,
            links=tuple(numbers[key] for key in step.links),
        )
        for step in run.steps
    ]
    links: dict[int, tuple[Link, ...]] = {}
    provenance = find_provenance(facts, Splitter())
    nodes = [replace(node, unexplained=provenance.unexplained_inputs[node.no]) for node in nodes]
    for edge in provenance.edges:
        link = Link(
            producer=edge.producer,
            kind=edge.kind,
            consumer_path=edge.consumer_path,
            producer_path=edge.producer_path,
            value=edge.evidence if edge.kind is EdgeKind.VALUE else "",
        )
        links[edge.consumer] = (*links.get(edge.consumer, ()), link)
    before, open_containers = nodes[: fork - 1], _open(nodes, fork)
    numbers_open: set[int | None] = {node.no for node in open_containers} or {None}
    closed_agents = [node for node in before if node.type is StepType.AGENT and node.parent in numbers_open]
    scope = numbers_open | {node.no for node in closed_agents}
    continued_steps = {
        link.producer for step_links in links.values() for link in step_links if link.kind is EdgeKind.HISTORY
    }
    graph = Graph(
        fork=fork,
        nodes=tuple(nodes[fork - 1 :]),
        links={no: step_links for no, step_links in links.items() if no >= fork},
        open=tuple(open_containers),
        load_earlier_calls=lambda: tuple(
            node for node in before if node.type is StepType.TOOL and node.parent in scope
        ),
        earlier=tuple(
            node
            for node in before
            if (node in closed_agents and node not in open_containers) or node.no in continued_steps
        ),
    )
    return graph, payloads


def _open(nodes: Sequence[Node], fork: int) -> list[Node]:
    """Containers that are open at the fork."""
    containers: dict[int, Node] = {}
    for node in nodes[fork - 1 :]:
        while node.parent is not None:
            node = nodes[node.parent - 1]
            if node.no < fork:
                containers[node.no] = node
    return [containers[no] for no in sorted(containers)]


def _plain(value: JSONValue) -> JSONValue:
    """A payload as the store loads it, with every conversation as a list."""
    if isinstance(value, dict) and isinstance(messages := cast(object, value.get("messages")), Messages):
        return {**value, "messages": list(messages)}
    return value


def _node(step: RecordedStep, numbers: dict[str, int], payloads: dict[str, JSONValue]) -> Node:
    refs = []
    for value in (step.input, step.output):
        ref = "" if value is None else split(value).digest
        payloads[ref] = _plain(value)
        messages = ModelRequest(value).messages
        payloads.update(zip(Splitter().part_digests(messages), messages, strict=True))
        refs.append(ref)
    return Node(
        no=numbers[step.key],
        id=UUID(int=numbers[step.key]),
        type=step.type,
        name=step.name,
        parent=None if step.parent is None else numbers[step.parent],
        status=step.status,
        signature=signature(
            type=step.type,
            name=step.name,
            input=step.input,
            provider=step.provider,
            model=step.model,
            tool_name=step.tool_name,
        ),
        input_ref=refs[0],
        output_ref=refs[1],
        provider=step.provider,
        model=step.model,
        tool_name=step.tool_name,
        call_id=step.call_id,
        tokens_in=step.tokens_in,
        tokens_out=step.tokens_out,
        started_at=step.started_at,
        duration_ms=None
        if step.ended_at is None or step.started_at is None
        else (step.ended_at - step.started_at).total_seconds() * 1000,
    )
