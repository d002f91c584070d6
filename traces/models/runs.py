"""Models of recorded runs. A sealed run and its steps never change: database triggers enforce it."""

from django.db import models

from traces.core.ids import new_id
from traces.core.vocabulary import EdgeKind, Label, Reason, RunSource, RunStatus, StepStatus, StepType
from traces.models.ordered_json import OrderedJSONField
from traces.models.vocabulary import choices


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
    source = models.CharField(max_length=8, choices=choices(RunSource))
    format = models.CharField(max_length=40)
    status = models.CharField(max_length=10, choices=choices(RunStatus))
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    sealed_at = models.DateTimeField(null=True)
    tags = models.JSONField(default=list, help_text="as recorded; users edit those of the caption")
    metadata = OrderedJSONField(default=dict)
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
            models.Index(fields=["external_id"], name="run_external"),  # permalinks by the user's own ids
            # the runs that a search finds by their own words only
            models.Index(fields=["id"], name="run_open", condition=models.Q(sealed_at__isnull=True)),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


class RunTag(models.Model):
    """A tag of a run, for filters and policies: those of its caption if users edited them, else those of `Run.tags`."""

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
    type = models.CharField(max_length=10, choices=choices(StepType))
    name = models.CharField(max_length=300)
    status = models.CharField(max_length=10, choices=choices(StepStatus))
    started_at = models.DateTimeField(null=True)
    duration_ms = models.FloatField(null=True)
    label = models.CharField(max_length=9, choices=choices(Label))
    reason = models.CharField(max_length=40, choices=choices(Reason), blank=True)
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
            # the signature cache: a call answered in any sealed run of the app; a copy is found in its source run
            models.Index(
                fields=["signature"],
                name="step_signature",
                condition=~models.Q(reason=Reason.SOURCE_OUTPUT_REUSED.value),
            ),
            # permalinks by span id, which belongs to the recorded step
            models.Index(fields=["external_id"], name="step_external", condition=models.Q(source_step__isnull=True)),
            # the newest failed steps of some runs
            models.Index(
                fields=["run", "-sequence_no"],
                name="step_failed",
                condition=models.Q(status__in=[StepStatus.ERROR.value, StepStatus.TIMEOUT.value]),
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
    kind = models.CharField(max_length=12, choices=choices(EdgeKind))
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


class PendingProvenance(models.Model):
    """A run whose provenance is not computed yet. Only while this row exists, a sealed run may get edges.

    Triggers reject the row for a sealed run, so that provenance is computed once.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="+")

    def __str__(self) -> str:
        return f"provenance of {self.run_id}"


class RetentionPass(models.Model):
    """While a row exists, sealed runs may be deleted, but only by the transaction that inserted it.

    `run` references a run that does not exist, and foreign keys are checked at commit: the database rejects the
    commit of a pass, so a pass cannot outlive its transaction.
    """

    run = models.ForeignKey(Run, models.DO_NOTHING, related_name="+")

    def __str__(self) -> str:
        return f"retention pass {self.pk}"
