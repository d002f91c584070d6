"""File imports: no partial data from bad files, no duplicate runs."""

import gc
import gzip
import io
import os
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.importers.files.sample import SIZE
from traces.imports import import_files, portable_runs
from traces.models import Artifact, Run
from traces.reading.progress import NamedFile
from traces.runs import queries
from traces.schemas import ImportReport

pytestmark = pytest.mark.django_db


def import_examples(*names: str, **options: Any) -> ImportReport:
    return import_files.import_files(
        [in_memory(name, (fixtures.FOLDER / name).read_bytes()) for name in names], **options
    )


def in_memory(name: str, data: bytes) -> NamedFile:
    return NamedFile(name=name, file=io.BytesIO(data))


def transcript(number: int, text: str = "Is Dune in stock?") -> bytes:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]
    return orjson.dumps({"run_id": f"run-{number}", "dataset": "shop", "messages": messages})


def test_second_import_of_examples_changes_nothing() -> None:
    names = sorted(name for name in fixtures.FORMATS if name != "langsmith_batch.json")
    first = import_examples(*names)
    # Some of them are one trace in the forms of several exports, which keep different parts of it.
    assert all("occurs twice with different contents" in item.reason for item in first.skipped)
    assert {run.external_id for run in first.runs} == {run.external_id for name in names for run in fixtures.runs(name)}
    assert all(run.created for run in first.runs)
    artifacts = Artifact.objects.count()
    second = import_examples(*names)
    assert [(run.id, run.created) for run in second.runs] == [(run.id, False) for run in first.runs]
    assert (Run.objects.count(), Artifact.objects.count()) == (len(first.runs), artifacts)


def test_stored_payload_equals_recording() -> None:
    report = import_examples("openai_messages.json")
    steps = queries.steps(report.runs[0].id)
    model = [step for step in steps if step.type == StepType.MODEL][-1]
    (recorded,) = fixtures.runs("openai_messages.json")
    from traces.storage import artifacts as artifact_store

    assert artifact_store.payload(model.input_ref) == fixtures.steps(recorded, StepType.MODEL)[-1].input


@pytest.mark.parametrize("layout", ["in one line", "in several lines"])
def test_document_beyond_sample_size_is_complete(layout: str) -> None:
    document = transcript(1, "Is Dune in stock? " * (SIZE // 16))
    if layout == "in several lines":
        brief = transcript(0).partition(b'"messages":')[2].removesuffix(b"}")
        document = document.replace(b'{"run_id"', b'{"earlier":\n' + brief + b'\n,"run_id"', 1)
    assert len(document) > SIZE
    report = import_files.import_files([in_memory("run.json", document)])
    assert (report.skipped, [run.steps for run in report.runs]) == ([], [4])


def test_bad_lines_are_reported_with_number() -> None:
    lines = [
        transcript(1),
        b"{not json",
        transcript(2),
        b'{"run_id": "x", "messages": [{"role": "user"}, 7]}',
        transcript(3),
    ]
    report = import_files.import_files([in_memory("runs.jsonl", b"\n".join(lines))])
    assert [run.external_id for run in report.runs] == ["run-1", "run-2", "run-3"]
    assert [(skipped.path, skipped.where) for skipped in report.skipped] == [
        ("runs.jsonl", "line 2, line 1 column 2"),
        ("runs.jsonl", "line 4, /messages/1"),
    ]


def test_conflicting_recordings_are_both_kept() -> None:
    (first,) = import_files.import_files([in_memory("a.json", transcript(1))]).runs
    report = import_files.import_files(
        [in_memory("b.json", transcript(1, "And Emma?")), in_memory("c.json", transcript(2))]
    )
    assert report.skipped == []
    assert [(run.external_id, run.revision, run.conflicts_with) for run in report.runs] == [
        ("run-1", 2, first.id),
        ("run-2", 1, None),
    ]
    again = import_files.import_files(
        [in_memory("b.json", transcript(1, "And Emma?")), in_memory("a.json", transcript(1))]
    )
    assert [(run.created, run.revision, run.conflicts_with) for run in again.runs] == [
        (False, 2, first.id),
        (False, 1, None),
    ]
    names = Run.objects.filter(external_id="run-1").order_by("revision").values_list("name", flat=True)
    assert list(names) == ["Is Dune in stock?", "And Emma?"]


def test_id_of_many_recordings_identifies_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_files, "_MOST_CONFLICTS", 3)
    files = [in_memory(f"{number}.json", transcript(1, f"And book {number}?")) for number in range(8)]
    first, again = (import_files.import_files(files).runs for _ in range(2))
    names = [run.external_id for run in first]
    assert names == [*["run-1"] * 6, "run-1 (7)", "run-1 (8)"]
    assert [(run.id, run.created) for run in again] == [(run.id, False) for run in first]


def test_span_with_an_unreadable_time_is_reported_and_kept_without_it() -> None:
    value: Any = fixtures.source("otlp_genai.json").value
    value["resourceSpans"][0]["scopeSpans"][0]["spans"][-1]["startTimeUnixNano"] = "soon"
    report = import_files.import_files([in_memory("bad.json", orjson.dumps(value))])
    assert [run.steps for run in report.runs] == [4]
    [problem] = report.skipped
    assert problem.where.startswith("/resourceSpans/0/scopeSpans/0/spans/3")
    step = Run.objects.get().steps.get(external_id=value["resourceSpans"][0]["scopeSpans"][0]["spans"][-1]["spanId"])
    assert step.started_at is None


def test_bad_file_leaves_nothing_behind() -> None:
    value: Any = fixtures.source("otlp_genai.json").value
    value["resourceSpans"] = "none"
    session = (fixtures.FOLDER / "session.kurral").read_bytes()
    report = import_files.import_files(
        [in_memory("bad.json", orjson.dumps(value)), in_memory("cut.kurral", session[:900]), in_memory("empty", b"")]
    )
    assert report.runs == []
    assert [(skipped.path, skipped.where) for skipped in report.skipped] == [
        ("cut.kurral", "line 44 column 17"),
        ("empty", "byte 0"),
        ("bad.json", "/resourceSpans"),
    ]
    assert (Run.objects.count(), Artifact.objects.count()) == (0, 0)


def test_app_option_sets_the_app() -> None:
    report = import_examples("transcripts.jsonl", app="my-shop")
    assert {run.app for run in report.runs} == {"my-shop"}


def test_format_option_disables_detection() -> None:
    report = import_files.import_files([in_memory("x", transcript(1))], format="kurral")
    assert "kurral_id" in report.skipped[0].reason
    with pytest.raises(Exception, match="“morse” is not a format"):
        import_files.import_files([], format="morse")


def test_trace_over_several_files_is_one_run() -> None:
    report = import_examples("prela_http.json", "otlp_events_logs.json", "prela_spans.jsonl", "otlp_events_traces.json")
    assert [run.steps for run in report.runs] == [6, 4]


def test_compressed_file_reports_progress() -> None:
    progress_rows: list[tuple[str, int, int, int]] = []
    data = gzip.compress(b"\n".join(transcript(number) for number in range(40)))
    report = import_files.import_files(
        [in_memory("many.jsonl.gz", data)], progress=lambda *row: progress_rows.append(row)
    )
    assert len(report.runs) == 40
    assert progress_rows[-1][:3] == ("many.jsonl.gz", len(data), len(data))
    assert [row[1] for row in progress_rows] == sorted(row[1] for row in progress_rows)


def test_forkpoint_bundle_is_imported_as_file() -> None:
    report = import_examples("session.kurral")
    bundle = io.BytesIO()
    portable_runs.export(Run.objects.get(id=report.runs[0].id), bundle)
    bundle_report = import_files.import_files([in_memory("run.forkpoint.zip", bundle.getvalue())])
    assert [(run.id, run.created) for run in bundle_report.runs] == [(report.runs[0].id, False)]


def test_transactions_group_many_runs() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the statements of one database")
    from django.test.utils import CaptureQueriesContext

    def statements(runs: int) -> int:
        data = b"\n".join(transcript(number, f"Of {runs}?") for number in range(1000 * runs, 1001 * runs))
        with CaptureQueriesContext(connection) as capture:
            import_files.import_files([in_memory("many.jsonl", data)])
        transactions = [row for row in capture.captured_queries if row["sql"].startswith(("SAVEPOINT", "BEGIN"))]
        assert len(transactions) == -(-runs // 200)
        return len(capture.captured_queries)

    single_batch = statements(2)
    assert statements(50) == single_batch
    assert statements(210) <= single_batch * 3


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_do_not_deadlock() -> None:
    """Both imports store shared runs and runs of their own, in opposite orders."""
    rounds, runs = 8, 16
    outcomes: list[ImportReport | Exception] = []
    barrier = threading.Barrier(2)

    def lines(round_number: int, worker: int) -> list[bytes]:
        shared_runs = [
            transcript(100 * round_number + number, f"Is book {round_number}.{number} in stock?")
            for number in range(runs // 2)
        ]
        own_runs = [
            transcript(10_000 * worker + 100 * round_number + number, f"When is {round_number}.{number} open?")
            for number in range(runs // 2)
        ]
        return [*shared_runs, *own_runs] if worker == 1 else [*reversed(own_runs), *reversed(shared_runs)]

    def work(worker: int) -> None:
        try:
            for round_number in range(rounds):
                barrier.wait(timeout=60)
                outcomes.append(
                    import_files.import_files([in_memory("a.jsonl", b"\n".join(lines(round_number, worker)))])
                )
        # The test must see any error of the thread.
        except Exception as error:  # noqa: BLE001
            outcomes.append(error)
            barrier.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    imported = [run for report in outcomes if isinstance(report, ImportReport) for run in report.runs]
    assert len(imported) == 2 * rounds * runs
    assert sum(run.created for run in imported) == Run.objects.count() == rounds * runs * 3 // 2


SAMPLES = os.environ.get("FORKPOINT_SAMPLE_DATA", "")


@pytest.mark.skipif(not SAMPLES, reason="FORKPOINT_SAMPLE_DATA is not set to a folder of recordings")
def test_sample_files_import_or_report_location() -> None:
    paths = [path for path in sorted(Path(SAMPLES).rglob("*")) if path.is_file()]
    with ExitStack() as stack:
        files = [
            NamedFile(name=str(path.relative_to(SAMPLES)), file=stack.enter_context(path.open("rb"))) for path in paths
        ]
        report = import_files.import_files(files)
    assert report.runs
    for run in report.runs:
        assert run.name
        assert run.steps
    for skipped in report.skipped:
        assert skipped.reason
        assert skipped.where


def test_import_leaves_file_open() -> None:
    file = in_memory("many.jsonl.gz", gzip.compress(transcript(1)))
    import_files.import_files([file])
    gc.collect()
    assert not file.file.closed


def test_paths_of_files_tell_which_belong_together() -> None:
    def event(number: int) -> SimpleUploadedFile:
        message = {"role": "user", "content": f"Count shelf {number}."}
        body = {"kind": "MessageEvent", "id": f"m{number}", "source": "user", "llm_message": message}
        return SimpleUploadedFile("event-0.json", orjson.dumps(body))

    paths = ["first/events/event-0.json", "second/events/event-0.json"]
    for form, count in (({}, 1), ({"paths": orjson.dumps(paths).decode()}, 2)):
        report = Client().post("/api/v1/runs/import", {**form, "file": [event(1), event(2)]}).json()
        assert (len(report["runs"]), report["skipped"]) == (count, [])
    for wrong in (paths[:1], ["", "x"], "no list"):
        response = Client().post(
            "/api/v1/runs/import", {"paths": orjson.dumps(wrong).decode(), "file": [event(1), event(2)]}
        )
        assert (response.status_code, response.json()["where"]) == (400, "/paths")
    long_path = {"paths": orjson.dumps(["x" * 10_000, "bad.json"]).decode()}
    bad_files = [SimpleUploadedFile("a", b"{"), SimpleUploadedFile("b", b"{")]
    problem, _ = Client().post("/api/v1/runs/import", {**long_path, "file": bad_files}).json()["skipped"]
    assert len(problem["path"]) == 1_000
