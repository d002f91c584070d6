"""The tables of replays."""

from replay.models.library import DocumentName, OverrideProfile, ReplayPolicy
from replay.models.searches import (
    Bisection,
    BisectionProbe,
    Calibration,
    Experiment,
    ExperimentRow,
    Proof,
    ProofProbe,
    UnchangedReplay,
)
from replay.models.sessions import COMPLETED, STATUSES, UNFINISHED, Attempt, ReplaySession, SessionMessage
from replay.models.world import HookOutcome, LangfuseExport, TelemetryCount, ToolDecision, Trial

__all__ = [
    "COMPLETED",
    "STATUSES",
    "UNFINISHED",
    "Attempt",
    "Bisection",
    "BisectionProbe",
    "Calibration",
    "DocumentName",
    "Experiment",
    "ExperimentRow",
    "HookOutcome",
    "LangfuseExport",
    "OverrideProfile",
    "Proof",
    "ProofProbe",
    "ReplayPolicy",
    "ReplaySession",
    "SessionMessage",
    "TelemetryCount",
    "ToolDecision",
    "Trial",
    "UnchangedReplay",
]
