"""Scores and verdicts of other systems, imported as judgements."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import JudgementKind, JudgementSource, RunStatus
from traces.importers import registry
from traces.importers.common.benchmark_scores import read_judgements
from traces.importers.files.source import Source
from traces.ingest.outcome_rules import DEFAULT_CRITERIA, Verdict, conclude

Brief = tuple[str, str, float | None, str, str | None]


def brief(judgements: tuple[RecordedJudgement, ...] | list[RecordedJudgement]) -> list[Brief]:
    return [
        (judgement.name, judgement.kind.value, judgement.value, judgement.text, judgement.step)
        for judgement in judgements
    ]


def runs(format: str, *values: Any) -> tuple[list[RecordedRun], list[Source]]:
    sources = [Source(name=f"{at}.json", data=orjson.dumps(value)) for at, value in enumerate(values)]
    return list(registry.get_importer(format).runs(sources)), sources


def outcome(run: RecordedRun) -> str:
    verdicts = [
        Verdict(name=judgement.name, kind=judgement.kind, source=judgement.source, value=judgement.value)
        for judgement in run.judgements
        if judgement.step is None
    ]
    return conclude(run.status, verdicts, DEFAULT_CRITERIA).outcome


# Benchmarks


def test_transcripts_carry_reward_and_annotation() -> None:
    good, bad = fixtures.runs("transcripts.jsonl")
    assert brief(good.judgements) == [("reward", "score", 1.0, "", None), ("success", "pass", None, "", None)]
    assert brief(bad.judgements) == [
        ("reward", "score", 0.0, "", None),
        ("success", "fail", None, "", None),
        ("annotation", "note", None, "step msg-4: fail", None),
    ]
    assert (outcome(good), outcome(bad), bad.status) == ("passed", "failed", RunStatus.COMPLETED)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"reward": 1}, [("reward", "score", 1.0, "", None)]),
        ({"reward_info": {"reward": 0.5}}, [("reward", "score", 0.5, "", None)]),
        (
            {"outcome": {"reward": 0.0, "breakdown": {"DB": 0.0, "NOTE": "x"}}},
            [("reward", "score", 0.0, "", None), ("reward.DB", "score", 0.0, "", None)],
        ),
        ({"run_info": {"termination_reason": "user_stop"}}, [("termination_reason", "note", None, "user_stop", None)]),
        ({"termination_reason": "max_steps"}, [("termination_reason", "fail", None, "max_steps", None)]),
        ({"reward": None, "outcome": {"success": None}}, []),
        (
            {"reward": "0.0", "success": "False"},
            [("reward", "score", 0.0, "", None), ("success", "fail", None, "", None)],
        ),
        ({"scores": {"accuracy": 0.2, "note": "x"}}, [("accuracy", "score", 0.2, "", None)]),
        ({"outcome": "Failure"}, [("success", "fail", None, "", None)]),
        ({"outcome": "passed", "success": False}, [("success", "fail", None, "", None)]),
        (
            {"annotation": {"root_step": 0, "index_base": 0, "category": "wrong tool"}},
            [("annotation", "fail", None, "wrong tool", "msg-1")],
        ),
        (
            {
                "annotation": {
                    "root_step": 5,
                    "failures": [{"step_number": 5, "failure_category": "slip", "step_reason": "counted wrong"}],
                }
            },
            [("annotation", "fail", None, "slip: counted wrong", "msg-5")],
        ),
    ],
)
def test_benchmark_records(record: dict[str, Any], expected: list[Brief]) -> None:
    assert brief(read_judgements(record)) == expected


def test_annotated_steps_are_judged() -> None:
    record: dict[str, Any] = orjson.loads((fixtures.FOLDER / "transcripts.jsonl").read_bytes().splitlines()[1])
    (run,), _ = runs("chat", {**record, "annotation": {"root_step": 3}})
    assert brief(run.judgements)[-1] == ("annotation", "fail", None, "", "msg-3")


# Langfuse


def _langfuse(*scores: JSONObject) -> dict[str, Any]:
    lines = (fixtures.FOLDER / "langfuse_batches.jsonl").read_bytes().splitlines()
    batches = [event for line in lines for event in orjson.loads(line)["batch"] if event["type"] != "score-create"]
    events = [{"type": "score-create", "timestamp": "", "body": {"traceId": "lf-1", **score}} for score in scores]
    return {"batch": [*batches, *events]}


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ({"name": "reward", "value": 0, "dataType": "NUMERIC"}, ("reward", "score", 0.0, "", None)),
        ({"name": "correct", "value": 1, "dataType": "BOOLEAN"}, ("correct", "pass", None, "", None)),
        ({"name": "toxic", "value": 1, "dataType": "BOOLEAN"}, ("toxic", "score", 1.0, "", None)),
        (
            {"name": "tone", "value": 2, "stringValue": "curt", "dataType": "CATEGORICAL", "comment": "why"},
            ("tone", "note", None, "curt: why", None),
        ),
        ({"name": "table", "value": "0.8"}, ("table", "score", 0.8, "", None)),
        ({"name": "step", "value": 1, "observationId": "t1"}, ("step", "score", 1.0, "", "t1")),
    ],
)
def test_langfuse_scores(score: JSONObject, expected: Brief) -> None:
    (run,), _ = runs("langfuse", _langfuse(score))
    assert brief(run.judgements) == [expected]


def test_updated_langfuse_score_counts_once() -> None:
    versions: list[JSONObject] = [{"id": "s", "name": "reward", "value": value} for value in (0, 1)]
    (run,), _ = runs("langfuse", _langfuse(*versions))
    assert brief(run.judgements) == [("reward", "score", 1.0, "", None)]


def test_langfuse_scores_leave_run_unchanged() -> None:
    (plain,), _ = runs("langfuse", _langfuse())
    (run_with_score,), _ = runs("langfuse", _langfuse({"name": "reward", "value": 1}))
    assert replace(run_with_score, judgements=()) == plain


def test_unreadable_score_time_is_left_out() -> None:
    (run,), _ = runs("langfuse", _langfuse({"name": "reward", "value": 1, "timestamp": "yesterday"}))
    assert run.judgements[0].at is None


# LangSmith

RUN: JSONObject = {
    "id": "r1",
    "trace_id": "r1",
    "name": "shop",
    "run_type": "chain",
    "start_time": "2026-10-01T10:00:00+00:00",
    "end_time": "2026-10-01T10:00:02+00:00",
    "inputs": {"input": "Is Dune in stock?"},
    "outputs": {"output": "Yes."},
}
TOOL: JSONObject = {**RUN, "id": "r2", "parent_run_id": "r1", "name": "find_book", "run_type": "tool"}
FEEDBACK: JSONObject = {
    "id": "f1",
    "run_id": "r1",
    "trace_id": "r1",
    "key": "is_correct",
    "score": False,
    "comment": "it was sold out",
    "feedback_source": {"type": "app", "user_name": "ada"},
    "created_at": "2026-10-02T10:00:00+00:00",
}


def test_langsmith_feedback_of_batches() -> None:
    on_tool: JSONObject = {**FEEDBACK, "id": "f2", "run_id": "r2", "key": "tone", "score": None, "value": "curt"}
    (run,), _ = runs("langsmith", {"post": [RUN, TOOL], "feedback": [FEEDBACK, on_tool]})
    assert brief(run.judgements) == [
        ("is_correct", "fail", None, "it was sold out", None),
        ("tone", "note", None, "curt: it was sold out", "r2"),
    ]
    assert (run.judgements[0].by, run.judgements[0].at) == ("ada", datetime(2026, 10, 2, 10, tzinfo=UTC))
    assert outcome(run) == "failed"


def test_langsmith_multipart_feedback() -> None:
    data = (fixtures.FOLDER / "langsmith_multipart.body").read_bytes()
    part = b'--b0undary\r\nContent-Disposition: form-data; name="feedback.f1"\r\n\r\n' + orjson.dumps(FEEDBACK)
    source = Source(name="body", data=data.replace(b"--b0undary--", part + b"\r\n--b0undary--"))
    (run,) = registry.get_importer("langsmith").runs([source])
    assert brief(run.judgements) == [("is_correct", "fail", None, "it was sold out", None)]


def test_langsmith_averages_replace_missing_feedback() -> None:
    stats: JSONObject = {
        "is_correct": {"n": 1, "avg": 0},
        "helpful": {"n": 2, "avg": 0.5},
        "none": {"n": 0, "avg": None},
    }
    (run,), _ = runs("langsmith", {"post": [{**RUN, "feedback_stats": stats}], "feedback": [FEEDBACK]})
    assert [judgement.name for judgement in run.judgements] == ["is_correct", "helpful"]
    (plain,), _ = runs("langsmith", {"post": [RUN]})
    assert replace(run, judgements=()) == plain


def test_feedback_without_its_run_is_reported() -> None:
    stray: JSONObject = {**FEEDBACK, "run_id": "elsewhere"}
    (run,), (source,) = runs("langsmith", {"post": [RUN], "feedback": [stray]})
    assert run.judgements == ()
    assert "feedback on run elsewhere, which is not in these files" in str(source.problems[0])


# Kurral


def test_kurral_scores_leave_outcome_unknown() -> None:
    run = fixtures.run("replay.kurral")
    assert ("determinism_score", "score", 0.375, "", None) in brief(run.judgements)
    assert {judgement.source for judgement in run.judgements} == {JudgementSource.IMPORT}
    assert {judgement.kind for judgement in run.judgements} == {JudgementKind.SCORE}
    assert outcome(run) == "unknown"
