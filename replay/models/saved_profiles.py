"""Tables for override profiles and policies, stored by digest, and for their names."""

from django.db import models

from traces.models.ordered_json import OrderedJSONField


class OverrideProfile(models.Model):
    """The changes of a fork under the digest of their JSON, so that equal changes share one row."""

    digest = models.CharField(primary_key=True, max_length=64)
    profile = OrderedJSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class ReplayPolicy(models.Model):
    """A policy as the caller wrote it, under the digest of its JSON."""

    digest = models.CharField(primary_key=True, max_length=64)
    policy = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.digest


class DocumentName(models.Model):
    """A name for an override profile or a policy.

    A name can move to another document; the old document remains.
    """

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
