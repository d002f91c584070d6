"""Values that a model states without support in its inputs, and the first write that uses one. Pure."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Final

from replay.inspection.core.checkable_values import (
    Leaf,
    days_in,
    endings,
    is_telling,
    leaves,
    number,
    parts,
    pieces,
    times_in,
    tokens,
    tokens_in,
    without_punctuation,
    without_separators,
)
from replay.inspection.core.places import ANSWERS, CONTAINERS, Place, PlaceKind, StepContent, quote
from traces.core.json_access import as_list, as_object, as_text, has_object, member
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer

_MAX_VALUES: Final = 5  # values in a title
_MAX_LATEST: Final = 200  # latest amounts that a claim may be computed from
_MAX_ADDENDS: Final = 12
# 0.15 is stated as 15 %, and 250 cents as 2.50.
_PERCENT: Final = 100
_FACTORS: Final = (*range(2, 13), _PERCENT)
_MAX_WORDS: Final = 4  # an argument with more words is prose, not a value
_EXAMPLE: Final = re.compile(
    r"(?:e\.\s?g\.|for example|for instance|such as|looks? like|format|placeholder)[^.!?]*$|\blike\W*$", re.IGNORECASE
)
_EXAMPLE_DISTANCE: Final = 40
# Larger numbers are ids, not amounts.
_LARGE: Final = 1e6
_TECHNICAL: Final = frozenset(
    {
        "id",
        "call_id",
        "tool_call_id",
        "created",
        "model",
        "usage",
        "role",
        "type",
        "finish_reason",
        "index",
        "name",
        "signature",
        "system_fingerprint",
        "response_id",
        "logprobs",
    }
)
_NEIGHBOURHOOD: Final = 60


@dataclass
class _KnownValues:
    """Values that the steps so far received, and unsupported claims by the step that stated them first.

    Amounts are counted in hundredths, so that sums of prices are exact.
    """

    values: set[str] = field(default_factory=set)
    amounts: dict[int, None] = field(default_factory=dict)
    # Sums of neighbouring amounts.
    sums: set[int] = field(default_factory=set)
    claims: dict[str, int] = field(default_factory=dict)

    def learn(self, value: JSONValue, left_out: Callable[[JSONObject], bool] | None = None) -> None:
        amounts: list[int] = []
        for _, text in leaves(value, left_out):
            self.values.update(times_in(text))
            self.values.update(days_in(text))
            for token, _ in tokens(text):
                if (amount := _amount(token)) is not None:
                    amounts.append(amount)
                    self.amounts[amount] = None
                if token not in self.values:
                    self.values.update(parts(token))
                    self.values.update(endings(token))
        self.sums.update(_sums(amounts))

    def supports(self, token: str, sums: Collection[int]) -> bool:
        """True if a value is known, whole or in pieces, or computed from known ones; `sums` are those of its text."""
        if not is_telling(token):
            return True
        amount = _amount(token)
        # A result such as 14.060000000000002 is stated as 14.06.
        is_supported = self._is_known(token) or (
            amount is not None
            and (amount in self.amounts or amount in sums or amount in self.sums or self._is_computed(amount))
        )
        # Later amounts may be computed from it.
        if is_supported and amount is not None:
            self.amounts[amount] = None
        return is_supported

    def _is_known(self, token: str) -> bool:
        if token in self.values or without_separators(token) in self.values:
            return True
        token_pieces = pieces(token)
        return bool(token_pieces) and all(piece in self.values or not is_telling(piece) for piece in token_pieces)

    def _is_computed(self, amount: int) -> bool:
        """True if an amount is computed from two of the latest, or is a small multiple or a percentage of one."""
        amounts = self.amounts
        if any(amount % times == 0 and amount // times in amounts for times in _FACTORS):
            return True
        if amount * _PERCENT in amounts:
            return True
        return any(
            amount - latest in amounts or amount + latest in amounts
            for latest in islice(reversed(amounts), _MAX_LATEST)
        )


def _amount(token: str) -> int | None:
    """Number in hundredths; None for values that are no number or too large for calculations."""
    value = number(token)
    return round(100 * value) if value is not None and value < _LARGE else None


def _sums(amounts: Sequence[int]) -> Iterator[int]:
    """Sums of neighbouring amounts: of all amounts, and of those with cents."""
    for row in (amounts, [amount for amount in amounts if amount % 100]):
        for start in range(len(row)):
            yield from islice(accumulate(row[start : start + _MAX_ADDENDS]), 1, None)


def claims(steps: Sequence[StepContent], is_write: Callable[[str], bool]) -> Iterator[Place]:
    """Unsupported values at the step that states each first, and the first write that is called with one."""
    known_values = _KnownValues()
    has_written = False
    for step in steps:
        if step.type in CONTAINERS:
            continue
        for value in step.new_inputs:
            known_values.learn(value, _is_part if step.is_opening else _is_answer_or_part)
        if step.type is StepType.MODEL or (step.type is StepType.OUTPUT and not _is_learnt(step)):
            yield from _unsupported_claims(step, known_values)
            continue
        if step.type is StepType.TOOL and not has_written and is_write(step.name):
            write_places = list(_write_from_claim(step, known_values))
            has_written = bool(write_places)
            yield from write_places
        known_values.learn(step.output)


def _is_learnt(step: StepContent) -> bool:
    """True if an output step only repeats its input."""
    return step.output is None


def _unsupported_claims(step: StepContent, known_values: _KnownValues) -> Iterator[Place]:
    new: dict[str, tuple[str, str, str]] = {}
    for path, text in _statements(step.output):
        statement = without_punctuation(_without_urls(text))
        values = list(tokens_in(statement))
        amounts = [
            amount for token, _, _ in values if token in known_values.values and (amount := _amount(token)) is not None
        ]
        sums = set(_sums(amounts))
        # The first place of each spelling: searching the text for each would take minutes for a long one.
        first_places = {spelling: at for _, spelling, at in reversed(values)}
        for token, spelling, _ in values:
            if (
                token not in known_values.claims
                and not known_values.supports(token, sums)
                and not _is_example(statement, first_places[spelling])
            ):
                known_values.claims[token] = step.no
                new.setdefault(token, (spelling, path, text))
    if not new:
        return
    first_spelling, path, text = next(iter(new.values()))
    names = [spelling for spelling, _, _ in new.values()]
    value_list = ", ".join(names[:_MAX_VALUES]) + (
        f" and {len(names) - _MAX_VALUES} more" if len(names) > _MAX_VALUES else ""
    )
    yield Place(
        kind=PlaceKind.UNSUPPORTED_CLAIM,
        step=step.no,
        title=f"{step.name} states {value_list}, which no input of the run supports",
        text=_context(text, first_spelling),
        path=path,
    )


def _write_from_claim(step: StepContent, known_values: _KnownValues) -> Iterator[Place]:
    """The write, if its call contains an earlier unsupported claim; values new in this call do not count."""
    for path, text in leaves(step.input):
        if len(text.split()) > _MAX_WORDS:
            continue
        for token, spelling in tokens(text):
            if token in known_values.claims:
                claim_no = known_values.claims[token]
                yield Place(
                    kind=PlaceKind.WRITE_FROM_CLAIM,
                    step=step.no,
                    title=f"{step.name} is called with {spelling}, which step {claim_no} stated without support",
                    text=_context(text, spelling),
                    path=path,
                    related=(claim_no,),
                )
                return


def _statements(output: JSONValue) -> Iterator[Leaf]:
    """Texts of a model's answer with their paths: its text and the arguments of its tool calls."""
    if not has_object(output, "message"):
        yield from _texts(output)
        return
    message = ModelAnswer(output).message
    yield from _texts(message.get("content"), "/message/content")
    for at, call in enumerate(as_list(message.get("tool_calls"))):
        for path, arguments in _arguments(call, f"/message/tool_calls/{at}"):
            yield from leaves(arguments, path=path)


def _texts(value: JSONValue, path: str = "") -> Iterator[Leaf]:
    """Texts of a model's answer without its provider's ids and counts."""
    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if name not in _TECHNICAL}
    yield from leaves(value, path=path)


def _is_part(value: JSONObject) -> bool:
    """True if an object stands for a stored part, which is read where it is new."""
    return "$part" in value


def _is_answer_or_part(value: JSONObject) -> bool:
    """True for a model's answer in a later request, which supports nothing, or for a stored part."""
    return "$part" in value or as_text(value.get("role")) in ANSWERS


def _arguments(call: JSONValue, path: str) -> Iterator[tuple[str, JSONValue]]:
    fields = as_object(call)
    if "arguments" in fields:
        yield f"{path}/arguments", fields["arguments"]
    elif has_object(fields, "function"):
        yield f"{path}/function/arguments", member(fields, "function", "arguments")


def _is_example(text: str, at: int) -> bool:
    """True if the value at this place is an example of its format."""
    return _EXAMPLE.search(text[max(0, at - _EXAMPLE_DISTANCE) : at]) is not None


def _without_urls(text: str) -> str:
    """Text without URLs, whose digits are no claims."""
    return " ".join(word for word in text.split(" ") if "://" not in word)


def _context(text: str, spelling: str) -> str:
    at = max(0, text.find(spelling))
    start = max(0, at - _NEIGHBOURHOOD)
    return quote(("…" if start else "") + text[start : at + len(spelling) + _NEIGHBOURHOOD])
