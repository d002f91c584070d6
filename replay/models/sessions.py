"""Tables for replay sessions: request and progress, live calls, event log."""

from datetime import UTC, datetime, timedelta

from django.db import models
from django.db.models import F
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now

from replay.core.vocabulary import COMPLETED, OPEN_STATUSES, AttemptStatus, Engine, SessionStatus
from replay.models.reruns import Rerun
from replay.models.runners import Runner
from replay.models.saved_profiles import OverrideProfile, ReplayPolicy
from traces.core.ids import new_id
from traces.models import Run
from traces.models.ordered_json import OrderedJSONField

_STATUSES = [(status.value, status.value) for status in SessionStatus]
# In a fixed order, since migrations compare it.
_OPEN = tuple(status for status in SessionStatus if status in OPEN_STATUSES)
_COMPLETED = tuple(sorted(COMPLETED))


class ReplaySession(models.Model):
    """One execution of a fork. Only the worker named in `owner` writes the row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    source_run = models.ForeignKey(Run, models.PROTECT, related_name="replays")
    run = models.ForeignKey(Run, models.PROTECT, null=True, related_name="replayed_by")
    diff_id = models.UUIDField(null=True)
    fork_sequence_no = models.PositiveIntegerField()
    profile = models.ForeignKey(OverrideProfile, models.PROTECT, related_name="sessions")
    change = models.JSONField(null=True, help_text="a `ForkChange`; null: a probe, or not known")
    policy = models.JSONField(help_text="as of the launch; later changes of defaults do not affect it")
    stated_policy = models.ForeignKey(
        ReplayPolicy, models.PROTECT, null=True, related_name="sessions", help_text="as the caller wrote it"
    )
    plan = models.JSONField(help_text="without its steps; see `planned`")
    planned = models.JSONField(
        default=dict, help_text="[action, label, reason] by step number, except for reused steps"
    )
    planned_steps = models.PositiveIntegerField()
    is_probe = models.BooleanField(default=False, help_text="one of many in a search: not listed")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    engine = models.CharField(max_length=6, default=Engine.FOLLOW, help_text="an `Engine`")
    variables = models.JSONField(
        default=dict,
        help_text="of the agent's environment, if its runner allows them; empty when the session has ended",
    )
    variable_digests = models.JSONField(default=dict, help_text="keyed digests of their values, which stay")
    rerun = models.OneToOneField(Rerun, models.SET_NULL, null=True, related_name="session", help_text="of the agent")
    runner = models.ForeignKey(Runner, models.SET_NULL, null=True, related_name="sessions")

    status = models.CharField(max_length=20, choices=_STATUSES, default=SessionStatus.PENDING)
    owner = models.CharField(max_length=160, blank=True, help_text="the worker process that claimed it")
    heartbeat_at = models.DateTimeField(null=True)
    lost_workers = models.PositiveSmallIntegerField(default=0, help_text="workers that died since the last checkpoint")
    takeovers = models.JSONField(default=list, help_text="[time, last step kept, steps discarded] for each takeover")
    cancel_requested = models.BooleanField(default=False)
    resolved_steps = models.PositiveIntegerField(default=0)
    checkpoint_no = models.PositiveIntegerField(default=0, help_text="last committed step of the derived run")
    exact_count = models.PositiveIntegerField(default=0)
    cached_count = models.PositiveIntegerField(default=0)
    simulated_count = models.PositiveIntegerField(default=0)
    current = models.CharField(max_length=300, blank=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, help_text="null: unknown, never 0")
    live_calls = models.PositiveIntegerField(default=0)
    divergences = models.JSONField(default=list)
    unused_calls = models.JSONField(default=list)
    question = models.JSONField(null=True, help_text="the pending question while awaiting_operator")
    answers = OrderedJSONField(default=dict, help_text="answers of the operator by step number")
    held_back_tools = models.JSONField(
        default=list, help_text="tools without consent, for which it waits in awaiting_operator, or at which it failed"
    )
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    error_sequence_no = models.PositiveIntegerField(null=True)
    last_seq = models.PositiveIntegerField(default=0, help_text="of its messages")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    operator_wait = models.DurationField(
        default=timedelta(0), help_text="for the operator; does not count for its deadline"
    )
    ended_at = models.DateTimeField(null=True)
    compared_at = models.DateTimeField(null=True, help_text="when its diff was computed, or failed")

    class Meta:
        indexes = (
            # lists leave probes out, and a proof can have hundreds
            models.Index(fields=["-created_at"], name="session_newest", condition=models.Q(is_probe=False)),
            models.Index(fields=["-id"], name="session_listed", condition=models.Q(is_probe=False)),
            models.Index(fields=["by", "-id"], name="session_by_author", condition=models.Q(is_probe=False)),
            # Recovery queries these at start and every few seconds.
            models.Index(fields=["status"], name="session_unfinished", condition=models.Q(status__in=_OPEN)),
            models.Index(
                fields=["status"],
                name="session_uncompared",
                condition=models.Q(status__in=_COMPLETED, compared_at=None),
            ),
            models.Index(fields=["source_run", "-created_at"], name="session_of_run"),
        )

    def __str__(self) -> str:
        return f"{self.id} ({self.status})"

    @property
    def deadline(self) -> datetime | None:
        """When its policy's limit of time ends; None without a limit."""
        limit_s = self.policy["budget"]["deadline_s"]
        if limit_s is None:
            return None
        return (self.started_at or datetime.now(UTC)) + self.operator_wait + timedelta(seconds=limit_s)


def wait_until_now() -> CombinedExpression:
    """Return `operator_wait` of a session that goes on; it has waited since its last heartbeat."""
    return F("operator_wait") + (Now() - Coalesce("heartbeat_at", Now()))


class Attempt(models.Model):
    """One attempt at a live call: its intent is stored before the call, its outcome after it."""

    session = models.ForeignKey(ReplaySession, models.CASCADE, related_name="attempts")
    sequence_no = models.PositiveIntegerField(help_text="in the derived run")
    attempt = models.PositiveSmallIntegerField(help_text="from 1")
    kind = models.CharField(max_length=9)
    provider = models.CharField(max_length=80)
    model = models.CharField(max_length=120, blank=True)
    signature = models.CharField(max_length=80, blank=True)
    status = models.CharField(max_length=9, default=AttemptStatus.INTENDED)
    outcome = OrderedJSONField(null=True, help_text="result of a successful call; reused after a crash")
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
    """One message of a session's event log.

    A `session` message is read as the session's state at reading time.
    """

    session = models.ForeignKey(ReplaySession, models.CASCADE, related_name="messages")
    seq = models.PositiveIntegerField()
    type = models.CharField(max_length=8)
    body = models.JSONField(default=dict)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["session", "seq"], name="message_sequence"),)

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
