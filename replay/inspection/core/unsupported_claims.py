"""Values that a model states although nothing that it was given holds them, and the first write that uses one. Pure."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import Final

from replay.inspection.core.checkable_values import Leaf, endings, is_telling, leaves, number, parts, pieces, tokens
from replay.inspection.core.places import ANSWERS, CONTAINERS, Place, PlaceKind, StepContent, quote
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

_SHOWN: Final = 5  # values that are named at one place
_SUMMED: Final = 200  # latest numbers that a stated one may be a sum, a difference or a multiple of
_TIMES: Final = 12
_ADDENDS: Final = 12
_WORDS: Final = 4  # of an argument that is a value; a longer one is prose about it
_EXAMPLE: Final = re.compile(
    r"(?:e\.\s?g\.|for example|for instance|such as|looks? like|format|placeholder)[^.!?]*$|\blike\W*$", re.IGNORECASE
)
_NEAR: Final = 40
# What is longer is an id, with which nobody reckons
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
class _Known:
    """Values that the steps so far were given, and those that were only stated, by the step that stated them.

    Amounts are counted in hundredths, so that sums of prices are exact.
    """

    values: set[str] = field(default_factory=set)
    amounts: dict[int, None] = field(default_factory=dict)
    # Of amounts that stand beside each other
    sums: set[int] = field(default_factory=set)
    stated: dict[str, int] = field(default_factory=dict)

    def learn(self, value: JSONValue, left_out: Callable[[JSONObject], bool] | None = None) -> None:
        amounts: list[int] = []
        for _, text in leaves(value, left_out):
            for token, _ in tokens(text):
                if (amount := _amount(token)) is not None:
                    amounts.append(amount)
                    self.amounts[amount] = None
                if token not in self.values:
                    self.values.update(parts(token))
                    self.values.update(endings(token))
        self.sums.update(_sums(amounts))

    def holds(self, token: str, sums: Collection[int]) -> bool:
        """Whether a value was given, in one piece or in several, or is computed from what was; `sums` of its text."""
        if token in self.values or not is_telling(token):
            return True
        if (several := pieces(token)) and all(piece in self.values or not is_telling(piece) for piece in several):
            return True
        amount = _amount(token)
        if amount is None or not (amount in sums or amount in self.sums or self._is_computed(amount)):
            return False
        self.amounts[amount] = None
        return True

    def _is_computed(self, amount: int) -> bool:
        """Whether two of the latest amounts, or a small multiple of one, make it."""
        known = self.amounts
        if any(amount % times == 0 and amount // times in known for times in range(2, _TIMES + 1)):
            return True
        return any(amount - each in known or amount + each in known for each in islice(reversed(known), _SUMMED))


def _amount(token: str) -> int | None:
    """A number in hundredths; None for a value that is no number, or too long to be reckoned with."""
    value = number(token)
    return round(100 * value) if value is not None and value < _LARGE else None


def _sums(amounts: Sequence[int]) -> Iterator[int]:
    """Sums of neighbours: of all amounts, and of those with cents alone."""
    for row in (amounts, [amount for amount in amounts if amount % 100]):
        for start in range(len(row)):
            yield from islice(accumulate(row[start : start + _ADDENDS]), 1, None)


def claims(steps: Sequence[StepContent], is_write: Callable[[str], bool]) -> Iterator[Place]:
    """Values out of nowhere, at the step that states each first; then the first write that is called with one."""
    known = _Known()
    has_written = False
    for step in steps:
        if step.type in CONTAINERS:
            continue
        for value in step.given:
            known.learn(value, _is_part if step.is_opening else _is_answer_or_part)
        if step.type is StepType.MODEL or (step.type is StepType.OUTPUT and not _is_learnt(step)):
            yield from _stated(step, known)
            continue
        if step.type is StepType.TOOL and not has_written and is_write(step.name):
            used = list(_used(step, known))
            has_written = bool(used)
            yield from used
        known.learn(step.output)


def _is_learnt(step: StepContent) -> bool:
    """An output step that only passes on what it was given."""
    return step.output is None


def _stated(step: StepContent, known: _Known) -> Iterator[Place]:
    new: dict[str, tuple[str, str, str]] = {}
    for path, text in _statements(step.output):
        found = list(tokens(_unwrapped(text)))
        amounts = [amount for token, _ in found if token in known.values and (amount := _amount(token)) is not None]
        sums = set(_sums(amounts))
        for token, written in found:
            if token not in known.stated and not known.holds(token, sums) and not _is_example(text, written):
                known.stated[token] = step.no
                new.setdefault(token, (written, path, text))
    if not new:
        return
    first_written, path, text = next(iter(new.values()))
    names = [written for written, _, _ in new.values()]
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    yield Place(
        kind=PlaceKind.UNSUPPORTED_CLAIM,
        step=step.no,
        title=f"{step.name} states {listed}, which is in nothing that the run was given",
        text=_around(text, first_written),
        path=path,
    )


def _used(step: StepContent, known: _Known) -> Iterator[Place]:
    """The write, where a value of its call was stated without support; one that is unheard of counts as stated here."""
    for path, text in leaves(step.input):
        if len(text.split()) > _WORDS:
            continue
        for token, written in tokens(text):
            if token in known.stated:
                yield Place(
                    kind=PlaceKind.WRITE_FROM_CLAIM,
                    step=step.no,
                    title=f"{step.name} is called with {written}, which step {known.stated[token]} stated first",
                    text=_around(text, written),
                    path=path,
                    related=(known.stated[token],),
                )
                return


def _statements(output: JSONValue) -> Iterator[Leaf]:
    """Texts of a model's answer with their paths: what it says, and what it calls tools with."""
    message = output.get("message") if isinstance(output, dict) else None
    if not isinstance(message, dict):
        yield from _texts(output)
        return
    yield from _texts(message.get("content"), "/message/content")
    calls = message.get("tool_calls")
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        for path, arguments in _arguments(call, f"/message/tool_calls/{at}"):
            yield from leaves(arguments, path=path)


def _texts(value: JSONValue, path: str = "") -> Iterator[Leaf]:
    """Texts of what a model says, without ids and counts of its provider."""
    if isinstance(value, dict):
        value = {name: item for name, item in value.items() if name not in _TECHNICAL}
    yield from leaves(value, path=path)


def _is_part(value: JSONObject) -> bool:
    """Whether this stands for a stored part, which is read where it is new."""
    return "$part" in value


def _is_answer_or_part(value: JSONObject) -> bool:
    """Whether this is an answer of a model in a later request: nobody else vouches for what it states."""
    return "$part" in value or value.get("role") in ANSWERS


def _arguments(call: JSONValue, path: str) -> Iterator[tuple[str, JSONValue]]:
    if not isinstance(call, dict):
        return
    if "arguments" in call:
        yield f"{path}/arguments", call["arguments"]
    elif isinstance(function := call.get("function"), dict):
        yield f"{path}/function/arguments", function.get("arguments")


def _is_example(text: str, written: str) -> bool:
    """Whether a value is named to show what such a value looks like."""
    at = text.find(written)
    return at >= 0 and _EXAMPLE.search(text[max(0, at - _NEAR) : at]) is not None


def _unwrapped(text: str) -> str:
    """A text without addresses, whose digits are no claim."""
    return " ".join(word for word in text.split(" ") if "://" not in word)


def _around(text: str, written: str) -> str:
    at = max(0, text.find(written))
    start = max(0, at - _NEIGHBOURHOOD)
    return quote(("…" if start else "") + text[start : at + len(written) + _NEIGHBOURHOOD])
