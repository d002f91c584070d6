"""A report as Markdown. Recorded text is quoted so that none of it is read as markup."""

import html
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final, get_args
from uuid import UUID

from diffing.render.comments import comment_threads
from diffing.render.evidence import EvidenceView, evidence_views
from diffing.render.glossary import TERMS
from diffing.render.scores import figures
from diffing.report.brief import brief, lead
from diffing.report.control_lane import unstable_steps
from diffing.report.run_outcomes import acting_pairs, idle_notes
from diffing.schemas.report import Brief, DiffReport, UnchangedLane
from diffing.schemas.sections import Section, SectionItem, SectionName, TextDiff
from diffing.schemas.terms import StepRef
from diffing.sentences import labels
from diffing.sentences.briefs import ALSO_UNCHANGED
from diffing.sentences.notes import plain_text
from diffing.sentences.text import end_sentence, format_value
from diffing.sequences.text_diff import shorten
from traces.comments.schemas import CommentView

# Items of a section, and differing steps.
_MAX_ITEMS: Final = 40
# Control characters, which terminals obey and editors hide, and those that change the direction of writing.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]()#+!|~-])")


def as_markdown(report: DiffReport, comments: Sequence[CommentView] = ()) -> str:
    """The whole report as one Markdown document, with these comments."""
    return "\n".join([*_lines(report), *_comments(comments)]) + "\n"


def escape_text(text: str) -> str:
    """Recorded text as plain text in a line of Markdown."""
    return html.escape(_MARKUP.sub(r"\\\1", " ".join(_CONTROLS.sub("\ufffd", text).split())), quote=False)


def _lines(report: DiffReport) -> Iterator[str]:
    names = dict.fromkeys((report.base.name, report.candidate.name))
    yield f"# {' → '.join(map(escape_text, names))}"
    first = lead(report.attribution)
    yield f"\n**{escape_text(first)}**\n"
    if report.attribution.sentence != first:
        yield f"{escape_text(report.attribution.sentence)}\n"
    yield from _brief(brief(report))
    yield from _attribution(report)
    for view in evidence_views(report.evidence):
        yield from _evidence(view)
    yield from _lane(report.unchanged)
    yield from _figures(report)
    unstable = unstable_steps(report.unchanged)
    yield from _steps(report, unstable)
    for name in get_args(SectionName):
        yield from _section(getattr(report.sections, name), unstable)
    yield f"\n## {labels.GLOSSARY}\n"
    yield from (f"- **{term}**: {escape_text(definition)}" for term, definition in TERMS)


def _comments(comments: Sequence[CommentView]) -> Iterator[str]:
    """Comments as plain text: what they format would end the list."""
    if comments:
        yield "\n## Comments\n"
    for thread in comment_threads(comments):
        quote = f": {escape_text(thread.quote)}" if thread.quote else ""
        yield f"- **{escape_text(thread.title)}**{quote}"
        for entry in thread.entries:
            yield f"  - {escape_text(entry.author)}, {entry.date}: {escape_text(entry.text)}"


def _brief(lines: Brief) -> Iterator[str]:
    yield "| | |\n|---|---|"
    yield f"| {labels.COMPARED_RUNS} | {escape_text(lines.compared)} |"
    yield f"| {labels.CHANGES} | {escape_text(lines.changed)} |"
    yield f"| {labels.CONFIDENCE} | **{escape_text(lines.confidence)}** |"
    yield f"| {labels.REASON} | {escape_text(lines.why)} |"
    yield f"| {labels.NEXT} | {escape_text(lines.next)} |"


def _figures(report: DiffReport) -> Iterator[str]:
    yield f"\n## {labels.FIGURES}\n"
    yield "| | | |\n|---|---|---|"
    for figure in figures(report):
        yield f"| {figure.name} | {figure.value} | {escape_text(figure.note)} |"


def _attribution(report: DiffReport) -> Iterator[str]:
    attribution = report.attribution
    if attribution.path:
        yield f"\n## {labels.PATH}\n"
        for number, link in enumerate(attribution.path, 1):
            note = f": {escape_text(plain_text(link.note))}" if link.note else ""
            kind, evidence = labels.LINK_KINDS[link.via], labels.LINK_EVIDENCE[link.evidence]
            yield f"{number}. step {_step_label(link.step)} ({link.side}, {kind}, {evidence}){note}"
    open_changes = [f"{end_sentence(cause.title)} {cause.description}" for cause in attribution.alternatives]
    experiments = [attribution.cheapest_experiment] if attribution.cheapest_experiment else []
    yield from _list(f"## {labels.EVIDENCE}", attribution.evidence)
    yield from _list(f"## {labels.OPEN_CHANGES}", open_changes)
    yield from _list(f"## {labels.EXPERIMENT}", experiments)


def _list(heading: str, lines: Collection[str]) -> Iterator[str]:
    if lines:
        yield f"\n{heading}\n"
        yield from (f"- {escape_text(line)}" for line in lines)


def _evidence(view: EvidenceView) -> Iterator[str]:
    yield f"\n## {view.title}: {escape_text(view.heading.lower())}\n"
    yield f"**{escape_text(view.conclusion)}**\n"
    for line in (
        f"{view.confidence_label}: {view.rule}",
        view.noise,
        f"Compared: {view.question}; {view.scope}.",
        f"{view.counts}.",
    ):
        yield f"- {escape_text(line)}"
    yield "\n| change | sufficient | necessary | share | |\n|---|---|---|---|---|"
    for atom in view.atoms:
        title = f"{'↳ ' * atom.depth}{escape_text(atom.title)}"
        yield f"| {title} | {atom.sufficient} | {atom.necessary} | {atom.share} | {escape_text(atom.remark)} |"
    if view.probes:
        yield "\n| replay | outcome | | cost |\n|---|---|---|---|"
    for probe in view.probes:
        yield f"| {escape_text(probe.title)} | {probe.outcome} | {escape_text(probe.note)} | {probe.cost} |"
    yield from _list(f"### {labels.MEDIATORS}", view.mediators)
    yield from _list(f"### {labels.INTERACTIONS}", view.interactions)
    yield from _list(f"### {labels.ASSUMPTIONS}", view.assumptions)
    yield from _list(f"### {labels.EXPERIMENT}", [view.cheapest] if view.cheapest else [])


def _lane(lane: UnchangedLane | None) -> Iterator[str]:
    if lane is None:
        return
    yield f"\n## {labels.LANE}\n"
    yield f"{escape_text(lane.sentence)} {escape_text(lane.how)}\n"
    steps = [step for step in lane.steps if step.without_changes != "same"]
    if steps:
        yield "| base | without the changes | differs in |\n|---|---|---|"
    for step in steps[:_MAX_ITEMS]:
        unchanged = _step_label(step.unchanged) if step.unchanged else ""
        yield f"| {_step_label(step.base)} | {unchanged} ({step.without_changes}) | {', '.join(step.changes)} |"
    if len(steps) > _MAX_ITEMS:
        yield f"\n{labels.more_lane_steps(len(steps) - _MAX_ITEMS)}"


def _steps(report: DiffReport, unstable: Collection[UUID]) -> Iterator[str]:
    pairs = [pair for pair in acting_pairs(report.pairs) if pair.relation != "same"]
    if not pairs:
        return
    yield f"\n## {labels.STEPS}\n"
    yield "| base | | candidate | differs in |\n|---|---|---|---|"
    for pair in pairs[:_MAX_ITEMS]:
        base, candidate = (_step_label(step) if step else "" for step in (pair.base, pair.candidate))
        notes = [*pair.changes, *idle_notes(pair)]
        notes += [ALSO_UNCHANGED] if pair.base and pair.base.id in unstable else []
        yield f"| {base} | {pair.relation} | {candidate} | {', '.join(notes)} |"
    if len(pairs) > _MAX_ITEMS:
        yield f"\n{labels.more_steps_differ(len(pairs) - _MAX_ITEMS)}"


def _step_label(step: StepRef) -> str:
    """Number, type and name, without a name that repeats the type."""
    name = "" if step.name == step.type else f" {escape_text(shorten(step.name, 60))}"
    return f"{step.sequence_no} {step.type}{name}"


def _section(section: Section, unstable: Collection[UUID]) -> Iterator[str]:
    yield f"\n## {section.name.capitalize()}\n"
    yield escape_text(section.summary)
    for item in section.items[:_MAX_ITEMS]:
        yield from _item(item)
        if item.base and item.base.id in unstable:
            yield f"\n*{labels.ALSO_UNCHANGED_STEP}*"
    if len(section.items) > _MAX_ITEMS:
        yield f"\n{labels.more_items(len(section.items) - _MAX_ITEMS)}"
    for gap in section.unavailable:
        yield f"\n*{labels.NOT_COMPARED}:* {escape_text(gap.what)}: {escape_text(gap.reason)}."


def _item(item: SectionItem) -> Iterator[str]:
    kind = f"{item.kind.capitalize()}: "
    yield f"\n### {escape_text(kind + shorten(item.title.removeprefix(kind), 160))}\n"
    if item.text:
        yield _text(item.text)
    for change in item.values:
        base, candidate = escape_text(format_value(change.base)), escape_text(format_value(change.candidate))
        yield f"- {escape_text(change.path or '/')}: {base} → {candidate} ({change.op})"
    if item.ranks:
        tau = "–" if item.ranks.kendall_tau is None else f"{item.ranks.kendall_tau:.2f}"
        yield f"Rank-biased overlap {item.ranks.rbo:.2f}, Kendall tau {tau}\n"
        for rank in item.ranks.changes:
            places = f"{rank.base_rank or '–'} → {rank.candidate_rank or '–'}"
            yield f"- {escape_text(rank.title or rank.document)}: {places} ({rank.op})"
    for message in item.messages:
        yield f"- {message.op} {escape_text(message.role)}: {_text(message.text) if message.text else ''}"


def _text(text: TextDiff) -> str:
    """Deleted words struck through, inserted words bold, long equal stretches shortened."""
    marks = {"equal": "{}", "delete": "~~{}~~", "insert": "**{}**"}
    parts = []
    for span in text.spans:
        content = escape_text(span.text)
        if not content:
            continue
        is_long = span.op == "equal" and len(content) > 160
        parts.append(marks[span.op].format(f"{content[:60]} … {content[-60:]}" if is_long else content))
    return " ".join(parts)
