"""Answers and conversations with scores, without the calls that gave them: test runs of DeepEval, rows of Ragas."""

from collections.abc import Iterator
from math import isfinite
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.messages import is_conversation_item
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.python_literals import parse_literal
from traces.importers.files.source import Source

FORMAT: Final = "graded-answers"
_ANSWER: Final = "answer"
_CASES: Final = ("testCases", "test_cases")
_ARGUMENTS: Final = ("inputParameters", "input_parameters", "input")
_RAGAS: Final = frozenset({"user_input", "response"})
_CASE_FIELDS: Final = frozenset(
    {"input", "actualOutput", "toolsCalled", "retrievalContext", "metricsData", "success", "name", "turns"}
)
_ROW_FIELDS: Final = _RAGAS | {"retrieved_contexts"}
# The names of its first versions.
_OLD_NAMES: Final = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "ground_truth": "reference",
    "ground_truths": "reference",
}
_LISTS: Final = frozenset({"retrieved_contexts", "reference_contexts"})
_TEXTS: Final = _RAGAS | _LISTS | {"reference", "id", "name"}


def is_evaluation(value: JSONValue) -> bool:
    """Return True if `value` is a test run of DeepEval, or a row of Ragas or a list of rows."""
    body = as_object(value)
    cases = next((as_objects(body[name]) for name in _CASES if has_list(body, name)), [])
    if any("metricsData" in case for case in cases) or has_list(body, "conversationalTestCases"):
        return True
    row = _ragas_row(as_object(first_item(value)))
    has_score = any(isinstance(item, float) for item in row.values())
    is_answer = row.keys() >= _RAGAS and (has_score or "retrieved_contexts" in row)
    return is_answer or (has_score and _is_conversation(row.get("user_input")))


def _is_conversation(value: JSONValue) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_conversation_item, value))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per test case or row."""
    for body, location in source.entries():
        row = _ragas_row(body)
        if row.keys() >= _RAGAS or _is_conversation(row.get("user_input")):
            yield _row_run(row, location)
            continue
        for name in (*_CASES, "conversationalTestCases"):
            for index, case in enumerate(as_objects(body.get(name))):
                yield _case_run(case, body, f"{location}/{name}/{index}")


def _case_run(case: JSONObject, test_run: JSONObject, location: str) -> RecordedRun:
    judgements = [*_metrics(case)]
    if isinstance(success := case.get("success"), bool):
        judgements.append(judgement("success", success))
    settings = {name: test_run[name] for name in ("testFile", "hyperparameters", "identifier") if test_run.get(name)}
    return _run(
        case,
        location,
        request=first_member(case, "input", "turns", "scenario"),
        answer=case.get("actualOutput"),
        calls=as_objects(case.get("toolsCalled")),
        passages=as_list(case.get("retrievalContext")),
        metadata={**settings, **{name: item for name, item in case.items() if name not in _CASE_FIELDS}}
        | ({"turns": case["turns"]} if case.get("turns") and "input" in case else {}),
        judgements=judgements,
    )


def _metrics(case: JSONObject) -> Iterator[RecordedJudgement]:
    """Yield a verdict per metric with its score, or the reason why there is none."""
    for metric in as_objects(case.get("metricsData")):
        name, score = as_text(metric.get("name")), first_member(metric, "score")
        reason = as_text(metric.get("reason")) or as_text(metric.get("error"))
        detail = {key: item for key, item in metric.items() if key not in ("name", "score", "reason")}
        author = as_text(metric.get("evaluationModel"))
        yield judgement(
            name, score if metric.get("score") is not None else None, text=reason, author=author, detail=detail
        )


def _ragas_row(row: JSONObject) -> JSONObject:
    """Return a row under the present names. In a table, its numbers are texts and its lists in Python's form."""
    if {"question", "answer", "contexts"} <= row.keys():
        row = {_OLD_NAMES.get(name, name): item for name, item in row.items()}
    return {
        name: parse_literal(item) if name in _LISTS else item if name in _TEXTS else _parse_score(item)
        for name, item in row.items()
    }


def _parse_score(value: JSONValue) -> JSONValue:
    if not isinstance(value, str):
        return value
    try:
        score = float(value)
    except ValueError:
        return value
    return score if isfinite(score) else value


def _row_run(row: JSONObject, location: str) -> RecordedRun:
    scores = {name: item for name, item in row.items() if isinstance(item, int | float)}
    mapped_fields = {*_ROW_FIELDS, *scores}
    return _run(
        row,
        location,
        request=row["user_input"],
        answer=row.get("response"),
        calls=[],
        passages=as_list(row.get("retrieved_contexts")),
        metadata={name: item for name, item in row.items() if name not in mapped_fields},
        judgements=[judgement(name, value) for name, value in scores.items()],
    )


def _run(
    body: JSONObject,
    location: str,
    *,
    request: JSONValue,
    answer: JSONValue,
    calls: list[JSONObject],
    passages: list[JSONValue],
    metadata: JSONObject,
    judgements: list[RecordedJudgement],
) -> RecordedRun:
    """Build a run of one answer, or of a conversation; what was called and found is below it, in the file's order."""
    asks: list[JSONValue] = request if isinstance(request, list) else [{"role": "user", "content": request}]
    output: JSONObject | None = None if answer is None else {"text": answer}
    steps = [
        RecordedStep(key=_ANSWER, type=StepType.AGENT, name=_ANSWER, input={"messages": asks}, output=output),
        *_retrieval(passages),
        *(_call(call, f"call-{number}") for number, call in enumerate(calls, 1)),
    ]
    if answer is None and _is_conversation(request):
        steps = transcripts.build_steps([_turn(turn, location) for turn in as_objects(request)], TranscriptSettings())
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            title=as_text(body.get("name")),
            name=request if isinstance(request, str) else _ANSWER,
            metadata=metadata,
            judgements=judgements,
        ),
        steps,
        location=location,
    )


def _turn(turn: JSONObject, location: str) -> TranscriptMessage:
    """Return a message; DeepEval has the calls of an answer with their results beside its text."""
    actions = tuple(
        TextAction(name=as_text(call.get("name")), arguments=first_member(call, *_ARGUMENTS), output=call.get("output"))
        for call in as_objects(turn.get("toolsCalled"))
    )
    return TranscriptMessage(value=omit(turn, "toolsCalled"), location=location, actions=actions)


def _retrieval(passages: list[JSONValue]) -> Iterator[RecordedStep]:
    """Yield the search that found passages; its query was not recorded."""
    if passages:
        documents: list[JSONValue] = [
            {"id": str(number), "content": passage} for number, passage in enumerate(passages, 1)
        ]
        output: JSONObject = {"documents": documents}
        yield RecordedStep(key="retrieval", type=StepType.RETRIEVAL, name="retrieval", parent=_ANSWER, output=output)


def _call(call: JSONObject, key: str) -> RecordedStep:
    name = as_text(call.get("name"))
    mapped_fields = ("name", *_ARGUMENTS, "output")
    return RecordedStep(
        key=key,
        type=StepType.TOOL,
        name=name or "tool",
        tool_name=name,
        parent=_ANSWER,
        input=first_member(call, *_ARGUMENTS),
        output=call.get("output"),
        null_output="output" in call and call["output"] is None,
        attributes={
            field: item for field, item in call.items() if field not in mapped_fields and item not in (None, "")
        },
    )
