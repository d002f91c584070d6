"""REST schemas of deletion and retention."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from traces.core.schema import Schema
from traces.core.vocabulary import Protection

MAX_RUNS = 1_000
# Of one run; a recording may have more.
MAX_TAGS = 100
Tag = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


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


class RenameRequest(Schema):
    """The name, the note and the tags that users give a run; a missing field stays as it is."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120)] | None = None
    note: Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)] | None = None
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] | None = None


class TagChange(Schema):
    """Tags to add to some runs and to remove from them."""

    runs: Annotated[list[UUID], Field(min_length=1, max_length=MAX_RUNS)]
    add: Annotated[list[Tag], Field(max_length=MAX_TAGS)] = []
    remove: Annotated[list[Tag], Field(max_length=MAX_TAGS)] = []


class TagRequest(Schema):
    """Changes of tags, made in this order: all of them or none."""

    changes: Annotated[list[TagChange], Field(min_length=1, max_length=MAX_RUNS)]


class TagResult(Schema):
    """How many runs have other tags, and the changes that restore the tags they had."""

    changed_runs: int
    undo: list[TagChange]


class DeletedRun(Schema):
    """A deleted run. Until `due_at` it can be restored; then its contents are removed."""

    id: UUID
    due_at: datetime


class DeletionView(Schema):
    """The deletion of a run: when and by whom, and until when it can be restored.

    `name` is empty and `removed_at` has a time once the contents are removed. `reason` is the policy that deleted it.
    """

    id: UUID
    name: str
    by: str
    reason: str
    at: datetime
    due_at: datetime | None
    removed_at: datetime | None


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


class MarkRequest(Schema):
    """A change of a run's marks; a missing field stays as it is. Only admins change the legal hold."""

    is_pinned: bool | None = None
    is_held: bool | None = None


class MarkView(Schema):
    """What keeps a run: a pin protects it from retention, a legal hold from any deletion."""

    is_pinned: bool
    is_held: bool


class RetentionTerms(Schema):
    """A retention policy: of an app, or all apps; of runs with a tag, or all. `days` null: forever."""

    app: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120)] = ""
    tag: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)] = ""
    days: Annotated[int, Field(ge=1, le=36_500)] | None = None
    keep_pinned: bool = True
    legal_hold: bool = False


class RetentionPolicyView(RetentionTerms):
    """A stored policy, and who set it when."""

    by: str
    at: datetime


class RetentionPolicyList(Schema):
    """The policies in force, when they were applied last, and the seconds to restore a deleted run."""

    policies: list[RetentionPolicyView]
    purged_at: datetime | None
    grace_s: float


class RetentionEffect(Schema):
    """What a policy deletes now, and how many runs that are due something keeps."""

    app: str
    tag: str
    days: int | None
    runs: int
    pinned_runs: int
    held_runs: int
    cited_runs: int


class PlannedRunView(Schema):
    """A run that is older than its policy allows.

    `protection` is what keeps it, empty if a purge deletes it; `citations` name what cites it.
    """

    id: UUID
    name: str
    app: str
    created_at: datetime
    policy_app: str
    policy_tag: str
    days: int
    protection: Protection
    citations: list[CitationView]


class PurgePlanView(Schema):
    """What a purge would delete; `size` is the bytes of the artifacts that only these runs use.

    The lists name the oldest runs that it deletes and that something keeps, up to 100 each.
    """

    runs: int
    size: int
    effects: list[RetentionEffect]
    deletable_runs: list[PlannedRunView]
    protected_runs: list[PlannedRunView]


class PurgePlanRequest(Schema):
    """The policies to plan with; null: those in force."""

    policies: Annotated[list[RetentionTerms], Field(max_length=MAX_RUNS)] | None = None


class PurgeResult(Schema):
    """What a purge removed."""

    runs: int
    artifacts: int
    size: int
