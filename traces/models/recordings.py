"""Models of runs that arrive over the network, and of requests that arrive twice."""

from django.db import models

from traces.core.ids import new_id
from traces.models.runs import Run


class Recording(models.Model):
    """A run that arrives in segments over the network. `run` is the run that was assembled from them last.

    It is identified by `key`, the digest of the project that the client named and the run's external id.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    key = models.CharField(max_length=64, unique=True)
    project = models.CharField(max_length=120, blank=True, help_text="app of the run; empty: from the content")
    external_id = models.CharField(max_length=200)
    run = models.ForeignKey(Run, models.CASCADE, null=True, related_name="recordings")
    arrived_at = models.DateTimeField(help_text="when the newest segment arrived")
    has_ended = models.BooleanField(default=False, help_text="the root step has ended")
    is_final = models.BooleanField(default=False, help_text="the client has finalized the run")
    version = models.PositiveIntegerField(default=0, help_text="counts the batches of segments")
    assembled_version = models.PositiveIntegerField(default=0, help_text="the version that `run` contains")
    is_complete = models.BooleanField(default=False, help_text="`run` is written in full, so that it can be sealed")
    refresh_at = models.DateTimeField(null=True, help_text="new segments are assembled from this time on")
    due_at = models.DateTimeField(null=True, help_text="when to assemble or seal it; null: nothing to do")
    interrupted_at = models.DateTimeField(null=True, help_text="the server was restarted while it was open")
    leased_until = models.DateTimeField(null=True, help_text="a worker assembles it until then")
    problem = models.TextField(blank=True, help_text="why its segments do not make a run")

    class Meta:
        indexes = (models.Index(fields=["due_at"], name="recording_due", condition=models.Q(due_at__isnull=False)),)

    def __str__(self) -> str:
        return f"{self.external_id} ({self.version})"


class Segment(models.Model):
    """A part of a recording as it arrived: the records of one request that belong to one run, in their own format."""

    # needs no index: segment_identity begins with it
    recording = models.ForeignKey(Recording, models.CASCADE, related_name="segments", db_index=False)
    digest = models.CharField(max_length=64, help_text="of the records: a batch that arrives twice is stored once")
    format = models.CharField(max_length=40)
    file = models.CharField(max_length=200, blank=True, help_text="the segments of a file are its parts, in order")
    size = models.PositiveIntegerField(help_text="bytes before compression")
    checks = models.CharField(max_length=200, blank=True, help_text="versions of the detectors that looked at it")
    first_number = models.BigIntegerField(null=True, help_text="least number of its events; null: not numbered")
    last_number = models.BigIntegerField(null=True, help_text="greatest number of its events")
    data = models.BinaryField(help_text="zstd")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["recording", "digest"], name="segment_identity"),)
        indexes = (
            # the segments that may contain the numbers of new events
            models.Index(
                fields=["recording", "last_number"],
                name="segment_numbers",
                condition=models.Q(last_number__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.format} {self.digest[:12]}"


class RecordAddress(models.Model):
    """The recording of a record that its client changes by the record's own id, such as a score."""

    key = models.CharField(primary_key=True, max_length=64, help_text="digest of the kind and the id of the record")
    project = models.CharField(max_length=120, blank=True)
    external_id = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"{self.key[:12]} of {self.external_id}"


class RequestKey(models.Model):
    """An idempotency key, the request it was used for, and the request's result."""

    key = models.CharField(
        primary_key=True, max_length=64, help_text="digest of the kind of request, the caller and the key"
    )
    asked = models.CharField(max_length=64, help_text="digest of the request")
    made = models.CharField(
        max_length=64, blank=True, help_text="reference of the result; empty: the repeated request finds it"
    )
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.key[:12]}: {self.made}"
