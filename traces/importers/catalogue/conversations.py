"""Formats of conversations among agents, and of chats."""

from typing import Final

from traces.importers import detection
from traces.importers.common.messages import is_message
from traces.importers.files.sample import Sample
from traces.importers.formats.chat_exports import importer as chat_exports
from traces.importers.formats.chats import chat, chatgpt, client_chats
from traces.importers.formats.databases import autogen_database, llm_logs, stores
from traces.importers.formats.frameworks import crewai, react, smolagents
from traces.importers.formats.teams import ag2_streams, autogen, camel, metagpt
from traces.importers.importer import Importer, lines_are_runs


def _lines_are_transcripts(sample: Sample) -> bool:
    return sample.is_lines and not any(is_message(value) for value in sample.values)


CONVERSATIONS: Final = (
    Importer(
        name=autogen_database.FORMAT,
        title="AutoGen's runtime log",
        sniff=autogen_database.sniff,
        parse=autogen_database.parse,
    ),
    Importer(
        name=llm_logs.FORMAT,
        title="logs of llm",
        sniff=stores.sniff(llm_logs.STORE.is_database, detection.sniff_by_value(llm_logs.is_log)),
        parse=stores.parse(llm_logs.STORE.documents, llm_logs.parse),
        has_ends=False,
    ),
    Importer(
        name=camel.FORMAT,
        title="CAMEL memories and results of OWL",
        sniff=detection.sniff_by_value(camel.is_recording),
        parse=camel.parse,
    ),
    Importer(
        name=ag2_streams.FORMAT,
        title="events of AG2",
        sniff=detection.sniff_by_value(ag2_streams.is_recording),
        parse_together=ag2_streams.parse,
        keys=ag2_streams.keys,
        has_ends=False,
    ),
    Importer(name="autogen", title="AG2 and AutoGen dumps", sniff=autogen.sniff, parse=autogen.parse),
    Importer(name="crewai", title="CrewAI logs and events", sniff=crewai.sniff, parse=crewai.parse),
    Importer(
        name=smolagents.FORMAT,
        title="smolagents memories",
        sniff=smolagents.sniff,
        parse=smolagents.parse,
        by_line=lines_are_runs,
    ),
    Importer(name="metagpt", title="MetaGPT teams and memories", sniff=metagpt.sniff, parse=metagpt.parse),
    Importer(
        name=client_chats.FORMAT,
        title="chats of Claude, Continue and LlamaIndex",
        sniff=detection.sniff_by_value(client_chats.is_chat),
        parse=client_chats.parse,
    ),
    Importer(
        name=chat_exports.FORMAT,
        title="chats of LobeChat, TypingMind, Chatbox, LM Studio, SillyTavern, big-AGI, Gemini, AnythingLLM, Rasa, "
        "Voiceflow and Copilot Studio",
        sniff=detection.sniff_by_value(chat_exports.is_export),
        parse=chat_exports.parse,
        has_ends=False,
    ),
    Importer(name=react.FORMAT, title="ReAct logs", sniff=react.sniff, parse=react.parse, by_line=react.lines_are_runs),
    Importer(name="chatgpt", title="ChatGPT exports", sniff=chatgpt.sniff, parse=chatgpt.parse),
    Importer(
        name="chat",
        title="Chat transcripts",
        sniff=detection.sniff_chat,
        parse=chat.parse,
        by_line=_lines_are_transcripts,
    ),
)
