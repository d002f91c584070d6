"""Comments as data."""

from datetime import datetime
from typing import Annotated, Final
from uuid import UUID

from pydantic import Field, StringConstraints, model_validator

from traces.core.schema import Schema

_NO_NUL: Final = r"^[^\x00]*$"
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=5_000, pattern=_NO_NUL)]
_Part = Annotated[str, StringConstraints(max_length=2_000, pattern=_NO_NUL)]
_Number = Annotated[int, Field(ge=0, lt=2**31)]


class DiffPlace(Schema):
    """A difference in a report, a line of it, or a possible cause. It names content and not positions on a page."""

    # A section of the report, or `causes`.
    section: _Part
    # The kind of the difference, such as `arguments`; the category of a cause.
    kind: _Part
    # The numbers of the two steps.
    base: _Number | None = None
    candidate: _Number | None = None
    # Which of the differences of this kind at these steps, from 0.
    occurrence: _Number = 0
    # JSON pointer of a value, or `message 3`: an entry in the list of changed messages. Of a cause: its title.
    part: _Part = ""
    # Line of a text difference, from 0.
    line: _Number | None = None


class CommentRequest(Schema):
    """A new comment on a step of a run, on a place in a report, or in an existing thread."""

    text: _Text
    step: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    place: DiffPlace | None = None
    thread: UUID | None = None

    @model_validator(mode="after")
    def _check_anchor(self) -> "CommentRequest":
        if sum(anchor is not None for anchor in (self.step, self.place, self.thread)) != 1:
            raise ValueError("give exactly one of `step`, `place` and `thread`")
        return self


class VisitorCommentRequest(CommentRequest):
    """A new comment of a visitor who opened a share link."""

    # Ignored if the link is for signed-in users.
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60, pattern=_NO_NUL)]


class CommentEdit(Schema):
    """A change of a comment: a new text of one's own, or whether the thread is resolved."""

    text: _Text | None = None
    is_resolved: bool | None = None

    @model_validator(mode="after")
    def _check_change(self) -> "CommentEdit":
        if (self.text is None) == (self.is_resolved is None):
            raise ValueError("give either `text` or `is_resolved`")
        return self


class CommentView(Schema):
    """A comment; `thread` is the comment that began its thread, null for that one itself."""

    id: UUID
    thread: UUID | None
    step: int | None
    place: DiffPlace | None
    # What the place shows.
    quote: str
    # Markdown. Empty if the comment was deleted and others have replied to it.
    text: str
    by: str
    # Wrote through a share link under a name of their choice.
    is_visitor: bool
    at: datetime
    edited_at: datetime | None
    resolved_at: datetime | None
    resolved_by: str
    deleted_at: datetime | None
    # Written by the caller, who may edit it.
    mine: bool
    may_delete: bool


class CommentList(Schema):
    """The comments on a run or a report, oldest first."""

    comments: list[CommentView]
