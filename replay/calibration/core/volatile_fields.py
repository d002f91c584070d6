"""From pairs of the same work to the fields that differ without meaning. Pure.

Only differences that look like times, ids or counters are proposed; another word or amount is another call. For
every proposal it is told which pairs become equal by it, and which different calls of one recording would become
one although they were answered differently: those are collisions, and such a proposal is not recommended. Both
are told of a field together with those that are recommended, because calls often differ in several.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from replay.calibration.core.schemas import Collision, Difference, Example, Proposal, UnifiedPair
from traces.core.canonical import digest
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.splitter import Splitter
from traces.signatures.call_signatures import signature
from traces.signatures.ignore_rules import NO_RULES, IgnoreRule, IgnoreRules, Path, ReductionCache, pointer
from traces.signatures.volatile_values import kind_of, masking

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

    side: Literal["base", "candidate"]
    no: int
    type: StepType
    name: str
    tool_name: str
    provider: str
    model: str
    input: JSONValue
    answer: str

    @property
    def callee(self) -> str:
        return self.tool_name or self.name

    def signed(self, ignoring: IgnoreRules, shared: "Shared") -> str:
        key = id(self), ignoring.rules_for(self.type, self.callee)
        if key not in shared.signed:
            reduced = ignoring.reduce(self.type, self.callee, self.input, shared.known)
            shared.kept.append(self)
            shared.signed[key] = signature(
                type=self.type,
                name=self.name,
                provider=self.provider,
                model=self.model,
                tool_name=self.tool_name,
                input=reduced,
                digest_of=shared.splitter.digest,
            )
        return shared.signed[key]


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What is found out once: of the messages that calls of one conversation share, and of each call."""

    splitter: Splitter = field(default_factory=Splitter)
    known: ReductionCache = field(default_factory=ReductionCache)
    signed: dict[tuple[int, tuple[IgnoreRule, ...]], str] = field(default_factory=dict)
    kept: list[Made] = field(default_factory=list)  # all that is known by identity, lest that be given to another


Pair = tuple[Made, Made]


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


def propose(pairs: Sequence[Pair], opened: Callable[[Collection[str]], Sequence[Made]] = lambda types: ()) -> Outcome:
    """The proposals from pairs of corresponding calls whose signatures differ, the most telling first.

    `opened` has the calls of some types, of both recordings: those that a rule may confuse.
    """
    found, left = _sighted(pairs)
    calls, shared = opened({rule.type for rule in found}), Shared()
    safe, confused = _safe([rule for rule, each in found.items() if _says_nothing(each)], calls, shared)
    equal = _equal(pairs, range(len(pairs)), IgnoreRules(rules=safe), shared)
    recommended = tuple(rule for rule in safe if not equal.isdisjoint(found[rule].pairs))
    proposals = []
    for rule, each in found.items():
        together = IgnoreRules(rules=tuple(dict.fromkeys((*recommended, rule))))
        groups = confused[rule] if rule in confused else _at_work(rule, together.rules, calls, shared)
        unified = _equal(pairs, each.pairs, together, shared)
        proposals.append(_proposal(each, pairs, unified, groups, recommended=rule in recommended))
    proposals.sort(key=lambda each: (not each.recommended, -each.pairs, each.rule.text))
    whole = _equal(pairs, range(len(pairs)), IgnoreRules(rules=tuple(found)), shared)
    return Outcome(proposals=proposals, unified=_unified(pairs, whole), left=left[:_LISTED])


def collisions(ignoring: IgnoreRules, calls: Sequence[Made], shared: Shared) -> list[list[Made]]:
    """Calls of one recording that differ and were answered differently, and would have one signature."""
    groups: dict[tuple[str, str], list[Made]] = defaultdict(list)
    for call in calls:
        if ignoring.rules_for(call.type, call.callee):
            groups[call.side, call.signed(ignoring, shared)].append(call)
    return [
        group
        for group in groups.values()
        if len({call.answer for call in group}) > 1 and len({call.signed(NO_RULES, shared) for call in group}) > 1
    ]


def _sighted(pairs: Sequence[Pair]) -> tuple[dict[IgnoreRule, _Found], list[Difference]]:
    """The fields that differ without meaning, and the differences that have one."""
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
    return found, list(left.values())


def _safe(
    rules: Sequence[IgnoreRule], calls: Sequence[Made], shared: Shared
) -> tuple[tuple[IgnoreRule, ...], dict[IgnoreRule, list[list[Made]]]]:
    """Those of the rules that together confuse nothing, and what each of the others confuses beside them."""
    left, confused = tuple(rules), dict[IgnoreRule, list[list[Made]]]()
    while groups := collisions(IgnoreRules(rules=left), calls, shared):
        at_work = {rule: _at_work(rule, left, calls, shared) for rule in left}
        # Of rules for one field none is missed: then all are to blame.
        confused |= {rule: found for rule, found in at_work.items() if found} or dict.fromkeys(left, groups)
        left = tuple(rule for rule in left if rule not in confused)
    return left, confused


def _at_work(
    rule: IgnoreRule, together: Sequence[IgnoreRule], calls: Sequence[Made], shared: Shared
) -> list[list[Made]]:
    """The different calls that become one by these rules together, and would not without this one."""
    others = IgnoreRules(rules=tuple(each for each in together if each != rule))
    groups = collisions(IgnoreRules(rules=tuple(together)), calls, shared)
    return [group for group in groups if len({call.signed(others, shared) for call in group}) > 1]


def _equal(pairs: Sequence[Pair], places: Iterable[int], ignoring: IgnoreRules, shared: Shared) -> set[int]:
    return {at for at in places if len({call.signed(ignoring, shared) for call in pairs[at]}) == 1}


def _says_nothing(found: _Found) -> bool:
    """Whether the values name no thing and no day, but the call itself or its time."""
    if found.kind == "id":
        return _OF_THE_CALL.search(found.rule.pointer.lower()) is not None
    return found.kind != "date"


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
    name = "*" if call.type is StepType.MODEL else call.callee
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


def _proposal(
    found: _Found,
    pairs: Sequence[Pair],
    unified: Collection[int],
    confused: Sequence[Sequence[Made]],
    *,
    recommended: bool,
) -> Proposal:
    return Proposal(
        rule=found.rule,
        kind=found.kind,
        pairs=len(found.pairs),
        examples=found.examples,
        unifies=len(unified),
        steps=_unified(pairs, unified)[:_LISTED],
        collisions=[_collision(group) for group in confused[:_LISTED]],
        recommended=recommended,
    )


def _collision(group: Sequence[Made]) -> Collision:
    first = group[0]
    return Collision(side=first.side, type=first.type, name=first.callee, steps=[call.no for call in group][:_LISTED])


def _unified(pairs: Sequence[Pair], places: Iterable[int]) -> list[UnifiedPair]:
    return [
        UnifiedPair(base=pairs[at][0].no, candidate=pairs[at][1].no, type=pairs[at][0].type, name=pairs[at][0].callee)
        for at in sorted(places)
    ]


def _difference(base: Made, candidate: Made, path: Path, before: JSONValue, after: JSONValue) -> Difference:
    return Difference(
        base=base.no,
        candidate=candidate.no,
        type=base.type,
        name=base.callee,
        pointer=pointer(path),
        example=Example(base=_short(before), candidate=_short(after)),
    )


def _short(value: JSONValue) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
