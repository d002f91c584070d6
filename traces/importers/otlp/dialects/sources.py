"""Places of a span that may record the same thing: the first counts, copies of it are left out, others are retained."""

from collections.abc import Callable, Iterable

import msgspec

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.messages import normalize_messages
from traces.importers.otlp.dialects.attributes import Attributes


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded value, and what marks its attributes or events as used."""

    value: JSONValue
    use: Callable[[], object]


def attribute(attributes: Attributes, name: str) -> Source:
    return Source(value=attributes.look(name), use=lambda: attributes.take(name))


def json_attribute(attributes: Attributes, name: str) -> Source:
    """Like `attribute`, and parse a JSON text."""
    return Source(value=attributes.look_json(name), use=lambda: attributes.take(name))


def first_messages(sources: Iterable[Source]) -> list[JSONObject]:
    """Return the messages of the first source that has any."""
    selection: list[JSONObject] = []
    for source in sources:
        messages = normalize_messages(source.value)
        if messages and (not selection or all(message in selection for message in messages)):
            source.use()
            selection = selection or messages
    return selection
