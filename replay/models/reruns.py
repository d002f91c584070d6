"""Tables for reruns: the agent itself runs again, and its calls are answered from a recording."""

from typing import Final

from django.db import models

from replay.models.saved_profiles import OverrideProfile
from traces.core.ids import new_id
from traces.models import Run
from traces.models.ordered_json import OrderedJSONField

# A new call of the agent stands in place of the step after the last one at most.
AFTER_THE_END: Final = 2


class Rerun(models.Model):
    """One execution of an agent against a recording. With a profile it is a fork, which becomes a run of its own."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    source_run = models.ForeignKey(Run, models.CASCADE, related_name="reruns")
    names = models.JSONField(default=list, help_text="[kind, old value, new value] of each volatile value")
    tools_to_run = models.JSONField(default=list, help_text="names of tools that may run though they have side effects")
    tools_to_ask = models.JSONField(
        default=list, help_text="patterns of tools whose calls without a recording an operator may let run"
    )
    tools_with_hook = models.JSONField(default=list, help_text="tools that a hook in the agent intercepts")
    tools_that_ask = models.JSONField(
        default=list, help_text="tools that the agent itself says to ask before they run, in its last start"
    )
    hosts = models.JSONField(default=list, help_text="that the agent asked for outside the gateway")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)

    profile = models.ForeignKey(OverrideProfile, models.PROTECT, null=True, related_name="reruns")
    fork_sequence_no = models.PositiveIntegerField(default=1, help_text="calls before it are answered as recorded")
    is_live = models.BooleanField(default=False, help_text="calls that nothing else answers go to the provider")
    has_pauses = models.BooleanField(default=False, help_text="recorded streams come with their pauses")
    budget = models.JSONField(default=dict, help_text="limits of the live calls")
    deadline_at = models.DateTimeField(null=True, help_text="no live call begins later")
    live_calls = models.PositiveIntegerField(default=0, help_text="that went to the provider, in all starts")
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text="of these calls")
    unpriced_calls = models.PositiveIntegerField(default=0, help_text="answered live calls whose cost is not known")
    attempt = models.PositiveSmallIntegerField(default=1, help_text="how often the agent was started")
    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="+", help_text="the fork, after the end")
    diff_id = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.id} of {self.source_run_id}"

    @property
    def is_comparison(self) -> bool:
        """Whether it changes nothing, and becomes a run only if the agent does something else than its recording."""
        return self.profile_id is not None and self.fork_sequence_no > self.source_run.step_count


class RerunCall(models.Model):
    """One call that the agent made."""

    rerun = models.ForeignKey(Rerun, models.CASCADE, related_name="calls")
    sequence_no = models.PositiveIntegerField(null=True, help_text="of the recorded step; null: it is none of them")
    label = models.CharField(max_length=9, blank=True, help_text="empty: it got no answer")
    reason = models.CharField(max_length=40, blank=True)
    detail = models.JSONField(default=dict, help_text="grounds of the label, for the step of the fork")
    difference = models.JSONField(null=True, help_text="the nearest recorded step and the first difference from it")
    attempt = models.PositiveSmallIntegerField(default=1, help_text="the last start of the agent in which it was made")
    exchange = models.BinaryField(null=True, help_text="request and answer, compressed; null: no answer, or no fork")
    owner = models.CharField(max_length=200, blank=True, help_text="process that waits for the provider's answer")
    beat = models.PositiveIntegerField(default=0, help_text="grows while the owner waits")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["rerun", "sequence_no"], name="rerun_call_once"),)

    def __str__(self) -> str:
        return f"{self.sequence_no} {self.label}"


class RerunReport(models.Model):
    """Events of what the agent did besides its model calls, from its SDK or from the gateway."""

    rerun = models.ForeignKey(Rerun, models.CASCADE, related_name="reports")
    attempt = models.PositiveSmallIntegerField(help_text="the start of the agent that they are about")
    events = models.BinaryField(help_text="lines of JSON, compressed")
    step_key = models.CharField(max_length=64, blank=True, help_text="of the step that was answered as recorded")
    sequence_no = models.PositiveIntegerField(null=True, help_text="of the recorded step")
    decision = models.CharField(max_length=10, blank=True, help_text="a `RerunDecision`")

    def __str__(self) -> str:
        return f"{self.rerun_id} {self.step_key}"


class RerunToolCall(models.Model):
    """One call of a tool or retriever that the agent asked about before it made it."""

    rerun = models.ForeignKey(Rerun, models.CASCADE, related_name="tool_calls")
    name = models.CharField(max_length=300)
    call = models.CharField(max_length=64, blank=True, help_text="the id that the agent's process gave it")
    sequence_no = models.PositiveIntegerField(null=True, help_text="of the recorded step; null: it is none of them")
    attempt = models.PositiveSmallIntegerField(default=1, help_text="the start of the agent in which it was made")
    decision = models.CharField(max_length=10, help_text="a `RerunDecision`")
    detail = models.JSONField(default=dict, help_text="grounds of the label: the step that answered it, its arguments")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["rerun", "attempt", "sequence_no"], name="rerun_tool_call_once"),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.decision}"


class RerunQuestion(models.Model):
    """A call that waits for the operator, who lets it run, refuses it, or states its outcome."""

    rerun = models.ForeignKey(Rerun, models.CASCADE, related_name="questions")
    attempt = models.PositiveSmallIntegerField(help_text="the start of the agent in which it is made")
    no = models.PositiveIntegerField(help_text="from 1, in the order of all starts")
    call = models.CharField(max_length=64, help_text="the id that the agent's process gave it")
    name = models.CharField(max_length=300)
    arguments = OrderedJSONField(null=True)
    text = models.TextField()
    may_run = models.BooleanField()
    answer = OrderedJSONField(null=True, help_text="action, output and status; null: it waits")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["rerun", "no"], name="rerun_question_number"),
            models.UniqueConstraint(fields=["rerun", "call"], name="rerun_question_once"),
        )

    def __str__(self) -> str:
        return f"{self.no} {self.name}"


class RerunMcpSession(models.Model):
    """A session with an MCP server, for one that a client of the agent has: any web process may pass its calls on."""

    rerun = models.ForeignKey(Rerun, models.CASCADE, related_name="mcp_sessions")
    server = models.CharField(max_length=100)
    client = models.CharField(max_length=200, help_text="the session that the client has; empty: none")
    parameters = models.JSONField(default=dict, help_text="what the client said of itself in its handshake")
    session = models.CharField(max_length=500, blank=True, help_text="the id that the server gave; empty: none is open")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["rerun", "server", "client"], name="rerun_mcp_session_once"),)

    def __str__(self) -> str:
        return f"{self.server} {self.client}"
