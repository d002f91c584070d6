"""Share links as data: who may open a report without an account, until when and how often."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, model_validator

from traces.core.schema import Schema

Audience = Literal["anyone", "signed_in", "people"]


class ShareRequest(Schema):
    """Who may open a link, until when and how often; `people` are names of API tokens, for that audience."""

    expires_in_s: Annotated[int, Field(gt=0, le=3_650 * 86_400)] | None = None
    audience: Audience = "anyone"
    people: Annotated[list[Annotated[str, Field(min_length=1, max_length=120)]], Field(max_length=100)] = []
    max_views: Annotated[int, Field(gt=0, le=1_000_000)] | None = None

    @model_validator(mode="after")
    def _check_people(self) -> "ShareRequest":
        if (self.audience == "people") != bool(self.people):
            raise ValueError("the audience `people` needs at least one name in `people`; other audiences take none")
        return self


class ShareView(Schema):
    """A share link; `url` contains the token and is present only in the response that created the link."""

    id: UUID
    diff: UUID
    url: str | None
    created_at: datetime
    created_by: str
    audience: Audience
    people: list[str]
    expires_at: datetime | None
    revoked_at: datetime | None
    max_views: int | None
    views: int
    # False: expired, revoked, used up, or sharing is disabled.
    opens: bool


class ShareList(Schema):
    """The links to a report; if `enabled` is false, sharing is disabled and no link opens."""

    enabled: bool
    shares: list[ShareView]
