"""Share links: who may open a run, a tree, a replay or a report without an account."""

from django.db import models
from django.utils import timezone

from traces.core.ids import new_id
from traces.core.vocabulary import ShareAudience, ShareKind


class ShareLink(models.Model):
    """A link to exactly one subject, for its audience. Only the hash of its token is stored.

    The subject may belong to an app above, so it has no foreign key: whoever deletes it ends its links.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    kind = models.CharField(max_length=6, choices=[(kind.value, kind.value) for kind in ShareKind])
    subject = models.UUIDField(help_text="id of the run, the root of the tree, the session or the report")
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

    class Meta:
        indexes = (models.Index(fields=["subject"], name="share_subject"),)

    def __str__(self) -> str:
        return f"share {self.id} of {self.kind} {self.subject}"
