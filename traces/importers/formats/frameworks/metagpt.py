"""MetaGPT: the serialised team (`team.json`), an environment, or a memory's messages.

A message names its role, the action that caused it, and to whom it goes. The memories of several roles hold the same
messages: each counts once.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import Usage, parse_cost, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.speakers import Team, Utterance, Voice, build_steps
from traces.importers.common.times import parse_time
from traces.importers.files.json_reader import first, items, obj, parse_embedded, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "metagpt"
_ALL: Final = "<all>"
_REQUIREMENT: Final = "UserRequirement"
_USERS: Final = frozenset({"user", "human", "boss"})
_KEPT: Final = ("investment", "idea", "desc", "cost_manager")
_MAPPED: Final = frozenset({"content", "role", "sent_from", "send_to", "id", "timestamp"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file was written by MetaGPT."""
    for value in sample.values:
        found, _ = _messages(value)
        if any({"content", "role", "cause_by"} <= each.keys() for each in found):
            return 1.0
    return 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """The run of the file."""
    values = [record.value for record in source.records()]
    value: JSONValue = values if source.is_lines else values[0]
    messages, body = _messages(value)
    profiles = _profiles(body)
    said = [_utterance(message, profiles, f"/{at}") for at, message in enumerate(messages)]
    config = obj(obj(body.get("context")).get("config")) or obj(body.get("config"))
    model = text(obj(config.get("llm")).get("model"))
    team = Team(
        name="team",
        models={each.speaker: model for each in said} if model else {},
        task=text(body.get("idea")) if not any(each.voice is Voice.USER for each in said) else "",
    )
    steps = build_steps(said, team)
    steps[0] = _with_totals(steps[0], body)
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([*messages], '')}",
            app=FORMAT,
            format=FORMAT,
            metadata={key: body[key] for key in _KEPT if key in body},
        ),
        steps,
    )


def _messages(value: JSONValue) -> tuple[list[JSONObject], JSONObject]:
    """The messages of a document in order, each once, and what stands around them."""
    if isinstance(value, list):
        return [obj(each) for each in value], {}
    body = obj(value)
    environment = obj(first(body, "env", "environment")) or body
    history = parse_embedded(first(environment, "history", "memory"))
    listed = items(obj(history).get("storage")) or items(history) or items(body.get("storage"))
    if not listed:
        roles = obj(environment.get("roles")) or obj(body.get("roles"))
        listed = [message for role in roles.values() for message in _remembered(obj(role))]
    known: dict[str, JSONObject] = {}
    for at, message in enumerate(obj(each) for each in listed):
        known.setdefault(text(message.get("id")) or f"{at}", message)
    return sorted(known.values(), key=lambda each: text(each.get("timestamp"))) if _timed(known) else [
        *known.values()
    ], body


def _timed(known: dict[str, JSONObject]) -> bool:
    return bool(known) and all(isinstance(each.get("timestamp"), str) for each in known.values())


def _remembered(role: JSONObject) -> list[JSONValue]:
    context = obj(first(role, "rc", "_rc"))
    return [
        message for name in ("memory", "working_memory") for message in items(obj(context.get(name)).get("storage"))
    ]


def _profiles(body: JSONObject) -> dict[str, str]:
    """The profile of each role under its own name and that of its class."""
    environment = obj(first(body, "env", "environment")) or body
    roles = [obj(role) for role in obj(environment.get("roles")).values()]
    return {
        text(role.get(name)): text(role.get("profile"))
        for role in roles
        for name in ("name", "profile")
        if role.get(name) and role.get("profile")
    }


def _utterance(message: JSONObject, profiles: dict[str, str], where: str) -> Utterance:
    role, sender = text(message.get("role")), _last(message.get("sent_from"))
    speaker = role if role and role.lower() not in {"assistant", *_USERS} else profiles.get(sender, sender) or role
    caused = _last(message.get("cause_by"))
    asked = caused == _REQUIREMENT or (role.lower() in _USERS and not sender)
    sent_to = {_last(each) for each in (items(message.get("send_to")) or [message.get("send_to")]) if each}
    audience = frozenset({each for name in sent_to for each in (name, profiles.get(name, name))})
    rest = {key: value for key, value in message.items() if key not in _MAPPED and value not in (None, "", [], {})}
    return Utterance(
        speaker=speaker,
        content=message.get("content"),
        location=where,
        voice=Voice.USER if asked else Voice.AGENT,
        at=parse_time(message.get("timestamp"), f"{where}/timestamp"),
        audience=audience if audience and _ALL not in audience and not asked else None,
        attributes={**rest, **({"action": caused} if caused else {})},
    )


def _last(name: JSONValue) -> str:
    """The class at the end of a dotted path."""
    return text(name).rpartition(".")[2]


def _with_totals(root: RecordedStep, body: JSONObject) -> RecordedStep:
    """What the whole team spent."""
    counts = obj(first(obj(body.get("context")), "cost_manager")) or obj(body.get("cost_manager"))
    usage = Usage(
        tokens_in=parse_token_count(counts.get("total_prompt_tokens"), "/cost_manager"),
        tokens_out=parse_token_count(counts.get("total_completion_tokens"), "/cost_manager"),
        cost_usd=parse_cost(counts.get("total_cost")),
    )
    return replace(root, tokens_in=usage.tokens_in, tokens_out=usage.tokens_out, cost_usd=usage.cost_usd)
