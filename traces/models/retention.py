"""Models of retention and deletion: deleted runs, policies, marks, and the audit log."""

from django.db import models

from traces.core.ids import new_id
from traces.models.runs import Run


class Deletion(models.Model):
    """The deletion of a run: from `at` the run is hidden, from `due_at` its contents are removed.

    It disappears with the run's row. If a fork or a report cites the run, an empty row of the run remains, with its
    deletion.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="deletion")
    by = models.CharField(max_length=120, blank=True)
    reason = models.CharField(max_length=200, blank=True, help_text="the policy that deletes it; empty: a request")
    includes_citations = models.BooleanField(default=False, help_text="delete it although other objects cite it")
    at = models.DateTimeField()
    due_at = models.DateTimeField(help_text="until then it can be restored")
    removed_at = models.DateTimeField(null=True, help_text="when its contents were removed")

    class Meta:
        indexes = (models.Index(fields=["due_at"], name="deletion_due", condition=models.Q(removed_at__isnull=True)),)

    def __str__(self) -> str:
        return f"deletion of {self.run_id}"


class RunMark(models.Model):
    """What keeps a run: a pin protects it from retention, a legal hold from any deletion. No row: neither."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="mark")
    is_pinned = models.BooleanField(default=False)
    is_held = models.BooleanField(default=False, help_text="under legal hold")
    by = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"mark of {self.run_id}"


class RetentionPolicy(models.Model):
    """How long runs are kept, by app and tag. The most specific policy that applies to a run decides."""

    app = models.CharField(max_length=120, blank=True, help_text="empty: all apps")
    tag = models.CharField(max_length=100, blank=True, help_text="empty: runs with any tags or none")
    days = models.PositiveIntegerField(null=True, help_text="null: forever")
    keep_pinned = models.BooleanField(default=True)
    legal_hold = models.BooleanField(default=False, help_text="these runs cannot be deleted at all")
    by = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["app", "tag"], name="retention_policy_identity"),)

    def __str__(self) -> str:
        return f"{self.app or 'all apps'} {self.tag}: {self.days}"


class AuditEntry(models.Model):
    """One administrative action: who did what to which object. A row never changes."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    at = models.DateTimeField(auto_now_add=True)
    by = models.CharField(max_length=120, blank=True, help_text="empty: the server itself")
    action = models.CharField(max_length=40)
    subject = models.CharField(max_length=200, help_text="id of the object")
    detail = models.JSONField(default=dict)

    class Meta:
        indexes = (models.Index(fields=["subject"], name="audit_subject"),)

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
