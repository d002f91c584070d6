"""Steps of conversations among several agents: turns, agents, their calls, and code executions.

Speakers are identified by name. An agent receives its own messages as the assistant's, and all others as user
messages with the speaker's name. Multi-agent programs build their requests this way.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, cast

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers.common.messages import message_text, normalize_tool_call, result_text
from traces.importers.common.model_calls import Usage, normalize_provider
from traces.importers.common.run_builder import AGENT_KEY, OUTPUT_KEY
from traces.payloads.conversation import Conversation

_ROOT: Final = AGENT_KEY
_UNKNOWN: Final = Usage()
_USER: Final = re.compile(
    r"(?:human|user|customer|admin|you|(?=\w*proxy)\w++)(?:[ _-]?(?:proxy|agent|input|simulator))*", re.I
)
_MACHINE: Final = re.compile(r"(?:computer[ _-]?)?terminal|(?:code[ _-]?)?executor(?:[ _-]?agent)?", re.I)
_EXIT_CODE: Final = re.compile(r"\s*exit ?code:\s*(-?\d+)", re.I)
_CODE: Final = re.compile(r"```[\w+-]*[ \t]*\r?\n(.*?)```", re.S)


class Voice(StrEnum):
    """Kind of speaker. An utterance of kind `context` is part of the agents' input and gets no step."""

    USER = "user"
    AGENT = "agent"
    MACHINE = "machine"
    CONTEXT = "context"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The result of a tool call, from any message."""

    call_id: str
    content: JSONValue
    error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Utterance:
    """One message of the conversation. `audience` lists the recipients by name; None means all agents."""

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
    """The agents' configuration. `task` is a request that no message contains."""

    name: str
    models: Mapping[str, str] = field(default_factory=dict)
    instructions: Mapping[str, str] = field(default_factory=dict)
    task: str = ""


def classify_speaker(speaker: str, content: JSONValue) -> Voice:
    """Infer the kind of speaker from its name and content."""
    if (isinstance(content, str) and _EXIT_CODE.match(content)) or _MACHINE.fullmatch(speaker.strip()):
        return Voice.MACHINE
    return Voice.USER if _USER.fullmatch(speaker.strip()) else Voice.AGENT


@dataclass(kw_only=True)
class _Dialogue:
    """The conversation so far. The agents' histories share their messages."""

    team: Team
    steps: list[RecordedStep] = field(default_factory=list)
    utterances: list[Utterance] = field(default_factory=list)
    histories: dict[str, Conversation] = field(default_factory=dict)
    # Step indexes of calls without a result, by call id.
    pending: dict[str, int] = field(default_factory=dict)
    # Callers by call id.
    callers: dict[str, str] = field(default_factory=dict)
    turn: str = _ROOT
    # Key of the current agent's step.
    agent: str = ""
    speaker: str = ""
    last_utterance: Utterance | None = None
    # Messages that are in no step and no agent's request so far.
    unread: list[JSONValue] = field(default_factory=list)
    # Messages without a text or a call.
    empty: list[JSONValue] = field(default_factory=list)


def build_steps(utterances: Sequence[Utterance], team: Team) -> list[RecordedStep]:
    """Build the steps of a conversation. The nth message's step has the key `msg-n`."""
    dialogue = _Dialogue(team=team)
    dialogue.steps.append(RecordedStep(key=_ROOT, type=StepType.AGENT, name=team.name))
    for number, utterance in enumerate(utterances, 1):
        has_result = _record_results(dialogue, utterance)
        match utterance.voice:
            case Voice.USER if _has_content(utterance):
                _add_user_turn(dialogue, utterance, number)
            case Voice.MACHINE:
                _add_execution(dialogue, utterance, number)
            case Voice.AGENT if _has_content(utterance) or utterance.calls:
                _add_model_step(dialogue, utterance, number)
                dialogue.unread.clear()
            case _ if not has_result:
                _note_message_without_step(dialogue, utterance)
        _update_histories(dialogue, utterance)
        dialogue.last_utterance = utterance
    _end_containers(dialogue, utterances)
    return dialogue.steps


def _note_message_without_step(dialogue: _Dialogue, utterance: Utterance) -> None:
    message: JSONObject = {"name": utterance.speaker, "content": utterance.content, **utterance.attributes}
    if utterance.results:
        dialogue.unread += [{**message, "content": result.content} for result in utterance.results]
    else:
        (dialogue.unread if _has_content(utterance) else dialogue.empty).append(message)


def _has_content(utterance: Utterance) -> bool:
    return utterance.content not in (None, "", [], {})


def _add_user_turn(dialogue: _Dialogue, utterance: Utterance, number: int) -> None:
    message = _as_user_message(utterance)
    dialogue.turn = f"msg-{number}"
    dialogue.agent = dialogue.speaker = ""
    dialogue.steps.append(
        RecordedStep(
            key=dialogue.turn,
            type=StepType.TURN,
            name=message_text(message) or "turn",
            parent=_ROOT,
            started_at=utterance.at,
            input={"messages": [message]},
            attributes=utterance.attributes,
        )
    )


def _add_model_step(dialogue: _Dialogue, utterance: Utterance, number: int) -> None:
    if utterance.speaker != dialogue.speaker or not dialogue.agent:
        dialogue.speaker, dialogue.agent = utterance.speaker, f"agent-{number}"
        dialogue.steps.append(
            RecordedStep(
                key=dialogue.agent,
                type=StepType.AGENT,
                name=utterance.speaker or "agent",
                parent=dialogue.turn,
                started_at=utterance.at,
            )
        )
    model = utterance.model or dialogue.team.models.get(utterance.speaker, "")
    dialogue.steps.append(
        RecordedStep(
            key=f"msg-{number}",
            type=StepType.MODEL,
            name=model or utterance.speaker or "model",
            parent=dialogue.agent,
            model=model,
            provider=normalize_provider(None, model),
            started_at=dialogue.last_utterance.at if dialogue.last_utterance and utterance.at else None,
            ended_at=utterance.at,
            input=_request(dialogue, utterance.speaker),
            output={"message": _as_assistant_message(utterance)},
            tokens_in=utterance.usage.tokens_in,
            tokens_out=utterance.usage.tokens_out,
            tokens_cached=utterance.usage.tokens_cached,
            cost_usd=utterance.usage.cost_usd,
            attributes={"agent": utterance.speaker, **utterance.attributes},
        )
    )
    for index, call in enumerate(utterance.calls):
        _add_tool_step(dialogue, normalize_tool_call(call), utterance, f"msg-{number}.{index}")


def _add_tool_step(dialogue: _Dialogue, call: JSONObject, utterance: Utterance, key: str) -> None:
    name, call_id = as_text(call["name"]), as_text(call["id"])
    dialogue.pending[call_id] = len(dialogue.steps)
    dialogue.callers[call_id] = utterance.speaker
    dialogue.steps.append(
        RecordedStep(
            key=key,
            type=StepType.TOOL,
            name=name or "tool",
            tool_name=name,
            call_id=call_id,
            parent=dialogue.agent,
            started_at=utterance.at,
            input=call["arguments"],
            status=StepStatus.PARTIAL,
        )
    )


def _record_results(dialogue: _Dialogue, utterance: Utterance) -> bool:
    """Give the calls of a message's results their outputs; return whether there were any."""
    has_result = False
    for result in utterance.results:
        index = dialogue.pending.pop(result.call_id, None)
        # A result without its call in the conversation is only part of the agents' input.
        if index is None:
            continue
        step, status = dialogue.steps[index], StepStatus.ERROR if result.error else StepStatus.OK
        # Other utterances have a step that states what is known of them.
        notes = utterance.attributes if utterance.voice is Voice.CONTEXT else {}
        dialogue.steps[index] = replace(
            step,
            output=result.content,
            error=result.error,
            status=status,
            ended_at=utterance.at,
            attributes={**step.attributes, **notes},
        )
        has_result = True
    return has_result


def _add_execution(dialogue: _Dialogue, utterance: Utterance, number: int) -> None:
    """Add the execution of the code in the previous message."""
    previous = dialogue.last_utterance
    match = _EXIT_CODE.match(as_text(utterance.content))
    code = match[1] if match else ""
    error = f"exit code {code}" if code not in {"", "0"} else ""
    blocks: list[JSONValue] = [*_CODE.findall(message_text({"content": previous.content}) if previous else "")]
    dialogue.steps.append(
        RecordedStep(
            key=f"msg-{number}",
            type=StepType.TOOL,
            name=utterance.speaker or "terminal",
            tool_name=utterance.speaker or "terminal",
            parent=dialogue.turn,
            started_at=previous.at if previous and utterance.at else None,
            ended_at=utterance.at,
            input={"code": blocks} if blocks else {},
            output=utterance.content,
            error=error,
            status=StepStatus.ERROR if error else StepStatus.OK,
            links=(f"msg-{number - 1}",),
            attributes=utterance.attributes,
        )
    )
    dialogue.agent = dialogue.speaker = ""


def _update_histories(dialogue: _Dialogue, utterance: Utterance) -> None:
    dialogue.utterances.append(utterance)
    for name, history in dialogue.histories.items():
        for message in _as_received(dialogue, utterance, name):
            history.append(message)


def _request(dialogue: _Dialogue, speaker: str) -> JSONObject:
    """Return an agent's request: its instructions, the task, and the messages it received so far."""
    if speaker not in dialogue.histories:
        instructions = dialogue.team.instructions.get(speaker, "")
        system: list[JSONObject] = [{"role": "system", "content": instructions}] if instructions else []
        task: list[JSONObject] = [{"role": "user", "content": dialogue.team.task}] if dialogue.team.task else []
        messages = [
            message for utterance in dialogue.utterances for message in _as_received(dialogue, utterance, speaker)
        ]
        dialogue.histories[speaker] = Conversation([*system, *task, *messages])
    return {"messages": cast(JSONValue, dialogue.histories[speaker].snapshot)}


def _as_received(dialogue: _Dialogue, utterance: Utterance, listener: str) -> list[JSONObject]:
    """Return an utterance as one agent receives it."""
    is_own = utterance.speaker == listener
    if utterance.audience is not None and not is_own and listener not in utterance.audience:
        return []
    if utterance.results:
        return [
            _as_received_result(utterance, result, is_caller=dialogue.callers.get(result.call_id) == listener)
            for result in utterance.results
        ]
    if is_own and utterance.voice is Voice.AGENT:
        return [_as_assistant_message(utterance)] if _has_content(utterance) or utterance.calls else []
    message = _as_user_message(utterance)
    return [message] if message["content"] else []


def _as_received_result(utterance: Utterance, result: Result, *, is_caller: bool) -> JSONObject:
    """Return a tool message for the caller, and a user message for the other agents."""
    content = result.content if result.content is None else result_text(result.content)
    if not is_caller:
        return {"role": "user", "content": content, **({"name": utterance.speaker} if utterance.speaker else {})}
    return {"role": "tool", "content": content, **({"tool_call_id": result.call_id} if result.call_id else {})}


def _as_assistant_message(utterance: Utterance) -> JSONObject:
    calls: list[JSONValue] = [normalize_tool_call(call) for call in utterance.calls]
    return {"role": "assistant", "content": utterance.content or None, **({"tool_calls": calls} if calls else {})}


def _as_user_message(utterance: Utterance) -> JSONObject:
    """Return an utterance as other agents receive it: without thoughts and tool calls."""
    name = {"name": utterance.speaker} if utterance.speaker and utterance.voice is not Voice.USER else {}
    blocks = [block for block in as_list(utterance.content) if as_object(block).get("type") != "thinking"]
    content = (blocks or None) if isinstance(utterance.content, list) else utterance.content
    return {"role": "user", "content": content, **name}


def _end_containers(dialogue: _Dialogue, utterances: Sequence[Utterance]) -> None:
    """End agents and turns with their last step, with their last answer as output."""
    ends: dict[str, datetime] = {}
    answers: dict[str, JSONValue] = {}
    for step in reversed(dialogue.steps):
        end = max((at for at in (ends.get(step.key), step.ended_at, step.started_at) if at), default=None)
        if step.parent and end:
            ends[step.parent] = max(ends.get(step.parent, end), end)
        answer = as_object(step.output).get("message") if step.type is StepType.MODEL else answers.get(step.key)
        if step.parent and message_text(answer):
            answers.setdefault(step.parent, answer)
    for at, step in enumerate(dialogue.steps):
        if step.type is StepType.TURN:
            output = {"message": answers[step.key]} if step.key in answers else None
            dialogue.steps[at] = replace(step, ended_at=ends.get(step.key), output=output)
        elif step.type is StepType.AGENT:
            dialogue.steps[at] = replace(step, ended_at=ends.get(step.key), output=_text_output(answers.get(step.key)))
    _end_root(dialogue, utterances)


def _text_output(message: JSONValue) -> JSONObject | None:
    return {"text": answer} if (answer := message_text(message)) else None


def _end_root(dialogue: _Dialogue, utterances: Sequence[Utterance]) -> None:
    root = dialogue.steps[0]
    request = next((step.input for step in dialogue.steps if step.type is StepType.TURN), None)
    if request is None and dialogue.team.task:
        request = {"messages": [{"role": "user", "content": dialogue.team.task}]}
    start = next((utterance.at for utterance in utterances if utterance.at), None)
    notes: JSONObject = {
        **({"unread_messages": dialogue.unread} if dialogue.unread else {}),
        **({"empty_messages": dialogue.empty} if dialogue.empty else {}),
    }
    dialogue.steps[0] = replace(root, input=request, started_at=start, attributes={**root.attributes, **notes})
    if root.output is not None:
        end = root.ended_at
        dialogue.steps.append(
            RecordedStep(
                key=OUTPUT_KEY,
                type=StepType.OUTPUT,
                name="output",
                parent=_ROOT,
                started_at=end,
                ended_at=end,
                output=root.output,
            )
        )


def join_lines(content: JSONValue) -> JSONValue:
    """Join content that a dump wrote as a list of lines into one text."""
    lines = as_list(content)
    return "\n".join(as_text(line) for line in lines) if lines and all(isinstance(x, str) for x in lines) else content
