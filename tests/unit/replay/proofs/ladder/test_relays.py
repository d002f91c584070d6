"""The order of changes while nothing is decided: own changes, what code composed, what replays refuted, chance."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Literal
from uuid import UUID

import pytest

from diffing.schemas.evidence import Findings, ProbeOutcome
from diffing.schemas.terms import StepRef
from replay.proofs.core.types import Allowance, Atom, Atoms, Budget, Case, PathStep, ProbeResult, ProbeSpec, Side, Stray
from replay.proofs.evidence.findings import prove
from replay.proofs.ladder.facts import Facts, ProbeRequest, Space
from tests.support.ladder_truths import QUESTION
from traces.core.vocabulary import Label, StepStatus, StepType

BASE, CANDIDATE = ProbeOutcome.BASE, ProbeOutcome.CANDIDATE
STEP: Final = UUID(int=1)
UNKNOWN = ProbeResult(outcome=ProbeOutcome.NEEDS_LIVE, missing="no recording shows what the code makes of it")


class Replays:
    """A prober with a few known outcomes, by side and changes."""

    def __init__(self, outcomes: Mapping[tuple[str, str], ProbeOutcome], *lines: tuple[str, str]) -> None:
        self.outcomes, self.lines = outcomes, lines
        self.requests: list[ProbeSpec] = []

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        outcome = self.outcomes.get((spec.side, " ".join(sorted(spec.atoms))))
        return UNKNOWN if outcome is None else ProbeResult(outcome=outcome)

    def parts(self, atom: Atom) -> list[Atom]:
        return [
            Atom(id=f"{atom.id}/{index}", parent=atom.id, category="upstream", title="", is_relay=True, texts=(texts,))
            for index, texts in enumerate(self.lines if atom.is_relay else ())
        ]

    def path_steps(self, cause: Atoms) -> list[PathStep]:
        return []


def change(id: str, *texts: tuple[str, str], why_not: str = "", is_relay: bool = False) -> Atom:
    return Atom(id=id, category="upstream", title=id, texts=texts, why_not=why_not, is_relay=is_relay)


CHANCE = change("sample", why_not="nothing was changed here")


def prove_changes(lab: Replays) -> Findings:
    relays = [change(f"relay-{number}", why_not="code may derive it", is_relay=True) for number in (1, 2)]
    return prove(Case(question=QUESTION, atoms=[CHANCE, *relays, change("own"), change("other")]), lab, Budget())


def test_what_code_composed_comes_before_refuted_changes_and_chance() -> None:
    outcomes = {("base", "other"): BASE, ("candidate", "own"): CANDIDATE}
    lab = Replays({**outcomes, ("base", "relay-1"): BASE, ("base", "relay-2"): CANDIDATE})
    proof = prove_changes(lab)
    assert (proof.verdict, proof.confidence, proof.primary) == ("inconclusive", "low", [])
    assert [atom.id for atom in proof.atoms] == ["own", "relay-2", "relay-1", "other", "sample"]


def test_what_code_composed_is_left_alone_once_a_change_is_found() -> None:
    lab = Replays({("base", "own"): CANDIDATE, ("candidate", "other"): BASE, ("base", "other"): BASE})
    proof = prove_changes(lab)
    assert (proof.verdict, proof.primary) == ("single", [["own"]])
    assert [atom.id for atom in proof.atoms] == ["own", "other", "sample", "relay-1", "relay-2"]
    assert not any("relay" in name for spec in lab.requests for name in spec.atoms)


def test_change_that_recurs_in_the_decisive_line_comes_first() -> None:
    """Code composed two lines. One is enough alone, and contains what the second change made."""
    beds, snow = ("beds: 0", "beds: 6"), ("snow: 20 cm", "snow: 50 cm")
    lab = Replays({("base", "note"): CANDIDATE, ("base", "note/0"): BASE, ("base", "note/1"): CANDIDATE}, beds, snow)
    note = change("note", why_not="code may derive it", is_relay=True)
    changes = [change("hut", ('{"beds": 0}', '{"beds": 6}')), change("pass", ('{"snow": 20}', '{"snow": 50}'))]
    proof = prove(Case(question=QUESTION, atoms=[note, *changes]), lab, Budget())
    assert (proof.verdict, proof.confidence, proof.primary) == ("inconclusive", "low", [])
    assert [atom.id for atom in proof.atoms] == ["pass", "hut", "note", "note/0", "note/1"]


def order(lab: Replays, *changes: Atom) -> list[str]:
    proof = prove(Case(question=QUESTION, atoms=changes), lab, Budget())
    assert (proof.verdict, proof.confidence, proof.primary) == ("inconclusive", "low", [])
    return [atom.id for atom in proof.atoms]


def at(atom: Atom, step: int) -> Atom:
    """Place a change at a step of the base."""
    ref = StepRef(
        id=STEP,
        sequence_no=step,
        type=StepType.MODEL,
        name="step",
        summary="",
        status=StepStatus.OK,
        label=Label.LIVE,
        reason="",
    )
    return replace(atom, base=ref)


def test_message_in_which_an_earlier_change_recurs_comes_after_it() -> None:
    """Code asks a model to translate what a memory does not have. The memory lost an entry, and nothing is decided."""
    entry = at(change("entry", ('{"de": "Das Dach"}', "{}")), 2)
    message = at(replace(change("message", ("1. Haus", "1. Haus\n2. Das Dach")), follows=True, rank=(0,)), 3)
    prompt = at(replace(change("prompt", ("Be kind.", "Be brief.")), rank=(1,)), 3)
    assert order(Replays({}), replace(entry, rank=(2,)), message, prompt) == ["prompt", "entry", "message"]


def test_message_without_trace_of_an_earlier_change_keeps_its_place() -> None:
    entry = at(replace(change("entry", ('{"de": "Das Dach"}', "{}")), rank=(2,)), 2)
    message = at(replace(change("message", ("1. Haus", "1. Garten")), follows=True, rank=(0,)), 3)
    assert order(Replays({}), entry, message) == ["message", "entry"]


def test_change_whose_subject_is_in_a_line_that_differs_comes_first() -> None:
    """Code wrote a line for each invoice. One line differs, and both invoices changed."""
    texts = "Matched: Roth 120\nMatched: Lang 60", "Matched: Roth 120\nOpen: Lang 30"
    note = change("note", texts, why_not="code may derive it", is_relay=True)
    roth = replace(change("roth", ("1 March", "9 March")), subject=frozenset({"roth"}))
    lang = replace(change("lang", ("62", "90")), subject=frozenset({"lang"}))
    assert order(Replays({("base", "note"): CANDIDATE}), note, roth, lang) == ["lang", "roth", "note"]


def test_step_of_one_run_comes_before_what_code_composed_later() -> None:
    note = at(change("note", why_not="code may derive it", is_relay=True), 7)
    early_note = at(change("early note", why_not="code may derive it", is_relay=True), 3)
    missing_call = at(replace(change("call", why_not="no replay removes a step"), category="structure"), 6)
    assert order(Replays({}), CHANCE, note, missing_call, early_note, change("own")) == [
        "own",
        "early note",
        "call",
        "note",
        "sample",
    ]


DERIVED: Final = ProbeResult(outcome=CANDIDATE, derived=True)


class OtherRunsCode(Replays):
    """Replays that continue as the other run did, once they have its result or its message."""

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        is_candidate = any(name in spec.atoms for name in ("room", "note"))
        return DERIVED if is_candidate else replace(DERIVED, outcome=BASE)


def result(id: str, *texts: tuple[str, str], subject: str = "") -> Atom:
    return replace(change(id, *texts), category="tool", subject=frozenset({subject} - {""}))


NOTE: Final = at(
    change("note", ("Lang: hall\nSum: 20", "Lang: hall\nSum: 45"), why_not="code may derive it", is_relay=True), 5
)


@pytest.mark.parametrize(
    ("room", "other_code", "primary"),
    [
        (result("room", ("hall", "loft")), True, []),
        (result("room", ("hall", "loft")), False, []),
        (result("room", ('{"rate": 2}', '{"rate": 3}')), False, [["room"]]),
        (result("room", ('{"names": ["Ana"]}', '{"names": ["Bo"]}')), False, [["room"]]),
        (result("room", ('{"rate": "2.5"}', '{"rate": "3"}')), False, [["room"]]),
        (result("room", ('{"day": "03/01/2026"}', '{"day": "28/12/2025"}')), False, [["room"]]),
        (result("room", ('{"log": "2 ok; 1 failed"}', '{"log": "3 ok"}')), False, [["room"]]),
        (replace(result("room", ("hall", "loft")), shown_at=frozenset({3})), False, [["room"]]),
        (result("room", ("sum: 20", "sum: 45")), True, [["room"]]),
        (result("room", ('{"rate": 2}', '{"rate": 3}'), subject="sum"), True, [["room"]]),
        (result("room", ('{"rate": 2}', '{"rate": 3}'), subject="lang"), True, []),
        # The line about the sum differs in a number alone, which a text seldom changes.
        (result("room", ("hall", "loft"), subject="sum"), True, []),
    ],
)
def test_result_without_a_trace_is_no_cause_if_code_may_differ(
    room: Atom, other_code: bool, primary: list[list[str]]
) -> None:
    """A replay with the result continues as the other run did. But different code may have made that run's message."""
    case = Case(question=QUESTION, atoms=[NOTE, room, change("own")], other_code=other_code)
    proof = prove(case, OtherRunsCode({}), Budget())
    assert proof.primary == primary
    assert proof.confidence == ("medium" if primary else "low")
    assert proof.atoms[0].id == ("room" if primary else "note")
    assert any("different versions of the agent's code" in text for text in proof.assumptions) is other_code


@pytest.mark.parametrize(("before", "after", "primary"), [("20", "45", []), ("20 m", "45 seats", [["room"]])])
def test_text_may_act_on_the_words_about_its_subject(before: str, after: str, primary: list[list[str]]) -> None:
    note = at(change("note", (f"Lang: {before}", f"Lang: {after}"), why_not="code may derive it", is_relay=True), 5)
    room = result("room", ("hall", "loft"), subject="lang")
    proof = prove(Case(question=QUESTION, atoms=[note, room, change("own")]), OtherRunsCode({}), Budget())
    assert proof.primary == primary


@pytest.mark.parametrize("replay_side", [None, "candidate"])
def test_outcome_of_the_replayed_run_shows_nothing_if_assumed(replay_side: Literal["candidate"] | None) -> None:
    """A probe of the base that continued in the candidate has the candidate's outcome whatever it applied."""
    result = ProbeResult(outcome=CANDIDATE if replay_side else BASE, assumed_steps=1, replay_side=replay_side)
    facts = Facts()
    facts.add(ProbeRequest(spec=ProbeSpec(atoms=frozenset({"own"})), purpose="apply"), result)
    space = Space(facts=facts, atoms=[change("own"), change("other")])
    assert space.is_enough(frozenset({"own"})) is None


def test_change_refuted_one_way_comes_after_what_code_did() -> None:
    proof = prove_changes(Replays({("candidate", "other"): CANDIDATE, ("candidate", "own"): CANDIDATE}))
    assert [atom.id for atom in proof.atoms] == ["relay-1", "relay-2", "other", "own", "sample"]


def test_first_step_that_code_left_out_comes_before_later_messages_if_the_code_differs() -> None:
    call = at(replace(change("call"), category="structure"), 4)
    case = Case(question=QUESTION, atoms=[NOTE, call, change("own")], other_code=True)
    assert [atom.id for atom in prove(case, Replays({}), Budget()).atoms] == ["call", "own", "note"]


def test_what_only_other_code_can_have_made_comes_first() -> None:
    """The replay with the room continues as the other run did, whose code differs."""
    end = replace(change("end", why_not="no replay runs code"), category="structure", is_by_code=True)
    proof = prove(Case(question=QUESTION, atoms=[NOTE, change("room"), end]), OtherRunsCode({}), Budget())
    assert (proof.primary, proof.atoms[0].id) == ([], "end")


class MovedOutputs(Replays):
    """Replays that end where code ran on new outputs: each change makes one output that of the candidate."""

    OUTPUTS: Final = {"author": ("It arrives.", "It comes to stores."), "critic": ("8 of 10", "7 of 10")}

    def probe(self, spec: ProbeSpec, allowance: Allowance) -> ProbeResult:
        self.requests.append(spec)
        strays = [Stray(step=2, text=after, base=before, candidate=after) for before, after in self.moves(spec)]
        return replace(UNKNOWN, strays=strays)

    def moves(self, spec: ProbeSpec) -> list[tuple[str, str]]:
        return [texts for name, texts in self.OUTPUTS.items() if spec.side == "base" and name in spec.atoms]


@pytest.mark.parametrize(
    ("answers", "first"),
    [(("NEWS: it arrives", "NEWS: it comes to stores"), "author"), (("Good news.", "Bad news."), "critic")],
)
def test_change_that_moves_an_output_which_recurs_in_the_answer_comes_first(
    answers: tuple[str, str], first: str
) -> None:
    atoms = [replace(change(name), rank=(rank,)) for rank, name in enumerate(("critic", "author"))]
    values: dict[Side, dict[str, str]] = {
        "base": {"answer_exact": answers[0]},
        "candidate": {"answer_exact": answers[1]},
    }
    proof = prove(Case(question=QUESTION, atoms=atoms, values=values), MovedOutputs({}), Budget())
    assert (proof.primary, proof.atoms[0].id) == ([], first)


@pytest.mark.parametrize(
    ("texts", "first"),
    [(("Ship 40 kg.", "Ship 4 kg."), "input"), (("Ship 40 kg.", "Ship 40 kg. Please hurry."), "relay")],
)
def test_edited_input_comes_before_what_code_did(texts: tuple[str, str], first: str) -> None:
    """Only code reads it. It reads values, and no sentence more."""
    own_input = replace(change("input", texts, why_not="code reads it"), is_input=True)
    relay = change("relay", ("large", "small"), why_not="code may derive it", is_relay=True)
    proof = prove(Case(question=QUESTION, atoms=[own_input, relay]), Replays({}), Budget())
    assert next(atom.id for atom in proof.atoms if atom.parent is None) == first
