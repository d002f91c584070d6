"""Search inside a run finds any text, in the step where it first occurs."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from tests.support.recordings import conversation, order_run
from traces.core.json_types import JSONValue
from traces.models import Artifact, Run
from traces.runs import services
from traces.storage.packs import INLINE

pytestmark = pytest.mark.django_db
LONG = "filler " * 30_000  # stored separately, and too large for the database


def found(client: Client, run: Any, q: str, of: str = "steps") -> list[int]:
    answer = client.get(f"/api/v1/runs/{run}/{of}", {"q": q}).json()
    return [step["sequence_no"] for step in answer["steps"]]


@pytest.fixture
def run() -> Any:
    recording = order_run()
    steps = list(recording.steps)
    odd: JSONValue = {"note": LONG + 'ends with "Zebra\\crossing"\nand more', "nested": [{"Größe": ["needle-17"]}]}
    steps[2] = replace(steps[2], output=odd, attributes={"trace": {"flag": "Heliotrope"}}, error="Kaboom happened")
    return services.record(replace(recording, steps=tuple(steps))).run_id


@pytest.mark.parametrize(
    ("q", "steps"),
    [
        ("needle-17", [3]),
        ("NEEDLE-17 größe", [3]),
        ('"zebra\\crossing"', [3]),
        ("heliotrope", [3]),
        ("kaboom", [3]),
        ("northwind", [4, 5]),
        ("order desk", [1, 2]),
        ("needle-17 nowhere", []),
        ("$part", []),
    ],
)
def test_every_text_is_found(client: Client, run: Any, q: str, steps: list[int]) -> None:
    assert found(client, run, q) == steps
    assert found(client, run, q, "full-steps") == steps


def test_text_matches_first_step(client: Client) -> None:
    run = services.record(conversation(40)).run_id
    steps = client.get(f"/api/v1/runs/{run}/steps").json()["steps"]
    (text,) = [step for step in steps if "Answer 4:" in step["summary"]]
    order = next(word for word in text["summary"].split() if word.startswith("A-"))
    assert found(client, run, f"answer {order}") == [text["sequence_no"]]


def test_search_results_are_paged(client: Client) -> None:
    run = Run.objects.get(id=services.record(conversation(20)).run_id)
    first: Any = client.get(f"/api/v1/runs/{run.id}/steps", {"q": "answer", "limit": "7"}).json()
    rest = client.get(f"/api/v1/runs/{run.id}/steps", {"q": "answer", "after": str(first["next"])}).json()
    numbers = [step["sequence_no"] for page in (first, rest) for step in page["steps"]]
    assert (len(numbers), numbers) == (20, sorted(set(numbers)))


def test_long_text_is_outside_database(run: Any) -> None:
    assert len(LONG) > INLINE
    assert Artifact.objects.exists()
