"""Results of AgentBench (`runs.jsonl`): each line is a sample with its conversation, status and result."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, has_list
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
# Members of a sample that ended with an error, whose output is null.
_FAILED_SAMPLE: Final = frozenset({"index", "error", "info", "output", "time"})


def is_sample(value: JSONValue) -> bool:
    """Return True if `value` is the line of a sample."""
    body = as_object(value)
    if "index" not in body:
        return False
    return has_list(body.get("output"), "history") or (body.keys() >= _FAILED_SAMPLE and body["output"] is None)


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per sample."""
    return parse_records([source], _read)


def _read(value: JSONValue, location: str) -> Iterator[RecordedRun]:
    body = require_object(value, location)
    output = require_object(body.get("output") or {}, f"{location}/output")
    history = as_list(output.get("history"))
    messages = [
        TranscriptMessage(value=_message(as_object(item)), location=f"{location}/output/history/{index}")
        for index, item in enumerate(history)
    ]
    index, status = as_text(body.get("index")), as_text(output.get("status"))
    steps = benchmark_scores.fail_without_turns(
        transcripts.build_steps(messages, TranscriptSettings()), status or as_text(body.get("error"))
    )
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
            judgements=list(_judgements(body, output, status)),
        ),
        steps,
        location=location,
    )


def _message(item: JSONObject) -> JSONObject:
    return {**item, "role": "assistant"} if item.get("role") == _AGENT else item


def _judgements(body: JSONObject, output: JSONObject, status: str) -> Iterator[RecordedJudgement]:
    result = output.get("result")
    for name, value in (as_object(result) or {"success": result}).items():
        if isinstance(value, bool | int | float):
            yield judgement(name, value)
    reasons = [as_text(body.get("error")), "" if status == "completed" else status]
    for reason in filter(None, reasons):
        yield RecordedJudgement(name=TERMINATION, kind=JudgementKind.FAIL, text=reason)
