"""MetaGPT: the serialised team (`team.json`), an environment, or a memory's messages.

A message names its role, the action that caused it, and its receivers. The memories of several roles share messages,
which are read once.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_string, omit, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common.identity import content_id
from traces.importers.common.messages import result_text
from traces.importers.common.model_calls import Usage, parse_cost, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.teams.speakers import Team, Utterance, Voice, build_steps

FORMAT: Final = "metagpt"
_ALL: Final = "<all>"
_REQUIREMENT: Final = "UserRequirement"
_USERS: Final = frozenset({"user", "human", "boss"})
# Members that are read as messages, roles and totals.
_READ_MEMBERS: Final = frozenset({"env", "environment", "roles", "history", "memory", "storage", "context", "config"})
_ROLE_CONTEXT: Final = ("rc", "_rc")
_MEMORIES: Final = ("memory", "working_memory")
_MAPPED_FIELDS: Final = frozenset({"content", "role", "sent_from", "send_to", "id", "timestamp"})


def sniff(sample: Sample) -> float:
    """Return the confidence that MetaGPT wrote the file."""
    for value in sample.values:
        messages, _ = _messages(value)
        if any({"content", "role", "cause_by"} <= message.keys() for message in messages):
            return 1.0
    return 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the file."""
    values = [record.value for record in source.records()]
    value: JSONValue = values if source.is_lines else values[0]
    messages, body = _messages(value)
    profiles = _profiles(body)
    utterances = [_utterance(message, profiles, f"/{index}") for index, message in enumerate(messages)]
    config = as_object(as_object(body.get("context")).get("config")) or as_object(body.get("config"))
    model = as_text(as_object(config.get("llm")).get("model"))
    team = Team(
        name="team",
        models={utterance.speaker: model for utterance in utterances} if model else {},
        task=as_text(body.get("idea")) if not any(utterance.voice is Voice.USER for utterance in utterances) else "",
    )
    steps = build_steps(utterances, team)
    steps[0] = _with_totals(steps[0], body)
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([*messages], '')}",
            app=FORMAT,
            format=FORMAT,
            metadata=_metadata(body),
        ),
        steps,
    )


def _messages(value: JSONValue) -> tuple[list[JSONObject], JSONObject]:
    """Return the messages of a document in order without duplicates, and the surrounding object."""
    if isinstance(value, list):
        return [as_object(message) for message in value], {}
    body = as_object(value)
    environment = as_object(first_member(body, "env", "environment")) or body
    history = parse_embedded(first_member(environment, "history", "memory"))
    message_values = as_list(as_object(history).get("storage")) or as_list(history) or as_list(body.get("storage"))
    if not message_values:
        roles = as_object(environment.get("roles")) or as_object(body.get("roles"))
        message_values = [message for role in roles.values() for message in _role_memory(as_object(role))]
    messages_by_id: dict[str, JSONObject] = {}
    for index, message in enumerate(as_object(item) for item in message_values):
        messages_by_id.setdefault(as_text(message.get("id")) or f"/{index}", message)
    messages = list(messages_by_id.values())
    if _have_times(messages_by_id):
        messages.sort(key=lambda message: as_text(message.get("timestamp")))
    return messages, body


def _metadata(body: JSONObject) -> JSONObject:
    """Return what a team states beside its messages: of roles, all but their memories."""
    environment = as_object(first_member(body, "env", "environment"))
    roles = as_object(environment.get("roles")) or as_object(body.get("roles"))
    settings: JSONObject = {name: facts for name, role in roles.items() if (facts := _role_facts(as_object(role)))}
    return {
        **other_members(body, _READ_MEMBERS),
        "environment": other_members(environment, _READ_MEMBERS),
        "roles": settings,
        # Without the configuration, which has keys of APIs.
        "context": other_members(as_object(body.get("context")), {"config"}),
    }


def _role_facts(role: JSONObject) -> JSONObject:
    context = omit(as_object(first_member(role, *_ROLE_CONTEXT)), *_MEMORIES)
    facts = {**omit(role, *_ROLE_CONTEXT), **({"rc": context} if context else {})}
    return {name: value for name, value in facts.items() if value not in (None, "", [], {})}


def _have_times(messages_by_id: dict[str, JSONObject]) -> bool:
    return bool(messages_by_id) and all(has_string(message, "timestamp") for message in messages_by_id.values())


def _role_memory(role: JSONObject) -> list[JSONValue]:
    context = as_object(first_member(role, *_ROLE_CONTEXT))
    return [message for name in _MEMORIES for message in as_list(as_object(context.get(name)).get("storage"))]


def _profiles(body: JSONObject) -> dict[str, str]:
    """Return the profile of each role, by its name and by its profile."""
    environment = as_object(first_member(body, "env", "environment")) or body
    roles = [as_object(role) for role in as_object(environment.get("roles")).values()]
    return {
        as_text(role.get(name)): as_text(role.get("profile"))
        for role in roles
        for name in ("name", "profile")
        if role.get(name) and role.get("profile")
    }


def _utterance(message: JSONObject, profiles: dict[str, str], location: str) -> Utterance:
    role, sender = as_text(message.get("role")), _last(message.get("sent_from"))
    speaker = role if role and role.lower() not in {"assistant", *_USERS} else profiles.get(sender, sender) or role
    action = _last(message.get("cause_by"))
    is_request = action == _REQUIREMENT or (role.lower() in _USERS and not sender)
    receivers = {
        _last(receiver) for receiver in (as_list(message.get("send_to")) or [message.get("send_to")]) if receiver
    }
    audience = frozenset({listener for name in receivers for listener in (name, profiles.get(name, name))})
    other_fields = {
        key: value for key, value in message.items() if key not in _MAPPED_FIELDS and value not in (None, "", [], {})
    }
    return Utterance(
        speaker=speaker,
        content=_content(message),
        location=location,
        voice=Voice.USER if is_request else Voice.AGENT,
        at=parse_time(message.get("timestamp"), f"{location}/timestamp"),
        audience=audience if audience and _ALL not in audience and not is_request else None,
        attributes={
            **other_fields,
            **({"action": action} if action else {}),
            **({"send_to": [*sorted(receivers)]} if receivers - {_ALL} else {}),
        },
    )


def _content(message: JSONObject) -> JSONValue:
    """Return the text of a message, or its structured content as JSON, as an action without a text returns it."""
    content = message.get("content")
    if content not in (None, "", [], {}):
        return content
    document = message.get("instruct_content")
    value = first_member(as_object(document), "value") or document
    return result_text(value) if value else content


def _last(name: JSONValue) -> str:
    """Return the class at the end of a dotted path."""
    return as_text(name).rpartition(".")[2]


def _with_totals(root: RecordedStep, body: JSONObject) -> RecordedStep:
    """Set the usage of the whole team on the agent step."""
    counts = as_object(first_member(as_object(body.get("context")), "cost_manager")) or as_object(
        body.get("cost_manager")
    )
    usage = Usage(
        tokens_in=parse_token_count(counts.get("total_prompt_tokens"), "/cost_manager"),
        tokens_out=parse_token_count(counts.get("total_completion_tokens"), "/cost_manager"),
        cost_usd=parse_cost(counts.get("total_cost")),
    )
    return replace(root, tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, cost_usd=usage.cost_usd)
