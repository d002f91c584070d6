"""Volatile fields: find meaningless differences between recordings of the same work. Pure.

Only differences that look like times, ids or counters become proposals; a different word or amount means a different
call. Each proposal lists the pairs that it makes equal, and its collisions: different calls of one recording that had
different answers and would get the same signature. A proposal with collisions is not recommended. Both lists are
computed for the proposal together with all recommended ones, because calls often differ in several fields.
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
_EXAMPLE_LENGTH: Final = 120
_LIST_LIMIT: Final = 50
# Last words of names of fields that count calls, or make each of them unique.
_COUNTERS: Final = frozenset({"seq", "sequence", "counter", "nonce", "random", "attempt", "tick", "iteration"})
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# A field of such a name has the value of what the words before it say.
_PLAIN_NAMES: Final = frozenset({"value", "number", "no", "n"})
_MISSING: Final = "(absent)"
# An id identifies an object, unless its field names the call itself. A date identifies a day.
_OF_THE_CALL: Final = re.compile(r"request|trace|span|session|correlation|idempoten|nonce|call|client|run")


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """A call of one recording; `answer` is the digest of its output."""

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

    def signature_under(self, ignoring: IgnoreRules, cache: "SignatureCache") -> str:
        key = id(self), ignoring.rules_for(self.type, self.callee)
        if key not in cache.signature_under:
            reduced_input = ignoring.reduce(self.type, self.callee, self.input, cache.reductions)
            cache.calls.append(self)
            cache.signature_under[key] = signature(
                type=self.type,
                name=self.name,
                provider=self.provider,
                model=self.model,
                tool_name=self.tool_name,
                input=reduced_input,
                digest_of=cache.splitter.digest,
            )
        return cache.signature_under[key]


@dataclass(frozen=True, kw_only=True)
class SignatureCache:
    """Cache of signatures, and of reductions of the messages that calls of one conversation share."""

    splitter: Splitter = field(default_factory=Splitter)
    reductions: ReductionCache = field(default_factory=ReductionCache)
    signature_under: dict[tuple[int, tuple[IgnoreRule, ...]], str] = field(default_factory=dict)
    # Keeps the calls alive, because the keys contain their `id()`.
    calls: list[RecordedCall] = field(default_factory=list)


Pair = tuple[RecordedCall, RecordedCall]


@dataclass
class _Candidate:
    """One rule with its evidence."""

    rule: IgnoreRule
    kind: str
    pairs: list[int] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a calibration; `left` are the meaningful differences."""

    proposals: list[Proposal]
    equal_pairs: list[UnifiedPair]
    left: list[Difference]


def propose(
    pairs: Sequence[Pair], load_calls: Callable[[Collection[str]], Sequence[RecordedCall]] = lambda types: ()
) -> Outcome:
    """Propose rules from pairs of corresponding calls with different signatures, most relevant first.

    `load_calls` returns the calls of the given types in both recordings, to check for collisions.
    """
    candidates, left = _find_candidates(pairs)
    calls, cache = load_calls({rule.type for rule in candidates}), SignatureCache()
    safe, collisions_by_rule = _collision_free(
        [rule for rule, candidate in candidates.items() if _is_meaningless(candidate)], calls, cache
    )
    equal = _equal(pairs, range(len(pairs)), IgnoreRules(rules=safe), cache)
    recommended_rules = tuple(rule for rule in safe if not equal.isdisjoint(candidates[rule].pairs))
    proposals = []
    for rule, candidate in candidates.items():
        together = IgnoreRules(rules=tuple(dict.fromkeys((*recommended_rules, rule))))
        groups = (
            collisions_by_rule[rule]
            if rule in collisions_by_rule
            else _caused_collisions(rule, together.rules, calls, cache)
        )
        unified_pairs = _equal(pairs, candidate.pairs, together, cache)
        proposals.append(_proposal(candidate, pairs, unified_pairs, groups, is_recommended=rule in recommended_rules))
    proposals.sort(key=lambda candidate: (not candidate.recommended, -candidate.pairs, candidate.rule.text))
    whole = _equal(pairs, range(len(pairs)), IgnoreRules(rules=tuple(candidates)), cache)
    return Outcome(proposals=proposals, equal_pairs=_pair_views(pairs, whole), left=left[:_LIST_LIMIT])


def collisions(ignoring: IgnoreRules, calls: Sequence[RecordedCall], cache: SignatureCache) -> list[list[RecordedCall]]:
    """Find different calls of one recording with different answers that would get the same signature."""
    groups: dict[tuple[str, str], list[RecordedCall]] = defaultdict(list)
    for call in calls:
        if ignoring.rules_for(call.type, call.callee):
            groups[call.side, call.signature_under(ignoring, cache)].append(call)
    return [
        group
        for group in groups.values()
        if len({call.answer for call in group}) > 1
        and len({call.signature_under(NO_RULES, cache) for call in group}) > 1
    ]


def _find_candidates(pairs: Sequence[Pair]) -> tuple[dict[IgnoreRule, _Candidate], list[Difference]]:
    """Split the differences of all pairs into candidates for rules and meaningful differences."""
    candidates: dict[IgnoreRule, _Candidate] = {}
    # Keyed by content, because later requests repeat earlier messages.
    left: dict[tuple[str, str, Example], Difference] = {}
    for at, (base, candidate) in enumerate(pairs):
        for path, before, after in differences(base.input, candidate.input):
            rule, kind = _rule(base, path, before, after)
            if rule is None:
                difference = _difference(base, candidate, path, before, after)
                left.setdefault((difference.name, difference.pointer, difference.example), difference)
                continue
            _add(candidates.setdefault(rule, _Candidate(rule=rule, kind=kind)), at, before, after)
    return candidates, list(left.values())


def _collision_free(
    rules: Sequence[IgnoreRule], calls: Sequence[RecordedCall], cache: SignatureCache
) -> tuple[tuple[IgnoreRule, ...], dict[IgnoreRule, list[list[RecordedCall]]]]:
    """Return the rules that together cause no collision, and the collisions that each other rule causes."""
    remaining, collisions_by_rule = tuple(rules), dict[IgnoreRule, list[list[RecordedCall]]]()
    while groups := collisions(IgnoreRules(rules=remaining), calls, cache):
        collisions_caused = {rule: _caused_collisions(rule, remaining, calls, cache) for rule in remaining}
        # Several rules for one field hide each other: if no rule is the cause alone, all are.
        collisions_by_rule |= {
            rule: groups_of_rule for rule, groups_of_rule in collisions_caused.items() if groups_of_rule
        } or dict.fromkeys(remaining, groups)
        remaining = tuple(rule for rule in remaining if rule not in collisions_by_rule)
    return remaining, collisions_by_rule


def _caused_collisions(
    rule: IgnoreRule, rules: Sequence[IgnoreRule], calls: Sequence[RecordedCall], cache: SignatureCache
) -> list[list[RecordedCall]]:
    """Return the collisions of these rules together that do not happen without this rule."""
    other_rules = IgnoreRules(rules=tuple(other_rule for other_rule in rules if other_rule != rule))
    groups = collisions(IgnoreRules(rules=tuple(rules)), calls, cache)
    return [group for group in groups if len({call.signature_under(other_rules, cache) for call in group}) > 1]


def _equal(pairs: Sequence[Pair], places: Iterable[int], ignoring: IgnoreRules, cache: SignatureCache) -> set[int]:
    return {at for at in places if len({call.signature_under(ignoring, cache) for call in pairs[at]}) == 1}


def _is_meaningless(candidate: _Candidate) -> bool:
    """True if the values identify the call itself or its time, not an object or a day."""
    if candidate.kind == "id":
        return _OF_THE_CALL.search(candidate.rule.pointer.lower()) is not None
    return candidate.kind != "date"


def differences(before: JSONValue, after: JSONValue, path: Path = ()) -> Iterator[tuple[Path, JSONValue, JSONValue]]:
    """Yield the smallest parts in which two values differ; lists of different lengths differ as a whole."""
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys([*before, *after]):
            yield from differences(before.get(key, _MISSING), after.get(key, _MISSING), (*path, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (before_item, after_item) in enumerate(zip(before, after, strict=True)):
            yield from differences(before_item, after_item, (*path, str(index)))
    elif digest(before) != digest(after):
        yield path, before, after


def _rule(call: RecordedCall, path: Path, before: JSONValue, after: JSONValue) -> tuple[IgnoreRule | None, str]:
    """Return the rule that makes two values equal, and their kind; None: the difference is meaningful."""
    general = tuple("*" if part.isdecimal() else part for part in path)
    if not path:
        return None, ""
    name = "*" if call.type is StepType.MODEL else call.callee
    rule = IgnoreRule(type=str(call.type), name=name, pointer=pointer(general))
    kinds = kind_of(before), kind_of(after)
    if kinds[0] is not None and kinds[0] == kinds[1]:
        return rule, kinds[0]
    if _is_number(before) and _is_number(after) and _is_counter(general):
        return rule, "counter"
    if isinstance(before, str) and isinstance(after, str) and (kind := masking(before, after)) is not None:
        return rule.model_copy(update={"within": kind}), kind
    return None, ""


def _is_number(value: JSONValue) -> bool:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain or (isinstance(value, str) and value.isdecimal())


def _is_counter(path: Path) -> bool:
    """Return whether a field, or the one whose value it is, counts calls or makes each of them unique.

    >>> [_is_counter(path) for path in (("requestCounter",), ("nonce", "value"), ("sequence_length",))]
    [True, True, False]
    """
    words = [word.lower() for part in path for word in _WORD.findall(part)]
    return next((word for word in reversed(words) if word not in _PLAIN_NAMES), "") in _COUNTERS


def _add(candidate: _Candidate, pair_index: int, before: JSONValue, after: JSONValue) -> None:
    if not candidate.pairs or candidate.pairs[-1] != pair_index:
        candidate.pairs.append(pair_index)
    if len(candidate.examples) < _EXAMPLES:
        candidate.examples.append(Example(base=_short(before), candidate=_short(after)))


def _proposal(
    candidate: _Candidate,
    pairs: Sequence[Pair],
    unified_pairs: Collection[int],
    collision_groups: Sequence[Sequence[RecordedCall]],
    *,
    is_recommended: bool,
) -> Proposal:
    return Proposal(
        rule=candidate.rule,
        kind=candidate.kind,
        pairs=len(candidate.pairs),
        examples=candidate.examples,
        unifies=len(unified_pairs),
        steps=_pair_views(pairs, unified_pairs)[:_LIST_LIMIT],
        collisions=[_collision(group) for group in collision_groups[:_LIST_LIMIT]],
        recommended=is_recommended,
    )


def _collision(group: Sequence[RecordedCall]) -> Collision:
    first = group[0]
    return Collision(
        side=first.side, type=first.type, name=first.callee, steps=[call.no for call in group][:_LIST_LIMIT]
    )


def _pair_views(pairs: Sequence[Pair], places: Iterable[int]) -> list[UnifiedPair]:
    return [
        UnifiedPair(base=pairs[at][0].no, candidate=pairs[at][1].no, type=pairs[at][0].type, name=pairs[at][0].callee)
        for at in sorted(places)
    ]


def _difference(
    base: RecordedCall, candidate: RecordedCall, path: Path, before: JSONValue, after: JSONValue
) -> Difference:
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
    return text if len(text) <= _EXAMPLE_LENGTH else f"{text[:_EXAMPLE_LENGTH]}…"
