"""Replay sessions: what was asked, how far it is, every live call, and everything a watcher was told."""

from typing import get_args

from django.db import models

from diffing.models import DiffReport
from replay.schemas import SessionStatus
from traces.ids import new_id
from traces.models import Run

STATUSES = [(status, status) for status in get_args(SessionStatus)]
UNFINISHED = ("pending", "running", "awaiting_operator")
COMPLETED = ("completed_exact", "completed_mixed", "completed_simulated")


class OverrideProfile(models.Model):
    """What a fork changes, named by the digest of its JSON, so that the same changes are one profile."""

    digest = models.CharField(primary_key=True, max_length=64)
    profile = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class ReplayPolicy(models.Model):
    """A policy as it was written, named by the digest of its JSON."""

    digest = models.CharField(primary_key=True, max_length=64)
    policy = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class DocumentName(models.Model):
    """A name for an override profile or a policy. It may move to another one; what it named stays."""

    kind = models.CharField(max_length=7, help_text="'profile' or 'policy'")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64)
    by = models.CharField(max_length=120)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["kind", "name"], name="document_name"),)
        indexes = (models.Index(fields=["kind", "digest"], name="document_names"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ReplaySession(models.Model):
    """One execution of a fork. Whoever holds `owner` writes it; everybody else reads."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    source_run = models.ForeignKey(Run, models.PROTECT, related_name="replays")
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="replayed_by")
    diff_id = models.UUIDField(null=True)
    fork_sequence_no = models.PositiveIntegerField()
    profile = models.ForeignKey(OverrideProfile, models.PROTECT, related_name="sessions")
    policy = models.JSONField(help_text="as it was at launch; later changes of defaults do not touch it")
    stated_policy = models.ForeignKey(
        ReplayPolicy, models.PROTECT, null=True, related_name="sessions", help_text="as it was written"
    )
    plan = models.JSONField(help_text="without its steps, which `planned` holds in short")
    planned = models.JSONField(default=dict, help_text="what is not plain reuse: [action, label, reason] by number")
    planned_steps = models.PositiveIntegerField()
    is_probe = models.BooleanField(default=False, help_text="one of many in a search: kept out of lists")
    idempotency_key = models.CharField(max_length=200, null=True, unique=True)  # noqa: DJ001  # unique, so that "none" cannot be an empty text
    request_digest = models.CharField(max_length=64)

    status = models.CharField(max_length=20, choices=STATUSES, default="pending")
    owner = models.CharField(max_length=160, blank=True, help_text="the worker process that has claimed it")
    heartbeat_at = models.DateTimeField(null=True)
    lost_workers = models.PositiveSmallIntegerField(default=0, help_text="that ended since the last checkpoint")
    takeovers = models.JSONField(default=list, help_text="[when, last step kept, steps taken back], one a takeover")
    cancel_requested = models.BooleanField(default=False)
    resolved_steps = models.PositiveIntegerField(default=0)
    checkpoint_no = models.PositiveIntegerField(default=0, help_text="the last committed step of the derived run")
    exact_count = models.PositiveIntegerField(default=0)
    cached_count = models.PositiveIntegerField(default=0)
    simulated_count = models.PositiveIntegerField(default=0)
    current = models.CharField(max_length=300, blank=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, help_text="null: unknown, never 0")
    live_calls = models.PositiveIntegerField(default=0)
    divergences = models.JSONField(default=list)
    unused_calls = models.JSONField(default=list)
    question = models.JSONField(null=True, help_text="what the operator is asked while awaiting_operator")
    answers = models.JSONField(default=dict, help_text="what the operator answered, by step number")
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    error_sequence_no = models.PositiveIntegerField(null=True)
    last_seq = models.PositiveIntegerField(default=0, help_text="of its messages")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    compared_at = models.DateTimeField(null=True, help_text="when its diff was made, or could not be made")

    class Meta:
        indexes = (
            models.Index(fields=["-created_at"], name="session_newest"),
            # recovery looks for these at start and every few seconds
            models.Index(fields=["status"], name="session_unfinished", condition=models.Q(status__in=UNFINISHED)),
            models.Index(
                fields=["status"],
                name="session_uncompared",
                condition=models.Q(status__in=COMPLETED, compared_at=None),
            ),
            models.Index(fields=["source_run", "-created_at"], name="session_of_run"),
        )

    def __str__(self) -> str:
        return f"{self.id} ({self.status})"


class Attempt(models.Model):
    """One live call: its intent is stored before it goes out, its outcome after."""

    session = models.ForeignKey(ReplaySession, models.CASCADE, related_name="attempts")
    sequence_no = models.PositiveIntegerField(help_text="of the derived run")
    attempt = models.PositiveSmallIntegerField(help_text="from 1")
    kind = models.CharField(max_length=9)
    provider = models.CharField(max_length=80)
    model = models.CharField(max_length=120, blank=True)
    signature = models.CharField(max_length=80, blank=True)
    status = models.CharField(max_length=9, default="intended")
    outcome = models.JSONField(null=True, help_text="what a successful call returned; taken over after a crash")
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField()
    duration_ms = models.FloatField(null=True)
    retry_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "sequence_no", "attempt"], name="attempt_identity"),)

    def __str__(self) -> str:
        return f"{self.sequence_no}/{self.attempt} {self.status}"


class SessionMessage(models.Model):
    """What watchers of a session are told, in order. A `session` message is read as the state at reading time."""

    session = models.ForeignKey(ReplaySession, models.CASCADE, related_name="messages")
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=8)
    body = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "seq"], name="message_sequence"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"


class ToolDecision(models.Model):
    """One decision about a tool. They are added and never changed: a tool's newest holds, all are its history."""

    tool = models.CharField(max_length=300)
    safe = models.BooleanField(null=True, help_text="may run in a replay; null: not reviewed any more")
    by = models.CharField(max_length=120)
    via = models.CharField(max_length=4, help_text="'page' or 'yaml'")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["tool", "-id"], name="tool_decision_newest"),)

    def __str__(self) -> str:
        return f"{self.tool}: {self.safe}"


class HookOutcome(models.Model):
    """What came of one event, where a hook decided or failed. A takeover heeds it and asks nobody again."""

    session = models.ForeignKey(ReplaySession, models.CASCADE, related_name="hook_outcomes")
    sequence_no = models.PositiveIntegerField(help_text="of the derived run's step that it is about; 0: the agent")
    event = models.CharField(max_length=24)
    tool_name = models.CharField(max_length=300, blank=True)
    asked = models.JSONField(null=True, help_text="the arguments that the agent gave, of a tool event")
    hook = models.CharField(max_length=120, blank=True, help_text="whose decision counts; empty: nobody's")
    decision = models.JSONField(help_text="as the hook said it")
    failures = models.JSONField(default=list, help_text="[hook, error] of those that gave no answer")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["session", "sequence_no", "event"], name="hook_outcome_identity"),
        )

    def __str__(self) -> str:
        return f"{self.event} of step {self.sequence_no}: {self.decision}"


class TelemetryCount(models.Model):
    """What became of the events for one telemetry target, over all processes."""

    target = models.CharField(primary_key=True, max_length=120)
    sent = models.PositiveBigIntegerField(default=0)
    dropped = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True, help_text="the last one")
    error_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.target}: {self.sent} sent, {self.dropped} dropped"


class LangfuseExport(models.Model):
    """One run on its way to Langfuse. `done_events` is the cursor: what lies before it was acknowledged."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    target = models.CharField(max_length=120)
    status = models.CharField(max_length=7, default="pending", help_text="pending, running, done or failed")
    owner = models.CharField(max_length=160, blank=True)
    heartbeat_at = models.DateTimeField(null=True)
    done_events = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0, help_text="events that Langfuse refused for good")
    cut = models.PositiveIntegerField(default=0, help_text="payloads left out because they are too large")
    failures = models.PositiveSmallIntegerField(default=0, help_text="in a row")
    error = models.TextField(blank=True)
    retry_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["run", "-created_at"], name="langfuse_export_of_run"),
            models.Index(
                fields=["status"], name="langfuse_unfinished", condition=models.Q(status__in=("pending", "running"))
            ),
        )

    def __str__(self) -> str:
        return f"export of {self.run_id} to {self.target} ({self.status})"


class Trial(models.Model):
    """One call of a tool or one search that somebody made to try it out. It is made once, and its row stays."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=9, help_text="'tool' or 'retrieval'")
    name = models.CharField(max_length=300)
    input = models.JSONField()
    executor = models.CharField(max_length=300)
    confirmed = models.BooleanField(help_text="it ran although nobody had reviewed it as safe")
    by = models.CharField(max_length=120)
    at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=9, default="pending")
    over_at = models.DateTimeField(null=True, help_text="when a worker that has it must be gone")
    outcome = models.JSONField(null=True)
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    duration_ms = models.FloatField(null=True)

    class Meta:
        indexes = (models.Index(fields=["kind", "name", "-at"], name="trial_newest"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.status}"


class Experiment(models.Model):
    """A matrix of forks of one run. What its rows do and cost is on their sessions."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200)
    source_run = models.ForeignKey(Run, models.PROTECT, related_name="experiments")
    fork_sequence_no = models.PositiveIntegerField()
    request = models.JSONField(help_text="as it was asked")
    parallel = models.PositiveSmallIntegerField(help_text="how many sessions run at once")
    max_cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    max_live_calls = models.PositiveIntegerField(null=True)
    live_calls = models.PositiveIntegerField(default=0, help_text="of all rows, against the budget")
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text="what is known of it")
    idempotency_key = models.CharField(max_length=200, null=True, unique=True)  # noqa: DJ001  # unique, so that "none" cannot be an empty text
    request_digest = models.CharField(max_length=64)
    last_seq = models.PositiveIntegerField(default=0, help_text="of its changes")
    cancelled_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["-created_at"], name="experiment_newest"),)

    def __str__(self) -> str:
        return self.name


class ExperimentRow(models.Model):
    """One sample of one cell: a session, its turn, and what it was worth."""

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="rows")
    number = models.PositiveIntegerField(help_text="from 1, in the order in which they run")
    cell = models.PositiveIntegerField()
    sample = models.PositiveIntegerField()
    session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="experiment_row")
    released = models.BooleanField(default=False, help_text="its turn has come")
    result = models.JSONField(null=True, help_text="scores, checks and the answer, once it was compared")
    seq = models.PositiveIntegerField(help_text="of its last change")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "number"], name="experiment_row_identity"),)

    def __str__(self) -> str:
        return f"row {self.number} of {self.experiment_id}"


class Bisection(models.Model):
    """A search for the step where a failing run committed itself. What is known is in its probes."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="bisections")
    diff_id = models.UUIDField(null=True, help_text="the report from which it was asked for")
    request = models.JSONField(help_text="as it was asked")
    forks = models.JSONField(help_text="[sequence_no, type, name, cost of its answer or null], in order")
    recorded = models.JSONField(help_text="what the checks say of the run itself")
    status = models.CharField(max_length=9, default="running")
    error = models.TextField(blank=True, help_text="why it failed, or stopped before its end")
    idempotency_key = models.CharField(max_length=200, null=True, unique=True)  # noqa: DJ001  # unique, so that "none" cannot be an empty text
    request_digest = models.CharField(max_length=64)
    last_seq = models.PositiveIntegerField(default=1, help_text="of its changes")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["-created_at"], name="bisection_newest"),
            models.Index(fields=["status"], name="bisection_running", condition=models.Q(status="running")),
        )

    def __str__(self) -> str:
        return f"bisection {self.id} of {self.run_id}"


class BisectionProbe(models.Model):
    """One fork that answers afresh from one step on, and what the checks say of it."""

    bisection = models.ForeignKey(Bisection, models.CASCADE, related_name="probes")
    number = models.PositiveIntegerField(help_text="from 1, in the order in which they began")
    place = models.PositiveIntegerField(help_text="index of the fork")
    changed = models.BooleanField(help_text="carries the overrides")
    sample = models.PositiveIntegerField()
    session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="bisection_probe")
    verdict = models.CharField(max_length=7, blank=True, help_text="empty: it has not ended, or was not judged yet")
    detail = models.JSONField(default=dict, help_text="checks, the answer, placeholders, and why it is unclear")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["bisection", "number"], name="bisection_probe_identity"),)

    def __str__(self) -> str:
        return f"probe {self.number} of {self.bisection_id}"


class Proof(models.Model):
    """A search for the changes that made a difference. What is known is in its probes; anybody can go on with them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    diff = models.ForeignKey(DiffReport, models.CASCADE, related_name="proofs")
    request = models.JSONField(help_text="as it was asked")
    status = models.CharField(max_length=9, default="running")
    progress = models.JSONField(default=dict)
    findings = models.JSONField(null=True, help_text="so far")
    evidence_id = models.UUIDField(null=True, help_text="the findings as they were attached to the report")
    error = models.TextField(blank=True)
    idempotency_key = models.CharField(max_length=200, null=True, unique=True)  # noqa: DJ001  # unique, so that "none" cannot be an empty text
    request_digest = models.CharField(max_length=64)
    worked_at = models.DateTimeField(help_text="when a worker last got on with it")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["diff", "-created_at"], name="proof_of_diff"),
            models.Index(fields=["status"], name="proof_running", condition=models.Q(status="running")),
        )

    def __str__(self) -> str:
        return f"proof {self.id} of {self.diff_id}"


class ProofProbe(models.Model):
    """One counterfactual replay of a proof, and what came of it. Only those that had to ask somebody have a session."""

    proof = models.ForeignKey(Proof, models.CASCADE, related_name="probes")
    number = models.PositiveIntegerField(help_text="from 1, in the order in which they began")
    key = models.CharField(max_length=64, help_text="digest of what was asked")
    ask = models.JSONField()
    configuration = models.CharField(max_length=64, help_text="digest of the run, the fork and the overrides")
    repeat = models.PositiveSmallIntegerField(default=0)
    seen = models.JSONField(null=True, help_text="null: its session has not ended")
    session = models.ForeignKey(ReplaySession, models.CASCADE, null=True, related_name="proof_probes")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["proof", "key"], name="proof_probe_identity"),)
        # repeats of a configuration serve every proof that needs them
        indexes = (models.Index(fields=["configuration", "repeat"], name="proof_probe_repeats"),)

    def __str__(self) -> str:
        return f"probe {self.number} of {self.proof_id}"


class UnchangedReplay(models.Model):
    """The replay of a diff's base without the candidate's changes."""

    diff = models.OneToOneField(DiffReport, models.CASCADE, related_name="unchanged_replay")
    session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="unchanged_replay")
    how = models.TextField(help_text="what is asked again, in words")
    attached = models.BooleanField(default=False, help_text="it stands beside the report")

    def __str__(self) -> str:
        return f"unchanged replay of {self.diff_id}"


class Calibration(models.Model):
    """Two recordings of the same work, and which fields of their calls differ without meaning."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    base = models.ForeignKey(Run, models.CASCADE, related_name="+")
    candidate = models.ForeignKey(Run, models.CASCADE, related_name="+")
    found = models.JSONField(help_text="proposals and what speaks for them")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["base", "candidate"], name="calibration_of_two_runs"),)

    def __str__(self) -> str:
        return f"{self.base_id} with {self.candidate_id}"
