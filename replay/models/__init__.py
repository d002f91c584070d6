"""Database tables of replays."""

from replay.models.live_access import HookOutcome, LangfuseExport, TelemetryCount, ToolDecision, Trial
from replay.models.reruns import Rerun, RerunCall, RerunMcpSession, RerunQuestion, RerunReport, RerunToolCall
from replay.models.runners import Runner, RunnerOutput
from replay.models.saved_profiles import DocumentName, OverrideProfile, ReplayPolicy
from replay.models.searches import (
    AgentCalibration,
    Bisection,
    BisectionProbe,
    Calibration,
    Experiment,
    ExperimentRow,
    Proof,
    ProofProbe,
    UnchangedReplay,
)
from replay.models.sessions import Attempt, ReplaySession, SessionMessage, wait_until_now

__all__ = [
    "AgentCalibration",
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
    "Rerun",
    "RerunCall",
    "RerunMcpSession",
    "RerunQuestion",
    "RerunReport",
    "RerunToolCall",
    "Runner",
    "RunnerOutput",
    "SessionMessage",
    "TelemetryCount",
    "ToolDecision",
    "Trial",
    "UnchangedReplay",
    "wait_until_now",
]
