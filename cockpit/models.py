"""API tokens."""

from django.db import models
from django.db.models.functions import Lower

from traces.core.ids import new_id


class ApiToken(models.Model):
    """An API token. Its secret is shown once and stored as a hash."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=120)
    role = models.CharField(max_length=8, choices=[(role, role) for role in ("sender", "viewer", "debugger", "admin")])
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret")
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(Lower("name"), condition=models.Q(revoked_at=None), name="token_name_in_force"),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"
