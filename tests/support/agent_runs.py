"""Recorded agent runs in the shapes of recorders: parallel calls, containers around each step, agents in tools."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

Shape = Literal["flat", "nodes"]
TOOLS: JSONValue = [{"name": "look_up"}, {"name": "measure"}, {"name": "research"}]


@dataclass(frozen=True)
class ToolCall:
    """One call; `turns` are those of the agent that answers it, if any.

    `answering_type` is the type of the step that answers: recorders write agents and searches without a tool step.
    """

    tool: str
    arguments: JSONObject
    result: JSONValue = None
    turns: Sequence["Turn"] = ()
    answering_type: Literal[StepType.TOOL, StepType.AGENT, StepType.RETRIEVAL] = StepType.TOOL


@dataclass(frozen=True)
class Reply:
    text: str


Turn = Sequence[ToolCall] | Reply


@dataclass
class _Agent:
    """Writes the steps of one agent; in the shape `nodes`, model steps and the tools of a turn have containers."""

    key: str
    parent: str | None
    shape: Shape
    system: str
    task: str
    is_interleaved: bool = False
    has_prompts: bool = False
    has_searches: bool = False
    steps: list[RecordedStep] = field(default_factory=list)
    last_text: str = ""

    def __post_init__(self) -> None:
        self.history: list[JSONValue] = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.task},
        ]

    def run(self, turns: Sequence[Turn]) -> None:
        for number, turn in enumerate(turns):
            self._model(f"{self.key}.{number}", turn)

    def _model(self, key: str, turn: Turn) -> None:
        message: JSONObject = {"role": "assistant", "content": turn.text if isinstance(turn, Reply) else None}
        if isinstance(turn, Reply):
            self.last_text = turn.text
        else:
            message["tool_calls"] = [
                {"id": f"call_{key}.{at}", "name": call.tool, "arguments": call.arguments}
                for at, call in enumerate(turn)
            ]
        parent = self._container(key, "agent")
        if self.has_prompts:
            template: JSONObject = {"template": "{system}", "variables": {"system": self.system}}
            self.steps.append(
                RecordedStep(
                    key=f"{key}.prompt",
                    type=StepType.PROMPT,
                    name="frame",
                    parent=parent,
                    input=template,
                    output={"text": self.system},
                )
            )
        self.steps.append(
            RecordedStep(
                key=key,
                type=StepType.MODEL,
                name="chat",
                parent=parent,
                provider="desk",
                model="m1",
                input={"messages": list(self.history), "tools": TOOLS},
                output={"message": message},
                tokens_in=10,
                tokens_out=5,
            )
        )
        self.history.append(message)
        if not isinstance(turn, Reply):
            self._calls(key, turn)

    def _container(self, key: str, name: str) -> str | None:
        if self.shape == "flat":
            return self.parent
        self.steps.append(RecordedStep(key=f"{key}.{name}", type=StepType.AGENT, name=name, parent=self.parent))
        return f"{key}.{name}"

    def _calls(self, key: str, turn_calls: Sequence[ToolCall]) -> None:
        parent = self._container(key, "tools")
        groups: list[list[RecordedStep]] = []
        for at, call in enumerate(turn_calls):
            call_id, tool = f"call_{key}.{at}", f"{key}.{at}"
            result, steps = _answering(call, tool, parent, call_id, self.shape)
            groups.append(steps)
            content = result if isinstance(result, str) else json.dumps(result)
            self.history.append({"role": "tool", "content": content, "tool_call_id": call_id})
        self.steps += _interleave(groups) if self.is_interleaved else [step for group in groups for step in group]
        if self.has_searches:
            self._search(key)

    def _search(self, key: str) -> None:
        """Search for the latest message and inject the result, like agents that search before each request."""
        query = f"more about {_last_words(self.history)}"
        text = f"The guide has a page on {query}."
        self.steps.append(
            RecordedStep(
                key=f"{key}.search",
                type=StepType.RETRIEVAL,
                name="guide",
                parent=self.parent,
                input={"query": query},
                output={"documents": [{"id": "page", "content": text}]},
            )
        )
        self.history.append({"role": "system", "content": f"From the guide:\n{text}"})


def _answering(
    call: ToolCall, key: str, parent: str | None, call_id: str, shape: Shape
) -> tuple[JSONValue, list[RecordedStep]]:
    """Result of a call, and the steps that answer it."""
    if call.answering_type is StepType.RETRIEVAL:
        return _search(call, key, parent)
    container = parent if call.answering_type is StepType.AGENT else key
    result, steps = _sub_agent(key, container, call, shape) if call.turns else (call.result, [])
    if call.answering_type is StepType.AGENT:
        return result, steps
    step = RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=call.tool,
        tool_name=call.tool,
        parent=parent,
        call_id=call_id,
        input=call.arguments,
        output=result,
    )
    return result, [step, *steps]


def _search(call: ToolCall, key: str, parent: str | None) -> tuple[JSONValue, list[RecordedStep]]:
    """A retrieval without a call id; the result contains the documents' texts."""
    texts = [str(text) for text in call.result] if isinstance(call.result, list) else []
    documents: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(texts)]
    step = RecordedStep(
        key=key,
        type=StepType.RETRIEVAL,
        name="guide",
        parent=parent,
        input={**call.arguments, "top_k": len(texts)},
        output={"documents": documents},
    )
    return "\n".join(texts), [step]


def _sub_agent(tool: str, parent: str | None, call: ToolCall, shape: Shape) -> tuple[str, list[RecordedStep]]:
    """Last answer of an agent that answers a call, and its steps."""
    task = str(call.arguments["task"])
    agent = RecordedStep(
        key=f"{tool}.agent", type=StepType.AGENT, name="researcher", parent=parent, input={"task": task}
    )
    inner = _Agent(key=f"{tool}.agent", parent=agent.key, shape=shape, system="You research.", task=f"Task: {task}")
    inner.run(call.turns)
    return inner.last_text, [agent, *inner.steps]


def _last_words(history: Sequence[JSONValue]) -> str:
    last = history[-1]
    return str(last["content"]) if isinstance(last, dict) else ""


def _interleave(groups: Sequence[Sequence[RecordedStep]]) -> list[RecordedStep]:
    """Take one step of each group in turn, like recordings of parallel work."""
    longest = max(map(len, groups))
    return [group[at] for at in range(longest) for group in groups if at < len(group)]


def agent_run(
    turns: Sequence[Turn],
    *,
    shape: Shape = "flat",
    is_interleaved: bool = False,
    external_id: str = "agents",
    task: str = "How high is the tower, and who built it?",
    documents: Sequence[str] = (),
    has_prompts: bool = False,
    has_searches: bool = False,
) -> RecordedRun:
    """An agent step with its turns and its last answer as output; `documents` are retrieved first and injected."""
    prompt = "\n".join((task, *documents))
    agent = _Agent(
        key="main",
        parent="main",
        shape=shape,
        system="You answer as a guide to the town would answer.",
        task=prompt,
        is_interleaved=is_interleaved,
        has_prompts=has_prompts,
        has_searches=has_searches,
    )
    if documents:
        recorded_documents: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(documents)]
        agent.steps.append(
            RecordedStep(
                key="found",
                type=StepType.RETRIEVAL,
                name="guide",
                parent="main",
                input={"query": task, "top_k": len(documents)},
                output={"documents": recorded_documents},
            )
        )
    agent.run(turns)
    root = RecordedStep(
        key="main", type=StepType.AGENT, name="answerer", input={"task": task}, output={"text": agent.last_text}
    )
    output = RecordedStep(
        key="output",
        type=StepType.OUTPUT,
        name="answer",
        parent="main",
        input={"text": agent.last_text},
        output={"text": agent.last_text},
    )
    return RecordedRun(
        external_id=external_id, name="agents", app="agents", format="test", steps=(root, *agent.steps, output)
    )


HEIGHT = ToolCall("measure", {"what": "the tower"}, "The tower is 300 metres high.")
BUILDER = ToolCall("look_up", {"who": "built the tower"}, "The tower was built by Ada Example.")
AGE = ToolCall("look_up", {"when": "the tower was built"}, "It was built in 1889.")
ANSWER = Reply("The tower is 300 metres high, and Ada Example built it.")
PARALLEL: Sequence[Turn] = ((HEIGHT, BUILDER), ANSWER)
RESEARCH = ToolCall(
    "research",
    {"task": "find out how high the tower is"},
    turns=((HEIGHT,), Reply("I found out that it is 300 metres high.")),
)
ORIGIN = ToolCall(
    "research",
    {"task": "find out who has built the tower"},
    turns=((BUILDER,), Reply("I found out that Ada Example built it.")),
)
SEARCH = ToolCall(
    "search", {"query": "tickets for the tower"}, ["Tickets are 9 euros.", "Closed."], answering_type=StepType.RETRIEVAL
)
SUB_AGENT: Sequence[Turn] = ((RESEARCH,), ANSWER)
TEAM: Sequence[Turn] = ((RESEARCH, ORIGIN), ANSWER)
