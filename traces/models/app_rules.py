"""Models of rules that apply to the runs of an app, and of the calls that are found by them."""

from django.db import models

from traces.models.runs import Run


class IgnoreList(models.Model):
    """Fields that an app's signatures leave out. A version never changes; the newest ready one is active."""

    app = models.CharField(max_length=120)
    version = models.PositiveIntegerField(help_text="from 1")
    rules = models.JSONField()
    digest = models.CharField(max_length=64, blank=True, help_text="of the rules; empty: nothing is ignored")
    by = models.CharField(max_length=120)
    at = models.DateTimeField(auto_now_add=True)
    ready_at = models.DateTimeField(null=True, help_text="when the recorded calls were signed under it")
    signed_until = models.DateTimeField(null=True, help_text="runs sealed before then are signed under it")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["app", "version"], name="ignore_list_version"),)

    def __str__(self) -> str:
        return f"{self.app} {self.version}"


class ReducedSignature(models.Model):
    """The signature of a recorded call under an ignore list. Equal calls of all runs share one."""

    ignore_list = models.ForeignKey(IgnoreList, models.CASCADE, related_name="signatures", db_index=False)
    signature = models.CharField(max_length=80, help_text="as in its steps")
    reduced = models.CharField(max_length=96)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["ignore_list", "signature"], name="reduced_signature"),)
        indexes = (models.Index(fields=["ignore_list", "reduced"], name="reduced_same"),)

    def __str__(self) -> str:
        return f"{self.signature} as {self.reduced}"


class ToolCall(models.Model):
    """An answered live tool call of a sealed run, for lookups by calls that differ only in wording."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+")
    sequence_no = models.PositiveIntegerField()
    key = models.CharField(max_length=32, help_text="of the app, the tool and everything that must be equal")
    length = models.PositiveIntegerField(help_text="of the texts; very different lengths are not similar")
    texts = models.TextField(blank=True, help_text="texts that may differ, one per line")

    class Meta:
        indexes = (models.Index(fields=["key", "length"], name="tool_call_alike"),)

    def __str__(self) -> str:
        return f"step {self.sequence_no}"


class RedactionPolicy(models.Model):
    """What may be stored of an app's runs. A version never changes; the newest one applies to what arrives."""

    app = models.CharField(max_length=120, blank=True, help_text="empty: all apps")
    version = models.PositiveIntegerField(help_text="from 1")
    content = models.JSONField(help_text="detectors and field rules")
    by = models.CharField(max_length=120)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["app", "version"], name="redaction_policy_version"),)

    def __str__(self) -> str:
        return f"{self.app or 'all apps'} {self.version}"
