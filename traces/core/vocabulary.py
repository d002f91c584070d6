"""The closed vocabularies of the product, used by models, schemas and pure code. Standard library only."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final, Self

from traces.core.statuses import Status


class RunSource(StrEnum):
    """Origin of a run. A probe is one of many replays that a search starts."""

    LIVE = "live"
    IMPORT = "import"
    REPLAY = "replay"
    PROBE = "probe"
    BUNDLE = "bundle"


class RunStatus(Status):
    """How the agent's work ended. `partial`: its end was never recorded."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    PARTIAL = "partial"

    @classmethod
    def moves(cls) -> Mapping[Self, AbstractSet[Self]]:
        return {cls.RUNNING: {cls.COMPLETED, cls.FAILED, cls.PARTIAL}}


class StepType(StrEnum):
    """The kind of a step."""

    PROMPT = "prompt"
    RETRIEVAL = "retrieval"
    TOOL = "tool"
    MODEL = "model"
    AGENT = "agent"
    TURN = "turn"
    PLANNER = "planner"
    VALIDATOR = "validator"
    SAFETY = "safety"
    OUTPUT = "output"


class StepStatus(StrEnum):
    """Result of a step. `unverified`: a check of it did not run, so its result is unknown."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    PARTIAL = "partial"
    DENIED = "denied"
    UNVERIFIED = "unverified"
    RUNNING = "running"


class Label(StrEnum):
    """Source of a step's output; `live` marks an original recording."""

    LIVE = "live"
    EXACT = "exact"
    CACHED = "cached"
    SIMULATED = "simulated"


class Reason(StrEnum):
    """Reason for the label of a replayed step."""

    SOURCE_OUTPUT_REUSED = "source_output_reused"
    SOURCE_OUTPUT_UNVERIFIED = "source_output_unverified"
    OPERATOR_OVERRIDE = "simulation_operator_override"
    CACHE_SIGNATURE = "cache_hit_signature_match"
    CACHE_SEMANTIC = "cache_hit_semantic_match"
    CACHE_NORMALISED = "cache_hit_normalised"
    AGENT_RAN = "agent_ran"
    LIVE_MODEL = "live_model_call"
    LIVE_TOOL = "live_tool_call"
    LIVE_RETRIEVAL = "live_retrieval"
    SIDE_EFFECT_BLOCKED = "side_effect_blocked"
    DUPLICATE_SUPPRESSED = "duplicate_suppressed"
    POLICY_FALLBACK = "simulation_policy_fallback"
    ASSUMED_UNAFFECTED = "assumed_unaffected"
    DERIVED = "derived"
    DENIED = "denied"
    STOPPED = "stopped"


class Cause(StrEnum):
    """Reason why a replayed step is not exact; stored as `why` in the detail of its label."""

    SIGNATURE_MISMATCH = "signature_mismatch"
    INPUT_UNKNOWN = "input_unknown"
    ARTIFACT_MISSING = "artifact_missing"


class EdgeKind(StrEnum):
    """Evidence that a later step consumed what an earlier one produced, strongest first."""

    TOOL_CALL_ID = "tool_call_id"
    LINK = "link"
    HISTORY = "history"
    DIGEST = "digest"
    TEXT = "text"
    VALUE = "value"


class JudgementKind(StrEnum):
    """The statement of a judgement. `not_run`: a check or a validator gave no verdict."""

    PASS = "pass"
    FAIL = "fail"
    SCORE = "score"
    NOTE = "note"
    NOT_RUN = "not_run"


class JudgementSource(StrEnum):
    """Author of a judgement. `tag`: a tag of the run decides by the app's outcome rule; it is not stored separately."""

    PERSON = "person"
    CHECK = "check"
    IMPORT = "import"
    VALIDATOR = "validator"
    MODEL = "model"
    TAG = "tag"


class Outcome(StrEnum):
    """Whether a run succeeded. `unverified`: its checks or validators did not run; `unknown`: there is no evidence."""

    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    UNKNOWN = "unknown"


class HookEvent(StrEnum):
    """The events of an agent loop for which hooks are called, with Krabs's names."""

    AGENT_START = "agent_start"
    TURN_START = "turn_start"
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    POST_TOOL_USE_FAILURE = "post_tool_use_failure"
    TURN_END = "turn_end"
    AGENT_STOP = "agent_stop"


TOOL_EVENTS: Final = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE, HookEvent.POST_TOOL_USE_FAILURE})
# Attribute of a tool step: the description of the tool, if the recorder states it with the call.
TOOL_DESCRIPTION: Final = "tool_description"


class Protection(StrEnum):
    """What keeps a run although its policy would delete it."""

    NONE = ""
    PIN = "pinned"
    HOLD = "held"
    CITATION = "cited"


class ShareKind(StrEnum):
    """The subjects of share links; a replay is shown with its result."""

    RUN = "run"
    TREE = "tree"
    REPLAY = "replay"
    DIFF = "diff"
    EXPERIMENT = "experiment"


class ShareAudience(StrEnum):
    """Who may open a share link; `people` are the named ones."""

    ANYONE = "anyone"
    SIGNED_IN = "signed_in"
    PEOPLE = "people"


class CommentKind(StrEnum):
    """What comments are about: the steps of a run, or the differences of a report."""

    RUN = "run"
    DIFF = "diff"


class AuditAction(StrEnum):
    """What an entry of the audit log records."""

    RUNS_IMPORTED = "runs_imported"
    RUN_EXPORTED = "run_exported"
    REPLAY_STARTED = "replay_started"
    REPLAY_ANSWERED = "replay_answered"
    RERUN_STARTED = "rerun_started"
    RERUN_ANSWERED = "rerun_answered"
    EXPERIMENT_STARTED = "experiment_started"
    BISECTION_STARTED = "bisection_started"
    PROOF_STARTED = "proof_started"
    CALIBRATION_STARTED = "calibration_started"
    DIFF_CREATED = "diff_created"
    TOOL_REVIEWED = "tool_reviewed"
    TRIAL_STARTED = "trial_started"
    NAME_SET = "name_set"
    NAME_REMOVED = "name_removed"
    TOKEN_CREATED = "token_created"
    TOKEN_REVOKED = "token_revoked"
    REDACTION_POLICY_SET = "redaction_policy_set"
    OUTCOME_RULE_SET = "outcome_rule_set"
    IGNORE_LIST_SET = "ignore_list_set"
    RUN_DELETED = "run_deleted"
    RUN_RESTORED = "run_restored"
    RUN_REMOVED = "run_removed"
    RUN_MARKED = "run_marked"
    RUN_RENAMED = "run_renamed"
    RUN_TAGGED = "run_tagged"
    DELETION_REFUSED = "deletion_refused"
    PURGE = "purge"
    POLICY_SET = "retention_policy_set"
    POLICY_REMOVED = "retention_policy_removed"
    SHARE_CREATED = "share_created"
    SHARE_REVOKED = "share_revoked"
