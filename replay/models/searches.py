"""Tables for work that takes several replays, such as experiments, bisections and proofs."""

from django.db import models

from diffing.models import DiffReport
from replay.core.vocabulary import BisectionStatus, ProofStatus
from replay.models.sessions import ReplaySession
from traces.core.ids import new_id
from traces.models import Run
from traces.models.ordered_json import OrderedJSONField


class Experiment(models.Model):
    """A matrix of forks of one run. The progress and cost of its rows are stored with their sessions."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=200)
    source_run = models.ForeignKey(Run, models.PROTECT, related_name="experiments")
    fork_sequence_no = models.PositiveIntegerField()
    request = OrderedJSONField(help_text="as received")
    parallel = models.PositiveSmallIntegerField(help_text="number of concurrent sessions")
    max_cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    max_live_calls = models.PositiveIntegerField(null=True)
    live_calls = models.PositiveIntegerField(default=0, help_text="of all rows, counted against the budget")
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, default=0, help_text="known part of the cost")
    last_seq = models.PositiveIntegerField(default=0, help_text="of its changes")
    cancelled_at = models.DateTimeField(null=True)
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["-created_at"], name="experiment_newest"),)

    def __str__(self) -> str:
        return self.name


class ExperimentRow(models.Model):
    """One sample of one cell: its session and its result."""

    experiment = models.ForeignKey(Experiment, models.CASCADE, related_name="rows")
    number = models.PositiveIntegerField(help_text="from 1, in execution order")
    cell = models.PositiveIntegerField()
    sample = models.PositiveIntegerField()
    session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="experiment_row")
    released = models.BooleanField(default=False, help_text="it may run")
    result = models.JSONField(null=True, help_text="scores, checks and the answer, set after the comparison")
    seq = models.PositiveIntegerField(help_text="of its last change")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["experiment", "number"], name="experiment_row_identity"),)

    def __str__(self) -> str:
        return f"row {self.number} of {self.experiment_id}"


class Bisection(models.Model):
    """A search for the last step from which a failing run can still succeed.

    Its progress is stored in its probes.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, models.PROTECT, related_name="bisections")
    diff_id = models.UUIDField(null=True, help_text="the report from which it was started")
    request = OrderedJSONField(help_text="as received")
    forks = models.JSONField(help_text="[sequence_no, type, name, cost of the answer or null], in order")
    recorded = models.JSONField(help_text="check results of the run itself")
    status = models.CharField(max_length=9, default=BisectionStatus.RUNNING)
    error = models.TextField(blank=True, help_text="why it failed or stopped early")
    last_seq = models.PositiveIntegerField(default=1, help_text="of its changes")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["-created_at"], name="bisection_newest"),
            models.Index(
                fields=["status"], name="bisection_running", condition=models.Q(status=BisectionStatus.RUNNING)
            ),
        )

    def __str__(self) -> str:
        return f"bisection {self.id} of {self.run_id}"


class BisectionProbe(models.Model):
    """One fork that calls live from one step on, and the check results of its run."""

    bisection = models.ForeignKey(Bisection, models.CASCADE, related_name="probes")
    number = models.PositiveIntegerField(help_text="from 1, in the order of their start")
    place = models.PositiveIntegerField(help_text="index of the fork")
    changed = models.BooleanField(help_text="carries the overrides")
    sample = models.PositiveIntegerField()
    session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="bisection_probe")
    verdict = models.CharField(max_length=7, blank=True, help_text="empty: not finished or not judged yet")
    detail = models.JSONField(
        default=dict, help_text="checks, the answer, placeholders, and the reason for an unclear verdict"
    )

    class Meta:
        constraints = (models.UniqueConstraint(fields=["bisection", "number"], name="bisection_probe_identity"),)

    def __str__(self) -> str:
        return f"probe {self.number} of {self.bisection_id}"


class Proof(models.Model):
    """A search for the changes that made a difference.

    Its progress is in its probes, so any worker can continue it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    diff = models.ForeignKey(DiffReport, models.CASCADE, related_name="proofs")
    request = OrderedJSONField(help_text="as received")
    status = models.CharField(max_length=9, default=ProofStatus.RUNNING)
    progress = models.JSONField(default=dict)
    findings = models.JSONField(null=True, help_text="so far")
    evidence_id = models.UUIDField(null=True, help_text="the findings as attached to the report")
    error = models.TextField(blank=True)
    worked_at = models.DateTimeField(help_text="when a worker last made progress")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (
            models.Index(fields=["diff", "-created_at"], name="proof_of_diff"),
            models.Index(fields=["status"], name="proof_running", condition=models.Q(status=ProofStatus.RUNNING)),
        )

    def __str__(self) -> str:
        return f"proof {self.id} of {self.diff_id}"


class ProofProbe(models.Model):
    """One counterfactual replay of a proof and its outcome. Only probes with live calls have a session."""

    proof = models.ForeignKey(Proof, models.CASCADE, related_name="probes")
    number = models.PositiveIntegerField(help_text="from 1, in the order of their start")
    key = models.CharField(max_length=64, help_text="digest of `ask`")
    ask = OrderedJSONField()
    configuration = models.CharField(max_length=64, help_text="digest of the run, the fork and the overrides")
    repeat = models.PositiveSmallIntegerField(default=0)
    seen = models.JSONField(null=True, help_text="null: its session has not finished")
    session = models.ForeignKey(ReplaySession, models.CASCADE, null=True, related_name="proof_probes")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["proof", "key"], name="proof_probe_identity"),)
        # Repeats of a configuration are shared by all proofs that need them.
        indexes = (models.Index(fields=["configuration", "repeat"], name="proof_probe_repeats"),)

    def __str__(self) -> str:
        return f"probe {self.number} of {self.proof_id}"


class UnchangedReplay(models.Model):
    """The replay of a diff's base without the candidate's changes."""

    diff = models.OneToOneField(DiffReport, models.CASCADE, related_name="unchanged_replay")
    session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="unchanged_replay")
    how = models.TextField(help_text="description of what is called live again")
    attached = models.BooleanField(default=False, help_text="attached to the report")

    def __str__(self) -> str:
        return f"unchanged replay of {self.diff_id}"


class Calibration(models.Model):
    """Comparison of two recordings of the same work: which fields of their calls are volatile."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    base = models.ForeignKey(Run, models.CASCADE, related_name="+")
    candidate = models.ForeignKey(Run, models.CASCADE, related_name="+")
    found = models.JSONField(help_text="proposals and their evidence")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["base", "candidate"], name="calibration_of_two_runs"),)

    def __str__(self) -> str:
        return f"{self.base_id} with {self.candidate_id}"


class AgentCalibration(models.Model):
    """Two unchanged starts of a run's agent by a runner; the calibration compares what it did in them.

    Its status follows from its sessions, so any worker can continue it.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="+", help_text="the recording that answers the calls")
    first_session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="+")
    second_session = models.OneToOneField(ReplaySession, models.CASCADE, related_name="+")
    calibration = models.ForeignKey(Calibration, models.CASCADE, null=True, related_name="+")
    by = models.CharField(max_length=120, blank=True, help_text="who started it")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.id} of {self.run_id}"

    @property
    def sessions(self) -> tuple[ReplaySession, ReplaySession]:
        """The two starts, in order."""
        return self.first_session, self.second_session
