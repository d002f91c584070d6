"""The importers' own example files, and how tests read them."""

from pathlib import Path
from typing import Final

from traces.importers import registry
from traces.importers.sample import Sample
from traces.importers.source import Source
from traces.json_types import JSONObject
from traces.recording import RecordedRun, RecordedStep
from traces.vocabulary import StepType

FOLDER: Final = Path(__file__).parent / "fixtures" / "importers"
# file name -> the importer that must take it
FORMATS: Final = {
    "anthropic_messages.json": "chat",
    "atif.json": "atif",
    "claude_code.jsonl": "claude-code",
    "codex.jsonl": "codex",
    "krabs_telemetry.jsonl": "krabs",
    "langfuse_batches.jsonl": "langfuse",
    "langsmith_batch.json": "langsmith",
    "langsmith_multipart.body": "langsmith",
    "mcp_capture.json": "kurral",
    "messages.jsonl": "chat",
    "openai_messages.json": "chat",
    "otlp_events_logs.json": "otlp",
    "otlp_events_traces.json": "otlp",
    "otlp_genai.json": "otlp",
    "otlp_langfuse.json": "otlp",
    "otlp_openinference.json": "otlp",
    "otlp_traceloop.json": "otlp",
    "otlp_vercel.json": "otlp",
    "prela_http.json": "prela",
    "prela_spans.jsonl": "prela",
    "prela_trace.json": "prela",
    "replay.kurral": "kurral",
    "session.kurral": "kurral",
    "transcripts.jsonl": "chat",
    "western.kurral": "kurral",
}

SYSTEM: Final[JSONObject] = {"role": "system", "content": "You keep a bookshop."}
REQUEST: Final[JSONObject] = {"role": "user", "content": "Is Dune in stock?"}
CALL: Final[JSONObject] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "call_1", "name": "find_book", "arguments": {"title": "Dune"}}],
}
RESULT: Final[JSONObject] = {"role": "tool", "content": "3 copies", "tool_call_id": "call_1"}
ANSWER: Final[JSONObject] = {"role": "assistant", "content": "Yes, three copies."}


def source(name: str) -> Source:
    return Source(name=name, data=(FOLDER / name).read_bytes())


def sample(name: str, data: bytes) -> Sample:
    return Sample(name=name, head=data, complete=True)


def runs(*names: str) -> list[RecordedRun]:
    """The runs of some example files, read together."""
    sources = [source(name) for name in names]
    found = list(registry.named(FORMATS[names[0]]).runs(sources))
    assert [str(problem) for each in sources for problem in each.skipped] == []
    return found


def run(*names: str) -> RecordedRun:
    (only,) = runs(*names)
    return only


def steps(recorded: RecordedRun, type: StepType) -> list[RecordedStep]:
    return [step for step in recorded.steps if step.type is type]
