"""Conversations among several agents: turns of users, an agent's step around what it says, tools, and what ran code.

Who speaks is known by name. An agent is shown its own messages as the assistant's and everybody else's as a user's,
under their names: so programs for several agents make their requests.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, cast

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import as_text, message_text, normalize_tool_call
from traces.importers.common.model_calls import Usage, normalize_provider
from traces.importers.files.json_reader import items, obj, text
from traces.payloads.conversation import Conversation

_ROOT: Final = "agent"
_UNKNOWN: Final = Usage()
_USER: Final = re.compile(
    r"(?:human|user|customer|admin|\w*proxy\w*|you)(?:[ _-]?(?:proxy|agent|input|simulator))*", re.I
)
_MACHINE: Final = re.compile(r"(?:computer[ _-]?)?terminal|(?:code[ _-]?)?executor(?:[ _-]?agent)?", re.I)
_EXIT_CODE: Final = re.compile(r"\s*exit ?code:\s*(-?\d+)", re.I)
_CODE: Final = re.compile(r"```[\w+-]*[ \t]*\r?\n(.*?)```", re.S)


class Voice(StrEnum):
    """What kind of speaker an utterance has. `context` is shown to agents, and no step of its own."""

    USER = "user"
    AGENT = "agent"
    MACHINE = "machine"
    CONTEXT = "context"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The result of a tool call, in whatever message it stands."""

    call_id: str
    content: JSONValue
    error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """One message of the conversation; `audience` are the names of who is told, None for everybody."""

    speaker: str
    content: JSONValue
    location: str
    voice: Voice = Voice.AGENT
    at: datetime | None = None
    calls: tuple[JSONValue, ...] = ()
    results: tuple[Result, ...] = ()
    usage: Usage = _UNKNOWN
    model: str = ""
    audience: frozenset[str] | None = None
    attributes: JSONObject = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """What is known of the agents besides what they say; `task` is what no message says."""

    name: str
    models: Mapping[str, str] = field(default_factory=dict)
    instructions: Mapping[str, str] = field(default_factory=dict)
    task: str = ""


def classify_speaker(speaker: str, content: JSONValue) -> Voice:
    """What kind of speaker this is, by its name and by what it says."""
    if (isinstance(content, str) and _EXIT_CODE.match(content)) or _MACHINE.fullmatch(speaker.strip()):
        return Voice.MACHINE
    return Voice.USER if _USER.fullmatch(speaker.strip()) else Voice.AGENT


@dataclass(kw_only=True)
class _Floor:
    """The conversation so far; each agent's history shares its messages with the others'."""

    team: Team
    steps: list[RecordedStep] = field(default_factory=list)
    told: list[Utterance] = field(default_factory=list)
    histories: dict[str, Conversation] = field(default_factory=dict)
    # steps of calls without a result, and who called, by call id
    pending: dict[str, int] = field(default_factory=dict)
    callers: dict[str, str] = field(default_factory=dict)
    turn: str = _ROOT
    agent: str = ""  # the key of the step of the agent that has the floor
    speaker: str = ""
    last_said: Utterance | None = None


def build_steps(utterances: Sequence[Utterance], team: Team) -> list[RecordedStep]:
    """The steps of the conversation; that of the nth message has the key `msg-n`."""
    floor = _Floor(team=team)
    floor.steps.append(RecordedStep(key=_ROOT, type=StepType.AGENT, name=team.name))
    for number, each in enumerate(utterances, 1):
        _answer_calls(floor, each)
        match each.voice:
            case Voice.USER if _words(each):
                _user(floor, each, number)
            case Voice.MACHINE:
                _machine(floor, each, number)
            case Voice.AGENT if _words(each) or each.calls:
                _agent(floor, each, number)
        _tell(floor, each)
        floor.last_said = each
    _close(floor, utterances)
    return floor.steps


def _words(each: Utterance) -> bool:
    return each.content not in (None, "", [], {})


def _user(floor: _Floor, each: Utterance, number: int) -> None:
    message = _as_other(each)
    floor.turn = f"msg-{number}"
    floor.agent = floor.speaker = ""
    floor.steps.append(
        RecordedStep(
            key=floor.turn,
            type=StepType.TURN,
            name=message_text(message) or "turn",
            parent=_ROOT,
            started_at=each.at,
            input={"messages": [message]},
            attributes=each.attributes,
        )
    )


def _agent(floor: _Floor, each: Utterance, number: int) -> None:
    if each.speaker != floor.speaker or not floor.agent:
        floor.speaker, floor.agent = each.speaker, f"agent-{number}"
        floor.steps.append(
            RecordedStep(
                key=floor.agent,
                type=StepType.AGENT,
                name=each.speaker or "agent",
                parent=floor.turn,
                started_at=each.at,
            )
        )
    model = each.model or floor.team.models.get(each.speaker, "")
    floor.steps.append(
        RecordedStep(
            key=f"msg-{number}",
            type=StepType.MODEL,
            name=model or each.speaker or "model",
            parent=floor.agent,
            model=model,
            provider=normalize_provider(None, model),
            started_at=floor.last_said.at if floor.last_said and each.at else None,
            ended_at=each.at,
            input=_shown(floor, each.speaker),
            output={"message": _as_own(each)},
            tokens_in=each.usage.tokens_in,
            tokens_out=each.usage.tokens_out,
            tokens_cached=each.usage.tokens_cached,
            cost_usd=each.usage.cost_usd,
            attributes={"agent": each.speaker, **each.attributes},
        )
    )
    for at, given in enumerate(each.calls):
        _call(floor, normalize_tool_call(given), each, f"msg-{number}.{at}")


def _call(floor: _Floor, call: JSONObject, each: Utterance, key: str) -> None:
    name, call_id = text(call["name"]), text(call["id"])
    floor.pending[call_id] = len(floor.steps)
    floor.callers[call_id] = each.speaker
    floor.steps.append(
        RecordedStep(
            key=key,
            type=StepType.TOOL,
            name=name or "tool",
            tool_name=name,
            call_id=call_id,
            parent=floor.agent,
            started_at=each.at,
            input=call["arguments"],
            status=StepStatus.PARTIAL,
        )
    )


def _answer_calls(floor: _Floor, each: Utterance) -> None:
    for result in each.results:
        place = floor.pending.pop(result.call_id, None)
        if place is None:
            continue  # a result whose call is not in the conversation is what agents are told
        status = StepStatus.ERROR if result.error else StepStatus.OK
        floor.steps[place] = replace(
            floor.steps[place], output=result.content, error=result.error, status=status, ended_at=each.at
        )


def _machine(floor: _Floor, each: Utterance, number: int) -> None:
    """What ran the code of the message before it."""
    before = floor.last_said
    found = _EXIT_CODE.match(text(each.content))
    code = found[1] if found else ""
    error = f"exit code {code}" if code not in {"", "0"} else ""
    blocks: list[JSONValue] = [*_CODE.findall(message_text({"content": before.content}) if before else "")]
    floor.steps.append(
        RecordedStep(
            key=f"msg-{number}",
            type=StepType.TOOL,
            name=each.speaker or "terminal",
            tool_name=each.speaker or "terminal",
            parent=floor.turn,
            started_at=before.at if before and each.at else None,
            ended_at=each.at,
            input={"code": blocks} if blocks else {},
            output=each.content,
            error=error,
            status=StepStatus.ERROR if error else StepStatus.OK,
            links=(f"msg-{number - 1}",),
            attributes=each.attributes,
        )
    )
    floor.agent = floor.speaker = ""


def _tell(floor: _Floor, each: Utterance) -> None:
    floor.told.append(each)
    for name, history in floor.histories.items():
        for message in _heard(floor, each, name):
            history.append(message)


def _shown(floor: _Floor, speaker: str) -> JSONObject:
    """The request of an agent: its instructions, and what it was told so far."""
    if speaker not in floor.histories:
        instructions = floor.team.instructions.get(speaker, "")
        begun: list[JSONObject] = [{"role": "system", "content": instructions}] if instructions else []
        asked: list[JSONObject] = [{"role": "user", "content": floor.team.task}] if floor.team.task else []
        heard = [message for each in floor.told for message in _heard(floor, each, speaker)]
        floor.histories[speaker] = Conversation([*begun, *asked, *heard])
    return {"messages": cast(JSONValue, floor.histories[speaker].so_far)}


def _heard(floor: _Floor, each: Utterance, listener: str) -> list[JSONObject]:
    """An utterance as one agent is shown it."""
    own = each.speaker == listener
    if each.audience is not None and not own and listener not in each.audience:
        return []
    if each.results:
        return [_result(each, result, called=floor.callers.get(result.call_id) == listener) for result in each.results]
    if own and each.voice is Voice.AGENT:
        return [_as_own(each)] if _words(each) or each.calls else []
    other = _as_other(each)
    return [other] if other["content"] else []


def _result(each: Utterance, result: Result, *, called: bool) -> JSONObject:
    """A result: that of a call for its caller, what somebody said for the others."""
    content = result.content if result.content is None or isinstance(result.content, str) else as_text(result.content)
    if not called:
        return {"role": "user", "content": content, **({"name": each.speaker} if each.speaker else {})}
    return {"role": "tool", "content": content, **({"tool_call_id": result.call_id} if result.call_id else {})}


def _as_own(each: Utterance) -> JSONObject:
    calls: list[JSONValue] = [normalize_tool_call(call) for call in each.calls]
    return {"role": "assistant", "content": each.content or None, **({"tool_calls": calls} if calls else {})}


def _as_other(each: Utterance) -> JSONObject:
    """What others are shown of it: not the thoughts, nor the calls."""
    named = {"name": each.speaker} if each.speaker and each.voice is not Voice.USER else {}
    spoken = [block for block in items(each.content) if obj(block).get("type") != "thinking"]
    return {"role": "user", "content": (spoken or None) if isinstance(each.content, list) else each.content, **named}


def _close(floor: _Floor, utterances: Sequence[Utterance]) -> None:
    """Agents and turns end with their last step; what an agent said last is the output."""
    ends: dict[str, datetime] = {}
    answers: dict[str, JSONValue] = {}
    for step in reversed(floor.steps):
        ended = max((at for at in (ends.get(step.key), step.ended_at, step.started_at) if at), default=None)
        if step.parent and ended:
            ends[step.parent] = max(ends.get(step.parent, ended), ended)
        answer = obj(step.output).get("message") if step.type is StepType.MODEL else answers.get(step.key)
        if step.parent and message_text(answer):
            answers.setdefault(step.parent, answer)
    for at, step in enumerate(floor.steps):
        if step.type is StepType.TURN:
            answered = {"message": answers[step.key]} if step.key in answers else None
            floor.steps[at] = replace(step, ended_at=ends.get(step.key), output=answered)
        elif step.type is StepType.AGENT:
            floor.steps[at] = replace(step, ended_at=ends.get(step.key), output=_text(answers.get(step.key)))
    _close_root(floor, utterances)


def _text(message: JSONValue) -> JSONObject | None:
    return {"text": words} if (words := message_text(message)) else None


def _close_root(floor: _Floor, utterances: Sequence[Utterance]) -> None:
    root = floor.steps[0]
    asked = next((step.input for step in floor.steps if step.type is StepType.TURN), None)
    if asked is None and floor.team.task:
        asked = {"messages": [{"role": "user", "content": floor.team.task}]}
    start = next((each.at for each in utterances if each.at), None)
    floor.steps[0] = replace(root, input=asked, started_at=start)
    if root.output is not None:
        ended = root.ended_at
        floor.steps.append(
            RecordedStep(
                key="output",
                type=StepType.OUTPUT,
                name="output",
                parent=_ROOT,
                started_at=ended,
                ended_at=ended,
                output=root.output,
            )
        )


def join_lines(content: JSONValue) -> JSONValue:
    """Content that a dump wrote as a list of its lines, as one text."""
    listed = items(content)
    return "\n".join(text(line) for line in listed) if listed and all(isinstance(x, str) for x in listed) else content
