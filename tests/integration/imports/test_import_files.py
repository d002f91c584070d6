"""Importing files into the store: nothing is left behind by a bad one, nothing comes twice."""

import gc
import gzip
import io
import os
import threading
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.db import connection

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.importers.files.sample import SIZE
from traces.imports import import_files, portable_runs
from traces.models import Artifact, Run
from traces.reading.progress import NamedFile
from traces.runs import queries
from traces.schemas import ImportReport

pytestmark = pytest.mark.django_db


def import_named(*names: str, **options: Any) -> ImportReport:
    return import_files.import_files(
        [in_memory(name, (fixtures.FOLDER / name).read_bytes()) for name in names], **options
    )


def in_memory(name: str, data: bytes) -> NamedFile:
    return NamedFile(name=name, file=io.BytesIO(data))


def transcript(number: int, text: str = "Is Dune in stock?") -> bytes:
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]
    return orjson.dumps({"run_id": f"run-{number}", "dataset": "shop", "messages": messages})


def test_every_example_imports_and_a_second_time_changes_nothing() -> None:
    names = sorted(name for name in fixtures.FORMATS if name != "langsmith_batch.json")
    first = import_named(*names)
    assert first.skipped == []
    expected = {run.external_id for name in names for run in fixtures.runs(name)}
    assert sorted(run.external_id for run in first.runs) == sorted(expected)
    assert all(run.created for run in first.runs)
    artifacts = Artifact.objects.count()
    again = import_named(*names)
    assert [(run.id, run.created) for run in again.runs] == [(run.id, False) for run in first.runs]
    assert (Run.objects.count(), Artifact.objects.count()) == (len(expected), artifacts)


def test_what_a_step_said_is_read_back_as_it_was() -> None:
    report = import_named("openai_messages.json")
    steps = queries.steps(report.runs[0].id)
    model = [step for step in steps if step.type == StepType.MODEL][-1]
    (recorded,) = fixtures.runs("openai_messages.json")
    from traces.storage import artifacts as artifact_store

    assert artifact_store.payload(model.input_ref) == fixtures.steps(recorded, StepType.MODEL)[-1].input


@pytest.mark.parametrize("layout", ["in one line", "in several lines"])
def test_a_document_longer_than_what_detection_looks_at_is_read_whole(layout: str) -> None:
    document = transcript(1, "Is Dune in stock? " * (SIZE // 16))
    if layout == "in several lines":
        brief = transcript(0).partition(b'"messages":')[2].removesuffix(b"}")
        document = document.replace(b'{"run_id"', b'{"earlier":\n' + brief + b'\n,"run_id"', 1)
    assert len(document) > SIZE
    report = import_files.import_files([in_memory("run.json", document)])
    assert (report.skipped, [run.steps for run in report.runs]) == ([], [4])


def test_good_lines_are_imported_and_bad_ones_reported_with_their_line() -> None:
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


def test_another_recording_under_the_same_identity_is_reported_and_changes_nothing() -> None:
    import_files.import_files([in_memory("a.json", transcript(1))])
    report = import_files.import_files(
        [in_memory("b.json", transcript(1, "And Emma?")), in_memory("c.json", transcript(2))]
    )
    assert [run.external_id for run in report.runs] == ["run-2"]
    (skipped,) = report.skipped
    assert (skipped.path, skipped.where) == ("b.json", "run run-1")
    assert "other content" in skipped.reason
    assert Run.objects.get(external_id="run-1").name == "Is Dune in stock?"


def test_a_bad_file_leaves_nothing_behind() -> None:
    value: Any = fixtures.source("otlp_genai.json").value
    value["resourceSpans"][0]["scopeSpans"][0]["spans"][-1]["startTimeUnixNano"] = "soon"
    session = (fixtures.FOLDER / "session.kurral").read_bytes()
    report = import_files.import_files(
        [in_memory("bad.json", orjson.dumps(value)), in_memory("cut.kurral", session[:900]), in_memory("empty", b"")]
    )
    assert report.runs == []
    assert [(skipped.path, skipped.where) for skipped in report.skipped] == [
        ("cut.kurral", "line 44 column 17"),
        ("empty", "byte 0"),
        ("bad.json", "/resourceSpans/0/scopeSpans/0/spans/3"),
    ]
    assert (Run.objects.count(), Artifact.objects.count()) == (0, 0)


def test_the_app_given_by_the_importer_is_used() -> None:
    report = import_named("transcripts.jsonl", app="my-shop")
    assert {run.app for run in report.runs} == {"my-shop"}


def test_a_named_format_is_not_detected() -> None:
    report = import_files.import_files([in_memory("x", transcript(1))], format="kurral")
    assert "kurral_id" in report.skipped[0].reason
    with pytest.raises(Exception, match="'morse' is not a format"):
        import_files.import_files([], format="morse")


def test_a_trace_spread_over_files_is_one_run() -> None:
    report = import_named("prela_http.json", "otlp_events_logs.json", "prela_spans.jsonl", "otlp_events_traces.json")
    assert [run.steps for run in report.runs] == [6, 4]


def test_a_compressed_file_of_many_runs_reports_its_progress() -> None:
    seen: list[tuple[str, int, int]] = []
    data = gzip.compress(b"\n".join(transcript(at) for at in range(40)))
    report = import_files.import_files([in_memory("many.jsonl.gz", data)], progress=lambda *row: seen.append(row))
    assert len(report.runs) == 40
    assert seen[-1] == ("many.jsonl.gz", len(data), len(data))
    assert [row[1] for row in seen] == sorted(row[1] for row in seen)


def test_our_own_bundle_is_imported_like_any_file() -> None:
    report = import_named("session.kurral")
    bundle = io.BytesIO()
    portable_runs.export(Run.objects.get(id=report.runs[0].id), bundle)
    again = import_files.import_files([in_memory("run.forkpoint.zip", bundle.getvalue())])
    assert [(run.id, run.created) for run in again.runs] == [(report.runs[0].id, False)]


def test_a_zip_of_something_else_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.json", "{}")
    report = import_files.import_files([in_memory("a.zip", packed.getvalue())])
    assert "not a bundle of Forkpoint" in report.skipped[0].reason


def test_a_transaction_holds_few_runs_and_not_one() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts the statements of one database")
    from django.test.utils import CaptureQueriesContext

    def statements(runs: int) -> int:
        data = b"\n".join(transcript(at, f"Of {runs}?") for at in range(1000 * runs, 1001 * runs))
        with CaptureQueriesContext(connection) as captured:
            import_files.import_files([in_memory("many.jsonl", data)])
        begun = [row for row in captured.captured_queries if row["sql"].startswith(("SAVEPOINT", "BEGIN"))]
        assert len(begun) == -(-runs // 200)
        return len(captured.captured_queries)

    of_one_batch = statements(2)
    assert statements(50) == of_one_batch
    assert statements(210) <= of_one_batch * 3


@pytest.mark.django_db(transaction=True)
def test_two_imports_that_share_messages_and_runs_wait_for_each_other_and_never_in_a_circle() -> None:
    """Both store the same runs and other runs of the same messages, one in the opposite order of the other."""
    rounds, runs = 8, 16
    outcomes: list[ImportReport | Exception] = []
    together = threading.Barrier(2)

    def lines(turn: int, worker: int) -> list[bytes]:
        shared = [transcript(100 * turn + at, f"Is book {turn}.{at} in stock?") for at in range(runs // 2)]
        own = [transcript(10_000 * worker + 100 * turn + at, f"When is {turn}.{at} open?") for at in range(runs // 2)]
        return [*shared, *own] if worker == 1 else [*reversed(own), *reversed(shared)]

    def work(worker: int) -> None:
        try:
            for turn in range(rounds):
                together.wait(timeout=60)
                outcomes.append(import_files.import_files([in_memory("a.jsonl", b"\n".join(lines(turn, worker)))]))
        except Exception as error:  # noqa: BLE001  # whatever it is must be seen by the test
            outcomes.append(error)
            together.abort()
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=(worker,)) for worker in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each for each in outcomes if isinstance(each, Exception)] == []
    imported = [run for report in outcomes if isinstance(report, ImportReport) for run in report.runs]
    assert len(imported) == 2 * rounds * runs
    assert sum(run.created for run in imported) == Run.objects.count() == rounds * runs * 3 // 2


SAMPLES = os.environ.get("FORKPOINT_SAMPLE_DATA", "")


@pytest.mark.skipif(not SAMPLES, reason="FORKPOINT_SAMPLE_DATA names no folder of recordings")
def test_every_file_of_a_folder_imports_or_is_refused_with_a_place() -> None:
    paths = [path for path in sorted(Path(SAMPLES).rglob("*")) if path.is_file()]
    with ExitStack() as opened:
        files = [
            NamedFile(name=str(path.relative_to(SAMPLES)), file=opened.enter_context(path.open("rb"))) for path in paths
        ]
        report = import_files.import_files(files)
    assert report.runs
    for run in report.runs:
        assert run.name
        assert run.steps
    for skipped in report.skipped:
        assert skipped.reason
        assert skipped.where


def test_the_callers_file_stays_open() -> None:
    given = in_memory("many.jsonl.gz", gzip.compress(transcript(1)))
    import_files.import_files([given])
    gc.collect()
    assert not given.file.closed
