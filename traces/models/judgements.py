"""Models of judgements, outcomes and the rules of an app."""

from django.db import models

from traces.core.ids import new_id
from traces.core.vocabulary import JudgementKind, JudgementSource, Outcome
from traces.models.runs import Run
from traces.models.vocabulary import choices


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
    kind = models.CharField(max_length=8, choices=choices(JudgementKind))
    value = models.FloatField(null=True, help_text="of a score")
    text = models.TextField(blank=True, help_text="the note, or the comment of a verdict or score")
    source = models.CharField(max_length=9, choices=choices(JudgementSource))
    by = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(null=True, help_text="when it was made, if the source records it")
    detail = models.JSONField(null=True, help_text="what its source states beside that; null: nothing")
    created_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "key"], name="judgement_identity"),)
        indexes = (
            # filter the runs list by judgements, and count their names: read from the index alone
            models.Index(
                fields=["name", "kind", "value", "source", "run"],
                name="judgement_named",
                condition=models.Q(withdrawn_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name}: {self.kind}"


class RunOutcome(models.Model):
    """Outcome of a run by its app's rule, stored in the same transaction as its judgements; every run has one."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="verdict")
    outcome = models.CharField(max_length=10, choices=choices(Outcome))
    basis = models.CharField(
        max_length=9, blank=True, help_text="source of the deciding judgement; empty: the run's status"
    )
    reason = models.CharField(max_length=200, blank=True)

    def __str__(self) -> str:
        return self.outcome


class OutcomeRule(models.Model):
    """What decides whether an app's runs pass. A rule never changes; the newest of an app is active."""

    app = models.CharField(max_length=120)
    thresholds = models.JSONField(help_text="by score name: {at_least} or {at_most}")
    tags = models.JSONField(default=dict, help_text="by tag: whether runs with it pass")
    deciders = models.JSONField(default=list, help_text="{source, name}, the first first; empty: the default")
    by = models.CharField(max_length=120, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    applied_at = models.DateTimeField(null=True, help_text="when the stored runs had been updated")

    class Meta:
        indexes = (models.Index(fields=["app", "id"], name="outcome_rule_newest"),)

    def __str__(self) -> str:
        return f"{self.app} {self.pk}"
