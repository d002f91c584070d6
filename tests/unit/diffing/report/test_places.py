"""Places of comments: what the report shows there, or that it has no such place."""

from typing import Any, Final

import pytest

from diffing.report.places import quote
from diffing.schemas.sections import MessageChange, Section, SectionItem, Sections, TextDiff, TextSpan, ValueChange
from diffing.schemas.terms import StepRef
from traces.comments.schemas import DiffPlace
from traces.core.ids import new_id
from traces.core.vocabulary import Label, StepStatus, StepType

TEXT: Final = TextDiff(
    spans=[
        TextSpan(op="equal", text="Dear customer,\nwe refund "),
        TextSpan(op="delete", text="4200"),
        TextSpan(op="insert", text="42"),
        TextSpan(op="equal", text=" EUR.\n"),
        TextSpan(op="insert", text="Best\nDesk"),
    ],
    similarity=0.9,
    method="difflib",
)


def step(number: int) -> StepRef:
    return StepRef(
        id=new_id(),
        sequence_no=number,
        type=StepType.TOOL,
        name="",
        summary="",
        status=StepStatus.OK,
        label=Label.LIVE,
        reason="",
    )


def item(kind: str, base: int | None, candidate: int | None, **more: Any) -> SectionItem:
    sides = {"base": base and step(base), "candidate": candidate and step(candidate)}
    return SectionItem(kind=kind, title="issue_refund", relation="changed", **sides, **more)


def sections(*items: SectionItem) -> Sections:
    empty = {name: Section(name=name, summary="", items=[], unavailable=[]) for name in Sections.model_fields}
    return Sections(**{**empty, "tool": empty["tool"].model_copy(update={"items": [*items]})})


REPORT: Final = sections(
    item("arguments", 3, 3, values=[ValueChange(path="/amount", op="changed", base=4200, candidate=42)]),
    item("arguments", 5, 6, values=[ValueChange(path="/note", op="added", candidate="hello\nworld")]),
    item("result", 3, 3, text=TEXT),
    item("note", 8, 8, values=[ValueChange(path="/x", op="added", candidate="first")]),
    item("note", 8, 8, values=[ValueChange(path="/x", op="added", candidate="second")]),
    item(
        "messages",
        7,
        None,
        messages=[MessageChange(op="changed", role="user", base_index=0, candidate_index=0, text=TEXT)],
    ),
)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"kind": "arguments", "base": 3, "candidate": 3, "part": "/amount"}, "4200 → 42"),
        ({"kind": "arguments", "base": 5, "candidate": 6, "part": "/note"}, "hello world"),
        ({"kind": "arguments", "base": 3, "candidate": 3}, "issue_refund"),
        ({"kind": "result", "base": 3, "candidate": 3, "line": 0}, "Dear customer,"),
        ({"kind": "result", "base": 3, "candidate": 3, "line": 1}, "we refund 4200 EUR. → we refund 42 EUR."),
        ({"kind": "result", "base": 3, "candidate": 3, "line": 2}, "Best Desk"),
        ({"kind": "messages", "base": 7, "part": "message 0", "line": 0}, "Dear customer,"),
        ({"kind": "messages", "base": 7, "part": "message 0"}, "user"),
        ({"kind": "arguments", "base": 3, "candidate": 3, "part": "/missing"}, None),
        ({"kind": "arguments", "base": 3, "candidate": 4, "part": "/amount"}, None),
        ({"kind": "result", "base": 3, "candidate": 3, "line": 3}, None),
        ({"kind": "arguments", "base": 3, "candidate": 3, "line": 0}, None),
        ({"kind": "messages", "base": 7, "part": "message 1"}, None),
        ({"kind": "note", "base": 8, "candidate": 8, "part": "/x"}, "first"),
        ({"kind": "note", "base": 8, "candidate": 8, "occurrence": 1, "part": "/x"}, "second"),
        ({"kind": "note", "base": 8, "candidate": 8, "occurrence": 2, "part": "/x"}, None),
        ({"section": "model_fields", "kind": "result", "base": 3, "candidate": 3}, None),
    ],
)
def test_quote_is_what_the_place_shows(place: dict[str, Any], words: str | None) -> None:
    assert quote(REPORT, DiffPlace(**{"section": "tool", **place})) == words


def test_long_lines_are_cut() -> None:
    report = sections(item("result", 1, 1, values=[ValueChange(path="/x", op="removed", base="word " * 200)]))
    text = quote(report, DiffPlace(section="tool", kind="result", base=1, candidate=1, part="/x"))
    assert text is not None
    assert (len(text) <= 140, text[-1]) == (True, "…")
