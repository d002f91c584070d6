"""Dumps of AG2 and AutoGen: chat results, messages by peer, lists of named messages, and the results and saved team
states of AutoGen 0.4.

The `role` of a message depends on the agent that wrote the dump. The speaker is in `name` or `source`.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common import benchmark_scores
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.teams.autogen_events import TYPES, add_events, build_utterances
from traces.importers.formats.teams.speakers import (
    Result,
    Team,
    Utterance,
    Voice,
    build_steps,
    classify_speaker,
    join_lines,
)

FORMAT: Final = "autogen"
_LISTS: Final = ("chat_history", "trajectory", "messages", "history")
_IDS: Final = ("run_id", "chat_id", "instance_id", "conversation_id", "id")
_NOT_METADATA: Final = frozenset({*_LISTS, "agent_states", "agents", "llm_context"})
_MAPPED_FIELDS: Final = frozenset(
    {
        "content",
        "role",
        "name",
        "tool_calls",
        "tool_responses",
        "function_call",
        "tool_call_id",
        "usage",
        "model",
        "timestamp",
        "created_at",
    }
)


def sniff(sample: Sample) -> float:
    """Return the confidence that the file is such a dump; below 1, as only speaker names may indicate it."""
    if any(_chats(value) for value in sample.values):
        return 0.8
    # One message per line.
    lines = sample.objects if sample.is_lines else []
    return 0.8 if _has_named_speakers(lines) or _is_events(lines) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per conversation of the file."""
    values = [(record.value, record.location) for record in source.records()]
    if source.is_lines and not any(_chats(value) for value, _ in values):
        values = [(_stream([value for value, _ in values]), "")]
    for value, location in values:
        for name, body, messages in _chats(value):
            yield _run(body, messages, name, location)


def _stream(lines: list[JSONValue]) -> JSONValue:
    """Return the messages of a stream, with the result that ended it."""
    result = as_object(lines[-1])
    return {**result, "messages": lines[:-1]} if "stop_reason" in result and not result.get("messages") else lines


_Chat = tuple[str, JSONObject, list[JSONObject]]


def _chats(value: JSONValue) -> list[_Chat]:
    """Return the name, the surrounding object and the messages of each conversation in a document."""
    if isinstance(value, list):
        messages = [as_object(message) for message in value]
        if _has_named_speakers(messages) or _is_events(messages):
            return [("", {}, messages)]
        return [chat for item in messages for chat in _chats(item)]
    body = as_object(value)
    for name in _LISTS:
        messages = [as_object(message) for message in as_list(body.get(name))]
        if _has_named_speakers(messages) or _is_events(messages):
            return [("", body, messages)]
    if has_object(body, "agent_states"):
        return _threads(body)
    if has_object(body, "llm_context"):
        return [(_owner(body), body, chat) for _, _, chat in _threads({"agent_states": {_owner(body): body}})]
    peers = {name: [as_object(message) for message in as_list(chat)] for name, chat in body.items()}
    if (
        peers
        and peers.keys().isdisjoint(_LISTS)
        and all(isinstance(chat, list) for chat in body.values())
        and all(map(_is_peer_chat, peers.values()))
    ):
        return [(name, {}, chat) for name, chat in peers.items() if chat]
    return []


def _threads(body: JSONObject) -> list[_Chat]:
    """Return the message thread of a saved team, or the context of each agent if there is none."""
    states = {
        name: as_object(as_object(state).get("agent_state")) or as_object(state)
        for name, state in as_object(body["agent_states"]).items()
    }
    threads = [[as_object(message) for message in as_list(state.get("message_thread"))] for state in states.values()]
    if any(threads):
        own_messages = [
            as_object(message)
            for state in states.values()
            for message in as_list(as_object(state.get("llm_context")).get("messages"))
        ]
        return [("", body, add_events(max(threads, key=len), own_messages))]
    contexts = {
        name: [as_object(message) for message in as_list(as_object(state.get("llm_context")).get("messages"))]
        for name, state in states.items()
    }
    return [
        (name, body, [{"agent": name, **message} for message in messages])
        for name, messages in contexts.items()
        if messages
    ]


def _owner(state: JSONObject) -> str:
    """Return the name of the agent whose saved state this is; only its answers state it."""
    messages = as_objects(as_object(state["llm_context"]).get("messages"))
    names = [as_text(message.get("source")) for message in messages if message.get("type") == "AssistantMessage"]
    return next(iter(names), "agent")


def _is_peer_chat(messages: list[JSONObject]) -> bool:
    return all("role" in message and "content" in message for message in messages) and any(
        "name" in message for message in messages
    )


def _has_named_speakers(messages: list[JSONObject]) -> bool:
    """Return True if the messages name several speakers."""
    chat_messages = [
        message
        for message in messages
        if as_text(message.get("role")) in {"user", "assistant"} and "content" in message
    ]
    names = {as_text(message.get("name")) for message in chat_messages if message.get("name")}
    return len(names) > 1 or (bool(names) and any("tool_responses" in message for message in messages))


def _is_events(messages: list[JSONObject]) -> bool:
    events = [message for message in messages if "source" in message and as_text(message.get("type")) in TYPES]
    return bool(events) and not any("specversion" in event for event in events)


def _run(body: JSONObject, messages: list[JSONObject], name: str, location: str) -> RecordedRun:
    if _is_events(messages) or any("agent" in message and "type" in message for message in messages):
        utterances = build_utterances(messages, location)
    else:
        utterances = [_utterance(message, f"{location}/{index}") for index, message in enumerate(messages)]
    correct = as_object(body.get("other_data")).get("correct")
    judgements = [*benchmark_scores.read_judgements(body)]
    if isinstance(correct, bool):
        judgements.append(judgement("correct", correct))
    if reason := as_text(body.get("stop_reason")):
        judgements.append(termination(reason))
    model_usage = as_object(as_object(body.get("cost")).get("usage_including_cached_inference"))
    used_models = [key for key, value in model_usage.items() if isinstance(value, dict)]
    only_model = used_models[0] if len(used_models) == 1 else as_text(first_member(body, "llm_name", "model"))
    models = {**({utterance.speaker: only_model for utterance in utterances} if only_model else {}), **_models(body)}
    body_id = as_text(first_member(body, *_IDS))
    team = Team(name=name or "team", models=models, instructions=_instructions(body), task=_task(body, utterances))
    steps = build_steps(utterances, team)
    steps[0] = _with_totals(steps[0], [as_object(model_usage[model]) for model in used_models], f"{location}/cost")
    # The id of a chat is a counter within one program, and peers share the surrounding object.
    external_id = "-".join(part for part in (body_id or FORMAT, name, content_id([*messages], location)) if part)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            metadata={key: value for key, value in body.items() if key not in _NOT_METADATA},
            judgements=judgements,
        ),
        steps,
        location=location,
    )


def _with_totals(root: RecordedStep, model_usage: list[JSONObject], location: str) -> RecordedStep:
    """Set the total usage over all models on the agent step, as the messages lack it."""
    usages = [normalize_usage(entry, location) for entry in model_usage]
    return replace(
        root,
        tokens_in=sum(usage.tokens_in or 0 for usage in usages) if usages else None,
        tokens_out=sum(usage.tokens_out or 0 for usage in usages) if usages else None,
        cost_usd=sum((usage.cost_usd or Decimal() for usage in usages), Decimal()) or None,
    )


def _models(body: JSONObject) -> dict[str, str]:
    """Return the model of each agent whose settings are in the dump."""
    models: dict[str, str] = {}
    for agent in (as_object(value) for value in as_list(body.get("agents"))):
        config = as_object(agent.get("llm_config"))
        settings = [config, *(as_object(entry) for entry in as_list(config.get("config_list"))), agent]
        model = next((as_text(entry.get("model")) for entry in settings if entry.get("model")), "")
        if model:
            models[as_text(agent.get("name"))] = model
    return models


def _instructions(body: JSONObject) -> dict[str, str]:
    agents = [as_object(agent) for agent in as_list(body.get("agents"))]
    return {
        as_text(agent.get("name")): as_text(agent.get("system_message"))
        for agent in agents
        if agent.get("system_message")
    }


def _task(body: JSONObject, utterances: list[Utterance]) -> str:
    """Return the task; empty if a user message has it."""
    if any(utterance.voice is Voice.USER for utterance in utterances):
        return ""
    return as_text(join_lines(first_member(body, "problem_statement", "task", "question")))


def _utterance(message: JSONObject, location: str) -> Utterance:
    role = as_text(message.get("role"))
    speaker = as_text(message.get("name")) or role
    content = join_lines(message.get("content"))
    results = list(_results(message, role))
    calls = [*as_list(message.get("tool_calls"))]
    if has_object(message, "function_call"):
        function_call = as_object(message["function_call"])
        # The result names the function instead of a call id.
        calls.append({"id": function_call.get("name"), "function": function_call})
    voice = classify_speaker(speaker, content)
    if calls:
        voice = Voice.AGENT
    elif results or role == "system":
        voice = Voice.CONTEXT
    usage = normalize_usage(as_object(message.get("usage")), f"{location}/usage")
    return Utterance(
        speaker=speaker,
        content=content,
        location=location,
        voice=voice,
        at=parse_time(first_member(message, "timestamp", "created_at"), location),
        calls=tuple(calls),
        results=tuple(results),
        usage=usage,
        model=as_text(message.get("model")),
        attributes={
            key: value for key, value in message.items() if key not in _MAPPED_FIELDS and value not in (None, "", [])
        },
    )


def _results(message: JSONObject, role: str) -> Iterator[Result]:
    for response in (as_object(value) for value in as_list(message.get("tool_responses"))):
        content = response.get("content")
        error = content if isinstance(content, str) and content.startswith("Error:") else ""
        yield Result(call_id=as_text(response.get("tool_call_id")), content=content, error=error)
    if not as_list(message.get("tool_responses")) and role in {"tool", "function"}:
        yield Result(call_id=as_text(first_member(message, "tool_call_id", "name")), content=message.get("content"))
