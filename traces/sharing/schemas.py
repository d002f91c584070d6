"""Share links as data: their subject, and who may open it without an account, until when and how often."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field, model_validator

from traces.core.schema import Schema
from traces.core.vocabulary import ShareAudience, ShareKind

_WITHOUT_COMMENTS: Final = {ShareKind.TREE: "a tree", ShareKind.EXPERIMENT: "an experiment"}


class ShareRequest(Schema):
    """Who may open a link, until when and how often; `people` are names of API tokens, for that audience."""

    expires_in_s: Annotated[int, Field(gt=0, le=3_650 * 86_400)] | None = None
    audience: ShareAudience = ShareAudience.ANYONE
    people: Annotated[list[Annotated[str, Field(min_length=1, max_length=120)]], Field(max_length=100)] = []
    max_views: Annotated[int, Field(gt=0, le=1_000_000)] | None = None
    # Visitors read the comments on the subject and write their own.
    allows_comments: bool = False

    @model_validator(mode="after")
    def _check_people(self) -> "ShareRequest":
        if (self.audience == ShareAudience.PEOPLE) != bool(self.people):
            raise ValueError("the audience `people` needs at least one name in `people`; other audiences take none")
        return self


class SubjectShareRequest(ShareRequest):
    """A link to a run, a replay session, a diff report, an experiment, or the tree of a run."""

    kind: ShareKind
    subject: UUID

    @model_validator(mode="after")
    def _check_comments(self) -> "SubjectShareRequest":
        if self.allows_comments and self.kind in _WITHOUT_COMMENTS:
            raise ValueError(f"{_WITHOUT_COMMENTS[self.kind]} shows no steps: its visitors cannot comment")
        return self


class ShareView(Schema):
    """A share link; `url` contains the token and is present only in the response that created the link."""

    id: UUID
    kind: ShareKind
    # Of the tree: its recorded run.
    subject: UUID
    # The subject, if it is a report.
    diff: UUID | None
    url: str | None
    created_at: datetime
    created_by: str
    audience: ShareAudience
    people: list[str]
    expires_at: datetime | None
    revoked_at: datetime | None
    max_views: int | None
    views: int
    allows_comments: bool
    # False: expired, revoked, used up, or sharing is disabled.
    opens: bool


class ShareList(Schema):
    """The links to a subject, newest first; if `enabled` is false, sharing is disabled and no link opens."""

    enabled: bool
    shares: list[ShareView]


class ShareTicket(Schema):
    """One view of a link: the ticket reads the subject, as the header `X-Share-Ticket`, until `valid_until`."""

    kind: ShareKind
    subject: UUID
    ticket: str
    valid_until: datetime
    allows_comments: bool
