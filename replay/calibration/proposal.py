"""From pairs of the same work to the fields that differ without meaning. Pure.

Only differences that look like times, ids or counters are proposed; another word or amount is another call. For
every proposal it is told which pairs become equal by it, and which different calls of one recording would become
one although they were answered differently: those are collisions, and such a proposal is not recommended.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from replay.calibration.schemas import Collision, Difference, Example, Proposal, UnifiedPair
from traces.canonical import digest
from traces.ignoring import NOTHING, IgnoreRule, Ignoring, Known, Path, pointer
from traces.json_types import JSONValue
from traces.parts import Splitter
from traces.signatures import signature
from traces.vocabulary import StepType
from traces.volatile import kind_of, masking

_EXAMPLES: Final = 3
_SHOWN: Final = 120
_LISTED: Final = 50
_COUNTERS: Final = frozenset({"seq", "sequence", "sequence_no", "counter", "nonce", "attempt", "tick", "iteration"})
_MISSING: Final = "(absent)"
# An id says which one is meant, unless its field says that it names the call itself. A date says for which day.
_OF_THE_CALL: Final = re.compile(r"request|trace|span|session|correlation|idempoten|nonce|call|client|run")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A call as one recording holds it; `answer` is the digest of what came back."""

    side: str
    no: int
    type: StepType
    name: str
    tool_name: str
    provider: str
    model: str
    input: JSONValue
    answer: str

    @property
    def called(self) -> str:
        return self.tool_name or self.name

    def signed(self, ignoring: Ignoring, shared: "Shared") -> str:
        return signature(
            type=self.type, name=self.name, provider=self.provider, model=self.model, tool_name=self.tool_name,
            input=ignoring.reduced(self.type, self.called, self.input, shared.known),
            digest_of=shared.splitter.digest,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What calls of one conversation have in common, so that each message is looked at once."""

    splitter: Splitter = field(default_factory=Splitter)
    known: Known = field(default_factory=Known)


@dataclass
class _Found:
    """One rule with what speaks for it."""

    rule: IgnoreRule
    kind: str
    pairs: list[int] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`left` are the differences that are no such fields."""

    proposals: list[Proposal]
    unified: list[UnifiedPair]
    left: list[Difference]


def propose(pairs: Sequence[tuple[Made, Made]]) -> Outcome:
    """The proposals from pairs of corresponding calls whose signatures differ, the most telling first."""
    found: dict[IgnoreRule, _Found] = {}
    left: dict[tuple[str, str, Example], Difference] = {}  # later requests repeat what earlier ones said
    for at, (base, candidate) in enumerate(pairs):
        for path, before, after in differences(base.input, candidate.input):
            rule, kind = _rule(base, path, before, after)
            if rule is None:
                difference = _difference(base, candidate, path, before, after)
                left.setdefault((difference.name, difference.pointer, difference.example), difference)
                continue
            _add(found.setdefault(rule, _Found(rule=rule, kind=kind)), at, before, after)
    whole, shared = Ignoring(rules=tuple(found)), Shared()
    equal = {
        at
        for at, (base, candidate) in enumerate(pairs)
        if base.signed(whole, shared) == candidate.signed(whole, shared)
    }
    proposals = [_proposal(each, pairs, equal) for each in found.values()]
    proposals.sort(key=lambda each: (not each.recommended, -each.pairs, each.rule.said))
    return Outcome(proposals=proposals, unified=_unified(pairs, equal), left=list(left.values())[:_LISTED])


def with_collisions(proposals: Iterable[Proposal], calls: Sequence[Made]) -> list[Proposal]:
    """The proposals with the different calls that each would make one."""
    checked, shared = [], Shared()
    for each in proposals:
        found = list(collisions(Ignoring(rules=(each.rule,)), calls, shared))
        kept = each.model_copy(update={"collisions": found[:_LISTED], "recommended": each.recommended and not found})
        checked.append(kept)
    return sorted(checked, key=lambda each: (not each.recommended, -each.pairs, each.rule.said))


def collisions(ignoring: Ignoring, calls: Sequence[Made], shared: Shared) -> Iterator[Collision]:
    """Calls of one recording that differ and were answered differently, and would have one signature."""
    groups: dict[tuple[str, str], list[Made]] = defaultdict(list)
    for call in calls:
        if ignoring.touches(call.type, call.called):
            groups[call.side, call.signed(ignoring, shared)].append(call)
    for (side, _), group in groups.items():
        differ = len(group) > 1 and len({call.signed(NOTHING, shared) for call in group}) > 1
        if differ and len({call.answer for call in group}) > 1:
            numbers = [call.no for call in group][:_LISTED]
            yield Collision(side=side, type=group[0].type, name=group[0].called, steps=numbers)


def differences(before: JSONValue, after: JSONValue, path: Path = ()) -> Iterator[tuple[Path, JSONValue, JSONValue]]:
    """The smallest parts in which two values differ. Lists of different lengths differ as a whole."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from differences(before.get(key, _MISSING), after.get(key, _MISSING), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, (*path, str(index)))
    elif digest(before) != digest(after):
        yield path, before, after


def _rule(call: Made, path: Path, before: JSONValue, after: JSONValue) -> tuple[IgnoreRule | None, str]:
    """The rule that would make two values equal, and what they are; None: they differ in what they say."""
    general = tuple("*" if part.isdecimal() else part for part in path)
    if not path:
        return None, ""
    name = "*" if call.type is StepType.MODEL else call.called
    rule = IgnoreRule(type=str(call.type), name=name, pointer=pointer(general))
    kinds = kind_of(before), kind_of(after)
    if kinds[0] is not None and kinds[0] == kinds[1]:
        return rule, kinds[0]
    if isinstance(before, int) and isinstance(after, int) and path[-1].lower() in _COUNTERS:
        return rule, "counter"
    if isinstance(before, str) and isinstance(after, str) and (kind := masking(before, after)) is not None:
        return rule.model_copy(update={"within": kind}), kind
    return None, ""


def _add(found: _Found, at: int, before: JSONValue, after: JSONValue) -> None:
    if not found.pairs or found.pairs[-1] != at:
        found.pairs.append(at)
    if len(found.examples) < _EXAMPLES:
        found.examples.append(Example(base=_short(before), candidate=_short(after)))


def _proposal(found: _Found, pairs: Sequence[tuple[Made, Made]], equal: set[int]) -> Proposal:
    unified = [at for at in found.pairs if at in equal]
    names_the_call = found.kind != "id" or _OF_THE_CALL.search(found.rule.pointer.lower()) is not None
    return Proposal(
        rule=found.rule, kind=found.kind, pairs=len(found.pairs), examples=found.examples, unifies=len(unified),
        steps=_unified(pairs, unified)[:_LISTED], collisions=[],
        recommended=bool(unified) and names_the_call and found.kind != "date",
    )  # fmt: skip


def _unified(pairs: Sequence[tuple[Made, Made]], places: Iterable[int]) -> list[UnifiedPair]:
    return [
        UnifiedPair(base=pairs[at][0].no, candidate=pairs[at][1].no, type=pairs[at][0].type, name=pairs[at][0].called)
        for at in sorted(places)
    ]


def _difference(base: Made, candidate: Made, path: Path, before: JSONValue, after: JSONValue) -> Difference:
    return Difference(
        base=base.no, candidate=candidate.no, type=base.type, name=base.called, pointer=pointer(path),
        example=Example(base=_short(before), candidate=_short(after)),
    )  # fmt: skip


def _short(value: JSONValue) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
