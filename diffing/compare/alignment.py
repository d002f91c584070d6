"""Which step of one run corresponds to which step of the other.

Steps that replay one recorded step belong together. Among the rest, under matching parents: calls that occur
once on both sides anchor the sequence, then equal answers do, and what lies between two anchors is aligned by
similarity with gaps (see `gap_alignment`). A step that is the same and stands elsewhere is a move.

Near-linear in the number of steps; the result does not depend on which side is called base.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

from diffing.compare.run_side import CONTAINERS, SideStep
from diffing.compare.step_similarity import Subtrees, at_odds, likeness
from diffing.schemas.report import FoundBy
from diffing.sequences import gap_alignment
from diffing.sequences.anchors import increasing, unique_pairs
from traces.core.vocabulary import StepType

_MOVABLE: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})


Parents = tuple[int | None, int | None]


class Match(NamedTuple):
    """Indices of two steps that correspond; `moved` when their order or place differs."""

    base: int
    candidate: int
    found_by: FoundBy
    confidence: float
    moved: bool = False


def align(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> list[Match]:
    """A partial injection from base to candidate; steps that no match names have no partner."""
    if _comes_later(base, candidate):
        swapped = _Alignment(candidate, base).run()
        matches = [match._replace(base=match.candidate, candidate=match.base) for match in swapped]
    else:
        matches = _Alignment(base, candidate).run()
    return sorted(matches)


def call_key(step: SideStep) -> Hashable:
    """Equal for two steps that made the same call."""
    return (step.type, step.role, step.signature or step.input_ref)


class _Alignment:
    """One run of the aligner over two fixed sequences."""

    def __init__(self, left: Sequence[SideStep], right: Sequence[SideStep]) -> None:
        self.left, self.right = left, right
        self.subtrees = Subtrees(left), Subtrees(right)
        self.matches: list[Match] = []
        self.partner: dict[int, int] = {}
        self.taken: set[int] = set()
        self.moved: set[int] = set()

    def run(self) -> list[Match]:
        self._by_lineage()
        parents = self._descend([(None, None)])
        self._moved_elsewhere()
        placed = len(self.matches)
        for left_parent, right_parent in parents:
            siblings = self.subtrees[0].children(left_parent), self.subtrees[1].children(right_parent)
            self._outer_answers(*siblings)
            self._other_asks(*siblings)
        self._descend([(match.base, match.candidate) for match in self.matches[placed:]])
        self._final_answers()
        return self.matches

    def _final_answers(self) -> None:
        """What the runs answered in the end corresponds, wherever it stands."""
        kinds = {step.type for steps in (self.left, self.right) for step in steps}
        wanted = StepType.OUTPUT if StepType.OUTPUT in kinds else StepType.MODEL
        i, j = _last(self.left, wanted), _last(self.right, wanted)
        if i is not None and j is not None and i not in self.partner and j not in self.taken:
            self._add(Match(i, j, "sequence", 0.5, moved=True))

    def _descend(self, pending: list[Parents]) -> list[Parents]:
        """Align the children of all pairs of parents, parents first; without recursion, for trees can be deep."""
        done = []
        while pending:
            parents = pending.pop()
            done.append(parents)
            self._under(*parents)
            children = self.subtrees[0].children(parents[0])
            pending += [(child, self.partner[child]) for child in children if child in self.partner]
        return done

    def _by_lineage(self) -> None:
        places = {step.origin: index for index, step in enumerate(self.right)}
        pairs = [(i, places[step.origin]) for i, step in enumerate(self.left) if step.origin in places]
        self._add_ordered(pairs, "lineage", lambda _i, _j: 1.0)

    def _under(self, left_parent: int | None, right_parent: int | None) -> None:
        """Align the children of a pair of parents that lineage left open, between those it settled."""
        left = self.subtrees[0].children(left_parent)
        right = self.subtrees[1].children(right_parent)
        inside = set(right)
        settled = [(i, self.partner[i]) for i in left if self.partner.get(i) in inside]
        for i_part, j_part in _between(left, right, increasing(settled)):
            open_left, open_right = self._open(i_part, j_part)
            if open_left and open_right:
                self._segment(open_left, open_right)

    def _outer_answers(self, left: Sequence[int], right: Sequence[int]) -> None:
        """The first answers under two parents correspond, and the last, however they differ."""
        for backwards in (False, True):
            i, j = _outer_model(left, self.left, backwards), _outer_model(right, self.right, backwards)
            if i is None or j is None or i in self.partner or j in self.taken:
                continue
            if self.left[i].role == self.right[j].role and not self._crosses(i, j, left):
                self._add(Match(i, j, "sequence", 0.5))

    def _other_asks(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Models at one place that asked for other tools, now that it is clear that no others asked for the same."""
        if not all(self._open_models(left, right)):
            return
        inside = set(right)
        settled = [(i, self.partner[i]) for i in left if self.partner.get(i) in inside and i not in self.moved]
        for part in _between(left, right, increasing(settled)):
            models = self._open_models(*part)
            if len(models[0]) == len(models[1]) == 1 and self._kind(models[0][0], False) == self._kind(
                models[1][0], True
            ):
                self._add(Match(models[0][0], models[1][0], "sequence", 0.5))

    def _open_models(self, left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
        i_open, j_open = self._open(left, right)
        return (
            [i for i in i_open if self.left[i].type == StepType.MODEL],
            [j for j in j_open if self.right[j].type == StepType.MODEL],
        )

    def _crosses(self, i: int, j: int, siblings: Sequence[int]) -> bool:
        """Whether pairing i with j would cross a pair of their siblings."""
        return any((k < i) != (self.partner[k] < j) for k in siblings if k in self.partner and k not in self.moved)

    def _segment(self, left: list[int], right: list[int]) -> None:
        """Align two stretches of siblings: anchors of falling strength, then similarity in what is left."""
        parts = [(left, right)]
        for key, found_by, confidence in _LEVELS:
            parts = [rest for part in parts for rest in self._anchor(*part, key, found_by, confidence)]
        for part in parts:
            self._fill(*part)

    def _anchor(
        self, left: list[int], right: list[int], key: "Key", found_by: FoundBy, confidence: float
    ) -> list[tuple[list[int], list[int]]]:
        """Pair what the key names once on both sides; answer with the stretches between those pairs."""
        left, right = self._open(left, right)
        pairs = unique_pairs([key(self.left[i]) for i in left], [key(self.right[j]) for j in right])
        named = [(left[i], right[j]) for i, j in pairs]
        chain = increasing(named)
        kept = set(chain)
        for i, j in named:
            moved = (i, j) not in kept
            if not moved or found_by == "signature":
                self._add(Match(i, j, found_by, confidence, moved))
                self._asked_for(i, j, moved=moved)
        return [part for part in _between(left, right, chain) if part[0] and part[1]]

    def _fill(self, left: list[int], right: list[int]) -> None:
        """What lies between anchors: by type and name where that says enough, else by what the steps say."""
        parts = [(left, right)]
        while parts:  # what a pair cuts off may hold another only one
            i_part, j_part = self._open(*parts.pop())
            if i_part and j_part and (chain := self._only_ones(i_part, j_part)):
                parts += _between(i_part, j_part, chain)
                continue
            alike = list(gap_alignment.align(i_part, j_part, self._likeness, (self._exact, self._kind)))
            for i, j in alike:
                self._add(Match(i, j, "similarity", round(self._likeness(i, j), 3)))
            for stretch in _between(i_part, j_part, alike):
                self._in_order(*stretch)

    def _in_order(self, left: list[int], right: list[int]) -> None:
        """Models of the same names in the same order do the same work, however differently they answered."""
        kinds = [self._kind(i, False) for i in left], [self._kind(j, True) for j in right]
        named = all(self.left[i].type == StepType.MODEL and self.left[i].role for i in left)
        if kinds[0] == kinds[1] and named:
            for i, j in zip(left, right, strict=True):
                self._add(Match(i, j, "sequence", 0.5))

    def _open(self, left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
        """Those of two stretches that have no partner yet."""
        return [i for i in left if i not in self.partner], [j for j in right if j not in self.taken]

    def _only_ones(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Pair the only step of its type and name on both sides; containers must be alike as well."""
        left_kinds = [self._kind(i, False) for i in left]
        pairs = unique_pairs(left_kinds, [self._kind(j, True) for j in right])
        named = [(left[i], right[j]) for i, j in pairs if self._may_pair(left[i], right[j])]
        chain = increasing(named)
        for i, j in chain:
            self._add(Match(i, j, "sequence", round(0.5 + 0.4 * self._likeness(i, j), 3)))
        return chain

    def _may_pair(self, i: int, j: int) -> bool:
        """Containers have to be alike, models not to ask for different tools."""
        if self.left[i].type == StepType.MODEL:
            return not at_odds(self.subtrees[0].look(i), self.subtrees[1].look(j))
        root = self.left[i].parent_no is None and self.right[j].parent_no is None
        return root or self.left[i].type not in CONTAINERS or self._likeness(i, j) >= gap_alignment.LEAST

    def _moved_elsewhere(self) -> None:
        """The same call under another parent: a move, first with first, and so are the models that asked for it."""
        waiting: dict[Hashable, list[int]] = {}
        for j in reversed(range(len(self.right))):
            if j not in self.taken and self.right[j].type in _MOVABLE and self.right[j].signature:
                waiting.setdefault(call_key(self.right[j]), []).append(j)
        for i, step in enumerate(self.left):
            places = waiting.get(call_key(step), []) if i not in self.partner else []
            if places and step.signature:
                j = places.pop()
                self._add(Match(i, j, "signature", 0.9, moved=True))
                self._asked_for(i, j, moved=True)
                self._told(i, j)

    def _asked_for(self, i: int, j: int, *, moved: bool) -> None:
        """The models that asked for the same call correspond, whatever else they had been told before."""
        asker = self.subtrees[0].askers.get(i), self.subtrees[1].askers.get(j)
        if asker[0] is None or asker[1] is None or asker[0] in self.partner or asker[1] in self.taken:
            return
        self._add(Match(asker[0], asker[1], "sequence", 0.7 if moved else 0.95, moved))

    def _told(self, i: int, j: int) -> None:
        """What the models said to the answer of a call that moved corresponds, if it is alike."""
        told = self.subtrees[0].told(i), self.subtrees[1].told(j)
        if told[0] is None or told[1] is None or told[0] in self.partner or told[1] in self.taken:
            return
        if (alike := self._likeness(told[0], told[1])) >= gap_alignment.LEAST:
            self._add(Match(told[0], told[1], "sequence", round(0.5 + 0.2 * alike, 3), moved=True))

    def _add_ordered(self, pairs: list[tuple[int, int]], found_by: FoundBy, sure: Callable[[int, int], float]) -> None:
        kept = set(increasing(pairs))
        for i, j in pairs:
            self._add(Match(i, j, found_by, sure(i, j), moved=(i, j) not in kept))

    def _add(self, match: Match) -> None:
        self.matches.append(match)
        self.partner[match.base] = match.candidate
        self.taken.add(match.candidate)
        if match.moved:
            self.moved.add(match.base)

    def _likeness(self, i: int, j: int) -> float:
        return likeness(self.subtrees[0].look(i), self.subtrees[1].look(j))

    def _exact(self, index: int, right: bool) -> Hashable:
        return call_key((self.right if right else self.left)[index])

    def _kind(self, index: int, right: bool) -> Hashable:
        step = (self.right if right else self.left)[index]
        root = step.parent_no is None and step.type in CONTAINERS  # two runs correspond whatever they are called
        return (step.type, "" if root else step.role)


def _last(steps: Sequence[SideStep], wanted: StepType) -> int | None:
    return next((index for index in reversed(range(len(steps))) if steps[index].type == wanted), None)


def _outer_model(children: Sequence[int], steps: Sequence[SideStep], backwards: bool) -> int | None:
    ordered = reversed(children) if backwards else children
    return next((index for index in ordered if steps[index].type == StepType.MODEL), None)


Key = Callable[[SideStep], Hashable]


def _whole(step: SideStep) -> Hashable:
    """The same call with the same answer; what its signature leaves out is no part of a call."""
    return (call_key(step), step.output_ref) if step.signature or step.input_ref or step.output_ref else None


def _call(step: SideStep) -> Hashable:
    """The same call; of a model this says little, for what it asks or says is what it is there for."""
    return _request(step) if step.type != StepType.MODEL else None


def _request(step: SideStep) -> Hashable:
    return call_key(step) if step.signature or step.input_ref else None


def _answer(step: SideStep) -> Hashable:
    """Equal answers: not of tools, whose answers are often just `ok`."""
    return (step.type, step.role, step.output_ref) if step.output_ref and step.type != StepType.TOOL else None


# From the strongest to the weakest: key, how a pair found by it is called, confidence.
_LEVELS: Final[tuple[tuple[Key, FoundBy, float], ...]] = (
    (_whole, "signature", 1.0),
    (_call, "signature", 0.98),
    (_answer, "sequence", 0.95),
    (_request, "signature", 0.9),
)


def _between(
    left: Sequence[int], right: Sequence[int], anchors: Sequence[tuple[int, int]]
) -> list[tuple[list[int], list[int]]]:
    """The stretches of two ascending index lists between anchors, in order."""
    parts = []
    at_left = at_right = 0
    for i, j in anchors:
        end_left = at_left
        while end_left < len(left) and left[end_left] < i:
            end_left += 1
        end_right = at_right
        while end_right < len(right) and right[end_right] < j:
            end_right += 1
        parts.append((list(left[at_left:end_left]), list(right[at_right:end_right])))
        at_left, at_right = end_left + 1, end_right + 1
    parts.append((list(left[at_left:]), list(right[at_right:])))
    return parts


def _comes_later(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> bool:
    """Orders two sequences by content, so that aligning them starts from the same side either way."""
    if len(base) != len(candidate):
        return len(base) > len(candidate)
    for one, other in zip(base, candidate, strict=True):
        if (left := _said(one)) != (right := _said(other)):
            return left > right
    return False


def _said(step: SideStep) -> tuple[str, ...]:
    return step.type, step.name, step.signature, step.input_ref, step.output_ref, step.summary
