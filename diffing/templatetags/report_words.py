"""Values and signs of a report in words, for its HTML template."""

from django import template

from diffing.render.edge_kinds import EVIDENCE, VIA
from diffing.report.run_outcomes import not_run
from diffing.schemas.report import AlignedPair
from diffing.sentences.changes import METHODS
from diffing.sentences.text import end_sentence as with_full_stop
from diffing.sentences.text import format_value as in_words
from traces.core.json_types import JSONValue

register = template.Library()
_SIGNS = {"same": "＝", "changed": "≠", "moved": "⇅", "added": "+", "removed": "−"}


@register.filter
def shown(value: JSONValue) -> str:
    """A JSON value as one writes it."""
    return in_words(value)


@register.filter
def sign(relation: str) -> str:
    """The mark between two aligned steps."""
    return _SIGNS.get(relation, "")


@register.filter
def via(kind: str) -> str:
    """How a link of the path is known, in words."""
    return VIA[str(kind)]


@register.filter
def evidence(kind: str) -> str:
    """Whether a link of the path was tried, in words."""
    return EVIDENCE[kind]


@register.filter
def method(name: str) -> str:
    """How the likeness of two texts was measured, in words."""
    return METHODS[name]


@register.filter
def idle(pair: AlignedPair) -> str:
    """That one side did not run the step, in words."""
    return "".join(not_run(pair))


@register.filter
def closed(sentence: str) -> str:
    """The sentence with its full stop."""
    return with_full_stop(sentence)
