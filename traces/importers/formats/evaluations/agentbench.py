"""Results of AgentBench (`runs.jsonl`): each line is a sample with its conversation, status and result."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list, has_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import require_object
from traces.importers.files.source import Source, parse_records
from traces.ingest.outcome_rules import TERMINATION

FORMAT: Final = "agentbench"
_AGENT: Final = "agent"


def is_sample(value: JSONValue) -> bool:
    """Return True if `value` is the line of a sample."""
    body = as_object(value)
    return "index" in body and has_object(body, "output") and has_list(body["output"], "history")


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per sample."""
    return parse_records([source], _read)


def _read(value: JSONValue, location: str) -> Iterator[RecordedRun]:
    body = require_object(value, location)
    output = require_object(body.get("output"), f"{location}/output")
    history = as_list(output.get("history"))
    messages = [
        TranscriptMessage(value=_message(as_object(item)), location=f"{location}/output/history/{index}")
        for index, item in enumerate(history)
    ]
    index, status = as_text(body.get("index")), as_text(output.get("status"))
    steps = benchmark_scores.fail_without_turns(transcripts.build_steps(messages, TranscriptSettings()), status)
    yield build_run(
        RunFacts(
            external_id=f"{index}-{content_id([body], location)}",
            app=FORMAT,
            format=FORMAT,
            failed=bool(body.get("error")),
            tags=[f"sample:{index}"],
            metadata={
                **{name: body.get(name) for name in ("index", "error", "info", "time")},
                "result": output.get("result"),
            },
            judgements=list(_judgements(output, status)),
        ),
        steps,
        location=location,
    )


def _message(item: JSONObject) -> JSONObject:
    return {**item, "role": "assistant"} if item.get("role") == _AGENT else item


def _judgements(output: JSONObject, status: str) -> Iterator[RecordedJudgement]:
    result = output.get("result")
    for name, value in (as_object(result) or {"success": result}).items():
        if isinstance(value, bool | int | float):
            yield judgement(name, value)
    if status not in ("", "completed"):
        yield RecordedJudgement(name=TERMINATION, kind=JudgementKind.FAIL, text=status)
