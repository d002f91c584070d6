"""Transitions of every status type."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffing.schemas.report import DiffStatus
from replay.core.vocabulary import (
    AttemptStatus,
    BisectionStatus,
    CalibrationStatus,
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
    CalibrationStatus,
    ProofStatus,
]
_KIND = pytest.mark.parametrize("kind", _KINDS)


def test_every_status_type_is_covered() -> None:
    assert set(Status.__subclasses__()) == set(_KINDS)


@_KIND
def test_final_status_is_always_reachable(kind: type[Status]) -> None:
    for status in kind:
        reachable, new = {status}, {status}
        while new:
            new = {after for before in new for after in before.successors} - reachable
            reachable |= new
        assert any(item.is_final for item in reachable)


@given(st.data())
def test_final_statuses_never_change(data: st.DataObject) -> None:
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
def test_undeclared_transition_is_rejected(before: Any, after: Any) -> None:
    with pytest.raises(InvalidTransition, match=f"{after} may not follow {before}"):
        before.move_to(after)
