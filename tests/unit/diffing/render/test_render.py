"""Reports as Markdown and as one HTML file."""

from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from diffing.render.html import as_html
from diffing.render.markdown import as_markdown, escape_text
from diffing.render.numbers import format_difference
from diffing.render.scores import figures
from diffing.report.brief import brief, lead
from diffing.schemas.report import DiffReport
from tests.support.comparing import agent, diff_of, failing_refund, fixed_refund, model, output, reply, tool, user
from traces.core.vocabulary import Reason

HOSTILE = "\u202e</style><script>alert(1)</script><img src=x onerror=alert(2)> {{ 1 }} [x](javascript:alert(3)) `|`"


class Tags(HTMLParser):
    """Collects the tags and attributes of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(html)
    return parser.tags


@pytest.fixture(scope="module")
def refund() -> DiffReport:
    return diff_of(failing_refund(), fixed_refund(), derived=True)


def test_exports_lead_with_the_headline(refund: DiffReport) -> None:
    assert lead(refund.attribution).endswith("amount from 4200 to 42, so it succeeded.")
    for text in (as_markdown(refund), as_html(refund)):
        assert text.index("from 4200 to 42, so it succeeded.") < text.index("succeeded instead of failing")


def hostile() -> DiffReport:
    """A report with hostile text in every place."""
    base = [
        agent(),
        model([user("Hi")], reply("No."), model=HOSTILE),
        tool(HOSTILE[:60], "c1", {HOSTILE: 1}, {"a": 1}),
        output("No."),
    ]
    candidate = [
        agent(),
        model([user(HOSTILE)], reply(HOSTILE), model="m2"),
        tool(HOSTILE[:60], "c1", {HOSTILE: HOSTILE}, {"a": HOSTILE}),
        tool("notify", "c2", {"x": HOSTILE}, HOSTILE),
        output(HOSTILE),
    ]
    return diff_of(base, candidate)


def test_html_contains_its_policy(refund: DiffReport) -> None:
    html = as_html(refund)
    [policy] = [attributes["content"] or "" for tag, attributes in tags(html) if attributes.get("http-equiv")]
    style = html.partition("<style>")[2].partition("</style>")[0]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert b64encode(sha256(style.encode()).digest()).decode() in policy
    assert not [attributes for _, attributes in tags(html) if "style" in attributes]


def test_html_loads_and_runs_nothing(refund: DiffReport) -> None:
    elements = tags(as_html(refund))
    assert not {tag for tag, _ in elements} & {"script", "link", "img", "iframe", "object"}
    assert not [
        name for _, attributes in elements for name in attributes if name in {"src", "href"} or name.startswith("on")
    ]


def test_recorded_text_is_escaped_in_html() -> None:
    html = as_html(hostile())
    assert "<script" not in html
    assert "<img" not in html
    assert not [name for _, attributes in tags(html) for name in attributes if name.startswith("on")]
    assert html.count("</style>") == 1
    assert "\u202e" not in html


def test_html_has_all_parts(refund: DiffReport) -> None:
    html = as_html(refund)
    for words in (
        "changed issue_refund&#x27;s amount from 4200 to 42",
        "medium confidence",
        "From cause to effect",
        "ARS",
        "amount <del>4200</del> → <ins>42</ins>",
        "Next test",
        *("prompt", "retrieval", "tool", "model", "output", "run"),
    ):
        assert words in html


def test_html_structure_is_accessible(refund: DiffReport) -> None:
    elements = tags(as_html(refund))
    assert ("html", {"lang": "en"}) in elements
    assert [tag for tag, _ in elements].count("h1") == 1
    assert [tag for tag, _ in elements].count("main") == 1
    assert all(attributes.get("scope") for tag, attributes in elements if tag == "th")


def test_equal_runs_render() -> None:
    same = diff_of(failing_refund(), failing_refund())
    assert "Every step is the same in both runs." in as_html(same)
    assert "Nothing recorded differs between the two runs" in as_markdown(same)


def test_markdown_headings_are_in_order(refund: DiffReport) -> None:
    lines = as_markdown(refund).splitlines()
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == [
        "## From cause to effect",
        "## Evidence",
        "## Next test",
        "## In numbers",
        "## Steps that differ",
        "## Prompt",
        "## Retrieval",
        "## Tool",
        "## Model",
        "## Output",
        "## Run",
        "## Terms in this report",
    ]
    assert "- /amount: 4200 → 42 (changed)" in lines


def test_recorded_text_is_escaped_in_markdown() -> None:
    text = as_markdown(hostile())
    assert "<script" not in text
    assert "[x](" not in text
    assert "\u202e" not in text
    assert escape_text("a|b\n# c") == r"a\|b \# c"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "", "unknown"),
        (0, "", "0"),
        (-1204, "", "−1,204"),
        (12, "", "+12"),
        (-0.008, "$", "−$0.008"),
        (5.0, "", "+5"),
    ],
)
def test_differences_have_a_sign(value: float | None, unit: str, text: str) -> None:
    assert format_difference(value, unit) == text


def test_differing_steps_are_counted_consistently(refund: DiffReport) -> None:
    line = brief(refund).changed
    [figure] = [figure for figure in figures(refund) if figure.name == "Steps that differ"]
    rows = as_markdown(refund).split("## Steps that differ")[1].split("##")[0].count("| changed |")
    assert f"{figure.value} of 6 paired steps differ." in line
    assert (figure.value, rows) == ("5", 5)
    assert "5 listed; 1 is the same" in as_html(refund)


def test_idle_steps_are_marked() -> None:
    candidate = fixed_refund()
    candidate[4] = replace(candidate[4], output="[Forkpoint] blocked", reason=Reason.SIDE_EFFECT_BLOCKED)
    report = diff_of(failing_refund(), candidate, derived=True)
    assert "not run in the candidate |" in as_markdown(report)
    assert '<span class="chip">not run in the candidate</span>' in as_html(report)
    assert "not run in the candidate |" not in as_markdown(diff_of(failing_refund(), fixed_refund(), derived=True))
