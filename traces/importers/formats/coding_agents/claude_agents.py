"""Places of sub-agents in a Claude Code session: below the calls that started them, which a sub-agent may have made.

A call is known by its id (`parent_tool_use_id`), by the agent or the workflow that its result names, or by the task in
its arguments. Files beside that of a sub-agent name its type and its call (`agent-….meta.json`), and the results in a
workflow (`journal.jsonl`).
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from traces.core.json_access import as_object, as_text, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.messages import message_text
from traces.importers.formats.coding_agents import claude_stream
from traces.importers.formats.coding_agents.claude_branches import Line
from traces.payloads.messages import ModelRequest

_WORKFLOW: Final = re.compile(r"workflows/([^/]+)/")
_AGENT_FILE: Final = re.compile(r"agent-([^/]+)\.meta\.json$")
_SESSION_FOLDER: Final = re.compile(r"([^/]+)/subagents/")
# Of what a file states about a sub-agent: its type is its name, and its call is known by the id.
_TYPE: Final = "agentType"
_CALL: Final = "toolUseId"


def is_note(value: JSONValue) -> bool:
    """Return whether `value` is what a file beside a sub-agent's states: its facts, or a line of a journal."""
    body = as_object(value)
    is_journal = {"key", "agentId"} <= body.keys() and body.get("type") in ("started", "result")
    return is_journal or (_TYPE in body and body.keys().isdisjoint({"uuid", "sessionId", "message"}))


def session_of(file: str) -> str:
    """Return the session in whose folder a file about a sub-agent is; empty without a folder."""
    return match[1] if (match := _SESSION_FOLDER.search(file)) else ""


def agent_of(file: str) -> str:
    """Return the id of the sub-agent that a file is about; empty for another file."""
    return match[1] if (match := _AGENT_FILE.search(file)) else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubAgent:
    """The lines of a sub-agent, and its steps as those of a session of its own."""

    lines: Sequence[Line]
    steps: list[RecordedStep]
    facts: JSONObject = field(default_factory=dict)

    @property
    def id(self) -> str:
        return as_text(self.lines[0].record.get("agentId"))

    @property
    def task(self) -> str:
        """The first message to the sub-agent."""
        messages = next((ModelRequest(step.input).messages for step in self.steps if step.type is StepType.MODEL), [])
        texts = (message_text(item) for item in messages if as_object(item).get("role") == "user")
        return next((text.strip() for text in texts if text), "")


@dataclass(kw_only=True)
class _Calls:
    """All calls so far, by what may name them. A task belongs to one sub-agent only."""

    by_id: dict[str, RecordedStep] = field(default_factory=dict)
    by_agent: dict[str, RecordedStep] = field(default_factory=dict)
    by_workflow: dict[str, RecordedStep] = field(default_factory=dict)
    by_task: dict[str, deque[RecordedStep]] = field(default_factory=lambda: defaultdict(deque))
    busy_keys: set[str] = field(default_factory=set)

    def add(self, steps: Iterable[RecordedStep]) -> None:
        for step in steps:
            if step.type is not StepType.TOOL:
                continue
            result = as_object(step.attributes.get("toolUseResult"))
            self.by_id.setdefault(step.call_id, step)
            self.by_agent.setdefault(as_text(result.get("agentId")), step)
            self.by_workflow.setdefault(as_text(result.get("runId")), step)
            for value in as_object(step.input).values():
                if isinstance(value, str):
                    self.by_task[value.strip()].append(step)

    def caller(self, agent: SubAgent) -> RecordedStep | None:
        """Return the call that started a sub-agent; one that names its call has no other."""
        line = agent.lines[0]
        if call_id := as_text(line.record.get(claude_stream.CALLER)):
            return self.by_id.get(call_id)
        if (call_id := as_text(agent.facts.get(_CALL))) in self.by_id:
            return self.by_id[call_id]
        workflow = match[1] if (match := _WORKFLOW.search(line.location)) else ""
        if step := (agent.id and self.by_agent.get(agent.id)) or (workflow and self.by_workflow.get(workflow)):
            return step
        return self._call_with_task(agent.task)

    def _call_with_task(self, task: str) -> RecordedStep | None:
        calls = self.by_task.get(task) if task else None
        while calls:
            step = calls.popleft()
            if step.key not in self.busy_keys:
                return step
        return None


def place(steps: list[RecordedStep], agents: Sequence[SubAgent], *, also_uncalled: bool) -> list[RecordedStep]:
    """Return the steps with each sub-agent's steps below its call; without a call, below the session's agent."""
    calls = _Calls()
    calls.add(steps)
    nested_steps: dict[str, list[RecordedStep]] = defaultdict(list)
    waiting = deque(enumerate(agents, 1))
    # How many agents in a row have no call: after all of them, the next one has none at all.
    misses = 0
    while waiting:
        number, agent = waiting.popleft()
        caller = calls.caller(agent)
        if caller is None and misses <= len(waiting):
            waiting.append((number, agent))
            misses += 1
            continue
        if caller is None and not also_uncalled:
            break
        inner = nest(agent, f"side-{number}/", caller or steps[0])
        nested_steps[(caller or steps[0]).key] += inner
        known_agents = len(calls.by_agent)
        calls.add(inner)
        if caller is not None:
            calls.busy_keys.add(caller.key)
        if caller is not None or len(calls.by_agent) > known_agents:
            misses = 0
    return [*_in_order(steps, nested_steps)]


def nest(agent: SubAgent, prefix: str, caller: RecordedStep | None) -> list[RecordedStep]:
    """Return the steps of a sub-agent, below its caller if there is one."""
    caller_key = caller.key if caller else None
    type = agent.facts.get(_TYPE) or as_object(caller.input if caller else None).get("subagent_type")
    root, *inner_steps = agent.steps
    facts: JSONObject = {**({"agent_id": agent.id} if agent.id else {}), **omit(agent.facts, _TYPE, _CALL)}
    return [
        replace(
            root,
            key=prefix + root.key,
            parent=caller_key,
            name=as_text(type) or "sub-agent",
            attributes={**root.attributes, **facts},
        ),
        *(_move(step, prefix, root.key) for step in inner_steps),
    ]


def _move(step: RecordedStep, prefix: str, root: str) -> RecordedStep:
    links = tuple(prefix + link for link in step.links)
    return replace(step, key=prefix + step.key, parent=prefix + (step.parent or root), links=links)


def _in_order(steps: Sequence[RecordedStep], nested_steps: dict[str, list[RecordedStep]]) -> Iterator[RecordedStep]:
    """Yield the steps, and those of sub-agents after their calls; those without a call come last."""
    own_key = steps[0].key
    stack = [iter(nested_steps.get(own_key, ())), iter(steps)]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            continue
        yield step
        if step.key != own_key and step.key in nested_steps:
            stack.append(iter(nested_steps[step.key]))
