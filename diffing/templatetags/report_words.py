"""Values and signs of a report in words, for its HTML template."""

from django import template

from diffing.render.links import VIA
from diffing.wording import shown as in_words
from traces.json_types import JSONValue

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
