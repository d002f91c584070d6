"""Formats of model APIs, and of agents that write code."""

from collections.abc import Iterable, Sequence
from typing import Final

from traces.core.recorded_run import RecordedRun
from traces.importers import detection
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.source import Source
from traces.importers.formats.chats import ai_studio, call_logs, openai, sharegpt, vercel_ui, web_chats
from traces.importers.formats.codex import app_server, exec_output, rollouts
from traces.importers.formats.coding_agents import (
    claude_code,
    gemini_cli,
    mini_swe_agent,
    openhands,
    swe_agent,
)
from traces.importers.formats.coding_sessions import (
    aider,
    aider_requests,
    cline,
    copilot,
    copilot_chat,
    goose,
    opencode,
)
from traces.importers.formats.databases import cursor_database, cursor_store, stores, webui_store
from traces.importers.formats.evaluations import atif
from traces.importers.formats.frameworks import krabs, krabs_db
from traces.importers.formats.histories import generate_text
from traces.importers.formats.kimi import kimi_cli, kimi_code
from traces.importers.formats.session_logs import (
    augment,
    droid_output,
    gemini_telemetry,
    grok,
    kiro_sessions,
    ui_stream,
)
from traces.importers.formats.streams import event_streams, realtime
from traces.importers.formats.teams import who_and_when
from traces.importers.formats.terminal_agents import (
    amazon_q,
    amp,
    antigravity,
    chat_replay,
    crush,
    cursor,
    gemini_stream,
    message_trees,
    qwen,
    specstory,
    trae,
    windsurf,
    zed_threads,
)
from traces.importers.formats.training import text_rows
from traces.importers.importer import Importer, lines_are_runs


def _krabs(sources: Sequence[Source]) -> Iterable[RecordedRun]:
    """Yield the sessions of databases, each in one file, and those of telemetry files."""
    telemetry: list[Source] = []
    for source in sources:
        if not source.data.startswith(sqlite_file.MAGIC):
            telemetry.append(source)
            continue
        try:
            yield from krabs_db.parse(source)
        except BadFile as problem:
            source.problems.append(problem)
    yield from krabs.parse(telemetry)


AGENTS: Final = (
    # Before the formats of whole answers, which its events contain.
    Importer(
        name=event_streams.FORMAT,
        title="recorded streams of model APIs",
        sniff=event_streams.sniff,
        parse=event_streams.parse,
    ),
    Importer(
        name=realtime.FORMAT,
        title="sessions of OpenAI's Realtime API",
        sniff=realtime.sniff,
        parse=realtime.parse,
        has_ends=False,
    ),
    Importer(
        name=openai.FORMAT,
        title="OpenAI responses and batches",
        sniff=detection.sniff_by_value(openai.is_recording),
        parse_together=openai.parse,
    ),
    Importer(
        name=call_logs.FORMAT,
        title="logs of model calls",
        sniff=detection.sniff_by_value(call_logs.is_log),
        parse_together=call_logs.parse,
    ),
    Importer(name=crush.FORMAT, title="Crush sessions", sniff=crush.sniff, parse=crush.parse, has_ends=False),
    Importer(
        name=cursor_database.FORMAT, title="Cursor chats", sniff=cursor_database.sniff, parse=cursor_database.parse
    ),
    Importer(
        name=cursor_store.FORMAT,
        title="Sessions of cursor-agent",
        sniff=cursor_store.sniff,
        parse=cursor_store.parse,
        has_ends=False,
    ),
    Importer(
        name="krabs",
        title="Krabs telemetry and sessions",
        sniff=detection.sniff_krabs,
        parse_together=_krabs,
        keys=krabs.keys,
    ),
    # Before Claude Code, of which both write similar lines.
    Importer(
        name=qwen.FORMAT,
        title="Qwen Code chats",
        sniff=detection.sniff_by_value(qwen.is_line),
        parse=qwen.parse,
        has_ends=False,
    ),
    Importer(
        name=droid_output.FORMAT,
        title="Output of droid exec",
        sniff=detection.sniff_by_value(droid_output.is_event),
        parse=droid_output.parse,
    ),
    Importer(
        name=grok.FORMAT,
        title="Grok sessions and messages of the Agent Client Protocol",
        sniff=detection.sniff_by_value(grok.is_record),
        parse_together=grok.parse,
        has_ends=False,
    ),
    Importer(
        name=cursor.FORMAT,
        title="Output of cursor-agent",
        sniff=detection.sniff_by_value(cursor.is_event),
        parse_together=cursor.parse,
        keys=cursor.keys,
    ),
    Importer(
        name="claude-code",
        title="Claude Code sessions",
        sniff=detection.sniff_claude_code,
        parse_together=claude_code.parse,
        keys=claude_code.keys,
        has_ends=False,
    ),
    Importer(
        name="codex",
        title="Codex rollouts",
        sniff=detection.sniff_by_value(rollouts.is_rollout),
        parse_together=rollouts.parse,
        keys=rollouts.keys,
        has_ends=False,
    ),
    Importer(
        name=exec_output.FORMAT,
        title="Output of codex exec",
        sniff=detection.sniff_by_value(exec_output.is_event),
        parse=exec_output.parse,
    ),
    Importer(
        name=app_server.FORMAT,
        title="Messages of codex app-server",
        sniff=detection.sniff_by_value(app_server.is_message),
        parse=app_server.parse,
    ),
    Importer(
        name="atif",
        title="ATIF trajectories",
        sniff=detection.sniff_atif,
        parse_together=atif.parse,
        keys=atif.keys,
        by_line=lines_are_runs,
    ),
    Importer(
        name="swe-agent",
        title="SWE-agent trajectories",
        sniff=swe_agent.sniff,
        parse=swe_agent.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name="mini-swe-agent",
        title="mini-swe-agent trajectories",
        sniff=mini_swe_agent.sniff,
        parse=mini_swe_agent.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=opencode.FORMAT,
        title="opencode sessions",
        sniff=opencode.sniff,
        parse_together=opencode.parse,
    ),
    Importer(
        name=copilot.FORMAT,
        title="GitHub Copilot sessions",
        sniff=detection.sniff_by_value(copilot.is_event),
        parse=copilot.parse,
        has_ends=False,
    ),
    Importer(
        name=copilot_chat.FORMAT,
        title="GitHub Copilot chats of VS Code",
        sniff=detection.sniff_by_value(copilot_chat.is_chat),
        parse=copilot_chat.parse,
    ),
    Importer(
        name=cline.FORMAT,
        title="tasks of Cline and Roo Code",
        sniff=detection.sniff_by_value(cline.is_task),
        parse_together=cline.parse,
    ),
    Importer(name=aider.FORMAT, title="Aider's history of chats", sniff=aider.sniff, parse=aider.parse),
    Importer(
        name=aider_requests.FORMAT,
        title="Aider's log of requests",
        sniff=aider_requests.sniff,
        parse=aider_requests.parse,
    ),
    Importer(
        name=goose.FORMAT,
        title="Goose sessions",
        sniff=goose.sniff,
        parse=goose.parse,
    ),
    Importer(
        name=amazon_q.FORMAT,
        title="Amazon Q and Kiro conversations",
        sniff=amazon_q.sniff,
        parse=amazon_q.parse,
    ),
    Importer(
        name=kiro_sessions.FORMAT,
        title="Kiro sessions",
        sniff=detection.sniff_by_value(kiro_sessions.is_record),
        parse_together=kiro_sessions.parse,
        has_ends=False,
    ),
    Importer(
        name=amp.FORMAT,
        title="Amp threads",
        sniff=detection.sniff_by_value(amp.is_thread),
        parse=amp.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=zed_threads.FORMAT,
        title="Zed threads",
        sniff=zed_threads.sniff,
        parse=zed_threads.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=augment.FORMAT,
        title="Augment sessions",
        sniff=detection.sniff_by_value(augment.is_session),
        parse=augment.parse,
        by_line=lines_are_runs,
        has_ends=False,
    ),
    Importer(
        name=trae.FORMAT,
        title="trajectories of Trae Agent",
        sniff=detection.sniff_by_value(trae.is_trajectory),
        parse=trae.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=chat_replay.FORMAT,
        title="chat debug logs of VS Code",
        sniff=detection.sniff_by_value(chat_replay.is_log),
        parse=chat_replay.parse,
        by_line=lines_are_runs,
    ),
    Importer(name=specstory.FORMAT, title="SpecStory histories", sniff=specstory.sniff, parse=specstory.parse),
    Importer(
        name=message_trees.FORMAT,
        title="Droid and Pi sessions",
        sniff=detection.sniff_by_value(message_trees.is_line),
        parse=message_trees.parse,
        has_ends=False,
    ),
    Importer(
        name=antigravity.FORMAT,
        title="Antigravity transcripts",
        sniff=detection.sniff_by_value(antigravity.is_step),
        parse=antigravity.parse,
        has_ends=False,
    ),
    Importer(
        name=windsurf.FORMAT,
        title="Windsurf transcripts",
        sniff=detection.sniff_by_value(windsurf.is_step),
        parse=windsurf.parse,
        has_ends=False,
    ),
    Importer(
        name=kimi_cli.FORMAT,
        title="Kimi CLI sessions",
        sniff=detection.sniff_by_value(kimi_cli.is_line),
        parse=kimi_cli.parse,
        has_ends=False,
    ),
    Importer(
        name=kimi_code.FORMAT,
        title="Kimi Code sessions",
        sniff=detection.sniff_by_value(kimi_code.is_line),
        parse_together=kimi_code.parse,
        keys=kimi_code.keys,
        has_ends=False,
    ),
    Importer(
        name=ai_studio.FORMAT,
        title="prompts of Google AI Studio",
        sniff=detection.sniff_by_value(ai_studio.is_prompt),
        parse=ai_studio.parse,
        by_line=lines_are_runs,
        has_ends=False,
    ),
    Importer(
        name=gemini_stream.FORMAT,
        title="Output of Gemini CLI",
        sniff=detection.sniff_by_value(gemini_stream.is_event),
        parse=gemini_stream.parse,
    ),
    Importer(
        name=gemini_telemetry.FORMAT,
        title="telemetry of Gemini CLI and Qwen Code",
        sniff=gemini_telemetry.sniff,
        parse=gemini_telemetry.parse,
        has_ends=False,
    ),
    Importer(
        name="gemini-cli",
        title="Gemini CLI chats",
        sniff=gemini_cli.sniff,
        parse_together=gemini_cli.parse,
        keys=gemini_cli.keys,
    ),
    Importer(
        name=web_chats.FORMAT,
        title="chats of Open WebUI and LibreChat",
        sniff=stores.sniff(webui_store.STORE.is_database, detection.sniff_by_value(web_chats.is_export)),
        parse=stores.parse(webui_store.STORE.documents, web_chats.parse),
        by_line=lines_are_runs,
        has_ends=False,
    ),
    Importer(name="vercel-ui", title="Vercel AI SDK UI messages", sniff=vercel_ui.sniff, parse=vercel_ui.parse),
    Importer(name=ui_stream.FORMAT, title="streams of the Vercel AI SDK", sniff=ui_stream.sniff, parse=ui_stream.parse),
    Importer(
        name=generate_text.FORMAT,
        title="results of the Vercel AI SDK",
        sniff=detection.sniff_by_value(generate_text.is_result),
        parse=generate_text.parse,
    ),
    Importer(
        name="sharegpt",
        title="ShareGPT conversations",
        sniff=sharegpt.sniff,
        parse=sharegpt.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name=text_rows.FORMAT,
        title="rows of training data as text",
        sniff=detection.sniff_by_value(text_rows.is_row, detection.LIKELY),
        parse=text_rows.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name="who-and-when",
        title="Who&When conversations",
        sniff=who_and_when.sniff,
        parse=who_and_when.parse,
        by_line=lines_are_runs,
    ),
    Importer(
        name="openhands",
        title="OpenHands events",
        sniff=openhands.sniff,
        parse_together=openhands.parse,
        by_line=openhands.lines_are_runs,
        keys=openhands.keys,
    ),
)
