"""A report as Markdown. Recorded text is quoted so that none of it is read as markup."""

import html
import re
from collections.abc import Collection, Iterator
from typing import Final, get_args
from uuid import UUID

from diffing.render.edge_kinds import EVIDENCE, VIA
from diffing.render.evidence import told
from diffing.render.glossary import WORDS
from diffing.render.scores import figures
from diffing.report.brief import brief
from diffing.report.control_lane import ALSO, altered
from diffing.report.run_outcomes import doing, not_run
from diffing.schemas.report import Brief, DiffReport, Section, SectionItem, SectionName, TextDiff, UnchangedLane
from diffing.schemas.terms import StepRef
from diffing.sentences.text import end_sentence, format_value
from diffing.sequences.text_diff import shorten

_SHOWN: Final = 40  # items of a section, and changed steps
# What terminals obey and editors hide: control characters, and those that turn the direction of writing.
_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


def as_markdown(report: DiffReport) -> str:
    """The whole report as one Markdown document."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """Recorded text as plain text in a line of Markdown."""
    return html.escape(_MARKUP.sub(r"\\\1", " ".join(_UNSEEN.sub("\ufffd", text).split())), quote=False)


def _lines(report: DiffReport) -> Iterator[str]:
    names = dict.fromkeys((report.base.name, report.candidate.name))
    yield f"# {' → '.join(map(escaped, names))}"
    yield f"\n**{escaped(report.attribution.sentence)}**\n"
    yield from _brief(brief(report))
    yield from _reasons(report)
    yield from _proved(report)
    yield from _lane(report.unchanged)
    yield from _facts(report)
    also = altered(report.unchanged)
    yield from _steps(report, also)
    for name in get_args(SectionName):
        yield from _section(getattr(report.sections, name), also)
    yield "\n## Words in this report\n"
    yield from (f"- **{word}**: {escaped(means)}" for word, means in WORDS)


def _brief(found: Brief) -> Iterator[str]:
    yield "| | |\n|---|---|"
    yield f"| What is compared | {escaped(found.compared)} |"
    yield f"| What changed | {escaped(found.changed)} |"
    yield f"| How sure | **{escaped(found.confidence)}** |"
    yield f"| Why | {escaped(found.why)} |"
    yield f"| What next | {escaped(found.next)} |"


def _facts(report: DiffReport) -> Iterator[str]:
    yield "\n## In numbers\n"
    yield "| | | |\n|---|---|---|"
    for fact in figures(report):
        yield f"| {fact.name} | {fact.value} | {escaped(fact.note)} |"


def _reasons(report: DiffReport) -> Iterator[str]:
    found = report.attribution
    if found.path:
        yield "\n## From cause to effect\n"
        for number, link in enumerate(found.path, 1):
            text = f": {escaped(link.text)}" if link.text else ""
            yield f"{number}. step {_named(link.step)} ({link.side}, {VIA[link.via]}, {EVIDENCE[link.evidence]}){text}"
    for title, lines in (
        ("Evidence", found.evidence),
        ("Not ruled out", [f"{end_sentence(cause.title)} {cause.description}" for cause in found.alternatives]),
        ("What would settle it", [found.cheapest_experiment] if found.cheapest_experiment else []),
    ):
        if lines:
            yield f"\n## {title}\n"
            yield from (f"- {escaped(line)}" for line in lines)


def _proved(report: DiffReport) -> Iterator[str]:
    for one in told(report.evidence):
        yield f"\n## {one.title}: {escaped(one.heading.lower())}\n"
        yield f"**{escaped(one.conclusion)}**\n"
        for line in (
            f"{_sure(one.confidence)}: {one.rule}",
            one.noise,
            f"Compared: {one.question}; {one.scope}.",
            f"{one.counted}.",
        ):
            yield f"- {escaped(line)}"
        yield "\n| change | enough alone | needed | share | |\n|---|---|---|---|---|"
        for atom in one.atoms:
            inner = "↳ " * atom.depth
            cells = (f"{inner}{escaped(atom.title)}", atom.enough, atom.needed, atom.share, escaped(atom.remark))
            yield f"| {' | '.join(cells)} |"
        if one.probes:
            yield "\n| replay | came to | | took |\n|---|---|---|---|"
        for probe in one.probes:
            yield f"| {escaped(probe.what)} | {probe.outcome} | {escaped(probe.said)} | {probe.took} |"
        for title, listed in (
            ("How it worked", one.mediators),
            ("How the changes act together", one.interactions),
            ("Assumed", one.assumptions),
            ("What would settle it", [one.cheapest] if one.cheapest else []),
        ):
            if listed:
                yield f"\n### {title}\n"
                yield from (f"- {escaped(line)}" for line in listed)


def _sure(confidence: str) -> str:
    return "No cause named" if confidence == "noise" else f"{confidence.capitalize()} confidence"


def _lane(found: UnchangedLane | None) -> Iterator[str]:
    if found is None:
        return
    yield "\n## Without the changes\n"
    yield f"{escaped(found.sentence)} {escaped(found.how)}\n"
    steps = [step for step in found.steps if step.without_changes != "same"]
    if steps:
        yield "| base | without the changes | what |\n|---|---|---|"
    for step in steps[:_SHOWN]:
        there = _named(step.unchanged) if step.unchanged else ""
        yield f"| {_named(step.base)} | {there} ({step.without_changes}) | {', '.join(step.changes)} |"
    if len(steps) > _SHOWN:
        yield f"\n{len(steps) - _SHOWN:,} more steps differ without the changes."


def _steps(report: DiffReport, also: Collection[UUID]) -> Iterator[str]:
    changed = [pair for pair in doing(report.pairs) if pair.relation != "same"]
    if not changed:
        return
    yield "\n## Steps that differ\n"
    yield "| base | | candidate | what |\n|---|---|---|---|"
    for pair in changed[:_SHOWN]:
        left, right = (_named(step) if step else "" for step in (pair.base, pair.candidate))
        said = [*pair.changes, *not_run(pair)] + ([ALSO] if pair.base and pair.base.id in also else [])
        yield f"| {left} | {pair.relation} | {right} | {', '.join(said)} |"
    if len(changed) > _SHOWN:
        yield f"\n{len(changed) - _SHOWN:,} more steps differ."


def _named(step: StepRef) -> str:
    """Number, type and name, the name only where it says more than the type."""
    name = "" if step.name == step.type else f" {escaped(shorten(step.name, 60))}"
    return f"{step.sequence_no} {step.type}{name}"


def _section(section: Section, also: Collection[UUID]) -> Iterator[str]:
    yield f"\n## {section.name.capitalize()}\n"
    yield escaped(section.summary)
    for item in section.items[:_SHOWN]:
        yield from _item(item)
        if item.base and item.base.id in also:
            yield f"\n*This step differs {ALSO}.*"
    if len(section.items) > _SHOWN:
        yield f"\n{len(section.items) - _SHOWN:,} more differences are in the JSON report."
    for gap in section.unavailable:
        yield f"\n*Not compared:* {escaped(gap.what)}: {escaped(gap.reason)}."


def _item(item: SectionItem) -> Iterator[str]:
    yield f"\n### {escaped(item.kind.capitalize())}: {escaped(shorten(item.title, 160))}\n"
    if item.text:
        yield _text(item.text)
    for change in item.values:
        base, candidate = escaped(format_value(change.base)), escaped(format_value(change.candidate))
        yield f"- {escaped(change.path or '/')}: {base} → {candidate} ({change.op})"
    if item.ranks:
        tau = "–" if item.ranks.kendall_tau is None else f"{item.ranks.kendall_tau:.2f}"
        yield f"Rank-biased overlap {item.ranks.rbo:.2f}, Kendall tau {tau}\n"
        for rank in item.ranks.changes:
            places = f"{rank.base_rank or '–'} → {rank.candidate_rank or '–'}"
            yield f"- {escaped(rank.title or rank.document)}: {places} ({rank.op})"
    for message in item.messages:
        yield f"- {message.op} {escaped(message.role)}: {_text(message.text) if message.text else ''}"


def _text(text: TextDiff) -> str:
    """Deleted words struck through, inserted ones bold, long equal stretches shortened."""
    marks = {"equal": "{}", "delete": "~~{}~~", "insert": "**{}**"}
    parts = []
    for span in text.spans:
        said = escaped(span.text)
        if not said:
            continue
        shortened_text = f"{said[:60]} … {said[-60:]}" if span.op == "equal" and len(said) > 160 else said
        parts.append(marks[span.op].format(shortened_text))
    return " ".join(parts)
