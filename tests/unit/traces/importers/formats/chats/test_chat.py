"""Chat transcripts: what a run is known by, and messages that no model was shown."""

from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import RunStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

HELLO = [{"role": "user", "content": "Is Dune in stock?"}, {"role": "assistant", "content": "Yes."}]


def read(*rows: Any) -> list[RecordedRun]:
    data = b"\n".join(orjson.dumps(row) for row in rows)
    return list(registry.get_importer("chat").runs([Source(name="runs.jsonl", data=data)]))


def names(*rows: Any) -> list[str]:
    return [run.external_id for run in read(*rows)]


def test_failed_trials_without_messages_stay_apart() -> None:
    rows: list[Any] = [{"task_id": task, "trial": trial, "messages": []} for task in (1, 2) for trial in (0, 1)]
    runs = read(*rows)
    assert len({run.external_id for run in runs}) == 4
    assert {run.status for run in runs} == {RunStatus.FAILED}
    (timed_out,) = read({"task_id": 1, "run_info": {"termination_reason": "too_many_errors"}, "messages": []})
    assert timed_out.steps[0].error == "the trial ended before any message: too_many_errors"
    assert names(*rows) == [run.external_id for run in runs], "the same row is the same run"


def test_one_task_of_two_files_is_two_runs() -> None:
    first, second = ({"task_id": 1, "trial": 0, "source": model, "messages": HELLO} for model in ("small", "large"))
    assert len(set(names(first, second))) == 2


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"run_id": "nightly", "task_id": 7, "trial": 2}, "nightly/7/2"),
        ({"run_id": "nightly", "config": {"trial": 2}, "task_id": "7"}, "nightly/7/2"),
        ({"run_id": "nightly/7#2", "task_id": 7, "trial": 2}, "nightly/7#2"),
        ({"run_id": "nightly-27", "task_id": 7}, "nightly-27/7"),
        ({"run_id": "nightly", "task_id": 7, "simulation_id": "s-1"}, "s-1"),
        ({"run_id": "nightly", "task_id": 7, "run_info": {"simulation_id": "s-1"}}, "s-1"),
        ({"id": "s-1", "task_id": 7}, "s-1"),
        ({"run_id": "nightly"}, "nightly"),
    ],
)
def test_a_run_is_known_by_all_its_ids(row: dict[str, Any], expected: str) -> None:
    assert names({**row, "messages": HELLO}) == [expected]


def test_equal_messages_without_ids_are_one_run() -> None:
    assert len(set(names({"messages": HELLO}, {"messages": HELLO}))) == 1


def test_results_without_calls_are_kept_and_noted() -> None:
    orphan = {"role": "tool", "tool_call_id": "lost", "content": "3 copies"}
    (shown,) = read({"id": "a", "messages": [orphan, *HELLO]})
    assert shown.steps[0].attributes == {"results_without_calls": ["lost"]}
    (model,) = fixtures.steps(shown, StepType.MODEL)
    assert "3 copies" in str(model.input)
    (unread,) = read({"id": "b", "messages": [*HELLO, orphan]})
    assert "3 copies" in str(unread.steps[0].attributes["unread_messages"])


def test_a_call_id_of_any_length_is_kept() -> None:
    call_id = "call_" + "x" * 5000
    call = {"id": call_id, "name": "find_book", "arguments": {"title": "Dune"}}
    messages = [HELLO[0], {"role": "assistant", "content": None, "tool_calls": [call]}]
    (run,) = read({"id": "a", "messages": [*messages, {"role": "tool", "tool_call_id": call_id, "content": "3"}]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.call_id, tool.output) == (call_id, "3")
