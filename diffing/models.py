"""Diff reports, their evidence and control lanes."""

from django.db import models

from diffing.schemas.report import DiffStatus
from traces.core.ids import new_id
from traces.models import Run

_STATUSES = [(status.value, status.value.capitalize()) for status in DiffStatus]


class DiffReport(models.Model):
    """One report, addressed by its runs and options; immutable once it is ready."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    key = models.CharField(max_length=64, unique=True, help_text="digest of base, candidate and options")
    # A report cites its runs, so it protects them against retention.
    base = models.ForeignKey(Run, models.PROTECT, related_name="diffs_as_base")
    candidate = models.ForeignKey(Run, models.PROTECT, related_name="diffs_as_candidate")
    options = models.JSONField()
    status = models.CharField(max_length=7, choices=_STATUSES, default=DiffStatus.PENDING)
    error = models.TextField(blank=True, help_text="why it failed")
    created_at = models.DateTimeField(auto_now_add=True)
    by = models.CharField(max_length=120, blank=True, help_text="who asked for it first")
    sentence = models.TextField(blank=True)
    cause = models.TextField(blank=True, help_text="of its headline")
    effect = models.TextField(blank=True, help_text="of its headline")
    ars = models.FloatField(null=True)
    output_similarity = models.FloatField(null=True)
    tool_accuracy = models.FloatField(null=True)
    confidence = models.CharField(max_length=6, blank=True)
    body = models.BinaryField(null=True, help_text="the report as JSON, zstd")

    class Meta:
        indexes = (
            models.Index(fields=["-created_at", "-id"], name="diff_newest"),
            models.Index(fields=["by", "-id"], name="diff_by_author"),
        )

    def __str__(self) -> str:
        return f"{self.base_id} -> {self.candidate_id}"


class Cosine(models.Model):
    """A cached cosine of the embeddings of two texts."""

    key = models.CharField(primary_key=True, max_length=64, help_text="digest of the embedding model and both texts")
    cosine = models.FloatField()

    def __str__(self) -> str:
        return f"{self.key[:12]} {self.cosine:.4f}"


class Evidence(models.Model):
    """The findings of a proof about a report, for one question. Immutable; a new proof adds another row."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    diff = models.ForeignKey(DiffReport, models.CASCADE, related_name="evidence")
    question = models.CharField(max_length=64, help_text="digest of the question")
    verdict = models.CharField(max_length=15)
    confidence = models.CharField(max_length=6)
    conclusion = models.TextField()
    headline = models.JSONField(null=True, help_text="of the report, if this evidence decides its verdict")
    created_at = models.DateTimeField()
    body = models.JSONField(help_text="the findings")

    class Meta:
        indexes = (models.Index(fields=["diff", "-created_at"], name="evidence_of_diff"),)

    def __str__(self) -> str:
        return f"evidence {self.id} on {self.diff_id}"


class Lane(models.Model):
    """A control lane: the base replayed without the changes. Immutable; the newest counts."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    diff = models.ForeignKey(DiffReport, models.CASCADE, related_name="lanes")
    unchanged = models.ForeignKey(DiffReport, models.PROTECT, related_name="+", help_text="base and unchanged replay")
    created_at = models.DateTimeField()
    body = models.BinaryField(help_text="the lane as JSON, zstd")

    class Meta:
        indexes = (models.Index(fields=["diff", "-created_at"], name="lane_of_diff"),)

    def __str__(self) -> str:
        return f"lane {self.id} of {self.diff_id}"
