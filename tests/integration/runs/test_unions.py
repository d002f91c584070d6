"""Parts of one trace that do not contain each other: the next revision is their union."""

import io
from typing import Any

import orjson
import pytest
from django.test import Client

from tests.support.arriving_spans import MODEL, ROOT, TOOL, TRACE, Span, model, request, root, tool
from tests.support.assembler_time import let_pass
from traces.core.vocabulary import RunStatus
from traces.imports import import_files
from traces.models import Judgement, Run, Step
from traces.reading.progress import NamedFile
from traces.schemas import ImportedRun

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
WHOLE = [("handle order", None), ("chat", 1), ("get_order", 1)]


def _import(*spans: Span, **names: str) -> ImportedRun:
    file = NamedFile(name="spans.json", file=io.BytesIO(request(*spans, **names)))
    [run] = import_files.import_files([file]).runs
    return run


def _send(*spans: Span) -> None:
    response = Client().post("/v1/traces", request(*spans), content_type="application/json")
    assert response.content == b"{}"


def _seal() -> Run:
    """Let the quiet period pass, and return the newest revision."""
    let_pass(10)
    let_pass(10)
    return _newest()


def _newest() -> Run:
    return Run.objects.order_by("-revision")[0]


def _steps(run: Run) -> list[tuple[str, int | None]]:
    return list(run.steps.order_by("sequence_no").values_list("name", "parent_no"))


def _content(run: Run) -> list[tuple[Any, ...]]:
    columns = [field.name for field in Step._meta.fields if field.name not in {"id", "run"}]
    return list(run.steps.order_by("sequence_no").values_list(*columns))


@pytest.mark.parametrize("parts", [([root(), model()], [tool()]), ([tool()], [root(), model()])])
def test_second_file_of_a_trace_completes_the_first(parts: tuple[list[Span], list[Span]]) -> None:
    first, second = (_import(*part) for part in parts)
    assert (second.revision, second.supersedes, second.conflicts_with) == (2, first.id, None)
    run = _newest()
    assert (run.name, run.status, _steps(run)) == ("Where is my order?", RunStatus.COMPLETED, WHOLE)
    together = _import(root(), model(), tool(), service="other")
    assert _content(run) == _content(Run.objects.get(id=together.id))


def test_common_spans_of_both_parts_must_be_equal() -> None:
    _import(root(), model())
    assert _import(root(), tool()).revision == 2
    assert _steps(_newest()) == WHOLE
    changed = {**model(), "attributes": [*model()["attributes"], *tool()["attributes"]]}
    conflict = _import(changed, {**tool(), "spanId": "eee19b7ec3c1b177"})
    assert (conflict.revision, conflict.supersedes) == (3, None)
    assert conflict.conflicts_with == Run.objects.get(revision=2).id


def test_parts_again_are_the_stored_run() -> None:
    first = _import(root(), model())
    union = _import(tool())
    assert [_import(tool()).id, _import(root(), model()).id] == [union.id, first.id]
    _send(tool())
    _seal()
    assert Run.objects.count() == 2


def test_live_span_completes_an_imported_run() -> None:
    first = _import(root(), model())
    _send(tool())
    let_pass(1)
    growing = _newest()
    assert (growing.revision, growing.supersedes_id, growing.sealed_at, _steps(growing)) == (2, first.id, None, WHOLE)
    run = _seal()
    assert (run.id, run.status, run.sealed_at is None, _steps(run)) == (growing.id, RunStatus.COMPLETED, False, WHOLE)
    assert Run.objects.count() == 2


def test_growing_union_keeps_the_stored_part() -> None:
    _import(root())
    _send(model())
    let_pass(1)
    _send(tool())
    run = _seal()
    assert (run.revision, _steps(run)) == (2, WHOLE)
    late = {**tool(), "spanId": "eee19b7ec3c1b177"}
    _send(late)
    assert (_seal().revision, len(_steps(_newest()))) == (3, 4)


def test_imported_span_completes_a_live_run() -> None:
    _send(root(), model())
    live = _seal()
    late = _import(tool())
    assert (late.revision, late.supersedes, _steps(_newest())) == (2, live.id, WHOLE)
    _send({**tool(), "spanId": "eee19b7ec3c1b177"})
    run = _seal()
    assert (run.revision, run.supersedes_id) == (3, late.id)
    assert _steps(run) == [*WHOLE, ("get_order", 1)]


def test_live_trace_without_its_segments_is_completed(settings: Any) -> None:
    _send(root(), model())
    _seal().recordings.get().segments.all().delete()
    _send(tool())
    assert _steps(_seal()) == WHOLE


def test_scores_of_both_parts_belong_to_the_union() -> None:
    def langfuse(*events: tuple[str, dict[str, Any]]) -> None:
        time = "2026-03-01T10:00:00Z"
        batch = [{"id": body["id"], "type": type, "timestamp": time, "body": body} for type, body in events]
        file = NamedFile(name="a.json", file=io.BytesIO(orjson.dumps({"batch": batch})))
        assert not import_files.import_files([file]).skipped

    times = {"startTime": "2026-03-01T10:00:00Z", "endTime": "2026-03-01T10:00:01Z"}

    def span(id: str, parent: str | None = None) -> tuple[str, dict[str, Any]]:
        return "span-create", {"id": id, "traceId": "t1", "name": id, "parentObservationId": parent, **times}

    def score(id: str, observation: str) -> tuple[str, dict[str, Any]]:
        return "score-create", {"id": id, "traceId": "t1", "observationId": observation, "name": id, "value": 1}

    langfuse(span("a"), score("good", "a"))
    langfuse(span("b", "a"), score("better", "b"))
    run = _newest()
    assert (run.revision, [name for name, _ in _steps(run)][-2:]) == (2, ["a", "b"])
    numbers = dict(run.steps.values_list("external_id", "sequence_no"))
    judgements = Judgement.objects.filter(run=run).order_by("name").values_list("name", "step_no")
    assert list(judgements) == [("better", numbers["b"]), ("good", numbers["a"])]


def test_ids_are_those_of_the_spans() -> None:
    _import(root(), model())
    _import(tool())
    assert set(_newest().steps.values_list("external_id", flat=True)) == {ROOT, MODEL, TOOL}
    assert _newest().external_id == TRACE
