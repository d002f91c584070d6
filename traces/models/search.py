"""Models of what is computed from sealed runs: usage totals, and documents for full-text search."""

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from traces.core.vocabulary import RunSource, StepType
from traces.models.runs import Run
from traces.models.vocabulary import choices


class WordsField(models.BinaryField):  # type: ignore[type-arg]  # the stubs of this field are not generic
    """Words with their positions, as `word:2,17 ...`: a tsvector on PostgreSQL, compressed text on SQLite."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "tsvector" if connection.vendor == "postgresql" else "blob"


class UsageTotal(models.Model):
    """Calls of one model or tool in the sealed runs of an app that started on one day.

    The total of a key is the sum of its rows: sealing a run adds rows and deleting it adds negative ones, so that
    writers never wait for each other. A background pass merges the rows of a key.
    """

    app = models.CharField(max_length=120)
    day = models.DateField(help_text="UTC")
    source = models.CharField(max_length=8, choices=choices(RunSource))
    type = models.CharField(max_length=10, choices=choices(StepType))
    provider = models.CharField(max_length=80, blank=True)
    name = models.CharField(max_length=300, blank=True, help_text="of the model or the tool")
    calls = models.BigIntegerField(help_text="calls that were made, rather than reused from a recording")
    reused_calls = models.BigIntegerField()
    failed_calls = models.BigIntegerField()
    tokens_in = models.BigIntegerField(help_text="of the calls that were made")
    tokens_out = models.BigIntegerField()
    tokens_cached = models.BigIntegerField()
    cost = models.BigIntegerField(help_text="in 1e-8 US dollars: integers add up exactly")
    unpriced_calls = models.BigIntegerField(help_text="calls without a known cost")
    newest_run = models.CharField(max_length=36, blank=True, help_text="the newest run with a call; it may be deleted")

    class Meta:
        indexes = (models.Index(fields=["day", "app"], name="usage_total_day"),)

    def __str__(self) -> str:
        return f"{self.app} {self.day} {self.name}: {self.calls}"


class SearchDocument(models.Model):
    """The words of a section of a run's steps. Position 1 is the run itself, position n+1 the section's n-th step.

    SQLite's full-text index has no content of its own and forgets a row only if it is given the row's words. A run can
    therefore be deleted only after its documents: see `traces.runs.sealed_runs`.
    """

    run = models.ForeignKey(Run, models.DO_NOTHING, related_name="+")
    first_step = models.PositiveIntegerField(help_text="sequence_no of the section's first step")
    words = WordsField()

    def __str__(self) -> str:
        return f"{self.run_id} from step {self.first_step}"


class UnindexedRun(models.Model):
    """A sealed run whose words are not in the search index yet. Written in the transaction that seals the run."""

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="+")
    leased_until = models.DateTimeField(null=True, help_text="a worker indexes it until then")

    def __str__(self) -> str:
        return str(self.run_id)
