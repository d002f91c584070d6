"""Provenance of recorded runs: computed when it is first needed, and then the same as if computed at once."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffing import services as diffing
from replay.store.graph_loader import load_graph
from tests.support.generated_forks import conversations
from tests.support.recordings import model_step, order_run, user
from tests.support.replay_runs import order_desk
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import EdgeKind, StepType
from traces.ingest import prepare
from traces.models import Edge, PendingProvenance, Run, Step
from traces.origins import stored_provenance
from traces.runs import services

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
_numbers: Final = count()
_TEXTS: Final = st.sampled_from(
    ["order A-1042", "the parcel is lost", "A-1042", "refund 42.5 now", "BILLING", "Is A-1042 lost? Say BILLING."]
)
_LEAVES: Final = st.one_of(_TEXTS, st.integers(-3, 99999), st.sampled_from([1.5, 42.0, 1e20, True, None]))
_VALUES: Final = st.recursive(
    _LEAVES,
    lambda items: st.one_of(
        st.lists(items, max_size=3), st.dictionaries(st.sampled_from(["z", "a", "text", "é", "~/"]), items, max_size=4)
    ),
    max_leaves=8,
)
_TYPES: Final = st.sampled_from([StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT, StepType.AGENT, StepType.OUTPUT])


@st.composite
def recordings(draw: st.DrawFn) -> tuple[RecordedStep, ...]:
    """Draw the steps of a conversation, with steps of code between them, some of which the recording links."""
    conversation: list[Any] = draw(conversations)
    steps: list[RecordedStep] = []
    for step in order_desk(conversation).steps:
        steps.append(step)
        if draw(st.booleans()):
            steps.append(_code_step(draw, steps))
    if draw(st.booleans()):
        steps.append(model_step("again", [user(draw(_TEXTS)), user(draw(_TEXTS))], user(draw(_TEXTS))))
    return tuple(steps)


def _code_step(draw: st.DrawFn, steps: Sequence[RecordedStep]) -> RecordedStep:
    return RecordedStep(
        key=f"code-{len(steps)}",
        type=draw(_TYPES),
        name="code",
        call_id=draw(st.sampled_from(["", "call-x"])),
        input=draw(_VALUES),
        output=draw(_VALUES),
        links=tuple(draw(st.lists(st.sampled_from([step.key for step in steps]), max_size=2))),
    )


def _record(steps: tuple[RecordedStep, ...]) -> UUID:
    number = next(_numbers)
    return services.record(
        RecordedRun(external_id=f"pending-{number}", name="run", app="desk", format="test", steps=steps)
    ).run_id


def _provenance(run_id: UUID) -> tuple[list[Any], list[Any]]:
    columns = ("producer_no", "consumer_no", "kind", "consumer_path", "producer_path", "evidence")
    edges = Edge.objects.filter(run=run_id).values_list(*columns)
    origins = Step.objects.filter(run=run_id).order_by("sequence_no").values_list("unexplained", flat=True)
    return sorted(edges), list(origins)


def _is_pending(run_id: UUID) -> bool:
    return PendingProvenance.objects.filter(run=run_id).exists()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recordings())
def test_late_provenance_equals_immediate_provenance(steps: tuple[RecordedStep, ...]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prepare, "LONGEST_PENDING", 0)
        immediate = _record(steps)
    late = _record(steps)
    assert not _is_pending(immediate)
    digest = Run.objects.get(id=late).content_digest
    stored_provenance.ensure(late)
    assert not _is_pending(late)
    assert _provenance(late) == _provenance(immediate)
    assert Run.objects.get(id=late).content_digest == digest


@pytest.fixture
def run() -> UUID:
    """A sealed run without provenance."""
    run_id = services.record(order_run()).run_id
    assert _is_pending(run_id)
    assert _provenance(run_id) == ([], [None] * 5)
    return run_id


def test_fork_computes_provenance(run: UUID) -> None:
    assert load_graph(run, 2).links
    assert not _is_pending(run)


def test_diff_computes_provenance_of_both_runs(run: UUID) -> None:
    steps = order_run().steps
    changed = replace(steps[-1], output={"text": "Your order A-1042 is lost."})
    other = _record((*steps[:-1], changed))
    diffing.diff(base_id=run, candidate_id=other)
    assert not _is_pending(run)
    assert not _is_pending(other)


def test_diff_of_equal_runs_needs_no_provenance(run: UUID) -> None:
    other = services.record(order_run("order-2", name="another")).run_id
    diffing.diff(base_id=run, candidate_id=other)
    assert _is_pending(run)
    assert _is_pending(other)


def test_page_of_a_run_computes_provenance(run: UUID) -> None:
    answer = Client(HTTP_HOST="localhost").get(f"/api/v1/runs/{run}/edges").json()
    assert {"producer": 3, "consumer": 4, "kind": "tool_call_id"} in answer["edges"]
    assert not _is_pending(run)


def test_links_of_the_recording_are_stored_at_once() -> None:
    steps = order_run().steps
    run = _record((*steps[:-1], replace(steps[-1], links=("look",))))
    assert [edge[:3] for edge in _provenance(run)[0]] == [(3, 5, EdgeKind.LINK)]
    stored_provenance.ensure(run)
    assert (3, 5, EdgeKind.LINK) in [edge[:3] for edge in _provenance(run)[0]]


def test_what_the_store_does_not_retain_is_traced_at_once() -> None:
    fraction = RecordedStep(key="sum", type=StepType.TOOL, name="sum", call_id="c", output={"total": 42.0})
    unordered = RecordedStep(key="look", type=StepType.TOOL, name="look", output={"status": "lost", "order": "A-1042"})
    assert not _is_pending(_record((fraction,)))
    assert not _is_pending(_record((unordered,)))
    assert _is_pending(_record((replace(fraction, output={"total": 42}),)))


def test_database_accepts_provenance_once(run: UUID) -> None:
    stored_provenance.ensure(run)
    for statement in (
        "UPDATE traces_step SET unexplained = NULL",
        "INSERT INTO traces_pendingprovenance (run_id) SELECT id FROM traces_run",
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    with pytest.raises(DatabaseError, match="cannot be added"), transaction.atomic():
        Edge.objects.create(run_id=run, producer_no=1, consumer_no=5, kind=EdgeKind.LINK)


def test_pending_provenance_protects_all_other_columns(run: UUID) -> None:
    for field in Step._meta.fields:
        if field.name == "unexplained":
            continue
        statement = f"UPDATE traces_step SET {field.column} = {field.column}"
        with (
            pytest.raises(DatabaseError, match="steps of a sealed run cannot be changed"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert _is_pending(run)
