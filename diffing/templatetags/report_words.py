"""Template filters: values and labels of a report in words."""

from django import template

from diffing.report.run_outcomes import idle_notes
from diffing.schemas.sections import AlignedPair
from diffing.sentences.changes import METHODS
from diffing.sentences.labels import LINK_EVIDENCE, LINK_KINDS
from diffing.sentences.text import end_sentence, format_value
from traces.core.json_types import JSONValue
from traces.core.vocabulary import EdgeKind

register = template.Library()
_SIGNS = {"same": "＝", "changed": "≠", "moved": "⇅", "added": "+", "removed": "−"}


@register.filter
def value_text(value: JSONValue) -> str:
    """A JSON value as text."""
    return format_value(value)


@register.filter
def sign(relation: str) -> str:
    """The mark between two aligned steps."""
    return _SIGNS.get(relation, "")


@register.filter
def link_kind(kind: str) -> str:
    """How a link of the path is known."""
    return LINK_KINDS["cause" if kind == "cause" else EdgeKind(kind)]


@register.filter
def link_evidence(kind: str) -> str:
    """Whether a link of the path was tested."""
    return LINK_EVIDENCE[kind]


@register.filter
def method(name: str) -> str:
    """How the similarity of two texts was measured."""
    return METHODS[name]


@register.filter
def idle(pair: AlignedPair) -> str:
    """The note that one side did not run the step."""
    return "".join(idle_notes(pair))


@register.filter
def full_stop(sentence: str) -> str:
    """The sentence with its full stop."""
    return end_sentence(sentence)
