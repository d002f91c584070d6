"""Tables for live access: tool reviews, trials, hook outcomes, telemetry counts, exports."""

from django.db import models

from replay.core.vocabulary import ExportStatus, TrialStatus
from replay.models.sessions import ReplaySession
from traces.core.ids import new_id
from traces.models import Run
from traces.models.ordered_json import OrderedJSONField


class ToolDecision(models.Model):
    """One review decision about a tool.

    Rows are only added: a tool's newest row applies, all rows are its history.
    """

    tool = models.CharField(max_length=300)
    safe = models.BooleanField(null=True, help_text="may run in a replay; null: the review was withdrawn")
    by = models.CharField(max_length=120)
    via = models.CharField(max_length=10, help_text="'page', 'yaml' or 'suggestion'")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["tool", "-id"], name="tool_decision_newest"),)

    def __str__(self) -> str:
        return f"{self.tool}: {self.safe}"


class Trial(models.Model):
    """One tool call or search that a user ran as a trial. It runs once, and its row remains."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=9, help_text="'tool' or 'retrieval'")
    name = models.CharField(max_length=300)
    input = OrderedJSONField()
    executor = models.CharField(max_length=300)
    confirmed = models.BooleanField(help_text="it ran without a review that marked it as safe")
    by = models.CharField(max_length=120)
    at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=9, default=TrialStatus.PENDING)
    over_at = models.DateTimeField(null=True, help_text="deadline of the worker that runs it")
    outcome = OrderedJSONField(null=True)
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    duration_ms = models.FloatField(null=True)

    class Meta:
        indexes = (models.Index(fields=["kind", "name", "-at"], name="trial_newest"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}: {self.status}"


class HookOutcome(models.Model):
    """Outcome of one event that a hook decided or failed on.

    A takeover uses it instead of calling the hooks again.
    """

    session = models.ForeignKey(ReplaySession, models.CASCADE, related_name="hook_outcomes")
    sequence_no = models.PositiveIntegerField(help_text="step of the derived run that the event concerns; 0: the agent")
    event = models.CharField(max_length=24)
    tool_name = models.CharField(max_length=300, blank=True)
    asked = OrderedJSONField(null=True, help_text="arguments of the call, for a tool event")
    hook = models.CharField(max_length=120, blank=True, help_text="the hook whose decision applies; empty: none")
    decision = OrderedJSONField(help_text="as the hook returned it")
    failures = models.JSONField(default=list, help_text="[hook, error] for each hook that failed")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["session", "sequence_no", "event"], name="hook_outcome_identity"),
        )

    def __str__(self) -> str:
        return f"{self.event} of step {self.sequence_no}: {self.decision}"


class TelemetryCount(models.Model):
    """Delivery counts of one telemetry target, over all processes."""

    target = models.CharField(primary_key=True, max_length=120)
    sent = models.PositiveBigIntegerField(default=0)
    dropped = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True, help_text="most recent")
    error_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.target}: {self.sent} sent, {self.dropped} dropped"


class LangfuseExport(models.Model):
    """Export of one run to Langfuse. `done_events` is the cursor: all events before it were acknowledged."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    target = models.CharField(max_length=120)
    status = models.CharField(max_length=7, default=ExportStatus.PENDING, help_text="pending, running, done or failed")
    owner = models.CharField(max_length=160, blank=True)
    heartbeat_at = models.DateTimeField(null=True)
    done_events = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0, help_text="events that Langfuse rejected permanently")
    cut = models.PositiveIntegerField(default=0, help_text="payloads omitted because of their size")
    failures = models.PositiveSmallIntegerField(default=0, help_text="consecutive")
    error = models.TextField(blank=True)
    retry_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["run", "-created_at"], name="langfuse_export_of_run"),
            models.Index(
                fields=["status"],
                name="langfuse_unfinished",
                condition=models.Q(status__in=(ExportStatus.PENDING, ExportStatus.RUNNING)),
            ),
        )

    def __str__(self) -> str:
        return f"export of {self.run_id} to {self.target} ({self.status})"
