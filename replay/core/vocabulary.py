"""Statuses of sessions, of their live calls, and of features that run many sessions. Pure."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final, Self

from traces.core.statuses import Status


class SessionStatus(Status):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED_EXACT = "completed_exact"
    COMPLETED_SIMULATED = "completed_simulated"
    COMPLETED_MIXED = "completed_mixed"
    FAILED_VALIDATION = "failed_validation"
    FAILED_EXECUTION = "failed_execution"
    CANCELLED = "cancelled"
    AWAITING_OPERATOR = "awaiting_operator"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        # A running session becomes pending again if its worker crashes or hands it over.
        waiting = {cls.PENDING, cls.AWAITING_OPERATOR}
        ends = {cls.COMPLETED_EXACT, cls.COMPLETED_SIMULATED, cls.COMPLETED_MIXED, cls.FAILED_EXECUTION}
        return {
            cls.PENDING: {cls.RUNNING, cls.FAILED_VALIDATION, cls.CANCELLED},
            cls.RUNNING: waiting | ends | {cls.FAILED_VALIDATION, cls.CANCELLED},
            cls.AWAITING_OPERATOR: {cls.PENDING, cls.CANCELLED},
        }


COMPLETED: Final = frozenset(
    {SessionStatus.COMPLETED_EXACT, SessionStatus.COMPLETED_MIXED, SessionStatus.COMPLETED_SIMULATED}
)
FAILED: Final = frozenset({SessionStatus.FAILED_EXECUTION, SessionStatus.FAILED_VALIDATION})
FINAL_STATUSES: Final = frozenset(status for status in SessionStatus if status.is_final)
OPEN_STATUSES: Final = frozenset(SessionStatus) - FINAL_STATUSES
# Sessions that progress without the operator, and count towards the limit of concurrent sessions.
ACTIVE_STATUSES: Final = frozenset({SessionStatus.PENDING, SessionStatus.RUNNING})


class Engine(StrEnum):
    """Who decides what a replay does next: the recording, or the agent itself, which a runner starts again."""

    FOLLOW = "follow"
    AGENT = "agent"


class AttemptStatus(Status):
    """Status of a live call; while it is intended, its outcome is unknown."""

    INTENDED = "intended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.INTENDED: {cls.SUCCEEDED, cls.FAILED}}


class TrialStatus(Status):
    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.PENDING: {cls.RUNNING, cls.FAILED}, cls.RUNNING: {cls.SUCCEEDED, cls.FAILED}}


class ExportStatus(Status):
    """Status of an export; one that pauses is pending again."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.PENDING: {cls.RUNNING}, cls.RUNNING: {cls.PENDING, cls.DONE, cls.FAILED}}


class BisectionStatus(Status):
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.RUNNING: {cls.COMPLETED, cls.CANCELLED, cls.FAILED}}


class ProbeVerdict(StrEnum):
    """Verdict of a probe's checks; `running` is shown for a missing verdict and never stored."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    UNCLEAR = "unclear"


class ExperimentStatus(Status):
    """Progress of an experiment's sessions; derived, not stored."""

    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.RUNNING: {cls.COMPLETED, cls.CANCELLED}}


class CalibrationStatus(Status):
    """Progress of a calibration whose runs an agent makes; derived from its sessions, not stored."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.RUNNING: {cls.COMPLETED, cls.FAILED}}


class ProofStatus(Status):
    """Status of a proof; stored as running from the start, and shown as pending until it has made progress."""

    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        ends = {cls.COMPLETED, cls.CANCELLED, cls.FAILED}
        return {cls.PENDING: {cls.RUNNING} | ends, cls.RUNNING: ends}


class RerunDecision(StrEnum):
    """What becomes of a tool call in a rerun: it gets its recorded outcome or an override, runs, or is refused.

    `ask`: the operator decides, and the agent asks again until then.
    """

    EXACT = "exact"
    CACHED = "cached"
    OVERRIDDEN = "overridden"
    RUN = "run"
    REFUSAL = "refusal"
    ASK = "ask"
