"""Models of the lists over all runs."""

from typing import Final

from django.db import models

from traces.core.vocabulary import Outcome, RunSource, RunStatus
from traces.models.runs import Run
from traces.models.vocabulary import choices

_FACTS: Final = (
    "source",
    "app",
    "environment",
    "status",
    "started_at",
    "cost_usd",
    "has_exact",
    "has_cached",
    "has_simulated",
    "has_live",
)
_VISIBLE: Final = models.Q(is_deleted=False, is_superseded=False)


class RunListing(models.Model):
    """What the runs list filters and sorts by, of one run. Only database triggers write it, so it cannot drift.

    Each column changes with one event: a write to the run, its outcome, its deletion, or its next revision. Concurrent
    transactions therefore cannot undo each other's change.
    """

    # Written and deleted with the run by triggers: a constraint would only cost time.
    run = models.OneToOneField(
        Run, models.DO_NOTHING, primary_key=True, related_name="listing", db_constraint=False, editable=False
    )
    app = models.CharField(max_length=120)
    environment = models.CharField(max_length=60, blank=True)
    source = models.CharField(max_length=8, choices=choices(RunSource))
    status = models.CharField(max_length=10, choices=choices(RunStatus))
    outcome = models.CharField(max_length=10, choices=choices(Outcome))
    started_at = models.DateTimeField(null=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    has_errors = models.BooleanField()
    has_exact = models.BooleanField()
    has_cached = models.BooleanField()
    has_simulated = models.BooleanField()
    has_live = models.BooleanField()
    is_deleted = models.BooleanField()
    is_superseded = models.BooleanField(help_text="there is a later revision")

    class Meta:
        indexes = (
            # any filter, newest first: read from the index alone
            models.Index(fields=["run", "outcome", *_FACTS], name="listing_newest", condition=_VISIBLE),
            # the same within an outcome
            models.Index(fields=["outcome", "run", *_FACTS], name="listing_outcomes", condition=_VISIBLE),
            # the newest runs with failed steps
            models.Index(fields=["run"], name="listing_failures", condition=_VISIBLE & models.Q(has_errors=True)),
        )

    def __str__(self) -> str:
        return f"listing of {self.run_id}"
