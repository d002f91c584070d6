"""Tables for reruns: the agent itself runs again, and its calls are answered from a recording."""

from django.db import models

from traces.core.ids import new_id
from traces.models import Run


class Rerun(models.Model):
    """One execution of an agent against a recording."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    source_run = models.ForeignKey(Run, models.CASCADE, related_name="reruns")
    names = models.JSONField(default=list, help_text="[kind, old value, new value] of each volatile value")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    exit_code = models.IntegerField(null=True)

    def __str__(self) -> str:
        return f"{self.id} of {self.source_run_id}"


class RerunCall(models.Model):
    """One call that the agent made."""

    rerun = models.ForeignKey(Rerun, models.CASCADE, related_name="calls")
    sequence_no = models.PositiveIntegerField(null=True, help_text="of the recorded step; null: it is none of them")
    label = models.CharField(max_length=6, blank=True, help_text="'exact' or 'cached'; empty: it got no answer")
    difference = models.JSONField(null=True, help_text="the nearest recorded step and the first difference from it")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["rerun", "sequence_no"], name="rerun_call_once"),)

    def __str__(self) -> str:
        return f"{self.sequence_no} {self.label}"
