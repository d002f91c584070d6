"""Models of working together: share links, and comments on runs and reports."""

from django.db import models
from django.utils import timezone

from traces.core.ids import new_id
from traces.core.vocabulary import CommentKind, ShareAudience, ShareKind


class ShareLink(models.Model):
    """A link to exactly one subject, for its audience. Only the hash of its token is stored.

    The subject may belong to an app above, so it has no foreign key: whoever deletes it ends its links.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=10, choices=[(kind.value, kind.value) for kind in ShareKind])
    subject = models.UUIDField(
        help_text="id of the run, the root of the tree, the session, the report or the experiment"
    )
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now)
    created_by = models.CharField(max_length=120, blank=True)
    audience = models.CharField(
        max_length=9, choices=[(item.value, item.value) for item in ShareAudience], default=ShareAudience.ANYONE
    )
    people = models.JSONField(default=list, help_text="names of API tokens, for the audience `people`")
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    max_views = models.PositiveIntegerField(null=True)
    views = models.PositiveIntegerField(default=0)
    # The database's default, too: an upgrade may copy older links into this table after it got the column.
    allows_comments = models.BooleanField(
        default=False, db_default=False, help_text="visitors read the comments and write their own"
    )

    class Meta:
        indexes = (models.Index(fields=["subject"], name="share_subject"),)

    def __str__(self) -> str:
        return f"share {self.id} of {self.kind} {self.subject}"


class Comment(models.Model):
    """A comment on a step of a run, on a place in a report, or in a thread that such a comment began.

    The subject may belong to an app above, so it has no foreign key: whoever deletes it deletes its comments.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=4, choices=[(kind.value, kind.value) for kind in CommentKind])
    subject = models.UUIDField(help_text="id of the run or the report")
    thread = models.ForeignKey("self", models.CASCADE, null=True, related_name="replies")
    step_no = models.PositiveIntegerField(null=True)
    place = models.JSONField(null=True, help_text="a `DiffPlace`")
    quote = models.TextField(blank=True, help_text="what the place showed")
    text = models.TextField()
    by = models.CharField(max_length=120, blank=True)
    visitor = models.CharField(max_length=64, blank=True, help_text="hash of the key of a visitor's browser")
    at = models.DateTimeField(default=timezone.now)
    edited_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=120, blank=True)
    deleted_at = models.DateTimeField(null=True, help_text="its text is removed by the next purge")

    class Meta:
        indexes = (
            models.Index(fields=["subject"], name="comment_subject"),
            models.Index(fields=["deleted_at"], name="comment_deleted", condition=models.Q(deleted_at__isnull=False)),
        )

    def __str__(self) -> str:
        return f"comment {self.id} on {self.kind} {self.subject}"
