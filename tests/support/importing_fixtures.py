"""Example files of the importers, readers for them, and their expected results.

After a change of an importer, `python -m tests.support.importing_fixtures` regenerates the expected results. Review the
difference before you commit it: the test only detects other changes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Final

import orjson

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.payloads.conversation import Messages
from traces.payloads.messages import Message, ModelAnswer, ModelRequest

FOLDER: Final = Path(__file__).parents[1] / "fixtures" / "importers"
EXPECTED: Final = Path(__file__).parents[1] / "fixtures" / "imported"
# File name -> its importer.
FORMATS: Final = {
    "adk_session.json": "adk",
    "agent_client.jsonl": "grok",
    "agent_data.json": "agent-data",
    "agents_run_state.json": "agents-run-state",
    "agent_framework.json": "agent-framework",
    "agentbench.json": "agentbench",
    "agentcore.jsonl": "otlp",
    "agentless.json": "agentless",
    "agno.json": "agno",
    "ai_studio.json": "ai-studio",
    "aider.md": "aider",
    "aider_requests.history": "aider-requests",
    "amazon_q.json": "amazon-q",
    "amp.json": "amp",
    "anthropic_messages.json": "chat",
    "antigravity.jsonl": "antigravity",
    "app_insights.json": "otlp",
    "appworld.jsonl": "appworld",
    "atif.json": "atif",
    "atif_calls.json": "atif",
    "augment.json": "augment",
    "autogen_chat.json": "autogen",
    "autogen_events.jsonl": "autogen-events",
    "autogen_runtime.jsonl": "autogen-log",
    "autogen_team.json": "autogen",
    "batch_results.jsonl": "call-log",
    "bedrock_agent.json": "bedrock-agents",
    "bedrock_log.jsonl": "call-log",
    "bfcl_results.jsonl": "bfcl",
    "big_agi.json": "chat-export",
    "braintrust.jsonl": "braintrust",
    "browser_use.json": "browser-use",
    "browsergym.json": "browsergym",
    "camel_memories.jsonl": "camel",
    "chainlit.json": "chainlit",
    "chat_replay.json": "chat-replay",
    "chatbox.json": "chat-export",
    "chatgpt.json": "chatgpt",
    "claude_chats.json": "client-chat",
    "claude_code.jsonl": "claude-code",
    "claude_messages.jsonl": "claude-code",
    "cline_history.json": "cline",
    "cline_ui.json": "cline",
    "cloud_trace.json": "otlp",
    "codex.jsonl": "codex",
    "codex_app_server.jsonl": "codex-app-server",
    "codex_calls.jsonl": "codex",
    "codex_exec.jsonl": "codex-exec",
    "continue_session.json": "client-chat",
    "copilot.jsonl": "copilot",
    "copilot_chat.json": "copilot-chat",
    "crewai_events.jsonl": "crewai",
    "crewai_log.json": "crewai",
    "crewai_log.txt": "crewai",
    "crewai_output.json": "crewai",
    "cursor.jsonl": "cursor",
    "datadog_spans.json": "datadog",
    "dify.jsonl": "dify",
    "droid_output.jsonl": "droid-output",
    "elevenlabs.json": "voice-call",
    "event_streams.txt": "event-stream",
    "flowise.json": "flowise",
    "galileo.json": "galileo",
    "galileo_rows.jsonl": "galileo",
    "gemini_cli.json": "gemini-cli",
    "gemini_cli.jsonl": "gemini-cli",
    "gemini_stream.jsonl": "gemini-stream",
    "gemini_takeout.json": "chat-export",
    "gemini_telemetry.log": "gemini-telemetry",
    "generate_text.json": "generate-text",
    "genkit.json": "otlp",
    "goose.jsonl": "goose",
    "graded_answers.json": "graded-answers",
    "grok_history.jsonl": "grok",
    "helicone_requests.json": "helicone",
    "helm_state.json": "helm",
    "honeyhive.json": "honeyhive",
    "inspect_log.eval": "inspect",
    "inspect_log.json": "inspect",
    "inspect_sample.json": "inspect",
    "kimi_cli.jsonl": "kimi-cli",
    "kimi_code.jsonl": "kimi-code",
    "kiro_session.jsonl": "kiro",
    "krabs_telemetry.jsonl": "krabs",
    "kurral_oddities.jsonl": "kurral",
    "langchain_dumps.jsonl": "langchain",
    "langchain_events.jsonl": "langchain-events",
    "langchain_messages.json": "langchain",
    "langflow.json": "langflow",
    "langfuse_batches.jsonl": "langfuse",
    "langfuse_blob.jsonl": "langfuse",
    "langfuse_observations.jsonl": "langfuse",
    "langfuse_table.csv": "langfuse",
    "langfuse_trace.json": "langfuse",
    "langgraph_history.json": "langgraph",
    "langgraph_state.json": "langgraph",
    "langsmith_batch.json": "langsmith",
    "langsmith_multipart.body": "langsmith",
    "letta_agent.json": "letta",
    "litellm.jsonl": "litellm",
    "llamaindex_events.jsonl": "llamaindex-events",
    "llm_logs.json": "llm-logs",
    "llamaindex_store.json": "client-chat",
    "lm_eval.jsonl": "lm-eval",
    "lm_studio.json": "chat-export",
    "lobe_chat.json": "chat-export",
    "magentic_one.jsonl": "magentic-one",
    "lunary.jsonl": "lunary",
    "mast.json": "mast",
    "mastra.json": "mastra",
    "mcp_capture.json": "kurral",
    "messages.jsonl": "chat",
    "metagpt_team.json": "metagpt",
    "mini_swe_agent.traj.json": "mini-swe-agent",
    "mint.json": "mint",
    "mlflow_trace.json": "mlflow",
    "moatless.json": "moatless",
    "n8n.json": "n8n",
    "newrelic.json": "newrelic",
    "openai_agents.jsonl": "openai-agents",
    "openai_batch.jsonl": "openai",
    "openai_eval_items.json": "openai-eval-items",
    "openai_evals.jsonl": "openai-evals",
    "openai_messages.json": "chat",
    "openai_responses.json": "openai",
    "openai_thread.json": "openai-assistants",
    "opencode.json": "opencode",
    "openhands_events.json": "openhands",
    "openhands_output.jsonl": "openhands",
    "openhands_sdk.jsonl": "openhands",
    "opik_trace.json": "opik",
    "osworld.jsonl": "osworld",
    "otel_console.log": "otlp",
    "otel_dotnet_console.log": "otlp",
    "otel_node_console.log": "otlp",
    "otlp_events_logs.json": "otlp",
    "otlp_events_traces.json": "otlp",
    "otlp_genai.json": "otlp",
    "otlp_langfuse.json": "otlp",
    "otlp_openinference.json": "otlp",
    "otlp_traceloop.json": "otlp",
    "otlp_vercel.json": "otlp",
    "owl_results.json": "camel",
    "phoenix_experiment.json": "phoenix-experiment",
    "phoenix_spans.jsonl": "otlp",
    "phoenix_table.json": "otlp",
    "portkey.jsonl": "portkey",
    "posthog.json": "posthog",
    "prela_http.json": "prela",
    "prela_spans.jsonl": "prela",
    "prela_trace.json": "prela",
    "promptfoo.json": "promptfoo",
    "pydantic_ai.json": "pydantic-ai",
    "qwen_code.jsonl": "qwen-code",
    "r2e_gym.json": "r2e-gym",
    "rasa_tracker.json": "chat-export",
    "react.json": "react",
    "realtime.jsonl": "openai-realtime",
    "replay.kurral": "kurral",
    "rollouts.jsonl": "chat",
    "semantic_kernel.json": "semantic-kernel",
    "session.kurral": "kurral",
    "session_tree.jsonl": "session-tree",
    "sharegpt.jsonl": "sharegpt",
    "silly_tavern.jsonl": "chat-export",
    "smolagents_messages.json": "smolagents",
    "smolagents_steps.json": "smolagents",
    "specstory.md": "specstory",
    "strands_messages.jsonl": "strands",
    "swe_agent.traj": "swe-agent",
    "swe_agent_calls.traj": "swe-agent",
    "tau2_bench.json": "tau-bench",
    "tau_bench.json": "tau-bench",
    "terminal_bench.json": "terminal-bench",
    "text_rows.jsonl": "text-rows",
    "toolbench.json": "toolbench",
    "trae.json": "trae",
    "trail.json": "trail",
    "transcripts.jsonl": "chat",
    "typing_mind.json": "chat-export",
    "ui_stream.txt": "ui-stream",
    "vapi.json": "voice-call",
    "vercel_ui.json": "vercel-ui",
    "vercel_ui_v4.json": "vercel-ui",
    "weave_calls.jsonl": "weave",
    "web_chat.json": "web-chat",
    "western.kurral": "kurral",
    "who_and_when.json": "who-and-when",
    "who_and_when_roles.json": "who-and-when",
    "windsurf.jsonl": "windsurf",
    "xlam.json": "xlam",
    "zed.json": "zed",
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


def trace_run(*bodies: bytes) -> RecordedRun:
    """Return the run of the only trace in these OTLP requests."""
    (run,) = registry.get_importer("otlp").states([Source(name="spans", data=body) for body in bodies])
    return run


def source(name: str) -> Source:
    return Source(name=name, data=(FOLDER / name).read_bytes())


def json_lines(values: Iterable[object]) -> bytes:
    return b"\n".join(orjson.dumps(value) for value in values)


def read(format: str, *files: Sequence[object]) -> list[RecordedRun]:
    """Read files of JSON lines together; ignore their problems."""
    sources = [Source(name=f"{number}", data=json_lines(values)) for number, values in enumerate(files)]
    return list(registry.get_importer(format).runs(sources))


def detect_and_read(format: str, data: bytes, name: str = "log.jsonl") -> tuple[list[RecordedRun], list[str]]:
    """Read a file with the importer that detection chooses; return its runs and problems."""
    importer = registry.detect(sample(name, data))
    assert importer.name == format
    file = Source(name=name, data=data)
    return list(importer.runs([file])), [str(problem) for problem in file.problems]


def sample(name: str, data: bytes) -> Sample:
    return Sample(name=name, head=data, is_complete=True)


def runs(*names: str) -> list[RecordedRun]:
    """Read some example files together; fail on any problem."""
    sources = [source(name) for name in names]
    recorded_runs = list(registry.get_importer(FORMATS[names[0]]).runs(sources))
    assert [str(problem) for file in sources for problem in file.problems] == []
    return recorded_runs


def run(*names: str) -> RecordedRun:
    (recorded,) = runs(*names)
    return recorded


def steps(recorded: RecordedRun, type: StepType) -> list[RecordedStep]:
    return [step for step in recorded.steps if step.type is type]


def request_contents(step: RecordedStep) -> list[Any]:
    """Return the contents of the messages in a model step's input."""
    return [Message(message).content for message in ModelRequest(step.input).messages]


def answer_contents(recorded: RecordedRun) -> list[JSONValue]:
    """Return the content of each model answer of a run."""
    return [Message(ModelAnswer(step.output).message).content for step in steps(recorded, StepType.MODEL)]


def examples() -> list[tuple[str, ...]]:
    """List the example files; files that only form a run together are one entry."""
    logs = ("otlp_events_traces.json", "otlp_events_logs.json")
    return [logs, *((name,) for name in sorted(FORMATS) if name not in logs)]


def expected(names: tuple[str, ...]) -> Path:
    return EXPECTED / f"{Path(names[0]).name}.jsonl"


def serialize_runs(names: tuple[str, ...]) -> bytes:
    """Serialize the runs of some example files: one line per run, followed by one per step."""
    return b"".join(line for recorded in runs(*names) for line in _run_lines(recorded))


def _run_lines(recorded: RecordedRun) -> Iterator[bytes]:
    yield _line(recorded)
    for step in recorded.steps:
        yield _line(step)


def _line(value: RecordedRun | RecordedStep) -> bytes:
    """Serialize the values that differ from the defaults."""
    values = {
        field.name: getattr(value, field.name)
        for field in fields(value)
        if field.name != "steps" and getattr(value, field.name) not in (field.default, {})
    }
    return orjson.dumps(values, default=_plain, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATACLASS)


def _plain(value: object) -> object:
    if isinstance(value, RecordedJudgement):
        return {name: item for name, item in asdict(value).items() if (name, item) != ("detail", {})}
    return list(value) if isinstance(value, Messages) else str(value)


if __name__ == "__main__":
    EXPECTED.mkdir(exist_ok=True)
    for names in examples():
        expected(names).write_bytes(serialize_runs(names))
