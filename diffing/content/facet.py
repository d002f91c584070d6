"""Facet: one difference inside a pair of steps, for sections and attribution. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from diffing.compare.comparison import Pair
from diffing.content.message_diff import MessagePair
from diffing.schemas.sections import SectionName
from diffing.schemas.terms import Category
from diffing.sequences.json_diff import value_changes
from diffing.sequences.word_hunks import Hunk
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

Part = Literal["input", "config", "output"]
Form = Literal["text", "values", "ranks", "messages"]

# The kind of a facet for messages that one side's context window dropped.
WINDOW: Final = "context window"
# The kind of a facet for the documents that a search found.
DOCUMENTS: Final = "documents"
# The kinds of facets for what a prompt is rendered from.
TEMPLATES: Final = frozenset({"template", "template version and variables"})
SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_SECTIONS: Final[Mapping[str, SectionName]] = {
    StepType.MODEL: "model",
    StepType.TOOL: "tool",
    StepType.RETRIEVAL: "retrieval",
    StepType.PROMPT: "prompt",
    StepType.OUTPUT: "output",
}


def section_of(step_type: str) -> SectionName:
    """The section for steps of a type."""
    return _SECTIONS.get(step_type, "run")


@dataclass(frozen=True, kw_only=True, slots=True)
class Facet:
    """One difference between the two steps of a pair.

    `part`: in the step's input, in its configuration, or in its output. `category`: the kind of cause that it would be.
    `passages`: only these differences of the two texts are meant, and `candidate` has no others.
    """

    pair: Pair
    section: SectionName
    kind: str
    part: Part
    category: Category
    form: Form
    base: JSONValue = None
    candidate: JSONValue = None
    messages: tuple[MessagePair, ...] = ()
    passages: tuple[Hunk, ...] = ()


def is_filled_in(facet: Facet) -> bool:
    """True if only the variables of a template differ."""
    paths = [change.path for change in value_changes(facet.base, facet.candidate, limit=20)]
    return facet.kind == "template version and variables" and all(path.startswith("/variables") for path in paths)


def category_of(facet: Facet) -> Category:
    """The category of a facet: a changed user message is upstream, an edited history is a prompt change."""
    if facet.form == "messages":
        return "upstream" if facet.messages[0].role == "user" else "prompt"
    return facet.category


@dataclass(frozen=True, slots=True)
class FacetKind:
    """What all facets of one kind have in common."""

    kind: str
    section: SectionName
    part: Part
    category: Category
    form: Form = "values"

    def facet(self, pair: Pair, base: JSONValue, candidate: JSONValue) -> Facet:
        """A facet of this kind."""
        return Facet(
            pair=pair,
            section=self.section,
            kind=self.kind,
            part=self.part,
            category=self.category,
            form=self.form,
            base=base,
            candidate=candidate,
        )
