"""The six sections of a report: the differences by step, and the content that was not compared. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, get_args

from diffing.compare.comparison import Comparison, Pair
from diffing.compare.references import step_ref
from diffing.content.facet import Facet
from diffing.content.message_diff import MessagePair
from diffing.content.similarity import Likeness, Measure
from diffing.report import answers
from diffing.report.gaps import unavailable
from diffing.report.summaries import summarise, totals
from diffing.schemas.sections import (
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
from diffing.sentences import summaries
from diffing.sentences.notes import facet_note, plain_text
from diffing.sentences.text import display_text
from diffing.sequences.json_diff import LIMIT as VALUES
from diffing.sequences.json_diff import value_changes
from diffing.sequences.ranked_lists import compare as compare_ranks
from diffing.sequences.ranked_lists import rank_documents, rewritten_documents
from diffing.sequences.text_diff import LIMIT as CHARACTERS
from diffing.sequences.text_diff import normalise, word_diff
from traces.core.canonical import digest
from traces.core.vocabulary import StepType

# Items of one section; further ones are only counted.
MAX_ITEMS: Final = 300
# Differing characters of a report's texts that are compared word by word, and those of each text after that.
_BUDGET: Final = 1_500_000
_EXCERPT: Final = 100
# Messages of one message list.
_MAX_MESSAGES: Final = 40


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The facets of the loaded pairs, and the gaps by section."""

    facets: Sequence[Facet]
    gaps: Sequence[tuple[SectionName, Unavailable]]


class Texts:
    """Word diffs of texts with their similarity; all pairs are measured in one batch, each once.

    `budget` limits the differing characters that are compared for one report.
    """

    def __init__(self, measure: Measure, facets: Iterable[Facet], budget: int = _BUDGET) -> None:
        self._budget = budget
        pairs = sorted({pair for facet in facets for pair in _text_pairs(facet)})
        self._measure = measure
        self._likeness = dict(zip(pairs, measure.compare(pairs), strict=True))

    def likeness(self, base: str, candidate: str) -> Likeness:
        pair = (base, candidate)
        if pair not in self._likeness:
            self._likeness[pair] = self._measure.compare([pair])[0]
        return self._likeness[pair]

    def diff(self, base: str, candidate: str) -> TextDiff:
        likeness = self.likeness(base, candidate)
        limit = max(_EXCERPT, min(CHARACTERS, self._budget))
        spans = word_diff(normalise(base[:limit]), normalise(candidate[:limit]))
        self._budget -= sum(len(span.text) for span in spans if span.op != "equal")
        return TextDiff(
            spans=[TextSpan.model_validate(span._asdict()) for span in spans],
            similarity=round(likeness.score, 4),
            method=likeness.method,
            truncated=max(len(base), len(candidate)) > limit,
        )


@dataclass(slots=True)
class _Draft:
    """A section under construction."""

    items: list[SectionItem] = field(default_factory=list)
    left_out: int = 0
    gaps: list[Unavailable] = field(default_factory=list)

    def add(self, item: SectionItem) -> None:
        if len(self.items) < MAX_ITEMS:
            self.items.append(item)
        else:
            self.left_out += 1


def build(comparison: Comparison, findings: Findings, texts: Texts) -> Sections:
    """The sections of a comparison."""
    drafts: dict[SectionName, _Draft] = {name: _Draft() for name in get_args(SectionName)}
    for facet in _first_occurrences(findings.facets):
        item_facet = answers.as_answer(facet, comparison.final)
        drafts[item_facet.section].add(_item(item_facet, texts))
    for pair in comparison.pairs:
        if pair.relation in {"added", "removed", "moved"} and not pair.is_container:
            drafts[answers.section(pair, comparison.final)].add(_unpaired_item(pair))
    for item in totals(comparison):
        drafts["run"].add(item)
    for name, gap in findings.gaps:
        drafts[name].gaps.append(gap)
    section_summaries = summarise(comparison, findings.facets, texts.likeness)
    return Sections(**{name: _section(name, draft, section_summaries[name]) for name, draft in drafts.items()})


def _section(name: SectionName, draft: _Draft, summary: str) -> Section:
    gaps = list(draft.gaps)
    if draft.left_out:
        gaps.append(unavailable(summaries.more_differences(draft.left_out, MAX_ITEMS)))
    return Section(name=name, summary=summary, items=_in_order(draft.items), unavailable=gaps)


def _in_order(items: list[SectionItem]) -> list[SectionItem]:
    """Order items by step; items without a step come first."""

    def number(item: SectionItem) -> int:
        step = item.candidate or item.base
        return step.sequence_no if step else 0

    return sorted(items, key=number)


def _first_occurrences(facets: Iterable[Facet]) -> Iterable[Facet]:
    """The facets without repetitions: a changed system prompt is one difference, not one per step."""
    keys: set[str] = set()
    for facet in sorted(facets, key=lambda facet: facet.pair.order_key):
        if facet.form == "messages":
            new = tuple(item for item in facet.messages if _is_new(":".join(item.key), keys))
            if new:
                yield replace(facet, messages=new)
        elif facet.part == "output" or _is_new(digest([facet.kind, facet.base, facet.candidate]), keys):
            yield facet


def _is_new(key: str, keys: set[str]) -> bool:
    is_new = key not in keys
    keys.add(key)
    return is_new


def _text_pairs(facet: Facet) -> list[tuple[str, str]]:
    if facet.form == "text":
        return [(display_text(facet.base), display_text(facet.candidate))]
    if facet.form == "ranks":
        return _documents(facet)
    return [(item.base, item.candidate) for item in facet.messages[:_MAX_MESSAGES]]


def _documents(facet: Facet) -> list[tuple[str, str]]:
    """The texts of all rewritten documents, as one pair of texts."""
    documents = rewritten_documents(facet.base, facet.candidate)
    if not documents:
        return []
    base = "\n\n".join(document.base for document in documents)
    return [(base, "\n\n".join(document.candidate for document in documents))]


def _item(facet: Facet, texts: Texts) -> SectionItem:
    pairs = _text_pairs(facet) if facet.form in {"text", "ranks"} else []
    text = texts.diff(*pairs[0]) if pairs else None
    return SectionItem(
        kind=facet.kind,
        title=summaries.item_title(phrases.step_name(facet.pair), plain_text(facet_note(facet))),
        relation="changed",
        base=step_ref(facet.pair.base),
        candidate=step_ref(facet.pair.candidate),
        similarity=text.similarity if text else None,
        text=text,
        values=_values(facet) if facet.form == "values" else [],
        ranks=compare_ranks(rank_documents(facet.base), rank_documents(facet.candidate))
        if facet.form == "ranks"
        else None,
        messages=[_message(item, texts) for item in facet.messages[:_MAX_MESSAGES]],
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


def _unpaired_item(pair: Pair) -> SectionItem:
    return SectionItem(
        kind="call" if pair.step.type == StepType.TOOL else "step",
        title=summaries.unpaired_title(phrases.step_name(pair), pair.relation, pair.step.summary),
        relation=pair.relation,
        base=step_ref(pair.base),
        candidate=step_ref(pair.candidate),
    )
