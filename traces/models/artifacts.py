"""Models of recorded bytes, and of the runs that use them. Database triggers keep them from being changed."""

from django.db import models

from traces.models.digests import DigestField


class Pack(models.Model):
    """Artifacts that a run stored together, encoded as one: they resemble each other.

    Artifacts of JSON on one line are separated by line breaks; any other artifact is alone in its pack.
    """

    owner = models.BinaryField(null=True, help_text="id of the run that stored it; others: `ArtifactUse`")
    media_type = models.CharField(max_length=80, blank=True, help_text="empty: application/json")
    encoding = models.CharField(max_length=8, blank=True, help_text="'', 'zstd', 'refs' or both")
    data = models.BinaryField(null=True, help_text="null when the bytes lie in the artifact storage")

    def __str__(self) -> str:
        return str(self.pk)


class Artifact(models.Model):
    """Immutable bytes named by their SHA-256: the canonical JSON of a payload or of one part of it."""

    sha256 = DigestField(primary_key=True)
    pack_id = models.BigIntegerField()
    start = models.PositiveIntegerField(help_text="position in the decoded pack")
    size = models.PositiveIntegerField(help_text="bytes")

    def __str__(self) -> str:
        return str(self.sha256)


class ArtifactUse(models.Model):
    """A run that uses an artifact which another run stored; that run is the `owner` of the artifact's pack.

    Rows of runs that no longer exist are ignored, and deleted together with the artifact.
    """

    pk = models.CompositePrimaryKey("sha256", "run_id")
    sha256 = DigestField()
    run_id = models.UUIDField()

    def __str__(self) -> str:
        return f"{self.sha256[:12]} in {self.run_id}"


class LooseFile(models.Model):
    """A file of the artifact storage whose artifact was deleted. It exists until the file is deleted, too."""

    path = models.CharField(primary_key=True, max_length=100)

    def __str__(self) -> str:
        return self.path
