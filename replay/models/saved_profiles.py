"""What a fork changes and what it may do: stored under digests, called by names."""

from django.db import models


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
