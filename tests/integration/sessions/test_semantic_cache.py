"""Semantic cache: reworded tool calls are answered from any sealed run of the app."""

from typing import Any

import pytest

from replay.store import call_cache
from tests.support.replay_runs import Reply, ToolCall, order_desk
from traces.call_index import ignore_lists, tool_calls
from traces.core.vocabulary import StepStatus
from traces.models import Run
from traces.models import ToolCall as ToolCallRow
from traces.runs.services import record, retention
from traces.signatures.call_shapes import shape_of
from traces.signatures.ignore_rules import IgnoreRule

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
LOST_PARCELS = {"query": "what happens with lost parcels"}


def record_call(
    external_id: str, arguments: Any, result: Any, *, app: str = "desk", status: StepStatus = StepStatus.OK
) -> Run:
    talk = [("Help me.", (ToolCall("search_policy", arguments, result, status), Reply("Here you are.")))]
    return Run.objects.get(id=record(order_desk(talk, external_id=external_id, app=app)).run_id)


def answer(run: Run, query: str, threshold: float = 0.85) -> Any:
    hit = call_cache.similar(run, "search_policy", {"query": query}, threshold)
    return None if hit is None else (hit.output, hit.location["run"])


def test_source_run_wins_over_other_runs() -> None:
    source = record_call("a", {"query": "what happens with a lost parcel here"}, "of the source")
    other_run = record_call("b", {"query": "what happens with a lost parcel"}, "of another")
    query = "what happens with a lost parcel?"
    assert answer(source, query) == ("of the source", str(source.id))
    assert answer(other_run, query) == ("of another", str(other_run.id))


def test_most_similar_then_newest_call_answers() -> None:
    source = record_call("a", {"query": "how long is the desk open today"}, "until six")
    record_call("b", {"query": "what happens with a lost parcel now"}, "less alike")
    record_call("c", {"query": "what happens with a lost parcel"}, "older")
    newest = record_call("d", {"query": "what happens with a lost parcel"}, "newer")
    hit = call_cache.similar(source, "search_policy", {"query": "what happens with a lost parcels"}, 0.85)
    assert hit is not None
    assert (hit.output, hit.location["run"], hit.location["step"]) == ("newer", str(newest.id), 4)
    assert hit.location["similarity"] == pytest.approx(0.9841, abs=1e-3)


def test_more_similar_text_of_another_length_answers() -> None:
    source = record_call("a", {"query": "something else altogether"}, "no")
    record_call("b", {"query": "what occurred to my lost parcel in Bern"}, "of the same length")
    record_call("c", {"query": "what happened to my lost parcel in Bern please"}, "of another length")
    hit = answer(source, "what happened to my lost parcel in Bern", threshold=0.8)
    assert hit is not None
    assert hit[0] == "of another length"


def text(length: int) -> str:
    return ("word " * 500)[:length]


def test_texts_of_similar_lengths_are_read_first() -> None:
    for length in (112, 99, 107, 201, 101, 71, 96):
        record_call(str(length), {"query": text(length)}, "an answer")
    query = tool_calls.CallQuery(app="desk", shape=shape_of("search_policy", {"query": text(99)}))
    lists = [sorted(map(len, texts)) for texts, _ in tool_calls.similar_texts(query, 0.85)]
    assert lists == [[99, 101], [96], [107], [112], []]


def test_sketches_are_not_read_as_texts() -> None:
    record_call("a", {"query": text(tool_calls.MAX_TEXT - 54)}, "stored as text")
    record_call("b", {"query": text(tool_calls.MAX_TEXT + 301)}, "stored as a sketch")
    query = tool_calls.CallQuery(app="desk", shape=shape_of("search_policy", {"query": text(2401)}))
    lists = tool_calls.similar_texts(query, 0.85)
    assert [len(item) for texts, _ in lists for item in texts] == [tool_calls.MAX_TEXT - 54]


@pytest.mark.parametrize(
    "query",
    [
        "what happens with 3 lost parcels",
        "what does not happen with lost parcels",
        "when is the desk open",
        "lost parcels",
    ],
)
def test_different_meanings_are_no_hit(query: str) -> None:
    assert answer(record_call("a", LOST_PARCELS, "a refund"), query) is None


def test_other_apps_and_failures_are_no_hit() -> None:
    source = record_call("a", {"query": "something else altogether"}, "no")
    record_call("b", LOST_PARCELS, "of another app", app="other")
    record_call("c", LOST_PARCELS, "failed", status=StepStatus.ERROR)
    record_call("d", {**LOST_PARCELS, "limit": 3}, "with a limit")
    assert answer(source, "what happens with lost parcels") is None


def test_calls_of_deleted_runs_are_no_hit() -> None:
    source = record_call("a", {"query": "something else altogether"}, "no")
    other_run = record_call("b", LOST_PARCELS, "a refund")
    assert answer(source, "what happens with lost parcel") is not None
    with retention():
        other_run.delete()
    assert answer(source, "what happens with lost parcel") is None
    assert ToolCallRow.objects.count() == 1


LONG = " ".join(f"the parcel of customer {word} was lost on its way" for word in ("ada", "bo", "cy", "dee", "eve") * 12)


def test_long_texts_match_across_runs() -> None:
    assert len(LONG) > tool_calls.MAX_TEXT
    source = record_call("a", {"query": "something else altogether"}, "no")
    record_call("b", {"query": LONG.replace("lost", "delayed")}, "less alike")
    best = record_call("c", {"query": LONG.replace("its way", "the way")}, "of the most alike")
    record_call("d", {"query": "a quite different story of somebody else. " * 60}, "of another")
    assert answer(source, LONG) == ("of the most alike", str(best.id))
    assert answer(source, LONG + " not") is None
    assert answer(source, "words of no kin to any other told here at all " * 60) is None


def test_texts_around_length_limit_match() -> None:
    words = "what happens with lost parcels and who pays for them " * 40
    indexed_text, long_text = words[:1990].strip(), words[:2040].strip()
    source = record_call("a", {"query": "something else altogether"}, "no")
    record_call("b", {"query": indexed_text}, "kept")
    assert answer(source, long_text) is not None
    other_run = record_call("c", {"query": long_text}, "marked")
    assert answer(other_run, indexed_text) == ("marked", str(other_run.id))


def test_ignored_fields_are_not_compared() -> None:
    source = record_call("a", {"query": "something else altogether", "request_id": "r-1"}, "no")
    earlier = record_call("b", {**LOST_PARCELS, "request_id": "r-2"}, "a refund")
    arguments: dict[str, Any] = {"query": "what happens with lost parcel", "request_id": "r-9"}
    assert call_cache.similar(source, "search_policy", arguments, 0.85) is None
    row = ignore_lists.set_rules(app="desk", rules=[IgnoreRule(type="tool", pointer="/request_id")], by="ada")
    ignore_lists.sign(row)
    ignoring = ignore_lists.current("desk")
    hit = call_cache.similar(source, "search_policy", arguments, 0.85, ignoring)
    assert hit is not None
    assert (hit.output, hit.location["run"]) == ("a refund", str(earlier.id))
    later = record_call("c", {**LOST_PARCELS, "request_id": "r-3"}, "a later refund")
    index_size = ToolCallRow.objects.count()
    ignore_lists.current("desk")
    ignore_lists.current("desk")
    assert ToolCallRow.objects.count() == index_size + 1  # each call once, however often the list is caught up with
    newest = call_cache.similar(source, "search_policy", arguments, 0.85, ignore_lists.current("desk"))
    assert newest is not None
    assert newest.location["run"] == str(later.id)
    assert (
        call_cache.similar(source, "search_policy", {**arguments, "query": "when is it open"}, 0.85, ignoring) is None
    )
