"""Tool calls that differ in wording only are answered by any sealed run of the app."""

from typing import Any

import pytest

from replay import cache
from tests.replay_runs import Asks, Says, order_desk
from traces.models import Run, ToolCall
from traces.services import record, retention
from traces.vocabulary import StepStatus

pytestmark = pytest.mark.django_db(transaction=True)
LOST = {"query": "what happens with lost parcels"}


def recorded(
    external_id: str, arguments: Any, result: Any, *, app: str = "desk", status: StepStatus = StepStatus.OK
) -> Run:
    talk = [("Help me.", (Asks("search_policy", arguments, result, status), Says("Here you are.")))]
    return Run.objects.get(id=record(order_desk(talk, external_id=external_id, app=app)).run_id)


def answer(run: Run, query: str, threshold: float = 0.85) -> Any:
    hit = cache.similar(run, "search_policy", {"query": query}, threshold)
    return None if hit is None else (hit.output, hit.where["run"])


def test_the_source_run_answers_before_newer_ones_that_are_more_alike() -> None:
    source = recorded("a", {"query": "what happens with a lost parcel here"}, "of the source")
    other = recorded("b", {"query": "what happens with a lost parcel"}, "of another")
    asked = "what happens with a lost parcel?"
    assert answer(source, asked) == ("of the source", str(source.id))
    assert answer(other, asked) == ("of another", str(other.id))


def test_of_other_runs_the_most_similar_call_answers_and_of_equals_the_newest() -> None:
    source = recorded("a", {"query": "how long is the desk open today"}, "until six")
    recorded("b", {"query": "what happens with a lost parcel now"}, "less alike")
    recorded("c", {"query": "what happens with a lost parcel"}, "older")
    newest = recorded("d", {"query": "what happens with a lost parcel"}, "newer")
    hit = cache.similar(source, "search_policy", {"query": "what happens with a lost parcels"}, 0.85)
    assert hit is not None
    assert (hit.output, hit.where["run"], hit.where["step"]) == ("newer", str(newest.id), 4)
    assert hit.where["similarity"] == pytest.approx(0.9841, abs=1e-3)


@pytest.mark.parametrize(
    "query",
    [
        "what happens with 3 lost parcels",
        "what does not happen with lost parcels",
        "when is the desk open",
        "lost parcels",
    ],
)
def test_numbers_negations_and_other_questions_are_no_hit(query: str) -> None:
    assert answer(recorded("a", LOST, "a refund"), query) is None


def test_other_apps_failures_and_other_arguments_are_no_hit() -> None:
    source = recorded("a", {"query": "something else altogether"}, "no")
    recorded("b", LOST, "of another app", app="other")
    recorded("c", LOST, "failed", status=StepStatus.ERROR)
    recorded("d", {**LOST, "limit": 3}, "with a limit")
    assert answer(source, "what happens with lost parcels") is None


def test_calls_of_deleted_runs_are_no_hit() -> None:
    source = recorded("a", {"query": "something else altogether"}, "no")
    other = recorded("b", LOST, "a refund")
    assert answer(source, "what happens with lost parcel") is not None
    with retention():
        other.delete()
    assert answer(source, "what happens with lost parcel") is None
    assert ToolCall.objects.count() == 1
