"""Search in the payloads of all runs."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import assistant, model_step, order_run, user
from traces.core.recorded_run import RecordedRun
from traces.models import Run, SearchDocument, UnindexedRun
from traces.runs import services
from traces.search import indexer

pytestmark = pytest.mark.django_db


def _search(q: str, **query: Any) -> Any:
    response = Client().get("/api/v1/runs", {"q": q, **query})
    assert response.status_code == 200, response.content
    return response.json()


def _names(q: str, **query: Any) -> list[str]:
    return [run["external_id"] for run in _search(q, **query)["runs"]]


def _answering(name: str, *answers: str, **columns: Any) -> RecordedRun:
    """Build a run that gives one answer after the other."""
    steps = tuple(model_step(f"{name}-{at}", [user("Hello")], assistant(text)) for at, text in enumerate(answers))
    return replace(order_run(name), steps=steps, **columns)


def _index() -> None:
    while indexer.work():
        pass


def _record(*runs: RecordedRun) -> list[Run]:
    recorded = [Run.objects.get(id=services.record(run).run_id) for run in runs]
    _index()
    return recorded


def test_hit_names_step_and_text() -> None:
    run, _ = _record(_answering("a", "One moment.", "The parcel left Lisbon, today."), _answering("b", "Nothing."))
    page = _search("lisbon")
    assert [found["id"] for found in page["runs"]] == [str(run.id)]
    (hit,) = page["hits"]
    assert (hit["run"], hit["step"], hit["name"]) == (str(run.id), 2, "chat")
    assert [(part["text"], part["is_match"]) for part in hit["snippet"]] == [
        ("The parcel left ", False),
        ("Lisbon", True),
        (", today.", False),
    ]


def test_all_words_must_occur_and_the_last_may_be_a_beginning() -> None:
    _record(_answering("a", "left Lisbon", "on Monday"), _answering("b", "left Porto"))
    assert _names("left") == ["b", "a"]
    assert _names("left lisb") == ["a"]
    assert _names("monday lisbon") == ["a"]
    assert _names("lisb left") == []
    assert _names("left, madrid") == []


def test_own_words_of_a_run_need_no_hit() -> None:
    _record(_answering("a", "Done.", tags=("urgent",)))
    page = _search("urgent")
    assert (len(page["runs"]), page["hits"]) == (1, [])


def test_filters_apply_to_a_search() -> None:
    _record(_answering("a", "Lisbon", app="desk"), _answering("b", "Lisbon", app="shop"))
    assert _names("lisbon", app="shop") == ["b"]
    assert _names("lisbon", sort="outcome") == ["b", "a"]


def test_pages_continue_before_the_last_match() -> None:
    _record(*(_answering(f"run-{number}", "Lisbon") for number in range(5)))
    first = _search("lisbon", limit=2)
    second = _search("lisbon", limit=2, cursor=first["next"])
    third = _search("lisbon", limit=2, cursor=second["next"])
    names = [run["external_id"] for page in (first, second, third) for run in page["runs"]]
    assert names == ["run-4", "run-3", "run-2", "run-1", "run-0"]
    assert (first["total"], third["next"]) == (None, None)


@pytest.mark.parametrize("cursor", ["1", "~x", "~", f"~{'9' * 30}"])
def test_wrong_cursor_is_rejected(cursor: str) -> None:
    assert Client().get("/api/v1/runs", {"q": "lisbon", "cursor": cursor}).status_code == 400


def test_runs_outside_the_index_are_found_by_their_own_words() -> None:
    services.record(_answering("a", "Lisbon", tags=("urgent",)))
    assert (_names("urgent"), _names("lisbon")) == (["a"], [])
    assert _search("lisbon")["unindexed_runs"] == 1
    _index()
    assert (_names("lisbon"), _search("lisbon")["unindexed_runs"]) == (["a"], 0)


def test_only_the_newest_revision_is_found() -> None:
    _, newest = _record(_answering("a", "Lisbon"), _answering("a", "Lisbon", "Porto"))
    assert [run["id"] for run in _search("lisbon")["runs"]] == [str(newest.id)]
    assert SearchDocument.objects.count() == 1


def test_copied_steps_are_found_in_their_source() -> None:
    (source,) = _record(_answering("a", "Lisbon", "Porto"))
    fork = services.open_run(name="fork", app="desk", source_run=source)
    services.copy_steps(source_run_id=source.id, run_id=fork.id, first=1, last=2, label="exact", reason="")  # type: ignore[arg-type]
    services.seal_run(fork.id, "completed")  # type: ignore[arg-type]
    _index()
    assert [run["id"] for run in _search("lisbon")["runs"]] == [str(source.id)]


def test_rest_of_a_very_long_text_is_not_indexed() -> None:
    _record(_answering("a", "Lisbon " * 3_000 + "Porto"))
    assert (_names("lisbon"), _names("porto")) == (["a"], [])


def test_crash_before_the_documents_are_stored_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    services.record(_answering("a", "Lisbon"))
    with monkeypatch.context() as patch:
        patch.setattr("traces.search.documents.insert", _fail)
        with pytest.raises(RuntimeError):
            indexer.work()
    assert (indexer.work(), UnindexedRun.objects.count()) == (False, 1)
    indexer.release_leases()
    _index()
    assert _names("lisbon") == ["a"]


def _fail(_: object) -> None:
    raise RuntimeError


def test_restart_rebuilds_the_index() -> None:
    _record(_answering("a", "Lisbon"))
    indexer.restart()
    assert _names("lisbon") == []
    _index()
    assert (_names("lisbon"), SearchDocument.objects.count()) == (["a"], 1)


def test_sections_of_a_long_run_are_separate_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "SECTION", 2)
    _record(_answering("a", "Lisbon", "Porto", "Faro"))
    assert [_search(city)["hits"][0]["step"] for city in ("lisbon", "porto", "faro")] == [1, 2, 3]
    assert (_names("lisbon porto"), _names("lisbon faro")) == (["a"], [])
