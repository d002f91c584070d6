"""Alignment: which step of one run corresponds to which step of the other.

The steps of a run form a tree: agents and turns contain model, tool and retrieval steps. The aligner goes down both
trees together and pairs the children of each matched pair of parents, the strongest evidence first:

    base, children of the agent                 candidate, children of the agent
    1  model  requests get_order(7)             1  model  requests get_order(7)
    2  tool   get_order(7) -> 4200              2  tool   get_order(7) -> 4200
    3  model  requests refund(4200)             3  model  requests search("refund")
    4  tool   refund(4200) -> rejected          4  tool   search("refund") -> "in euros"
    5  model  "It was rejected."                5  model  requests refund(42)
                                                6  tool   refund(42) -> accepted
                                                7  model  "It is done."

1. Lineage: a replay names the recorded steps that it replays. These two runs were recorded separately: no pairs.
2. Anchors: a key that occurs exactly once on both sides. The same call with the same answer pairs 1-1 and 2-2. The
   same request with another answer pairs 3-3. The aligner continues between the anchors: base 4-5, candidate 4-7.
   Several calls of one model in a row pair in order, unless a request or a long answer occurs at another position.
3. The only step of its type and name on both sides: `refund` pairs 4-6. That pair splits the stretch once more, and
   the only models after it pair 5-7.
4. Similarity with gaps (see `gap_alignment`) for the steps that are still open between two pairs. Models that
   requested different tools never pair, nor do models with different names that both runs have.
5. Calls that occur under another parent are moves. After that, the first and the last models of two parents pair, and
   so do the last answers of both runs.

Result: 1-1, 2-2, 3-3, 4-6, 5-7. Candidate steps 4 and 5 are additions.

Near-linear in the number of steps. Swapping the runs swaps the result.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from diffing.compare.run_side import CONTAINERS, SideStep
from diffing.compare.step_keys import LEVELS, Key, answer_key, call_key, long_answer_key, request_key
from diffing.compare.step_similarity import Subtrees, have_disjoint_tools, likeness
from diffing.schemas.sections import FoundBy
from diffing.sequences import gap_alignment
from diffing.sequences.anchors import longest_chain, stretches, unique_pairs
from traces.core.vocabulary import StepType

# In Python 3.11, reading a member of an enum takes ten times as long as reading a constant.
_MODEL: Final = StepType.MODEL
# From this many calls of one model in a row, the same order on both sides is evidence.
_MIN_PARALLEL: Final = 3
_MOVABLE: Final = frozenset({StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT})

Parents = tuple[int | None, int | None]


class Match(NamedTuple):
    """Indices of two corresponding steps; `is_move`: their order or their parents differ."""

    base: int
    candidate: int
    found_by: FoundBy
    confidence: float
    is_move: bool = False


def align(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> list[Match]:
    """Pair steps one to one, sorted by base index; unpaired steps do not appear."""
    base, candidate = _with_comparable_names(base, candidate)
    if _sorts_after(base, candidate):
        swapped_matches = _Alignment(candidate, base).run()
        matches = [match._replace(base=match.candidate, candidate=match.base) for match in swapped_matches]
    else:
        matches = _Alignment(base, candidate).run()
    return sorted(matches)


def _with_comparable_names(
    base: Sequence[SideStep], candidate: Sequence[SideStep]
) -> tuple[Sequence[SideStep], Sequence[SideStep]]:
    """The steps, those of models without their names if the runs have none in common: two recorders name them.

    Models that are part of the names tell steps apart as long as no run has others.
    """
    full_names = [{step.name for step in steps if step.type == _MODEL} for steps in (base, candidate)]
    if full_names[0] == full_names[1]:
        return _with_models_in_names(base), _with_models_in_names(candidate)
    names = [{step.role for step in steps if step.type == _MODEL and step.role} for steps in (base, candidate)]
    if not any(names) or names[0] & names[1]:
        return base, candidate
    left, right = (
        [step._replace(name=_MODEL) if step.type == _MODEL else step for step in steps] for steps in (base, candidate)
    )
    return left, right


def _with_models_in_names(steps: Sequence[SideStep]) -> Sequence[SideStep]:
    """The steps, whose names are then purposes as a whole."""
    return [step._replace(model="") if step.type == _MODEL and step.names_model else step for step in steps]


class _Alignment:
    """State of one alignment: the matches so far, and which steps are taken."""

    def __init__(self, left: Sequence[SideStep], right: Sequence[SideStep]) -> None:
        self.left, self.right = left, right
        self.subtrees = Subtrees(left), Subtrees(right)
        self.matches: list[Match] = []
        self.partner: dict[int, int] = {}
        self.used_rights: set[int] = set()
        self.moved_lefts: set[int] = set()

    def run(self) -> list[Match]:
        self._match_lineage()
        parents = self._align_subtrees([(None, None)])
        self._match_moved_calls()
        anchor_count = len(self.matches)
        for left_parent, right_parent in parents:
            siblings = self.subtrees[0].children(left_parent), self.subtrees[1].children(right_parent)
            self._match_outer_models(*siblings)
            self._match_remaining_models(*siblings)
        new_pairs = [(match.base, match.candidate) for match in self.matches[anchor_count:]]
        self._align_subtrees([(i, j) for i, j in new_pairs if self._have_children(i)])
        self._match_final_answers()
        return self.matches

    def _match_final_answers(self) -> None:
        """Match the last answers of both runs, wherever they occur."""
        kinds = {step.type for steps in (self.left, self.right) for step in steps}
        step_type = StepType.OUTPUT if StepType.OUTPUT in kinds else StepType.MODEL
        i, j = _last(self.left, step_type), _last(self.right, step_type)
        if i is not None and j is not None and i not in self.partner and j not in self.used_rights:
            self._add(Match(i, j, "sequence", 0.5, is_move=True))

    def _align_subtrees(self, pending: list[Parents]) -> list[Parents]:
        """Align the children of all pairs of parents, parents first. Iterative, because trees can be deep."""
        aligned_parents = []
        while pending:
            parents = pending.pop()
            aligned_parents.append(parents)
            self._align_children(*parents)
            containers = self.subtrees[0].containers(parents[0])
            pending += [(child, self.partner[child]) for child in containers if self._have_children(child)]
        return aligned_parents

    def _have_children(self, left: int) -> bool:
        """True if a step and its partner both contain steps."""
        if not self.subtrees[0].children(left):
            return False
        partner = self.partner.get(left)
        return partner is not None and bool(self.subtrees[1].children(partner))

    def _match_lineage(self) -> None:
        places = {step.origin: index for index, step in enumerate(self.right)}
        pairs = [(i, places[step.origin]) for i, step in enumerate(self.left) if step.origin in places]
        self._add_ordered(pairs, "lineage", lambda _i, _j: 1.0)

    def _align_children(self, left_parent: int | None, right_parent: int | None) -> None:
        """Align the children that lineage did not match, between those that it did."""
        left = self.subtrees[0].children(left_parent)
        right = self.subtrees[1].children(right_parent)
        right_set = set(right)
        fixed_pairs = [(i, j) for i in left if (j := self.partner.get(i)) in right_set]
        for i_part, j_part in stretches(left, right, longest_chain(fixed_pairs)):
            open_left, open_right = self._open_steps(i_part, j_part)
            if open_left and open_right:
                self._align_segment(open_left, open_right)

    def _match_outer_models(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Match the first and the last models under two parents, even if their answers differ."""
        for backwards in (False, True):
            i, j = _outer_model(left, self.left, backwards), _outer_model(right, self.right, backwards)
            if i is None or j is None or i in self.partner or j in self.used_rights:
                continue
            if self.left[i].role == self.right[j].role and not self._crosses(i, j, left):
                self._add(Match(i, j, "sequence", 0.5))

    def _match_remaining_models(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Match single open models in one place that requested different tools.

        This runs last: by now no other model that requested the same tools is open.
        """
        if not all(self._open_models(left, right)):
            return
        right_set = set(right)
        fixed_pairs = [
            (i, self.partner[i]) for i in left if self.partner.get(i) in right_set and i not in self.moved_lefts
        ]
        for part in stretches(left, right, longest_chain(fixed_pairs)):
            models = self._open_models(*part)
            if len(models[0]) == len(models[1]) == 1 and self._kind(models[0][0], False) == self._kind(
                models[1][0], True
            ):
                self._add(Match(models[0][0], models[1][0], "sequence", 0.5))

    def _open_models(self, left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
        open_left, open_right = self._open_steps(left, right)
        return (
            [i for i in open_left if self.left[i].type == StepType.MODEL],
            [j for j in open_right if self.right[j].type == StepType.MODEL],
        )

    def _crosses(self, i: int, j: int, siblings: Sequence[int]) -> bool:
        """True if pairing i with j would cross a pair of their siblings."""
        return any(
            (k < i) != (self.partner[k] < j) for k in siblings if k in self.partner and k not in self.moved_lefts
        )

    def _align_segment(self, left: list[int], right: list[int]) -> None:
        """Align two stretches of siblings: anchors by descending strength, then the remainder by similarity."""
        parts = [(left, right)]
        for key, found_by, confidence in LEVELS:
            if key is answer_key:
                for part in parts:
                    self._match_parallel_models(*part)
            parts = [rest for part in parts for rest in self._match_anchors(*part, key, found_by, confidence)]
        for part in parts:
            self._align_remainder(*part)

    def _match_parallel_models(self, left: Sequence[int], right: Sequence[int]) -> None:
        """Match several calls of one model in a row, as of jurors, in order: short answers repeat by chance.

        A request or a long answer that occurs at another position on the other side is evidence against that order.
        """
        left, right = self._open_steps(left, right)
        kinds = [self._kind(i, False) for i in left]
        if len(left) < _MIN_PARALLEL or kinds != [self._kind(j, True) for j in right]:
            return
        for key in (request_key, long_answer_key):
            places = unique_pairs([key(self.left[i]) for i in left], [key(self.right[j]) for j in right])
            if any(i != j for i, j in places):
                return
        for _, group in groupby(zip(kinds, left, right, strict=True), key=lambda row: row[0]):
            rows = list(group)
            if len(rows) >= _MIN_PARALLEL:
                self._match_model_sequence([i for _, i, _ in rows], [j for _, _, j in rows])

    def _match_anchors(
        self, left: list[int], right: list[int], key: Key, found_by: FoundBy, confidence: float
    ) -> list[tuple[list[int], list[int]]]:
        """Pair the steps whose key is unique on both sides; return the stretches between those pairs."""
        left, right = self._open_steps(left, right)
        pairs = unique_pairs([key(self.left[i]) for i in left], [key(self.right[j]) for j in right])
        unique = [(left[i], right[j]) for i, j in pairs]
        chain = longest_chain(unique)
        matches = [Match(i, j, found_by, confidence) for i, j in chain]
        if len(chain) < len(unique) and found_by == "signature":
            moves = set(unique).difference(chain)
            matches = sorted([*matches, *(Match(i, j, found_by, confidence, is_move=True) for i, j in moves)])
        self._add_all(matches)
        requesters = self.subtrees[0].requesters
        for match in matches:
            if match.base in requesters:
                self._match_requesters(match.base, match.candidate, is_move=match.is_move)
        return stretches(left, right, chain)

    def _align_remainder(self, left: list[int], right: list[int]) -> None:
        """Align the steps between anchors: by unique type and name, else by similarity."""
        parts = [(left, right)]
        # A pair splits its stretch, and another kind may be unique in one of the parts.
        while parts:
            i_part, j_part = self._open_steps(*parts.pop())
            if i_part and j_part and (chain := self._match_unique_kinds(i_part, j_part)):
                parts += stretches(i_part, j_part, chain)
                continue
            pairs = list(gap_alignment.align(i_part, j_part, self._similarity, (self._call_key, self._kind)))
            for i, j in pairs:
                self._add(Match(i, j, "similarity", round(self._similarity(i, j), 3)))
            for stretch in stretches(i_part, j_part, pairs):
                self._match_model_sequence(*stretch)

    def _match_model_sequence(self, left: list[int], right: list[int]) -> None:
        """Match models that have the same names in the same order, even if their answers differ."""
        kinds = [self._kind(i, False) for i in left], [self._kind(j, True) for j in right]
        all_named = all(self.left[i].type == StepType.MODEL and self.left[i].role for i in left)
        if kinds[0] == kinds[1] and all_named:
            for i, j in zip(left, right, strict=True):
                self._add(Match(i, j, "sequence", 0.5))

    def _open_steps(self, left: Sequence[int], right: Sequence[int]) -> tuple[list[int], list[int]]:
        """The steps of two stretches that have no partner yet."""
        return [i for i in left if i not in self.partner], [j for j in right if j not in self.used_rights]

    def _match_unique_kinds(self, left: list[int], right: list[int]) -> list[tuple[int, int]]:
        """Pair steps whose type and name are unique on both sides; containers must also be similar."""
        left_kinds = [self._kind(i, False) for i in left]
        pairs = unique_pairs(left_kinds, [self._kind(j, True) for j in right])
        candidates = [(left[i], right[j]) for i, j in pairs if self._can_pair(left[i], right[j])]
        chain = longest_chain(candidates)
        for i, j in chain:
            self._add(Match(i, j, "sequence", round(0.5 + 0.4 * self._similarity(i, j), 3)))
        return chain

    def _can_pair(self, i: int, j: int) -> bool:
        """True if containers are similar, and if models did not request different tools."""
        if self.left[i].type == StepType.MODEL:
            return not have_disjoint_tools(self.subtrees[0].features(i), self.subtrees[1].features(j))
        root = self.left[i].parent_no is None and self.right[j].parent_no is None
        return root or self.left[i].type not in CONTAINERS or self._similarity(i, j) >= gap_alignment.LEAST

    def _match_moved_calls(self) -> None:
        """Match equal calls under different parents, in order, and the models that requested them."""
        open_calls: dict[Hashable, list[int]] = {}
        for j in reversed(range(len(self.right))):
            if j not in self.used_rights and self.right[j].type in _MOVABLE and self.right[j].signature:
                open_calls.setdefault(call_key(self.right[j]), []).append(j)
        for i, step in enumerate(self.left):
            places = open_calls.get(call_key(step), []) if i not in self.partner else []
            if places and step.signature:
                j = places.pop()
                self._add(Match(i, j, "signature", 0.9, is_move=True))
                self._match_requesters(i, j, is_move=True)
                self._match_readers(i, j)

    def _match_requesters(self, i: int, j: int, *, is_move: bool) -> None:
        """Match the models that requested two matched calls, even if their inputs differ."""
        requesters = self.subtrees[0].requesters.get(i), self.subtrees[1].requesters.get(j)
        if (
            requesters[0] is None
            or requesters[1] is None
            or requesters[0] in self.partner
            or requesters[1] in self.used_rights
        ):
            return
        self._add(Match(requesters[0], requesters[1], "sequence", 0.7 if is_move else 0.95, is_move))

    def _match_readers(self, i: int, j: int) -> None:
        """Match the models that read the answers of two moved calls, if they are similar."""
        readers = self.subtrees[0].reader_of(i), self.subtrees[1].reader_of(j)
        if readers[0] is None or readers[1] is None or readers[0] in self.partner or readers[1] in self.used_rights:
            return
        if (similarity := self._similarity(readers[0], readers[1])) >= gap_alignment.LEAST:
            self._add(Match(readers[0], readers[1], "sequence", round(0.5 + 0.2 * similarity, 3), is_move=True))

    def _add_ordered(
        self, pairs: list[tuple[int, int]], found_by: FoundBy, confidence: Callable[[int, int], float]
    ) -> None:
        in_order = set(longest_chain(pairs))
        for i, j in pairs:
            self._add(Match(i, j, found_by, confidence(i, j), is_move=(i, j) not in in_order))

    def _add_all(self, matches: Sequence[Match]) -> None:
        self.matches += matches
        self.partner.update((match.base, match.candidate) for match in matches)
        self.used_rights.update(match.candidate for match in matches)
        self.moved_lefts.update(match.base for match in matches if match.is_move)

    def _add(self, match: Match) -> None:
        self.matches.append(match)
        self.partner[match.base] = match.candidate
        self.used_rights.add(match.candidate)
        if match.is_move:
            self.moved_lefts.add(match.base)

    @cached_property
    def _common_roles(self) -> set[Hashable]:
        """The names of models that both runs have, as kinds."""
        models = [[step for step in steps if step.type == _MODEL] for steps in (self.left, self.right)]
        left, right = ({(step.type, role) for step in steps if (role := step.role)} for steps in models)
        return {*(left & right)}

    def _similarity(self, i: int, j: int) -> float:
        kinds = {self._kind(i, False), self._kind(j, True)}
        # Two models that both runs have do not stand in for each other, whatever they answer.
        if len(kinds) > 1 and self.left[i].type == StepType.MODEL and kinds <= self._common_roles:
            return 0.0
        return likeness(self.subtrees[0].features(i), self.subtrees[1].features(j))

    def _call_key(self, index: int, right: bool) -> Hashable:
        return call_key((self.right if right else self.left)[index])

    def _kind(self, index: int, right: bool) -> Hashable:
        step = (self.right if right else self.left)[index]
        # The root containers of two runs correspond whatever their names.
        root = step.parent_no is None and step.type in CONTAINERS
        return (step.type, "" if root else step.role)


def _last(steps: Sequence[SideStep], step_type: StepType) -> int | None:
    return next((index for index in reversed(range(len(steps))) if steps[index].type == step_type), None)


def _outer_model(children: Sequence[int], steps: Sequence[SideStep], backwards: bool) -> int | None:
    candidates = reversed(children) if backwards else children
    return next((index for index in candidates if steps[index].type == StepType.MODEL), None)


def _sorts_after(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> bool:
    """Order two sequences by content, so that alignment always starts from the same side."""
    if len(base) != len(candidate):
        return len(base) > len(candidate)
    keys = zip(map(_sort_key, base), map(_sort_key, candidate), strict=True)
    left, right = next(((left, right) for left, right in keys if left != right), ((), ()))
    return left > right


_sort_key: Final = attrgetter("type", "name", "signature", "input_ref", "output_ref", "summary")
