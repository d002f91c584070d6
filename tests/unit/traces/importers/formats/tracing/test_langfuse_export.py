"""Langfuse exports: traces from the web interface, pages, tables."""

from copy import deepcopy
from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_objects
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

EXPORT: Any = fixtures.source("langfuse_trace.json").value


def import_values(*values: Any) -> tuple[list[RecordedRun], list[str]]:
    sources = [Source(name="export", data=orjson.dumps(value)) for value in values]
    assert all(registry.detect(fixtures.sample("export", source.data)).name == "langfuse" for source in sources)
    runs = list(registry.get_importer("langfuse").runs(sources))
    return runs, [problem.problem for source in sources for problem in source.problems]


def test_trace_keeps_its_tree_and_scores() -> None:
    run = fixtures.run("langfuse_trace.json")
    assert [(step.key, step.parent, step.status) for step in run.steps] == [
        ("lf-export", None, StepStatus.OK),
        ("a1", "lf-export", StepStatus.OK),
        ("e1", "a1", StepStatus.OK),
        ("g1", "a1", StepStatus.OK),
        ("t1", "a1", StepStatus.OK),
        ("g2", "a1", StepStatus.OK),
        ("t2", "lf-export", StepStatus.ERROR),
    ]
    assert [(score.name, score.value, score.text) for score in run.judgements] == [
        ("helpful", 1, "kind"),
        ("tone", None, "friendly"),
    ]
    assert [run.metadata[name] for name in ("sessionId", "userId", "projectId")] == ["s-1", "u-1", "p-1"]


def test_trace_without_other_fields_keeps_its_scores() -> None:
    trace = {name: EXPORT[name] for name in ("id", "timestamp", "name", "observations", "scores")}
    ((run,), _) = import_values(trace)
    assert [score.name for score in run.judgements] == ["helpful", "tone"]
    assert run.steps[0].key == "lf-export"


def test_usage_adds_cached_tokens() -> None:
    model = fixtures.steps(fixtures.run("langfuse_trace.json"), StepType.MODEL)[1]
    assert (model.tokens_in, model.tokens_cached, model.tokens_out) == (60, 16, 6)
    tool = fixtures.steps(fixtures.run("langfuse_trace.json"), StepType.TOOL)[0]
    assert tool.tokens_in is None, "Langfuse writes zero for unknown counts"


def test_reasoning_leaves_cached_tokens_counted() -> None:
    counts = {"input": 42, "output": 9, "input_cached_tokens": 16, "output_reasoning_tokens": 5, "total": 72}
    times = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:01Z"}
    call = {"id": "g", "traceId": "w", "type": "GENERATION", "name": "chat", "usageDetails": counts, **times}
    ((run,), _) = import_values({"id": "w", "observations": [call]})
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (model.tokens_in, model.tokens_out, model.tokens_cached) == (58, 14, 16)


@pytest.mark.parametrize("name", ["langfuse_table.csv", "langfuse_blob.jsonl"])
def test_tables_have_the_same_steps(name: str) -> None:
    steps = {step.key: step for step in fixtures.run("langfuse_trace.json").steps}
    rows = [step for step in fixtures.run(name).steps if step.key != "lf-export"]
    assert sorted(step.key for step in rows) == ["a1", "g1", "g2", "t1"]
    for step in rows:
        same = steps[step.key]
        assert (step.type, step.input, step.output, step.model) == (same.type, same.input, same.output, same.model)
        assert (step.tokens_in, step.started_at, step.call_id) == (same.tokens_in, same.started_at, same.call_id)


def test_all_pages_make_one_run() -> None:
    trace = {key: value for key, value in EXPORT.items() if key not in {"observations", "scores"}}
    pages = [
        {
            "data": [
                {
                    **trace,
                    "observations": [observation["id"] for observation in EXPORT["observations"]],
                    "scores": ["sc1"],
                }
            ]
        },
        {"data": EXPORT["observations"][:3], "meta": {"page": 1}},
        {"data": EXPORT["observations"][3:], "meta": {"page": 2}},
        {"data": EXPORT["scores"], "meta": {"page": 1}},
    ]
    (run,), problems = import_values(*pages)
    assert (run.steps, problems) == (fixtures.run("langfuse_trace.json").steps, [])
    (download,), _ = import_values({"trace": trace, "observations": EXPORT["observations"]})
    assert download.steps == run.steps


def test_trace_without_its_observations_is_refused() -> None:
    runs, problems = import_values({"data": [{**EXPORT, "observations": ["g1", "t1"], "scores": []}]})
    assert runs == []
    assert problems == [
        "only observation ids for 1 trace(s), for example lf-export: export each trace with its observations"
    ]


def test_score_columns_become_scores() -> None:
    rows = [{**observation, "scores": {"helpful": [1, 0.5]}} for observation in EXPORT["observations"][:1]]
    (run,), _ = import_values(rows)
    assert [(score.name, score.value, score.step) for score in run.judgements] == [
        ("helpful", 1, "g2"),
        ("helpful", 0.5, "g2"),
    ]


def test_warning_of_an_observation_is_kept() -> None:
    times = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:01Z"}
    tool = {"id": "t", "traceId": "w", "type": "TOOL", "name": "shelve", "input": {}, **times}
    trace = {"id": "w", "observations": [{**tool, "level": "WARNING", "statusMessage": "slow"}]}
    ((run,), _) = import_values(trace)
    (step,) = fixtures.steps(run, StepType.TOOL)
    assert (step.status, step.attributes["status_message"]) == (StepStatus.OK, "slow")


@pytest.mark.parametrize("has_ended", [True, False])
def test_agent_of_krabs_without_end_is_partial(has_ended: bool) -> None:
    """Krabs leaves the trace of an agent that failed, and the span of a denied call, without an end."""
    end = {"endTime": "2026-03-01T10:00:02Z"} if has_ended else {}
    trace = {"id": "t", "name": "agent-run", "tags": ["krabs"], **({"output": "Yes."} if has_ended else {})}
    span = {"id": "s", "traceId": "t", "name": "find", "startTime": "2026-03-01T10:00:01Z", "input": {"id": 7}, **end}
    batch = [
        {"id": kind, "type": kind, "timestamp": "2026-03-01T10:00:00Z", "body": body}
        for kind, body in (("trace-create", trace), ("span-create", span))
    ]
    (run,), _ = import_values({"batch": batch})
    assert run.status is (RunStatus.COMPLETED if has_ended else RunStatus.PARTIAL)
    assert {step.status for step in run.steps} == {StepStatus.OK if has_ended else StepStatus.PARTIAL}


def test_cost_without_a_total_is_the_sum_of_its_parts() -> None:
    trace: Any = deepcopy(EXPORT)
    model = next(item for item in trace["observations"] if item["id"] == "g1")
    model["costDetails"] = {"input": 0.25, "output": 0.5}
    ((run,), _) = import_values(trace)
    (step,) = [step for step in run.steps if step.key == "g1"]
    assert (step.cost_usd, step.attributes["cost_details"]) == (
        Decimal("0.75"),
        {"input": 0.25, "output": 0.5, "total": 0.75},
    )


def test_observations_have_the_session_of_their_trace() -> None:
    page = {"id": "g1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-03-01T10:00:00Z"}
    owners = {"userId": "u1", "sessionId": "s1", "environment": "shop", "tags": ["night"]}
    for name in ("desk", None):
        (run,), _ = import_values({"data": [{**page, **owners, "traceName": name}], "meta": {"cursor": None}})
        assert (run.metadata["userId"], run.metadata["sessionId"]) == ("u1", "s1")
        assert (run.environment, run.tags) == (("shop", ("night",)) if name else ("", ()))


def test_observations_without_types_are_model_calls_if_they_name_a_model() -> None:
    times = {"traceId": "t1", "startTime": "2026-03-01T10:00:00Z", "parentObservationId": None}
    (run,), _ = import_values(
        [{"id": "a", "name": "desk", **times}, {"id": "b", "name": "chat", "model": "m", **times}]
    )
    assert [step.type for step in run.steps] == [StepType.AGENT, StepType.MODEL]


def test_trace_without_a_time_is_known_by_its_observations() -> None:
    observation = {"id": "g1", "type": "TOOL", "name": "find", "startTime": "2026-03-01T10:00:00Z", "output": "B-7"}
    (run,), _ = import_values({"id": "t1", "name": "desk", "observations": [observation]})
    assert [step.type for step in run.steps] == [StepType.AGENT, StepType.TOOL]


def test_scores_of_sessions_belong_to_their_traces() -> None:
    score = {"traceId": None, "sessionId": "s-1", "id": "sc-1", "name": "calm", "dataType": "NUMERIC", "value": 0.9}
    other_score = {**score, "id": "sc-2", "sessionId": "s-other", "name": "short"}
    ((run,), problems) = import_values(EXPORT, {"data": [score, other_score]})
    (session_score,) = as_objects(run.metadata["session_scores"])
    assert (session_score["name"], session_score["value"]) == ("calm", 0.9)
    assert problems == ["the score “short” is of no trace: import the traces of its session with it"]


def test_each_run_of_a_session_has_at_most_a_hundred_of_its_scores() -> None:
    times = {"startTime": "2026-03-01T10:00:00Z"}
    traces = [
        {
            **EXPORT,
            "id": f"t{no}",
            "sessionId": "s-1",
            "scores": [],
            "observations": [{"id": f"g{no}", "type": "TOOL", **times}],
        }
        for no in range(2)
    ]
    common = {"traceId": None, "sessionId": "s-1", "dataType": "NUMERIC", "value": 1}
    scores = [{**common, "id": f"sc-{no}", "name": f"n{no}"} for no in range(102)]
    runs, problems = import_values({"data": traces}, {"data": scores})
    assert [len(as_objects(run.metadata["session_scores"])) for run in runs] == [100, 100]
    assert problems == ["the score “n100” and 1 more are left out: its session has more than 100"]
