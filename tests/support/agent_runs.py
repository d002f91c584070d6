"""Recorded runs of agents as recorders shape them: calls in parallel, containers around each step, agents in tools."""

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
class Asks:
    """One call; `inside` are the turns of the agent that answers it, where one does.

    `by` is the type of the step that answers: recorders write agents and searches without a tool step around them.
    """

    tool: str
    arguments: JSONObject
    result: JSONValue = None
    inside: Sequence["Turn"] = ()
    by: Literal[StepType.TOOL, StepType.AGENT, StepType.RETRIEVAL] = StepType.TOOL


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
    searched: bool = False
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
            result, steps = _answering(one, tool, parent, call_id, self.shape)
            groups.append(steps)
            content = result if isinstance(result, str) else json.dumps(result)
            self.history.append({"role": "tool", "content": content, "tool_call_id": call_id})
        self.steps += _interleaved(groups) if self.interleaved else [step for group in groups for step in group]
        if self.searched:
            self._search(key)

    def _search(self, key: str) -> None:
        """Look up what was found last, and tell the model, as agents do that search before each request."""
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
    asked: Asks, key: str, parent: str | None, call_id: str, shape: Shape
) -> tuple[JSONValue, list[RecordedStep]]:
    """The steps that answer a call, and what the model is handed."""
    if asked.by is StepType.RETRIEVAL:
        return _search(asked, key, parent)
    around = parent if asked.by is StepType.AGENT else key
    result, inside = _sub_agent(key, around, asked, shape) if asked.inside else (asked.result, [])
    if asked.by is StepType.AGENT:
        return result, inside
    step = RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=asked.tool,
        tool_name=asked.tool,
        parent=parent,
        call_id=call_id,
        input=asked.arguments,
        output=result,
    )
    return result, [step, *inside]


def _search(asked: Asks, key: str, parent: str | None) -> tuple[JSONValue, list[RecordedStep]]:
    """A retrieval that nobody's call id names; the model is handed the documents' texts."""
    texts = [str(text) for text in asked.result] if isinstance(asked.result, list) else []
    documents: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(texts)]
    step = RecordedStep(
        key=key,
        type=StepType.RETRIEVAL,
        name="guide",
        parent=parent,
        input={**asked.arguments, "top_k": len(texts)},
        output={"documents": documents},
    )
    return "\n".join(texts), [step]


def _sub_agent(tool: str, parent: str | None, asked: Asks, shape: Shape) -> tuple[str, list[RecordedStep]]:
    """An agent that answers a call, and what it says last."""
    task = str(asked.arguments["task"])
    agent = RecordedStep(
        key=f"{tool}.agent", type=StepType.AGENT, name="researcher", parent=parent, input={"task": task}
    )
    inner = _Agent(key=f"{tool}.agent", parent=agent.key, shape=shape, system="You research.", task=f"Task: {task}")
    inner.run(asked.inside)
    return inner.said, [agent, *inner.steps]


def _last_words(history: Sequence[JSONValue]) -> str:
    last = history[-1]
    return str(last["content"]) if isinstance(last, dict) else ""


def _interleaved(groups: Sequence[Sequence[RecordedStep]]) -> list[RecordedStep]:
    """One step of each in turn, as parallel work is recorded."""
    longest = max(map(len, groups))
    return [group[at] for at in range(longest) for group in groups if at < len(group)]


def agent_run(
    turns: Sequence[Turn],
    *,
    shape: Shape = "flat",
    interleaved: bool = False,
    external_id: str = "agents",
    task: str = "How high is the tower, and who built it?",
    documents: Sequence[str] = (),
    prompted: bool = False,
    searched: bool = False,
) -> RecordedRun:
    """An agent step with its turns, and what it said as output; `documents` are looked up first, and told it."""
    told = "\n".join((task, *documents))
    agent = _Agent(
        key="main",
        parent="main",
        shape=shape,
        system="You answer as a guide to the town would answer.",
        task=told,
        interleaved=interleaved,
        prompted=prompted,
        searched=searched,
    )
    if documents:
        found: list[JSONValue] = [{"id": str(at), "content": text} for at, text in enumerate(documents)]
        agent.steps.append(
            RecordedStep(
                key="found",
                type=StepType.RETRIEVAL,
                name="guide",
                parent="main",
                input={"query": task, "top_k": len(documents)},
                output={"documents": found},
            )
        )
    agent.run(turns)
    root = RecordedStep(
        key="main", type=StepType.AGENT, name="answerer", input={"task": task}, output={"text": agent.said}
    )
    output = RecordedStep(
        key="output",
        type=StepType.OUTPUT,
        name="answer",
        parent="main",
        input={"text": agent.said},
        output={"text": agent.said},
    )
    return RecordedRun(
        external_id=external_id, name="agents", app="agents", format="test", steps=(root, *agent.steps, output)
    )


HEIGHT = Asks("measure", {"what": "the tower"}, "The tower is 300 metres high.")
BUILDER = Asks("look_up", {"who": "built the tower"}, "The tower was built by Ada Example.")
AGE = Asks("look_up", {"when": "the tower was built"}, "It was built in 1889.")
ANSWER = Says("The tower is 300 metres high, and Ada Example built it.")
PARALLEL: Sequence[Turn] = ((HEIGHT, BUILDER), ANSWER)
RESEARCH = Asks(
    "research",
    {"task": "find out how high the tower is"},
    inside=((HEIGHT,), Says("I found out that it is 300 metres high.")),
)
ORIGIN = Asks(
    "research",
    {"task": "find out who has built the tower"},
    inside=((BUILDER,), Says("I found out that Ada Example built it.")),
)
FOUND = Asks("search", {"query": "tickets for the tower"}, ["Tickets are 9 euros.", "Closed."], by=StepType.RETRIEVAL)
NESTED: Sequence[Turn] = ((RESEARCH,), ANSWER)
TEAM: Sequence[Turn] = ((RESEARCH, ORIGIN), ANSWER)
