"""Span attributes: records which ones were used, and converts indexed names to lists."""

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.files.json_reader import parse_shared
from traces.importers.otlp import protobuf
from traces.importers.otlp.dialects.attribute_names import insert, names_of, to_lists
from traces.importers.otlp.dialects.message_copies import PREFIX, CopyReader, are_plain_copies, differing_copies
from traces.importers.otlp.dialects.parallel_calls import CallReader, Conversation
from traces.importers.otlp.dialects.request_bodies import BodyReader, RequestBody
from traces.importers.otlp.wire import WireSpan


class TraceReader:
    """What the spans of a trace repeat: request bodies, copies of messages, and calls in them."""

    def __init__(self) -> None:
        self.bodies = BodyReader()
        self.copies = CopyReader()
        self.calls = CallReader()


class Attributes:
    """The attributes of a span. Attributes that no method marks as used are returned by `rest`."""

    def __init__(self, wire: WireSpan, reader: TraceReader) -> None:
        self._set_values(wire.attributes)
        # Encoded attributes `llm.input_messages.…`, until one of them is needed.
        self._copies = wire.message_copies
        self._reader = reader
        self._used_names: set[str] = set()
        self._bodies: dict[str, RequestBody | None] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def present(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of some names that there are."""
        return self._names.present[names]

    def look(self, *names: str) -> JSONValue:
        """Return the first of these that is neither null nor empty, without marking it as used."""
        for name in self._names.present[names]:
            value = self._values[name]
            if value is not None and value != "":
                return value
        return None

    def take(self, *names: str) -> JSONValue:
        """Return the first of these that is neither null nor empty; mark it as used, and those that are equal to it."""
        first: JSONValue = None
        for name in self._names.present[names]:
            value = self._values[name]
            if value is None:
                continue
            if first is None and value != "":
                first = value
            elif value != "" and value != first and parse_shared(value) != parse_shared(first):
                continue
            self._used_names.add(name)
        return first

    def take_json(self, *names: str) -> JSONValue:
        """Like `take`, and parse a JSON text."""
        value = self.take(*names)
        return parse_shared(value) if isinstance(value, str) else value

    def look_json(self, name: str) -> JSONValue:
        """Like `look`, and parse a JSON text."""
        value = self._values.get(name)
        return parse_shared(value) if value.__class__ is str and value else self.look(name)

    def body(self, name: str) -> RequestBody | None:
        """Return a request body with a list of messages, without marking it as used; None for any other value."""
        if name not in self._bodies:
            self._bodies[name] = self._reader.bodies.body(self._values.get(name))
        return self._bodies[name]

    def has_prefix(self, prefix: str) -> bool:
        """Return whether any name begins with a prefix."""
        return bool(self._names.groups[prefix])

    def has_indexed(self, prefix: str) -> bool:
        """Return whether there are attributes `prefix.0.…`."""
        return bool(self._copies and prefix == PREFIX) or self.has_prefix(f"{prefix}.")

    def look_indexed(self, prefix: str) -> JSONValue:
        """Return the attributes `prefix.0.…`, `prefix.1.…` as a list, also deeper indexes; None without any."""
        if prefix == PREFIX:
            self._decode_copies()
        names = self._names.groups[f"{prefix}."]
        if not names:
            return None
        tree: JSONObject = {}
        for name in names:
            insert(tree, name[len(prefix) + 1 :], self._values[name])
        return to_lists(tree)

    def take_indexed(self, prefix: str) -> JSONValue:
        """Like `look_indexed`, and mark the attributes as used."""
        items = self.look_indexed(prefix)
        self.drop(prefix + ".")
        return items

    def drop(self, *prefixes: str) -> None:
        """Mark attributes as used that only repeat others."""
        for prefix in prefixes:
            self._used_names.update(self._names.groups[prefix])

    def drop_copies(self, messages: list[JSONObject]) -> None:
        """Drop the copies of a request's messages; retain those that state more than the messages."""
        if self._copies:
            differences = self._reader.copies.differing(self._copies, messages)
            self._copies = []
            self._replace(differences)
            return
        copies = {name: self._values[name] for name in self._names.groups[PREFIX]}
        if copies:
            self._used_names.update(copies.keys() - differing_copies(copies, messages).keys())

    def drop_answer_copies(self, answer: JSONObject) -> None:
        """Drop the attributes `llm.output_messages.…` if each is a field of the answer."""
        copies = {name: self._values[name] for name in self._names.groups["llm.output_messages."]}
        if copies and are_plain_copies(copies, [answer]):
            self._set_values({name: value for name, value in self._values.items() if name not in copies})

    def match_calls(self, messages: list[JSONObject]) -> Conversation:
        """Join parallel calls, and match results with them."""
        return self._reader.calls.read(messages)

    def rest(self) -> JSONObject:
        self._decode_copies()
        return {name: value for name, value in self._values.items() if name not in self._used_names}

    def take_group(self, prefix: str, names: tuple[str, ...]) -> JSONObject:
        """Take the named attributes under `prefix`, keyed without the prefix."""
        if not self.has_prefix(prefix):
            return {}
        group = {name: self.take(prefix + name) for name in names if prefix + name in self._values}
        return {name: value for name, value in group.items() if value is not None}

    def _decode_copies(self) -> None:
        if self._copies:
            self._replace(dict(map(protobuf.attribute, self._copies)))
            self._copies = []

    def _replace(self, additions: JSONObject) -> None:
        """Add attributes to a copy: the span stays as it is."""
        if additions:
            self._set_values({**self._values, **additions})

    def _set_values(self, values: JSONObject) -> None:
        self._values = values
        self._names = names_of(values)
