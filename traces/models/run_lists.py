"""Models of the lists over all runs."""

from typing import Final

from django.db import models

from traces.core.ids import new_id
from traces.core.vocabulary import Outcome, RunSource, RunStatus
from traces.models.runs import Run
from traces.models.vocabulary import choices

_FACTS: Final = (
    "root",
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
# Columns that a list can be sorted by, besides the order of arrival and the outcome.
SORT_COLUMNS: Final = ("started_at", "duration_ms", "tokens", "cost_usd", "steps", "sort_name")
_COLUMNS: Final = ("run", "outcome", *_FACTS)


def _sort_index(column: str) -> models.Index:
    """Return an index of the visible runs in the order of a column, which a list reads alone."""
    facts = [fact for fact in _COLUMNS if fact not in {"run", column}]
    return models.Index(fields=[column, "run", *facts], name=f"listing_{column}", condition=_VISIBLE)


class RunListing(models.Model):
    """What the runs list filters and sorts by, of one run. Only database triggers write it, so it cannot drift.

    Each column changes with one event: a write to the run, its outcome, its deletion, its next revision, or its name.
    Concurrent transactions therefore cannot undo each other's change.
    """

    # Written and deleted with the run by triggers: a constraint would only cost time.
    run = models.OneToOneField(
        Run, models.DO_NOTHING, primary_key=True, related_name="listing", db_constraint=False, editable=False
    )
    root = models.UUIDField(null=True, help_text="the first run of a fork's line; null: not a fork")
    app = models.CharField(max_length=120)
    environment = models.CharField(max_length=60, blank=True)
    source = models.CharField(max_length=8, choices=choices(RunSource))
    status = models.CharField(max_length=10, choices=choices(RunStatus))
    outcome = models.CharField(max_length=10, choices=choices(Outcome))
    started_at = models.DateTimeField(null=True)
    cost_usd = models.DecimalField(max_digits=14, decimal_places=8, null=True)
    duration_ms = models.FloatField(null=True)
    tokens = models.PositiveBigIntegerField(null=True, help_text="of all model calls; null: unknown")
    steps = models.PositiveIntegerField(default=0)
    sort_name = models.CharField(max_length=60, blank=True, help_text="the beginning of its name, in lower case")
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
            models.Index(fields=[*_COLUMNS], name="listing_newest", condition=_VISIBLE),
            # the same within an outcome
            models.Index(fields=["outcome", "run", *_FACTS], name="listing_outcomes", condition=_VISIBLE),
            # the forks of a run, and of a list's filters
            models.Index(
                fields=["root", "run", "outcome", *_FACTS[1:]],
                name="listing_forks",
                condition=_VISIBLE & models.Q(root__isnull=False),
            ),
            # the newest runs with failed steps
            models.Index(fields=["run"], name="listing_failures", condition=_VISIBLE & models.Q(has_errors=True)),
            *(_sort_index(column) for column in SORT_COLUMNS),
        )

    def __str__(self) -> str:
        return f"listing of {self.run_id}"


class SavedView(models.Model):
    """Filters, order and columns of the runs list under a name, for everybody on this server."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=80, unique=True)
    query = models.CharField(max_length=4_000, blank=True, help_text="of the list's address")
    owner = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
