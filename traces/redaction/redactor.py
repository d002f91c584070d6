"""Redactor: replace the values of one run that must not be stored, and leave everything else the same object.

A run repeats its history in every request, so each message is looked at once: by identity, then by content.
"""

import json
import marshal
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from traces.core.canonical import MAX_DEPTH
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.conversation import Conversation, Messages
from traces.redaction.findings import Detector, merge
from traces.redaction.labels import item_name, member_name
from traces.redaction.literals import SHORTEST, LiteralDetector
from traces.redaction.markers import FAILURE_MARKER, MARKER, Digester, drop_marker, marker_spans
from traces.redaction.policy import Action, FieldPaths, FieldRule, Policy, States

# Lists that are compared with the next one.
_RECENT: Final = 4
# Members with entries that later payloads repeat.
JOINTS: Final = frozenset({"messages", "tools", "documents"})
_NO_STATES: Final[States] = frozenset()
_LONG_LITERAL: Final = 20
_NO_WORD: Final = re.compile(rb"[^A-Za-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Redaction:
    """A policy with the detectors and the key that it needs."""

    policy: Policy
    detectors: tuple[Detector, ...]
    digester: Digester

    @property
    def is_off(self) -> bool:
        return not self.detectors and not self.policy.rules

    def omit(self, versions: Collection[str]) -> "Redaction":
        """Return this redaction without the detectors of these versions."""
        detectors = tuple(detector for detector in self.detectors if detector.version not in versions)
        return self if len(detectors) == len(self.detectors) else replace(self, detectors=detectors)

    def redactor(self) -> "Redactor":
        return Redactor(self.policy, self.detectors, self.digester)

    def suspects(self, data: bytes) -> bool:
        """Return whether texts in any data may contain a value; a failing detector suspects all."""
        return _may_contain_value(self.detectors, data)


class Redactor:
    """Redacts the values of one run. Input values must not change while it is in use."""

    def __init__(self, policy: Policy, detectors: Sequence[Detector], digester: Digester) -> None:
        self.kinds: set[str] = set()
        # The places that could not be remainder: they were replaced as a whole.
        self.failures: list[str] = []
        # Values that detectors found, with their kinds.
        self.literals: dict[bytes, str] = {}
        self._policy = policy
        self._paths = FieldPaths(policy.rules)
        self._detectors = detectors
        self._digester = digester
        self._by_identity: dict[tuple[int, States, bool], JSONValue] = {}
        # Keeps every object in `_by_identity` alive, so that its id is not reused.
        self._references: list[object] = []
        self._by_content: dict[bytes, JSONValue] = {}
        self._clean_lists: deque[list[JSONValue]] = deque(maxlen=_RECENT)
        self._conversations: dict[tuple[int, States, bool], Conversation] = {}

    def for_literals(self) -> "Redactor":
        """Return a redactor for the values that this one's detectors found."""
        return Redactor(self._policy, [LiteralDetector(self.literals)], self._digester)

    def field(self, type: StepType | None, field: str, value: JSONValue, place: str = "") -> JSONValue:
        """Redact a field of a step, or of the run (None); block it if a detector fails.

        `place` names the field in the reason of a failure.
        """
        states = self._paths.start(type, field) if self._paths.rules else _NO_STATES
        try:
            return self._value(value, "", states, False)
        except Exception as error:  # noqa: BLE001 - whatever a detector raises: what it did not check is not stored
            self.failures.append(f"{place or field}: {error.__class__.__name__}")
            return FAILURE_MARKER

    def value(self, value: JSONValue, name: str = "") -> JSONValue:
        """Redact a value by detectors alone; `name` is its key in its object, or empty."""
        try:
            return self._part(value, name)
        except Exception as error:  # noqa: BLE001 - as for a field
            self.failures.append(f"{name or 'a value'}: {error.__class__.__name__}")
            return FAILURE_MARKER

    def text(self, text: str, place: str = "") -> str:
        """Redact a text that no field rule can name, such as a step's name."""
        if not text:
            return text
        try:
            return self._text(text, "") if self._suspects(text.encode(errors="surrogatepass")) else text
        except Exception as error:  # noqa: BLE001 - as for a field
            self.failures.append(f"{place or 'a text'}: {error.__class__.__name__}")
            return FAILURE_MARKER

    def suspects_any(self, texts: Iterable[str]) -> bool:
        """Return whether one of the texts may contain a value: a quick check, which may be wrong for none."""
        return self.suspects("\n".join(texts).encode(errors="surrogatepass"))

    def _value(self, value: JSONValue, name: str, states: States, exempt: bool) -> JSONValue:
        if states:
            rule = self._paths.rule_at(states)
            if rule is not None and rule.action is not Action.RAW:
                return self._denied(value, rule)
            exempt = exempt or rule is not None
            states = self._paths.remaining(states)
        if not states and exempt:
            return value
        if isinstance(value, Messages):
            return self._messages(value, states, exempt)
        if isinstance(value, dict) and (states or not JOINTS.isdisjoint(value)):
            return self._object(value, states, exempt)
        if isinstance(value, list) and states:
            return self._list(value, name, states, exempt)
        if isinstance(value, str) and states and (document := _json_in(value)) is not None:
            new_document = self._value(document, name, states, exempt)
            value = value if new_document is document else json.dumps(new_document, ensure_ascii=False)
        return value if exempt else self._part(value, name)

    def _object(self, value: JSONObject, states: States, exempt: bool) -> JSONObject:
        """Redact the members of an object: those that need a look at their entries one by one, the others together."""
        members: JSONObject = {}
        rest: JSONObject = {}
        for key, item in value.items():
            member_states = self._paths.enter(states, key) if states else _NO_STATES
            if member_states or _has_entries(key, item):
                members[key if exempt else self._text(key)] = self._member(key, item, member_states, exempt)
            else:
                rest[key] = item
        remainder = rest if exempt else as_object(self._part(rest, ""))
        is_equal = remainder is rest and all(members.get(key) is item for key, item in value.items() if key not in rest)
        return value if is_equal else members | remainder

    def _member(self, key: str, item: JSONValue, states: States, exempt: bool) -> JSONValue:
        if isinstance(item, list) and not (states and self._paths.rule_at(states)):
            return self._list(item, key, states, exempt)
        return self._value(item, key, states, exempt)

    def _list(self, items: list[JSONValue], name: str, states: States, exempt: bool) -> list[JSONValue]:
        if states:
            results = [
                self._entry(item, name, self._paths.enter(states, str(index)), exempt)
                for index, item in enumerate(items)
            ]
        else:
            count = 0 if exempt else self._clean_prefix(items)
            results = [*items[:count], *(self._entry(item, name, _NO_STATES, exempt) for item in items[count:])]
        if not all(map(_is, results, items)):
            return results
        if not states and not exempt:
            self._clean_lists.append(items)
        return items

    def _clean_prefix(self, items: list[JSONValue]) -> int:
        """Return how many entries a recent list without findings shares with `items`: a request repeats its history.

        Equal entries of other types, such as 1 and true, contain no text that differs.
        """
        for earlier in reversed(self._clean_lists):
            if len(earlier) <= len(items) and items[: len(earlier)] == earlier:
                return len(earlier)
        return 0

    def _entry(self, item: JSONValue, name: str, states: States, exempt: bool) -> JSONValue:
        if not isinstance(item, dict | list):
            return self._value(item, name, states, exempt)
        key = (id(item), states, exempt)
        if key not in self._by_identity:
            self._by_identity[key] = self._value(item, name, states, exempt)
            self._references.append(item)
        return self._by_identity[key]

    def _messages(self, value: Messages, states: States, exempt: bool) -> Messages:
        key = (id(value.conversation), states, exempt)
        if key not in self._conversations:
            source = value.conversation
            messages = self._list(source.messages, "", states, exempt)
            self._conversations[key] = source if messages is source.messages else Conversation(messages)
            self._references.append(source)
        conversation = self._conversations[key]
        return value if conversation is value.conversation else Messages(conversation, value.length)

    def _part(self, value: JSONValue, name: str) -> JSONValue:
        """Redact a value that no field rule concerns, in most cases after one look at its marshalled form."""
        if value is None or isinstance(value, bool | int | float) or not self._detectors:
            return value
        try:
            content = marshal.dumps({name: value} if name else value, 2)
        except ValueError:
            # Too deep, or not plain JSON: the storage rejects what is not.
            return self._rewrite(value, name, 0)
        if content not in self._by_content:
            result = self._rewrite(value, name, 0) if self._suspects(content) else value
            self._by_content[content] = None if result is value else result
        known_result = self._by_content[content]
        return value if known_result is None else known_result

    def _rewrite(self, value: JSONValue, name: str, depth: int) -> JSONValue:
        if isinstance(value, str):
            return self._text(value, name)
        if depth > MAX_DEPTH:
            return value
        if isinstance(value, dict):
            members = {key: self._rewrite(item, member_name(value, key), depth + 1) for key, item in value.items()}
            return _with_safe_keys(value, members, self._text)
        if isinstance(value, list | Messages):
            items = [self._rewrite(item, item_name(value, index, name), depth + 1) for index, item in enumerate(value)]
            return value if all(map(_is, items, value)) else items
        return value

    def _text(self, text: str, name: str = "") -> str:
        if text == FAILURE_MARKER:
            self.failures.append("a value that was blocked before")
        data = text.encode(errors="surrogatepass")
        matches = chain.from_iterable(detector.findings(data, name) for detector in self._detectors)
        findings = merge(matches, marker_spans(data))
        if not findings:
            return text
        pieces, position = [], 0
        for finding in findings:
            literal = data[finding.start : finding.end]
            pieces += [data[position : finding.start], self._digester.marker(finding.kind, literal).encode()]
            position = finding.end
            self.kinds.add(finding.kind)
            if _is_distinctive(literal):
                self.literals.setdefault(literal, finding.kind)
        return b"".join([*pieces, data[position:]]).decode(errors="surrogatepass")

    def _denied(self, value: JSONValue, rule: FieldRule) -> JSONValue:
        """Apply a rule that denies a field."""
        self.kinds.add(rule.name)
        if rule.action is Action.DROP:
            return drop_marker(rule.name)
        if rule.action is Action.HASH:
            return self._marker(_plain(value), rule)
        return self._leaves(value, rule)

    def _leaves(self, value: JSONValue, rule: FieldRule) -> JSONValue:
        if isinstance(value, dict):
            return {key: self._leaves(item, rule) for key, item in value.items()}
        if isinstance(value, list | Messages):
            return [self._leaves(item, rule) for item in value]
        return self._marker(value, rule)

    def _marker(self, value: JSONValue, rule: FieldRule) -> JSONValue:
        if value is None or (isinstance(value, str) and MARKER.fullmatch(value)):
            return value
        return self._digester.marker_of_json(rule.name, value)

    def suspects(self, data: bytes) -> bool:
        """Return whether texts in any data may contain a value; a failing detector suspects all."""
        return _may_contain_value(self._detectors, data)

    def _suspects(self, data: bytes) -> bool:
        return any(detector.suspects(data) for detector in self._detectors)


def _may_contain_value(detectors: Iterable[Detector], data: bytes) -> bool:
    try:
        return any(detector.suspects(data) for detector in detectors)
    except Exception:  # noqa: BLE001 - what it cannot look at is then looked at text by text, and blocked
        return True


def _json_in(text: str) -> JSONValue:
    """Return the object or list that a text consists of: tools return theirs as text, and rules name its fields."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value: JSONValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _with_safe_keys(value: JSONObject, members: JSONObject, redact: Callable[[str], str]) -> JSONObject:
    """Return an object with its keys redacted, too; the same object if nothing differs."""
    result = {redact(key): item for key, item in members.items()}
    is_equal = all(members[key] is item for key, item in value.items()) and list(result) == list(value)
    return value if is_equal else result


def _has_entries(key: str, item: JSONValue) -> bool:
    """Return whether a member is a history, or contains one, whose entries were looked at before."""
    if isinstance(item, dict):
        return not JOINTS.isdisjoint(item)
    return isinstance(item, Messages) or (key in JOINTS and isinstance(item, list))


def _is_distinctive(literal: bytes) -> bool:
    return len(literal) >= _LONG_LITERAL or (len(literal) >= SHORTEST and bool(_NO_WORD.search(literal)))


def _plain(value: JSONValue) -> JSONValue:
    """Return a value with its conversations as lists."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | Messages) else value


def _is(left: object, right: object) -> bool:
    return left is right
