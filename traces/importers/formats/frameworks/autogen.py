"""Dumps of AG2 and AutoGen: chat results, the messages of every peer, lists of named messages, and AutoGen 0.4's
results and saved states of teams.

The `role` of a message is the one that it had for whoever wrote the dump: who spoke is in `name`, or in `source`.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.speakers import Result, Team, Utterance, Voice, build_steps, classify_speaker, join_lines
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import first, items, obj, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.frameworks.autogen_events import TYPES, utterances_of

FORMAT: Final = "autogen"
_LISTS: Final = ("chat_history", "trajectory", "messages", "history")
_IDS: Final = ("run_id", "chat_id", "instance_id", "conversation_id", "id")
_NOT_METADATA: Final = frozenset({*_LISTS, "agent_states", "agents"})
_MAPPED: Final = frozenset(
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


def recognises(sample: Sample) -> float:
    """How sure it is that the file is such a dump; less where only the names of several speakers show it."""
    if any(_chats(value) for value in sample.values):
        return 0.8
    # each line a message
    lines = sample.objects if sample.is_lines else []
    return 0.8 if _is_named(lines) or _is_events(lines) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each conversation of the file."""
    values = [(record.value, record.location) for record in source.records()]
    if source.is_lines and not any(_chats(value) for value, _ in values):
        values = [([value for value, _ in values], "")]
    for value, where in values:
        for name, body, messages in _chats(value):
            yield _run(body, messages, name, where)


_Chat = tuple[str, JSONObject, list[JSONObject]]


def _chats(value: JSONValue) -> list[_Chat]:
    """The conversations in a document: the name of each, what stands around it, and its messages."""
    if isinstance(value, list):
        listed = [obj(each) for each in value]
        if _is_named(listed) or _is_events(listed):
            return [("", {}, listed)]
        return [chat for each in listed for chat in _chats(each)]
    body = obj(value)
    for name in _LISTS:
        listed = [obj(each) for each in items(body.get(name))]
        if _is_named(listed) or _is_events(listed):
            return [("", body, listed)]
    if isinstance(body.get("agent_states"), dict):
        return _threads(body)
    peers = {name: [obj(each) for each in items(messages)] for name, messages in body.items()}
    if (
        peers
        and peers.keys().isdisjoint(_LISTS)
        and all(isinstance(each, list) for each in body.values())
        and all(map(_is_spoken, peers.values()))
    ):
        return [(name, {}, messages) for name, messages in peers.items() if messages]
    return []


def _threads(body: JSONObject) -> list[_Chat]:
    """The message thread of a saved team, as its manager holds it; else the context of each agent."""
    states = {
        name: obj(obj(state).get("agent_state")) or obj(state) for name, state in obj(body["agent_states"]).items()
    }
    threads = [[obj(each) for each in items(state.get("message_thread"))] for state in states.values()]
    if any(threads):
        return [("", body, max(threads, key=len))]
    contexts = {
        name: [obj(each) for each in items(obj(state.get("llm_context")).get("messages"))]
        for name, state in states.items()
    }
    return [
        (name, body, [{"agent": name, **each} for each in messages]) for name, messages in contexts.items() if messages
    ]


def _is_spoken(messages: list[JSONObject]) -> bool:
    return all("role" in each and "content" in each for each in messages) and any("name" in each for each in messages)


def _is_named(messages: list[JSONObject]) -> bool:
    """Whether the messages of several speakers have their names."""
    spoken = [each for each in messages if text(each.get("role")) in {"user", "assistant"} and "content" in each]
    names = {text(each.get("name")) for each in spoken if each.get("name")}
    return len(names) > 1 or (bool(names) and any("tool_responses" in each for each in messages))


def _is_events(messages: list[JSONObject]) -> bool:
    known = [each for each in messages if "source" in each and text(each.get("type")) in TYPES]
    return bool(known) and not any("specversion" in each for each in known)


def _run(body: JSONObject, messages: list[JSONObject], name: str, where: str) -> RecordedRun:
    if _is_events(messages) or any("agent" in each and "type" in each for each in messages):
        said = utterances_of(messages, where)
    else:
        said = [_utterance(message, f"{where}/{at}") for at, message in enumerate(messages)]
    correct = obj(body.get("other_data")).get("correct")
    spent = obj(obj(body.get("cost")).get("usage_including_cached_inference"))
    models = [key for key, value in spent.items() if isinstance(value, dict)]
    only = models[0] if len(models) == 1 else text(first(body, "llm_name", "model"))
    named = {**({each.speaker: only for each in said} if only else {}), **_models(body)}
    own_id = text(first(body, *_IDS))
    team = Team(name=name or "team", models=named, instructions=_instructions(body), task=_task(body, said))
    steps = build_steps(said, team)
    steps[0] = _with_totals(steps[0], [obj(spent[model]) for model in models], f"{where}/cost")
    # a chat's id counts the chats of one program, and peers share what stands around them
    external_id = "-".join(part for part in (own_id or FORMAT, name, content_id([*messages], where)) if part)
    return build_run(
        RunFacts(
            external_id=external_id,
            app=FORMAT,
            format=FORMAT,
            metadata={key: value for key, value in body.items() if key not in _NOT_METADATA},
            judgements=[judgement("correct", correct)] if isinstance(correct, bool) else [],
        ),
        steps,
        location=where,
    )


def _with_totals(root: RecordedStep, spent: list[JSONObject], where: str) -> RecordedStep:
    """What all agents spent with every model, where their messages do not tell it."""
    usages = [normalize_usage(each, where) for each in spent]
    return replace(
        root,
        tokens_in=sum(each.tokens_in or 0 for each in usages) if usages else None,
        tokens_out=sum(each.tokens_out or 0 for each in usages) if usages else None,
        cost_usd=sum((each.cost_usd or Decimal() for each in usages), Decimal()) or None,
    )


def _models(body: JSONObject) -> dict[str, str]:
    """The model of each agent, where the dump has the agents' settings."""
    named: dict[str, str] = {}
    for agent in (obj(each) for each in items(body.get("agents"))):
        config = obj(agent.get("llm_config"))
        settings = [config, *(obj(each) for each in items(config.get("config_list"))), agent]
        model = next((text(each.get("model")) for each in settings if each.get("model")), "")
        if model:
            named[text(agent.get("name"))] = model
    return named


def _instructions(body: JSONObject) -> dict[str, str]:
    agents = [obj(each) for each in items(body.get("agents"))]
    return {text(each.get("name")): text(each.get("system_message")) for each in agents if each.get("system_message")}


def _task(body: JSONObject, said: list[Utterance]) -> str:
    """The task, where no message of a user says it."""
    if any(each.voice is Voice.USER for each in said):
        return ""
    return text(join_lines(first(body, "problem_statement", "task", "question")))


def _utterance(message: JSONObject, where: str) -> Utterance:
    role = text(message.get("role"))
    speaker = text(message.get("name")) or role
    content = join_lines(message.get("content"))
    results = list(_results(message, role))
    calls = [*items(message.get("tool_calls"))]
    if isinstance(message.get("function_call"), dict):
        called = obj(message["function_call"])
        calls.append({"id": called.get("name"), "function": called})  # its result names the function
    voice = classify_speaker(speaker, content)
    if calls:
        voice = Voice.AGENT
    elif results or role == "system":
        voice = Voice.CONTEXT
    usage = normalize_usage(obj(message.get("usage")), f"{where}/usage")
    return Utterance(
        speaker=speaker,
        content=content,
        location=where,
        voice=voice,
        at=parse_time(first(message, "timestamp", "created_at"), where),
        calls=tuple(calls),
        results=tuple(results),
        usage=usage,
        model=text(message.get("model")),
        attributes={key: value for key, value in message.items() if key not in _MAPPED and value not in (None, "", [])},
    )


def _results(message: JSONObject, role: str) -> Iterator[Result]:
    for response in (obj(each) for each in items(message.get("tool_responses"))):
        content = response.get("content")
        error = content if isinstance(content, str) and content.startswith("Error:") else ""
        yield Result(call_id=text(response.get("tool_call_id")), content=content, error=error)
    if not items(message.get("tool_responses")) and role in {"tool", "function"}:
        yield Result(call_id=text(first(message, "tool_call_id", "name")), content=message.get("content"))
