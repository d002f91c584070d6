"""Downloads and pages of Phoenix's experiments."""

import csv
import io
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, RunStatus

ROWS: Any = orjson.loads((fixtures.FOLDER / "phoenix_experiment.json").read_bytes())


def facts(run: RecordedRun) -> Any:
    (step,) = run.steps
    scores = [(item.name, item.kind, item.value, item.text, item.by) for item in run.judgements]
    return run.external_id, step.input, step.output, step.tokens_in, step.tokens_out, run.metadata, scores


def test_runs_have_answers_and_annotations() -> None:
    run, failure = fixtures.runs("phoenix_experiment.json")
    (step,) = run.steps
    assert (step.input, step.output) == ({"question": "Is Dune in stock?"}, {"text": "Yes, three copies."})
    assert (step.tokens_in, step.tokens_out) == (42, 9)
    assert (run.metadata["reference_output"], run.metadata["trace_id"]) == ({"answer": "three copies"}, "5f" * 16)
    assert [(item.name, item.kind, item.value, item.text, item.by) for item in run.judgements] == [
        ("correct", JudgementKind.SCORE, 1.0, "yes: names the number", "CODE"),
        ("tone", JudgementKind.NOTE, None, "friendly", "LLM"),
    ]
    assert (failure.status, failure.steps[0].error) == (RunStatus.FAILED, "no such shelf")


def test_download_as_csv_gives_same_run() -> None:
    row = {**ROWS[0]}
    columns = {
        f"annotation_{item['name']}_{name}": value for item in row.pop("annotations") for name, value in item.items()
    }
    columns = {name: value for name, value in columns.items() if not name.endswith("_name")}
    cells = {
        name: orjson.dumps(value).decode() if isinstance(value, dict) else value
        for name, value in {**row, **columns, "prompt_token_count": 42.0}.items()
    }
    target = io.StringIO()
    writer = csv.DictWriter(target, cells)
    writer.writeheader()
    writer.writerow(cells)
    ((run,), problems) = fixtures.detect_and_read("phoenix-experiment", target.getvalue().encode(), "runs.csv")
    assert (facts(run), problems) == (facts(fixtures.runs("phoenix_experiment.json")[0]), [])


def test_annotation_added_later_keeps_the_run() -> None:
    early, *_ = fixtures.read("phoenix-experiment", [{**ROWS[0], "annotations": []}])
    assert early.external_id == fixtures.runs("phoenix_experiment.json")[0].external_id


def test_pages_of_runs_lack_the_input() -> None:
    names = ("output", "repetition_number", "start_time", "end_time", "trace_id")
    page = {name: ROWS[0][name] for name in names} | {"dataset_example_id": "e", "experiment_id": "x", "id": "r-1"}
    ((run,), problems) = fixtures.detect_and_read(
        "phoenix-experiment", orjson.dumps({"data": [page], "next_cursor": None})
    )
    assert (run.external_id, run.steps[0].input, problems) == ("r-1", None, [])
    assert run.metadata["experiment_id"] == "x"
