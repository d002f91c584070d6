"""Search in the payloads of all runs."""

from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.test import Client

from tests.support.recordings import assistant, model_step, order_run, user
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers import registry
from traces.importers.files.source import Source
from traces.models import Run, SearchDocument, UnindexedRun
from traces.runs import services
from traces.search import documents, indexer, step_words

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


def test_reference_is_found_whole() -> None:
    _record(_answering("a", "Order A-2077 left", tags=("pr-7",)), _answering("b", "a parcel, 2077 km", tags=("7",)))
    assert (_names("a 2077"), _names("A-2077"), _names("a-20"), _names("PR-7")) == (["b", "a"], ["a"], ["a"], ["a"])
    (hit,) = _search("a-2077")["hits"]
    assert [part["text"] for part in hit["snippet"] if part["is_match"]] == ["A-2077"]


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


def test_end_of_a_long_result_is_found() -> None:
    text = "Lisbon lies on the Tagus. " * 40_000 + "We go to Porto-Straße"
    run = order_run("a")
    _record(replace(run, steps=tuple(replace(step, output=text) if step.key == "look" else step for step in run.steps)))
    (hit,) = _search("porto straße")["hits"]
    assert hit["step"] == next(number for number, step in enumerate(run.steps, 1) if step.key == "look")
    assert ("Porto", True) in [(part["text"], part["is_match"]) for part in hit["snippet"]]
    # The words are stored once, however often the text repeats them.
    assert SearchDocument.objects.count() == 1


def test_words_of_a_full_document_are_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "MAX_WORDS", 50_000)
    words = [f"w{number:05}" for number in range(20_000)]
    _record(_answering("a", " ".join(words), "Lisbon"))
    assert [_search(word)["hits"][0]["step"] for word in (words[0], words[-1], "lisbon")] == [1, 1, 2]
    assert (_names(f"{words[0]} {words[1]}"), SearchDocument.objects.count() > 5) == (["a"], True)


def test_long_texts_of_a_run_have_an_allowance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step_words, "_Reading", partial(step_words._Reading, allowance=32 * 1024))  # noqa: SLF001
    _record(_answering("a", "Lisbon " * 20_000 + "Porto", "Faro"))
    assert (_names("lisbon"), _names("porto"), _names("faro")) == (["a"], [], ["a"])


def test_repeated_history_is_not_read_again() -> None:
    texts = ["Lisbon " * 20_000 + "Porto", "Braga", "Faro"]
    messages: list[JSONValue] = [user(text) for text in texts]
    steps = tuple(model_step(f"m{at}", messages[: at + 1], assistant("Yes.")) for at in range(len(messages)))
    run = services.record(replace(order_run("a"), steps=steps)).run_id
    pieces = list(step_words.step_words([run]))
    assert {piece.number for piece in pieces if "lisbon" in piece.words} == {1}
    assert [piece.number for piece in pieces if piece.number > 1] == [2, 3]
    assert sum(piece.extra for piece in pieces) < len(texts[0])


def test_batch_ends_after_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "_BATCH_TEXT", 10_000)
    for name in ("a", "b"):
        services.record(_answering(name, f"{name} " * 40_000 + f"Lisbon {name}"))
    assert indexer.work()
    assert _names("lisbon") == ["a"]
    assert indexer.work()
    assert _names("lisbon") == ["b", "a"]


def test_messages_that_no_step_contains_are_found() -> None:
    messages = [user("Hello"), assistant("Yes?"), {"role": "system", "content": "The shop in Lisbon closes."}]
    source = Source(name="chat.json", data=orjson.dumps({"id": "a", "messages": messages}))
    _record(*registry.get_importer("chat").runs([source]))
    page = _search("lisbon")
    assert [run["external_id"] for run in page["runs"]] == ["a"]
    assert ("Lisbon", True) in [(part["text"], part["is_match"]) for part in page["hits"][0]["snippet"]]


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


def test_index_is_rebuilt() -> None:
    _record(_answering("a", "Lisbon"))
    # It is emptied first: no document is there twice.
    assert (indexer.rebuild(), SearchDocument.objects.count()) == (1, 1)
    with transaction.atomic():
        documents.clear()
    assert _names("lisbon") == []
    assert (indexer.rebuild(), _names("lisbon")) == (1, ["a"])


def test_sections_of_a_long_run_are_separate_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "SECTION", 2)
    _record(_answering("a", "Lisbon", "Porto", "Faro"))
    assert [_search(city)["hits"][0]["step"] for city in ("lisbon", "porto", "faro")] == [1, 2, 3]
    assert (_names("lisbon porto"), _names("lisbon faro")) == (["a"], [])
