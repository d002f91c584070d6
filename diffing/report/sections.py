"""The six sections of a report: what changed, with both steps, and what could not be compared, with the reason."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, get_args

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.references import step_ref
from diffing.content.facet import Facet
from diffing.content.message_diff import MessagePair
from diffing.content.similarity import Likeness, Measure
from diffing.report.summaries import summarise, totals
from diffing.schemas.report import (
    MessageChange,
    Section,
    SectionItem,
    SectionName,
    Sections,
    TextDiff,
    TextSpan,
    Unavailable,
    ValueChange,
)
from diffing.sentences import changes as phrases
from diffing.sentences import text
from diffing.sequences.json_diff import LIMIT as VALUES
from diffing.sequences.json_diff import value_changes
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.ranked_lists import rank_documents, rewritten_documents
from diffing.sequences.text_diff import LIMIT as CHARACTERS
from diffing.sequences.text_diff import normalise, word_diff
from traces.core.canonical import digest
from traces.core.vocabulary import StepType

ITEMS: Final = 300  # of one section; more are counted, not shown
_MESSAGES: Final = 40  # of one message list
_HOME: Final[Mapping[str, SectionName]] = {
    StepType.PROMPT: "prompt",
    StepType.RETRIEVAL: "retrieval",
    StepType.TOOL: "tool",
    StepType.MODEL: "model",
    StepType.OUTPUT: "output",
}


@dataclass(frozen=True, kw_only=True)
class Findings:
    """Everything that the opened payloads showed: facets, gaps with the section they belong to."""

    facets: Sequence[Facet]
    gaps: Sequence[tuple[SectionName, Unavailable]]


class Texts:
    """Word diffs of texts with their similarity; all pairs are measured at once, each once."""

    def __init__(self, measure: Measure, facets: Iterable[Facet]) -> None:
        pairs = sorted({pair for facet in facets for pair in _text_pairs(facet)})
        self._measure = measure
        self._likeness = dict(zip(pairs, measure.compare(pairs), strict=True))

    def likeness(self, base: str, candidate: str) -> Likeness:
        pair = (base, candidate)
        if pair not in self._likeness:
            self._likeness[pair] = self._measure.compare([pair])[0]
        return self._likeness[pair]

    def diff(self, base: str, candidate: str) -> TextDiff:
        found = self.likeness(base, candidate)
        spans = word_diff(normalise(base[:CHARACTERS]), normalise(candidate[:CHARACTERS]))
        return TextDiff(
            spans=[TextSpan.model_validate(span._asdict()) for span in spans],
            similarity=round(found.score, 4),
            method=found.method,
            truncated=max(len(base), len(candidate)) > CHARACTERS,
        )


@dataclass(slots=True)
class _Draft:
    """A section while it is filled."""

    items: list[SectionItem] = field(default_factory=list)
    left_out: int = 0
    gaps: list[Unavailable] = field(default_factory=list)

    def add(self, item: SectionItem) -> None:
        if len(self.items) < ITEMS:
            self.items.append(item)
        else:
            self.left_out += 1


def build(comparison: Comparison, findings: Findings, texts: Texts) -> Sections:
    """The sections of a comparison."""
    drafts: dict[SectionName, _Draft] = {name: _Draft() for name in get_args(SectionName)}
    for facet in _fresh(findings.facets):
        drafts[facet.section].add(_item(facet, texts))
    for pair in comparison.pairs:
        if pair.relation in {"added", "removed", "moved"} and not pair.is_container:
            drafts[_HOME.get(pair.step.type, "run")].add(_unpaired(pair))
    for item in totals(comparison):
        drafts["run"].add(item)
    for name, gap in findings.gaps:
        drafts[name].gaps.append(gap)
    said = summarise(comparison, findings.facets, texts.likeness)
    return Sections(**{name: _section(name, draft, said[name]) for name, draft in drafts.items()})


def _section(name: SectionName, draft: _Draft, summary: str) -> Section:
    gaps = list(draft.gaps)
    if draft.left_out:
        reason = f"a section shows the first {ITEMS}; the aligned steps name them all"
        gaps.append(Unavailable(what=f"{draft.left_out} more differences", reason=reason))
    return Section(name=name, summary=summary, items=_in_order(draft.items), unavailable=gaps)


def _in_order(items: list[SectionItem]) -> list[SectionItem]:
    """By the step they belong to; what belongs to no step comes first."""

    def number(item: SectionItem) -> int:
        step = item.candidate or item.base
        return step.sequence_no if step else 0

    return sorted(items, key=number)


def _fresh(facets: Iterable[Facet]) -> Iterable[Facet]:
    """Facets without what an earlier step showed already: a changed system prompt is one difference, not one a step."""
    seen: set[str] = set()
    for facet in sorted(facets, key=lambda facet: facet.pair.order_key):
        if facet.form == "messages":
            new = tuple(item for item in facet.messages if _unseen(":".join(item.key), seen))
            if new:
                yield replace(facet, messages=new)
        elif facet.part == "output" or _unseen(digest([facet.kind, facet.base, facet.candidate]), seen):
            yield facet


def _unseen(key: str, seen: set[str]) -> bool:
    fresh = key not in seen
    seen.add(key)
    return fresh


def _text_pairs(facet: Facet) -> list[tuple[str, str]]:
    if facet.form == "text":
        return [(text.as_text(facet.base), text.as_text(facet.candidate))]
    if facet.form == "ranks":
        return _documents(facet)
    return [(item.base, item.candidate) for item in facet.messages[:_MESSAGES]]


def _documents(facet: Facet) -> list[tuple[str, str]]:
    """The documents that stayed and say something else, as one text."""
    found = rewritten_documents(facet.base, facet.candidate)
    return [("\n\n".join(one.base for one in found), "\n\n".join(one.candidate for one in found))] if found else []


def _item(facet: Facet, texts: Texts) -> SectionItem:
    pairs = _text_pairs(facet) if facet.form in {"text", "ranks"} else []
    text = texts.diff(*pairs[0]) if pairs else None
    return SectionItem(
        kind=facet.kind,
        title=f"{phrases.step_name(facet.pair)}: {phrases.facet_note(facet)}",
        relation="changed",
        base=step_ref(facet.pair.base),
        candidate=step_ref(facet.pair.candidate),
        similarity=text.similarity if text else None,
        text=text,
        values=_values(facet) if facet.form == "values" else [],
        ranks=compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate))
        if facet.form == "ranks"
        else None,
        messages=[_message(item, texts) for item in facet.messages[:_MESSAGES]],
    )


def _message(item: MessagePair, texts: Texts) -> MessageChange:
    return MessageChange(
        op=item.op,
        role=item.role,
        base_index=item.base_index,
        candidate_index=item.candidate_index,
        text=texts.diff(item.base, item.candidate),
    )


def _values(facet: Facet) -> list[ValueChange]:
    return [
        ValueChange.model_validate(change._asdict()) for change in value_changes(facet.base, facet.candidate, VALUES)
    ]


def _unpaired(pair: Pair) -> SectionItem:
    said = {"added": "only in the candidate", "removed": "only in the base", "moved": "in another place"}
    summary = f": {pair.step.summary}" if pair.step.summary else ""
    return SectionItem(
        kind="call" if pair.step.type == StepType.TOOL else "step",
        title=f"{phrases.step_name(pair)}, {said[pair.relation]}{summary}",
        relation=pair.relation,
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )
