"""Causes whose footprint lies where it does not matter, in a message that code composed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from diffing.schemas.evidence import Findings, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Budget, Case, ProbeResult, ProbeSpec
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder import footprints, relays
from replay.proofs.ladder.facts import Facts, Space
from tests.support.ladder_truths import QUESTION
from tests.unit.replay.proofs.ladder.test_relays import DERIVED, Replays, change, result

BASE, CANDIDATE = ProbeOutcome.BASE, ProbeOutcome.CANDIDATE
ORDER, FRIDGE = ("Order: 3", "Order: 0"), ("From: west", "From: north")
TEXTS = "\n".join((ORDER[0], FRIDGE[0])), "\n".join((ORDER[1], FRIDGE[1]))
MESSAGE: Final = replace(change("note", TEXTS, why_not="code may derive it", is_relay=True), shown_at=frozenset({5}))


class Ward(Replays):
    """Replays that take over the other run's message once they have its result; its lines have these outcomes."""

    def __init__(self, lines: Mapping[str, ProbeOutcome]) -> None:
        super().__init__({}, ORDER, FRIDGE)
        self.line_outcomes = lines

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        outcomes = [self.line_outcomes[name] for name in spec.atoms if name in self.line_outcomes]
        if outcomes:
            return ProbeResult(outcome=outcomes[0])
        return DERIVED if "own" in spec.atoms else replace(DERIVED, outcome=BASE)


def prove_ward(own: Atom, *, order: ProbeOutcome, fridge: ProbeOutcome) -> Findings:
    lab = Ward({"note": CANDIDATE, "note/0": order, "note/1": fridge})
    return prove(Case(question=QUESTION, atoms=[MESSAGE, own]), lab, Budget())


@pytest.mark.parametrize(("order", "fridge"), [(CANDIDATE, BASE), (CANDIDATE, CANDIDATE), (BASE, CANDIDATE)])
def test_change_that_recurs_where_it_does_not_matter_is_no_cause(order: ProbeOutcome, fridge: ProbeOutcome) -> None:
    own = replace(result("own", ("west", "north")), shown_at=frozenset({5}))
    proof = prove_ward(own, order=order, fridge=fridge)
    is_bypassed = (order, fridge) == (CANDIDATE, BASE)
    assert proof.primary == ([] if is_bypassed else [["own"]])
    assert (proof.atoms[0].id, proof.confidence) == (("note", "low") if is_bypassed else ("own", "medium"))


@pytest.mark.parametrize(
    "own",
    [
        # Code may compute the other line of it.
        result("own", ('{"shelf": 20}', '{"shelf": 45}')),
        # It leads to another call, whose result may have made the other line.
        replace(result("own", ("west", "north")), echoes=True),
        # An answer that it led to leaves no trace, and may decide a branch.
        result("own", ("west", "north"), ("calm", "urgent")),
        # Another model is shown it, whose answer may have made the other line.
        replace(result("own", ("west", "north")), shown_at=frozenset({2, 5})),
        # What a user wants decides branches.
        change("own", ("west", "north")),
    ],
)
def test_change_that_may_act_without_a_trace_stays_a_cause(own: Atom) -> None:
    assert prove_ward(own, order=CANDIDATE, fridge=BASE).primary == [["own"]]


@pytest.mark.parametrize("order", [CANDIDATE, BASE])
def test_most_probes_bound_those_that_hold_messages(order: ProbeOutcome) -> None:
    """A proof may hold the message, its two lines, and what a result left in it."""
    own = result("own", ("west", "north"))
    lab = Ward({"note": CANDIDATE, "note/0": order, "note/1": BASE})
    prove(Case(question=QUESTION, atoms=[MESSAGE, own]), lab, Budget())
    message_specs = [spec for spec in lab.requests if any(name.startswith("note") for name in spec.atoms)]
    space = Space(facts=Facts(), atoms=[own])
    most = footprints.most_probes(space, [MESSAGE], lab.parts) + relays.most_probes([MESSAGE], lab.parts)
    assert (most, 0 < len(message_specs) <= most) == (5, True)
