"""Statuses and their moves: every kind of status that there is."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.schemas.report import DiffStatus
from replay.core.vocabulary import (
    AttemptStatus,
    BisectionStatus,
    ExperimentStatus,
    ExportStatus,
    ProofStatus,
    SessionStatus,
    TrialStatus,
)
from traces.core.statuses import InvalidTransition, Status
from traces.core.vocabulary import RunStatus

_KINDS: Final[list[type[Status]]] = [
    RunStatus,
    DiffStatus,
    SessionStatus,
    AttemptStatus,
    TrialStatus,
    ExportStatus,
    BisectionStatus,
    ExperimentStatus,
    ProofStatus,
]
_KIND = pytest.mark.parametrize("kind", _KINDS)


def test_that_every_kind_is_looked_at() -> None:
    assert set(Status.__subclasses__()) == set(_KINDS)


@_KIND
def test_that_an_end_can_be_reached_from_everywhere(kind: type[Status]) -> None:
    for status in kind:
        reached, new = {status}, {status}
        while new:
            new = {after for before in new for after in before.successors} - reached
            reached |= new
        assert any(each.is_final for each in reached)


@given(st.data())
def test_that_whatever_is_tried_no_status_leaves_a_final_one(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(_KINDS))
    now = data.draw(st.sampled_from(list(kind)))
    for asked in data.draw(st.lists(st.sampled_from(list(kind)), max_size=20)):
        before = now
        try:
            now = before.move_to(asked)
        except InvalidTransition:
            continue
        assert not before.is_final
        assert now is asked


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SessionStatus.COMPLETED_EXACT, SessionStatus.RUNNING),
        (SessionStatus.CANCELLED, SessionStatus.PENDING),
        (SessionStatus.PENDING, SessionStatus.COMPLETED_MIXED),
        (SessionStatus.AWAITING_OPERATOR, SessionStatus.RUNNING),
        (AttemptStatus.SUCCEEDED, AttemptStatus.FAILED),
        (BisectionStatus.CANCELLED, BisectionStatus.COMPLETED),
        (ProofStatus.RUNNING, ProofStatus.PENDING),
        (TrialStatus.PENDING, TrialStatus.SUCCEEDED),
        (ExportStatus.DONE, ExportStatus.RUNNING),
        (DiffStatus.READY, DiffStatus.FAILED),
        (RunStatus.COMPLETED, RunStatus.FAILED),
    ],
)
def test_that_a_move_which_is_not_stated_is_refused(before: Any, after: Any) -> None:
    with pytest.raises(InvalidTransition, match=f"{after} may not follow {before}"):
        before.move_to(after)
