"""REST schemas of deletion and retention."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from traces.core.schema import Schema

MAX_RUNS = 1_000


class CitationView(Schema):
    """An object that refers to a run."""

    kind: str
    id: UUID
    name: str


class CitationList(Schema):
    """What refers to a run, and whether the run is protected."""

    citations: list[CitationView]
    is_pinned: bool
    is_held: bool


class DeletedRun(Schema):
    """A deleted run. Until `due_at` it can be restored; then its contents are removed."""

    id: UUID
    due_at: datetime


class RestoredRun(Schema):
    """A run that is visible again."""

    id: UUID


class RefusedRun(Schema):
    """A run that was not deleted, and why."""

    id: UUID
    detail: str
    citations: list[CitationView]


class DeletionRequest(Schema):
    """Runs to delete. Admins may include runs that others cite, or remove contents `at_once`."""

    runs: Annotated[list[str], Field(min_length=1, max_length=MAX_RUNS)]
    includes_citations: bool = False
    at_once: bool = False


class DeletionResult(Schema):
    """What was deleted, and what was not."""

    deletions: list[DeletedRun]
    refusals: list[RefusedRun]
