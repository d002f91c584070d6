"""Recorded runs of agents as recorders shape them: calls in parallel, containers around each step, agents in tools."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from traces.json_types import JSONObject, JSONValue
from traces.recording import RecordedRun, RecordedStep
from traces.vocabulary import StepType

Shape = Literal["flat", "nodes"]
TOOLS: JSONValue = [{"name": "look_up"}, {"name": "measure"}, {"name": "research"}]


@dataclass(frozen=True)
class Asks:
    """One call; `inside` are the turns of the agent that answers it, where one does."""

    tool: str
    arguments: JSONObject
    result: JSONValue = None
    inside: Sequence["Turn"] = ()


@dataclass(frozen=True)
class Says:
    text: str


Turn = Sequence[Asks] | Says


@dataclass
class _Agent:
    """Writes the steps of one agent; in the shape `nodes` a model step, and the tools of a turn, have containers."""

    key: str
    parent: str | None
    shape: Shape
    system: str
    task: str
    interleaved: bool = False
    prompted: bool = False
    steps: list[RecordedStep] = field(default_factory=list)
    said: str = ""

    def __post_init__(self) -> None:
        self.history: list[JSONValue] = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.task},
        ]

    def run(self, turns: Sequence[Turn]) -> None:
        for number, turn in enumerate(turns):
            self._model(f"{self.key}.{number}", turn)

    def _model(self, key: str, turn: Turn) -> None:
        message: JSONObject = {"role": "assistant", "content": turn.text if isinstance(turn, Says) else None}
        if isinstance(turn, Says):
            self.said = turn.text
        else:
            message["tool_calls"] = [
                {"id": f"call_{key}.{at}", "name": asked.tool, "arguments": asked.arguments}
                for at, asked in enumerate(turn)
            ]
        parent = self._around(key, "agent")
        if self.prompted:
            template: JSONObject = {"template": "{system}", "variables": {"system": self.system}}
            self.steps.append(
                RecordedStep(key=f"{key}.prompt", type=StepType.PROMPT, name="frame", parent=parent, input=template,
                             output={"text": self.system})
            )  # fmt: skip
        self.steps.append(
            RecordedStep(
                key=key, type=StepType.MODEL, name="chat", parent=parent, provider="desk",
                model="m1", input={"messages": list(self.history), "tools": TOOLS}, output={"message": message},
                tokens_in=10, tokens_out=5,
            )
        )  # fmt: skip
        self.history.append(message)
        if not isinstance(turn, Says):
            self._calls(key, turn)

    def _around(self, key: str, name: str) -> str | None:
        if self.shape == "flat":
            return self.parent
        self.steps.append(RecordedStep(key=f"{key}.{name}", type=StepType.AGENT, name=name, parent=self.parent))
        return f"{key}.{name}"

    def _calls(self, key: str, asked: Sequence[Asks]) -> None:
        parent = self._around(key, "tools")
        groups: list[list[RecordedStep]] = []
        for at, one in enumerate(asked):
            call_id, tool = f"call_{key}.{at}", f"{key}.{at}"
            result, inside = one.result, list[RecordedStep]()
            if one.inside:
                result, inside = _sub_agent(tool, one, self.shape)
            step = RecordedStep(
                key=tool, type=StepType.TOOL, name=one.tool, tool_name=one.tool, parent=parent, call_id=call_id,
                input=one.arguments, output=result,
            )  # fmt: skip
            groups.append([step, *inside])
            content = result if isinstance(result, str) else json.dumps(result)
            self.history.append({"role": "tool", "content": content, "tool_call_id": call_id})
        self.steps += _interleaved(groups) if self.interleaved else [step for group in groups for step in group]


def _sub_agent(tool: str, asked: Asks, shape: Shape) -> tuple[str, list[RecordedStep]]:
    """An agent under a tool step, and what it says last."""
    task = str(asked.arguments["task"])
    agent = RecordedStep(key=f"{tool}.agent", type=StepType.AGENT, name="researcher", parent=tool, input={"task": task})
    inner = _Agent(key=f"{tool}.agent", parent=agent.key, shape=shape, system="You research.", task=f"Task: {task}")
    inner.run(asked.inside)
    return inner.said, [agent, *inner.steps]


def _interleaved(groups: Sequence[Sequence[RecordedStep]]) -> list[RecordedStep]:
    """One step of each in turn, as parallel work is recorded."""
    longest = max(map(len, groups))
    return [group[at] for at in range(longest) for group in groups if at < len(group)]


def agent_run(
    turns: Sequence[Turn], *, shape: Shape = "flat", interleaved: bool = False, external_id: str = "agents",
    task: str = "How high is the tower, and who built it?", documents: Sequence[str] = (), prompted: bool = False,
) -> RecordedRun:  # fmt: skip
    """An agent step with its turns, and what it said as output; `documents` are looked up first, and told it."""
    told = "\n".join((task, *documents))
    agent = _Agent(key="main", parent="main", shape=shape, system="You answer as a guide to the town would answer.",
                   task=told, interleaved=interleaved, prompted=prompted)  # fmt: skip
    if documents:
        found: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(documents)]
        agent.steps.append(
            RecordedStep(key="found", type=StepType.RETRIEVAL, name="guide", parent="main",
                         input={"query": task, "top_k": len(documents)}, output={"documents": found})
        )  # fmt: skip
    agent.run(turns)
    root = RecordedStep(
        key="main", type=StepType.AGENT, name="answerer", input={"task": task}, output={"text": agent.said}
    )  # fmt: skip
    output = RecordedStep(
        key="output", type=StepType.OUTPUT, name="answer", parent="main", input={"text": agent.said},
        output={"text": agent.said},
    )  # fmt: skip
    return RecordedRun(
        external_id=external_id, name="agents", app="agents", format="test", steps=(root, *agent.steps, output)
    )  # fmt: skip


HEIGHT = Asks("measure", {"what": "the tower"}, "The tower is 300 metres high.")
BUILDER = Asks("look_up", {"who": "built the tower"}, "The tower was built by Ada Example.")
AGE = Asks("look_up", {"when": "the tower was built"}, "It was built in 1889.")
ANSWER = Says("The tower is 300 metres high, and Ada Example built it.")
PARALLEL: Sequence[Turn] = ((HEIGHT, BUILDER), ANSWER)
RESEARCH = Asks(
    "research", {"task": "find out how high the tower is"},
    inside=((HEIGHT,), Says("I found out that it is 300 metres high.")),
)  # fmt: skip
ORIGIN = Asks(
    "research", {"task": "find out who has built the tower"},
    inside=((BUILDER,), Says("I found out that Ada Example built it.")),
)  # fmt: skip
NESTED: Sequence[Turn] = ((RESEARCH,), ANSWER)
TEAM: Sequence[Turn] = ((RESEARCH, ORIGIN), ANSWER)
