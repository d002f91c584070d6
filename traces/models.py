"""Models of recordings. A sealed run and its steps never change: database triggers enforce it."""

from collections.abc import Iterable
from enum import StrEnum

from django.db import models

from traces.core.ids import new_id
from traces.core.vocabulary import (
    EdgeKind,
    JudgementKind,
    JudgementSource,
    Label,
    Outcome,
    Reason,
    RunSource,
    RunStatus,
    StepStatus,
    StepType,
)


def _choices(vocabulary: Iterable[StrEnum]) -> list[tuple[str, str]]:
    return [(member.value, member.value) for member in vocabulary]


class Artifact(models.Model):
    """Immutable bytes named by their SHA-256: the canonical JSON of a payload or of one part of it."""

    sha256 = models.CharField(primary_key=True, max_length=64)
    size = models.PositiveBigIntegerField(help_text="bytes before encoding")
    media_type = models.CharField(max_length=80, blank=True, help_text="empty: application/json")
    encoding = models.CharField(max_length=8, blank=True, help_text="'', 'zstd', 'refs' or both")
    data = models.BinaryField(null=True, help_text="null when the bytes lie in the artifact storage")

    def __str__(self) -> str:
        return self.sha256


class Run(models.Model):
    """A recorded end-to-end execution; immutable once `sealed_at` is set."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    external_id = models.CharField(max_length=200)
    revision = models.PositiveIntegerField(default=1, help_text="from 1, within the identity")
    supersedes = models.OneToOneField(
        "self", models.PROTECT, null=True, related_name="superseded_by", help_text="the revision that it continues"
    )
    content_digest = models.CharField(max_length=64, help_text="of the recording; a repeat has the same one")
    name = models.CharField(max_length=300)
    app = models.CharField(max_length=120)
    environment = models.CharField(max_length=60, blank=True)
    source = models.CharField(max_length=8, choices=_choices(RunSource))
    format = models.CharField(max_length=40)
    status = models.CharField(max_length=10, choices=_choices(RunStatus))
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    sealed_at = models.DateTimeField(null=True)
    tags = models.JSONField(default=list)
    metadata = models.JSONField(default=dict)
    search = models.TextField(help_text="lower case: name, external id, app, model names, tags, first input")

    step_count = models.PositiveIntegerField(default=0)
    error_count = models.PositiveIntegerField(default=0)
    tokens_in = models.PositiveBigIntegerField(default=0)
    tokens_out = models.PositiveBigIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True, help_text="null: unknown, never 0")
    duration_ms = models.FloatField(null=True)
    exact_count = models.PositiveIntegerField(default=0)
    cached_count = models.PositiveIntegerField(default=0)
    simulated_count = models.PositiveIntegerField(default=0)

    source_run = models.ForeignKey("self", models.PROTECT, null=True, related_name="derived_runs")
    fork_sequence_no = models.PositiveIntegerField(null=True)
    session_id = models.UUIDField(null=True, help_text="the replay session that produced this run")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["app", "external_id", "revision"], name="run_revision"),)
        indexes = (
            # The runs list is in order of arrival, which the time-ordered primary key already is.
            models.Index(fields=["app", "id"], name="run_app_newest"),
            models.Index(fields=["app", "environment", "status", "source"], name="run_facets"),  # counted without rows
            models.Index(fields=["external_id"], name="run_external"),  # permalinks by the user's own ids
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


class RunTag(models.Model):
    """A tag of a run, for the filter; `Run.tags` has the same tags in order."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="+", db_index=False)
    tag = models.CharField(max_length=100)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tag", "run"], name="run_tag"),)

    def __str__(self) -> str:
        return self.tag


class Step(models.Model):
    """A causal unit of a run. Payloads are referenced here and stored as artifacts."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # needs no index: step_sequence begins with it
    run = models.ForeignKey(Run, models.CASCADE, related_name="steps", db_index=False)
    sequence_no = models.PositiveIntegerField(help_text="from 1, in causal order")
    parent_no = models.PositiveIntegerField(null=True, help_text="sequence_no of the parent step")
    external_id = models.CharField(max_length=200, blank=True)
    type = models.CharField(max_length=10, choices=_choices(StepType))
    name = models.CharField(max_length=300)
    status = models.CharField(max_length=10, choices=_choices(StepStatus))
    started_at = models.DateTimeField(null=True)
    duration_ms = models.FloatField(null=True)
    label = models.CharField(max_length=9, choices=_choices(Label))
    reason = models.CharField(max_length=40, choices=_choices(Reason), blank=True)
    signature = models.CharField(max_length=80, blank=True)
    input_ref = models.CharField(max_length=64, blank=True, help_text="artifact; empty: not recorded")
    output_ref = models.CharField(max_length=64, blank=True)
    attributes_ref = models.CharField(max_length=64, blank=True, help_text="raw attributes without a column")
    detail = models.JSONField(default=dict, help_text="grounds of the label: differing fields, match, attempts")
    error = models.TextField(blank=True)
    summary = models.CharField(max_length=200, blank=True, help_text="one line for lists")
    provider = models.CharField(max_length=80, blank=True)
    model = models.CharField(max_length=120, blank=True)
    tool_name = models.CharField(max_length=200, blank=True)
    call_id = models.TextField(blank=True, help_text="as the client set it, of any length")
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    tokens_cached = models.PositiveIntegerField(null=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    retries = models.PositiveSmallIntegerField(default=0)
    document_count = models.PositiveIntegerField(null=True)
    source_step = models.UUIDField(null=True, help_text="the step of the source run that this one replays")
    unexplained = models.JSONField(null=True, help_text="input of unknown origin; null: provenance not computed")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "sequence_no"], name="step_sequence"),)
        indexes = (
            # the signature cache: a call answered in any sealed run of the app
            models.Index(fields=["signature"], name="step_signature"),
            models.Index(fields=["external_id"], name="step_external"),  # permalinks by span id
            # which tools there are and how often each was called: read from the index alone
            models.Index(
                fields=["type", "tool_name", "name", "run"], name="step_tools", condition=models.Q(type="tool")
            ),
        )

    def __str__(self) -> str:
        return f"{self.sequence_no} {self.type} {self.name}"


class Edge(models.Model):
    """A provenance edge: a later step consumed what an earlier one produced, as `evidence` shows.

    The paths are JSON pointers: the value at `consumer_path` of the consumer's input came from
    `producer_path` of the producer's output (`traces.provenance.edges` explains each kind).
    """

    # needs no index: edge_identity begins with it
    run = models.ForeignKey(Run, models.CASCADE, related_name="edges", db_index=False)
    producer_no = models.PositiveIntegerField()
    consumer_no = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=_choices(EdgeKind))
    consumer_path = models.CharField(max_length=200, blank=True)
    producer_path = models.CharField(max_length=200, blank=True)
    evidence = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "consumer_no", "producer_no", "kind", "consumer_path"], name="edge_identity"
            ),
        )

    def __str__(self) -> str:
        return f"{self.producer_no} -> {self.consumer_no} ({self.kind})"


class Judgement(models.Model):
    """A verdict, a score or a note on a sealed run or one of its steps; not part of the run's immutable content.

    A row is never changed, only withdrawn: the rows are the audit trail.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    # needs no index: judgement_identity begins with it
    run = models.ForeignKey(Run, models.CASCADE, related_name="judgements", db_index=False)
    key = models.CharField(max_length=64, help_text="digest of the judgement; the same one is stored only once")
    step_no = models.PositiveIntegerField(null=True, help_text="sequence_no of the judged step; null: the run")
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=8, choices=_choices(JudgementKind))
    value = models.FloatField(null=True, help_text="of a score")
    text = models.TextField(blank=True, help_text="the note, or the comment of a verdict or score")
    source = models.CharField(max_length=9, choices=_choices(JudgementSource))
    by = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(null=True, help_text="when it was made, if the source records it")
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "key"], name="judgement_identity"),)
        indexes = (
            # filter the runs list by a score: read from the index alone
            models.Index(
                fields=["name", "kind", "value", "run"],
                name="judgement_named",
                condition=models.Q(withdrawn_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}"


class RunOutcome(models.Model):
    """Outcome of a run by its app's rule, stored in the same transaction as its judgements; every run has one."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="verdict")
    outcome = models.CharField(max_length=10, choices=_choices(Outcome))
    basis = models.CharField(
        max_length=9, blank=True, help_text="source of the deciding judgement; empty: the run's status"
    )
    reason = models.CharField(max_length=200, blank=True)
    is_probe = models.BooleanField(default=False, help_text="lists leave probes out")

    class Meta:
        indexes = (
            # filter, sort and count by outcome: failed runs first, the newest of them first
            models.Index(fields=["is_probe", "outcome", "-run"], name="run_outcome_listed"),
        )

    def __str__(self) -> str:
        return self.outcome


class OutcomeRule(models.Model):
    """Thresholds at which an app's runs pass. A row never changes; the newest of an app is active."""

    app = models.CharField(max_length=120)
    thresholds = models.JSONField(help_text="by score name: {at_least} or {at_most}")
    by = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["app", "id"], name="outcome_rule_newest"),)

    def __str__(self) -> str:
        return f"{self.app} {self.pk}"


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
    data = models.BinaryField(help_text="zstd")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["recording", "digest"], name="segment_identity"),)

    def __str__(self) -> str:
        return f"{self.format} {self.digest[:12]}"


class RecordAddress(models.Model):
    """The recording of a record that its client changes by the record's own id, such as a score."""

    key = models.CharField(primary_key=True, max_length=64, help_text="digest of the kind and the id of the record")
    project = models.CharField(max_length=120, blank=True)
    external_id = models.CharField(max_length=200)

    def __str__(self) -> str:
        return f"{self.key[:12]} of {self.external_id}"


class RetentionPass(models.Model):
    """While a row exists, sealed runs may be deleted, but only by the transaction that inserted it.

    `run` references a run that does not exist, and foreign keys are checked at commit: the database rejects the
    commit of a pass, so a pass cannot outlive its transaction.
    """

    run = models.ForeignKey(Run, models.DO_NOTHING, related_name="+")

    def __str__(self) -> str:
        return f"retention pass {self.pk}"
