"""Probe results so far, and what they alone imply. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, takewhile
from typing import Final

from diffing.schemas.evidence import ProbeOutcome, ProbePurpose
from replay.proofs.core.types import Atom, Atoms, ProbeResult, ProbeSpec, Side
from replay.proofs.ladder.statistics import ALPHA, FIRST, exact_p

NO_ATOMS: Final[Atoms] = frozenset()


@dataclass(frozen=True, kw_only=True)
class ProbeRequest:
    """A probe that the search needs.

    A `free` one is not worth a live call. `lookahead`: the probes that will follow whatever its result.
    """

    spec: ProbeSpec
    purpose: ProbePurpose
    free: bool = False
    lookahead: tuple[ProbeSpec, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A completed probe."""

    request: ProbeRequest
    result: ProbeResult


@dataclass
class Facts:
    """Every probe by its spec. The latest result counts, because a live probe follows one that lacked an answer.

    `recordings`: the outcomes of the two recordings themselves.
    """

    probes: dict[ProbeSpec, Probe] = field(default_factory=dict)
    recordings: dict[ProbeSpec, ProbeResult] = field(default_factory=dict)

    def add(self, request: ProbeRequest, result: ProbeResult) -> None:
        self.probes[request.spec] = Probe(request=request, result=result)

    def result(self, spec: ProbeSpec) -> ProbeResult | None:
        if (recording := self.recordings.get(spec)) is not None:
            return recording
        probe = self.probes.get(spec)
        return None if probe is None else probe.result

    def repeated_outcomes(self, spec: ProbeSpec) -> list[str]:
        """The outcomes of the repeats of a spec that have one."""
        repeats = [replace(spec, repeat=number) for number in takewhile(self._has_repeat(spec), count(1))]
        results = [self.probes[repeat].result for repeat in repeats]
        return [result.outcome for result in results if result.is_settled]

    def _has_repeat(self, spec: ProbeSpec) -> Callable[[int], bool]:
        return lambda number: replace(spec, repeat=number) in self.probes


@dataclass(frozen=True, kw_only=True)
class Space:
    """The subsets of some atoms that can be applied to the base and reverted from the candidate.

    `context` is applied on a side in addition. For the parts of one atom it contains the other members of its cause on
    the base, and every other change on the candidate. `whole` maps all parts of an atom to the atom's own id. Nothing
    that a replay of `traceless` changes shows may rest on what the agent's code did in the other run.
    """

    facts: Facts
    atoms: Sequence[Atom]
    one_space: bool = False
    runs_agent: bool = False
    context: Mapping[Side, Atoms] = field(default_factory=lambda: {"base": NO_ATOMS, "candidate": NO_ATOMS})
    whole: tuple[Atoms, str] | None = None
    traceless: Atoms = NO_ATOMS

    @property
    def all(self) -> Atoms:
        return frozenset(atom.id for atom in self.atoms)

    def spec(self, subset: Atoms, side: Side) -> ProbeSpec:
        if self.whole is not None and subset == self.whole[0]:
            subset = frozenset({self.whole[1]})
        return ProbeSpec(atoms=subset | self.context[side], side=side)

    def result(self, subset: Atoms, side: Side) -> ProbeResult | None:
        return self.facts.result(self.spec(subset, side))

    def is_enough(self, subset: Atoms) -> bool | None:
        """True if the base with these changes has the candidate's outcome; None: unknown.

        Unknown as well if a change leads to other calls and a tool's answer was borrowed: the answer that only the
        other run recorded carries over whatever else is different there.
        """
        is_candidate = self._is_candidate(subset, ("base", "candidate") if self.one_space else ("base",))
        result = None if self.one_space else self.result(subset, "base")
        if is_candidate and result is not None and self._is_assumed(subset, result):
            return None
        rekeys = any(atom.rekeys and atom.id in subset for atom in self.atoms)
        return None if is_candidate and rekeys and result is not None and result.borrowed_answers else is_candidate

    def is_needed(self, subset: Atoms) -> bool | None:
        """True if the candidate without these changes loses its outcome; None: unknown."""
        sides: tuple[Side, ...] = ("candidate", "base") if self.one_space else ("candidate",)
        remainder = self.all - self.with_dependents(subset)
        is_candidate = self._is_candidate(remainder, sides)
        result = None if self.one_space else self.result(remainder, "candidate")
        if is_candidate is False and result is not None and self._is_assumed(subset, result):
            return None
        return None if is_candidate is None else not is_candidate

    def _is_assumed(self, subset: Atoms, result: ProbeResult) -> bool:
        """Return whether an effect of these changes is only assumed, although other code may have had it."""
        return result.derived and not subset.isdisjoint(self.traceless)

    def restores_base(self, subset: Atoms) -> bool:
        """False if the candidate without these changes has an outcome of neither recording."""
        remainder = self.all - self.with_dependents(subset)
        results = [
            self.result(remainder, side) for side in (("candidate", "base") if self.one_space else ("candidate",))
        ]
        settled_results = [result for result in results if result is not None and result.is_settled]
        return not settled_results or settled_results[0].outcome != ProbeOutcome.OTHER

    def with_required(self, subset: Atoms) -> Atoms:
        """The atoms and all that they require."""
        by_id = {atom.id: atom for atom in self.atoms}
        closure, queue = set(subset), list(subset)
        while queue:
            new = (by_id[queue.pop()].requires & by_id.keys()) - closure
            closure |= new
            queue += new
        return frozenset(closure)

    def with_dependents(self, subset: Atoms) -> Atoms:
        """The atoms and all that require them."""
        closure = set(subset)
        while new := {atom.id for atom in self.atoms if atom.id not in closure and atom.requires & closure}:
            closure |= new
        return frozenset(closure)

    def valid(self, subset: Atoms) -> bool:
        return self.with_required(subset) == subset

    @property
    def is_contradicted(self) -> bool:
        """True if all changes do not turn one recording into the other, so an untracked change exists.

        A replay that follows the candidate may keep answers that only the candidate recorded: without any change, it
        need not become the base. An agent does.
        """
        if not self.one_space:
            return False
        ends = [(self.result(self.all, "base"), ProbeOutcome.CANDIDATE)]
        if self.runs_agent:
            ends.append((self.result(NO_ATOMS, "candidate"), ProbeOutcome.BASE))
        return any(result is not None and result.is_settled and result.outcome != end for result, end in ends)

    def smallest(self) -> list[Atoms]:
        """The subsets known to be enough of which no member can be left out."""
        return [subset for subset in self.known_enough() if self._is_minimal(subset)]

    def known_enough(self) -> list[Atoms]:
        """The subsets known to be enough that contain no other one, the smaller ones first."""
        subsets = sorted({subset for subset in self._probed_subsets() if self.is_enough(subset)}, key=self.order)
        return [subset for subset in subsets if not any(smaller < subset for smaller in subsets)]

    def _is_minimal(self, subset: Atoms) -> bool:
        smaller = (subset - self.with_dependents(frozenset({atom})) for atom in subset)
        return all(self.is_enough(less) is False for less in smaller)

    def order(self, subset: Atoms) -> tuple[int, list[int]]:
        """Sort key: smaller subsets first, then the prior."""
        return len(subset), sorted(place for place, atom in enumerate(self.atoms) if atom.id in subset)

    def _is_candidate(self, subset: Atoms, sides: Sequence[Side]) -> bool | None:
        for side in sides:
            if (is_candidate := self._is_repeated_as_candidate(subset, side)) is not None:
                return is_candidate
        for side in sides:
            result = self.result(subset, side)
            if result is not None and result.is_settled and not result.is_assumed(side):
                return result.outcome == ProbeOutcome.CANDIDATE
        return None

    def _is_repeated_as_candidate(self, subset: Atoms, side: Side) -> bool | None:
        """Return whether repeats of this subset agree with those of the candidate and not with those of the base.

        They count more than one probe, whose new answers chance may have made. None: too few, or they do not tell.
        """
        own = self.facts.repeated_outcomes(self.spec(subset, side))
        # Most subsets have no repeats, and a search asks about each of them hundreds of times.
        if len(own) < FIRST:
            return None
        base = self.facts.repeated_outcomes(self.spec(NO_ATOMS, "base"))
        candidate = self.facts.repeated_outcomes(self.spec(self.all, "candidate"))
        if min(len(base), len(candidate)) < FIRST:
            return None
        like_base, like_candidate = (exact_p(own, outcomes) >= ALPHA for outcomes in (base, candidate))
        return None if like_base == like_candidate else like_candidate

    def _probed_subsets(self) -> Iterator[Atoms]:
        """The subsets of this space for which there is a probe or a recording."""
        for spec in (*self.facts.recordings, *self.facts.probes):
            if spec.clamp is None and not spec.repeat and (spec.side == "base" or self.one_space):
                context = self.context[spec.side]
                own = self._own_atoms(spec.atoms, context)
                if context <= spec.atoms and own is not None:
                    yield own

    def _own_atoms(self, atoms: Atoms, context: Atoms) -> Atoms | None:
        """The atoms of a spec that belong to this space; None if it contains others."""
        rest = atoms - context
        if self.whole is not None and rest == {self.whole[1]}:
            return self.whole[0]
        return rest if rest <= self.all else None
