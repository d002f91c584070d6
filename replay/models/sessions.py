"""Replay sessions: what was asked, how far it is, every live call, and everything a watcher was told."""

from django.db import models

from replay.core.vocabulary import COMPLETED, OPEN_STATUSES, AttemptStatus, SessionStatus
from replay.models.saved_profiles import OverrideProfile, ReplayPolicy
from traces.core.ids import new_id
from traces.models import Run

_STATUSES = [(status.value, status.value) for status in SessionStatus]
# in one order, for what migrations compare
_UNFINISHED = tuple(status for status in SessionStatus if status in OPEN_STATUSES)
_COMPLETED = tuple(sorted(COMPLETED))


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

    status = models.CharField(max_length=20, choices=_STATUSES, default=SessionStatus.PENDING)
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
            models.Index(fields=["status"], name="session_unfinished", condition=models.Q(status__in=_UNFINISHED)),
            models.Index(
                fields=["status"],
                name="session_uncompared",
                condition=models.Q(status__in=_COMPLETED, compared_at=None),
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
    status = models.CharField(max_length=9, default=AttemptStatus.INTENDED)
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
