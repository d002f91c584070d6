"""List of all formats that can be imported."""

from collections.abc import Iterable, Sequence
from typing import Final

from traces.core.recorded_run import RecordedRun
from traces.importers import detection
from traces.importers.common.messages import is_message
from traces.importers.files import sqlite_file
from traces.importers.files.errors import BadFile
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.formats.chats import call_logs, chat, chatgpt, client_chats, openai, sharegpt, vercel_ui
from traces.importers.formats.coding_agents import (
    claude_code,
    codex,
    codex_exec,
    gemini_cli,
    mini_swe_agent,
    openhands,
    swe_agent,
)
from traces.importers.formats.coding_sessions import cline, copilot, copilot_chat, goose, opencode
from traces.importers.formats.evaluations import agentbench, atif, inspect_log, mlflow, promptfoo, tau, who_and_when
from traces.importers.formats.frameworks import (
    agents_sdk,
    autogen,
    crewai,
    krabs,
    krabs_db,
    langchain,
    langgraph,
    metagpt,
    smolagents,
)
from traces.importers.formats.histories import adk, assistants, letta, pydantic_ai, semantic_kernel, strands
from traces.importers.formats.platforms import braintrust, helicone, opik, weave
from traces.importers.formats.replay_tools import kurral, prela
from traces.importers.formats.tracing import forkpoint_events, langfuse, langsmith
from traces.importers.importer import Importer
from traces.importers.otlp import spans

# Bundles are read by `traces.imports.portable_runs`, which needs the store.
BUNDLE: Final = "bundle"


def detect(sample: Sample) -> Importer:
    """Return the importer with the highest confidence. Raises `BadFile` if there is none."""
    scores = [(importer.sniff(sample), importer) for importer in IMPORTERS]
    confidence, best = max(scores, key=lambda pair: pair[0])
    if confidence <= 0:
        raise detection.explain_rejection(sample)
    return best


def is_accepted(sample: Sample, format: str | None) -> bool:
    """True if the importer of a format, or any importer, has some confidence in a file."""
    importers = IMPORTERS if format is None else (get_importer(format),)
    return any(importer.sniff(sample) > 0 for importer in importers)


def get_importer(name: str) -> Importer:
    importer = next((importer for importer in IMPORTERS if importer.name == name), None)
    if importer is None:
        raise BadFile(
            f"“{name}” is not a format: choose from {', '.join([*(importer.name for importer in IMPORTERS), BUNDLE])}",
            "/format",
        )
    return importer


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


def _lines_are_runs(sample: Sample) -> bool:
    return sample.is_lines


def _lines_are_transcripts(sample: Sample) -> bool:
    return sample.is_lines and not any(is_message(value) for value in sample.values)


IMPORTERS: Final = (
    Importer(
        name="forkpoint",
        title="Forkpoint events",
        sniff=detection.sniff_events,
        parse_together=forkpoint_events.parse,
        keys=forkpoint_events.keys,
        parse_arrivals=forkpoint_events.parse_arrivals,
    ),
    Importer(
        name=mlflow.FORMAT,
        title="MLflow traces",
        sniff=detection.sniff_by_value(mlflow.is_trace),
        parse=mlflow.parse,
        by_line=_lines_are_runs,
    ),
    Importer(
        name="kurral",
        title="Kurral artifacts",
        sniff=detection.sniff_kurral,
        parse=kurral.parse,
        by_line=_lines_are_runs,
        # An artifact is a run even without requests and calls.
        allows_empty=True,
    ),
    Importer(
        name="prela",
        title="Prela traces",
        sniff=detection.sniff_prela,
        parse_together=prela.parse,
        keys=prela.keys,
        has_span_ids=True,
    ),
    Importer(
        name="otlp",
        title="OpenTelemetry (OTLP)",
        sniff=detection.sniff_otlp,
        parse_together=spans.parse,
        keys=spans.keys,
        has_span_ids=True,
    ),
    Importer(
        name="langfuse",
        title="Langfuse ingestion",
        sniff=detection.sniff_langfuse,
        parse_together=langfuse.parse,
        keys=langfuse.keys,
        parse_arrivals=langfuse.parse_arrivals,
        has_ended=langfuse.has_ended,
        has_span_ids=True,
    ),
    Importer(
        name="langsmith",
        title="LangSmith runs",
        sniff=detection.sniff_langsmith,
        parse_together=langsmith.parse,
        keys=langsmith.keys,
        parse_arrivals=langsmith.parse_arrivals,
        has_span_ids=True,
    ),
    Importer(
        name=agents_sdk.FORMAT,
        title="OpenAI Agents SDK traces",
        sniff=detection.sniff_by_value(agents_sdk.is_export),
        parse_together=agents_sdk.parse,
        has_span_ids=True,
    ),
    Importer(
        name=braintrust.FORMAT,
        title="Braintrust logs and experiments",
        sniff=detection.sniff_by_value(braintrust.is_export),
        parse_together=braintrust.parse,
        has_span_ids=True,
    ),
    Importer(
        name=opik.FORMAT,
        title="Opik traces",
        sniff=detection.sniff_by_value(opik.is_export, detection.LIKELY + 0.1),
        parse_together=opik.parse,
        has_span_ids=True,
    ),
    Importer(
        name=helicone.FORMAT,
        title="Helicone requests",
        sniff=detection.sniff_by_value(helicone.is_log),
        parse_together=helicone.parse,
    ),
    Importer(
        name=weave.FORMAT,
        title="Weave calls",
        sniff=detection.sniff_by_value(weave.is_export),
        parse_together=weave.parse,
        has_span_ids=True,
    ),
    Importer(
        name=inspect_log.FORMAT,
        title="Inspect logs",
        sniff=lambda sample: detection.SURE if inspect_log.is_inspect_file(sample) else 0.0,
        parse=inspect_log.parse,
    ),
    Importer(
        name=langgraph.FORMAT,
        title="LangGraph state and checkpoints",
        sniff=detection.sniff_by_value(langgraph.is_state),
        parse_together=langgraph.parse,
    ),
    Importer(
        name=langchain.FORMAT,
        title="LangChain messages",
        sniff=detection.sniff_by_value(langchain.is_conversation, detection.LIKELY + 0.1),
        parse=langchain.parse,
    ),
    Importer(
        name=pydantic_ai.FORMAT,
        title="Pydantic AI messages",
        sniff=detection.sniff_by_value(pydantic_ai.is_history),
        parse=pydantic_ai.parse,
    ),
    Importer(
        name=adk.FORMAT,
        title="Agent Development Kit sessions",
        sniff=detection.sniff_by_value(adk.is_session),
        parse=adk.parse,
    ),
    Importer(
        name=assistants.FORMAT,
        title="OpenAI Assistants threads",
        sniff=detection.sniff_by_value(assistants.is_thread),
        parse_together=assistants.parse,
    ),
    Importer(
        name=letta.FORMAT,
        title="Letta agents and messages",
        sniff=detection.sniff_by_value(letta.is_file),
        parse=letta.parse,
    ),
    Importer(
        name=strands.FORMAT,
        title="Strands sessions",
        sniff=detection.sniff_by_value(strands.is_session),
        parse_together=strands.parse,
    ),
    Importer(
        name=semantic_kernel.FORMAT,
        title="Semantic Kernel histories",
        sniff=detection.sniff_by_value(semantic_kernel.is_history, detection.LIKELY + 0.1),
        parse=semantic_kernel.parse,
    ),
    Importer(
        name=promptfoo.FORMAT,
        title="promptfoo results",
        sniff=detection.sniff_by_value(promptfoo.is_output),
        parse=promptfoo.parse,
    ),
    Importer(
        name=tau.FORMAT,
        title="tau-bench and tau2-bench results",
        sniff=detection.sniff_by_value(tau.is_result),
        parse=tau.parse,
    ),
    Importer(
        name=agentbench.FORMAT,
        title="AgentBench results",
        sniff=detection.sniff_by_value(agentbench.is_sample),
        parse=agentbench.parse,
        by_line=_lines_are_runs,
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
    Importer(
        name="krabs",
        title="Krabs telemetry and sessions",
        sniff=detection.sniff_krabs,
        parse_together=_krabs,
        keys=krabs.keys,
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
        sniff=detection.sniff_codex,
        parse_together=codex.parse,
        keys=codex.keys,
        has_ends=False,
    ),
    Importer(
        name=codex_exec.FORMAT,
        title="Output of codex exec",
        sniff=detection.sniff_by_value(codex_exec.is_event),
        parse=codex_exec.parse,
    ),
    Importer(
        name="atif",
        title="ATIF trajectories",
        sniff=detection.sniff_atif,
        parse_together=atif.parse,
        keys=atif.keys,
        by_line=_lines_are_runs,
    ),
    Importer(
        name="swe-agent",
        title="SWE-agent trajectories",
        sniff=swe_agent.sniff,
        parse=swe_agent.parse,
        by_line=_lines_are_runs,
    ),
    Importer(
        name="mini-swe-agent",
        title="mini-swe-agent trajectories",
        sniff=mini_swe_agent.sniff,
        parse=mini_swe_agent.parse,
        by_line=_lines_are_runs,
    ),
    Importer(
        name=opencode.FORMAT,
        title="opencode sessions",
        sniff=detection.sniff_by_value(opencode.is_export),
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
    Importer(
        name=goose.FORMAT,
        title="Goose sessions",
        sniff=detection.sniff_by_value(goose.is_session),
        parse=goose.parse,
    ),
    Importer(name="gemini-cli", title="Gemini CLI chats", sniff=gemini_cli.sniff, parse=gemini_cli.parse),
    Importer(name="vercel-ui", title="Vercel AI SDK UI messages", sniff=vercel_ui.sniff, parse=vercel_ui.parse),
    Importer(
        name="sharegpt",
        title="ShareGPT conversations",
        sniff=sharegpt.sniff,
        parse=sharegpt.parse,
        by_line=_lines_are_runs,
    ),
    Importer(
        name="who-and-when",
        title="Who&When conversations",
        sniff=who_and_when.sniff,
        parse=who_and_when.parse,
        by_line=_lines_are_runs,
    ),
    Importer(
        name="openhands",
        title="OpenHands events",
        sniff=openhands.sniff,
        parse_together=openhands.parse,
        by_line=openhands.lines_are_runs,
        keys=openhands.keys,
    ),
    Importer(name="autogen", title="AG2 and AutoGen dumps", sniff=autogen.sniff, parse=autogen.parse),
    Importer(name="crewai", title="CrewAI logs and events", sniff=crewai.sniff, parse=crewai.parse),
    Importer(
        name=smolagents.FORMAT,
        title="smolagents memories",
        sniff=smolagents.sniff,
        parse=smolagents.parse,
        by_line=_lines_are_runs,
    ),
    Importer(name="metagpt", title="MetaGPT teams and memories", sniff=metagpt.sniff, parse=metagpt.parse),
    Importer(
        name=client_chats.FORMAT,
        title="chats of Claude, Continue and LlamaIndex",
        sniff=detection.sniff_by_value(client_chats.is_chat),
        parse=client_chats.parse,
    ),
    Importer(name="chatgpt", title="ChatGPT exports", sniff=chatgpt.sniff, parse=chatgpt.parse),
    Importer(
        name="chat",
        title="Chat transcripts",
        sniff=detection.sniff_chat,
        parse=chat.parse,
        by_line=_lines_are_transcripts,
    ),
)
