"""Runs of chats that clients exported or stored."""

from collections.abc import Iterable, Iterator
from typing import Final

from traces.core.json_access import as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptSettings, drop_unreadable
from traces.importers.files.source import Source
from traces.importers.formats.chat_exports import chat_logs, clients, copilot_studio, lm_studio, voiceflow
from traces.importers.formats.chat_exports.chats import Chat

FORMAT: Final = "chat-export"
_READERS: Final = (
    (clients.is_lobe_chat, clients.read_lobe_chat),
    (clients.is_typing_mind, clients.read_typing_mind),
    (clients.is_chatbox, clients.read_chatbox),
    (clients.is_big_agi, clients.read_big_agi),
    (lm_studio.is_conversation, lm_studio.read_conversation),
    (chat_logs.is_anything_llm, chat_logs.read_anything_llm),
    (chat_logs.is_rasa, chat_logs.read_rasa),
    (copilot_studio.is_copilot_studio, copilot_studio.read_copilot_studio),
    (voiceflow.is_transcript, voiceflow.read_transcript),
)


def is_export(value: JSONValue) -> bool:
    """Return True if `value` is an export of a client, or a line of one."""
    body = as_object(first_item(value)) if isinstance(value, list) else as_object(value)
    is_part = clients.is_silly_tavern(body) or chat_logs.is_activity(body) or voiceflow.is_turn(body)
    return is_part or any(test(body) for test, _ in _READERS)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per chat."""
    lines = Chat(app="silly-tavern", location="line 1")
    activities: list[tuple[JSONObject, str]] = []
    turns: list[JSONObject] = []
    for body, location in source.entries():
        if voiceflow.is_turn(body):
            turns.append(body)
        if chat_logs.is_activity(body):
            activities.append((body, location))
        if clients.is_silly_tavern(body):
            clients.add_silly_tavern_line(lines, body)
        for chat in _chats(body, location):
            yield _run(chat, source)
    if lines.pieces.messages:
        yield _run(lines, source)
    if turns:
        yield _run(voiceflow.read_turns(turns, ""), source)
    yield from (_run(chat, source) for chat in _activity_chats(activities))


def _activity_chats(activities: list[tuple[JSONObject, str]]) -> Iterable[Chat]:
    """Return the chats of activities, which a log lists with the latest first."""
    chats: dict[str, Chat] = {}
    for body, location in sorted(activities, key=lambda pair: as_text(pair[0].get("time"))):
        chat_logs.add_activity(chats, body, location)
    return chats.values()


def _chats(body: JSONObject, location: str) -> Iterator[Chat]:
    for test, read in _READERS:
        if test(body):
            yield from read(body, location)
            return


def _run(chat: Chat, source: Source) -> RecordedRun:
    messages = drop_unreadable(chat.pieces.messages, source.problems)
    settings = TranscriptSettings(
        model=chat.model,
        provider=normalize_provider(None, chat.model),
        system=chat.system,
        parameters=normalize_parameters(chat.parameters),
        agent=chat.app,
    )
    return build_run(
        RunFacts(
            external_id=chat.id or f"{FORMAT}-{content_id([message.value for message in messages], chat.location)}",
            app=chat.app,
            format=FORMAT,
            title=chat.title,
            metadata=chat.facts,
            judgements=chat.judgements,
        ),
        transcripts.build_steps(messages, settings),
        location=chat.location,
    )
