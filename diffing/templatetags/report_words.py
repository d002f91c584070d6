"""Values and signs of a report in words, for its HTML template."""

from django import template

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
