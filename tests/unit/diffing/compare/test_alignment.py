"""The aligned steps are the ones that a person would pair."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffing.compare.alignment import Match, align
from diffing.compare.run_side import SideStep
from tests.bench.attribution import editing, transcripts
from tests.support.comparing import StepSpec, Store, assistant, assistant_call, model, side_of, tool, user
from traces.core.ids import new_id
from traces.core.vocabulary import StepType

LOOKUPS = ("get_order", "get_user", "get_product", "list_orders", "cancel_order", "issue_refund")
TOPICS = (
    "my order number is",
    "please refund",
    "I want to exchange the keyboard for",
    "the parcel arrived broken at",
    "can you change the address to",
    "thank you, that is all about",
    "which colours are there of",
    "cancel the second",
)


def steps_of(given: Sequence[StepSpec]) -> Sequence[SideStep]:
    return side_of(given, Store()).steps


def pairs_of(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> dict[int, int]:
    """Sequence numbers of the candidate by those of the base."""
    return {base[m.base].sequence_no: candidate[m.candidate].sequence_no for m in align(base, candidate)}


def call(name: str, **arguments: int | str) -> StepSpec:
    return tool(name, "c1", dict(arguments), {"of": dict[str, int | str](arguments)})  # type: ignore[dict-item]  # numbers and texts are JSON


def lookups(*numbers: int) -> list[StepSpec]:
    return [StepSpec(type=StepType.AGENT, name="agent"), *(call("get_order", id=number) for number in numbers)]


def test_a_greeting_goes_with_the_greeting_and_the_answer_with_the_answer() -> None:
    def chat(greeting: str, answer: str) -> list[StepSpec]:
        hello, order = [user("Hi!")], [user("Hi!"), assistant(greeting), user("Where is order 7?")]
        return [
            StepSpec(type=StepType.AGENT, name="agent"),
            StepSpec(type=StepType.TURN, name="turn", parent=1, input={"messages": [hello[0]]}),
            replace(model(hello, assistant(greeting)), parent=2),
            StepSpec(type=StepType.TURN, name="turn", parent=1, input={"messages": [order[-1]]}),
            replace(model(order, assistant(answer)), parent=4),
        ]

    base = chat("Hello! How can I help you today?", "Order 7 was shipped on Monday.")
    candidate = chat("Good morning, what can I do?", "It left the warehouse on Monday, order 7.")
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}


def test_the_second_of_a_repeated_call_is_a_gap() -> None:
    assert pairs_of(steps_of(lookups(1, 2, 3)), steps_of(lookups(1, 2, 2, 3))) == {1: 1, 2: 2, 3: 3, 4: 5}


def test_a_call_with_other_arguments_keeps_its_place() -> None:
    assert pairs_of(steps_of(lookups(1, 2, 3)), steps_of(lookups(1, 9, 3)))[3] == 3


def test_tools_of_other_names_never_correspond() -> None:
    base = [*lookups(1), call("cancel_order", id=5)]
    candidate = [*lookups(1), call("issue_refund", id=5)]
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2}


def test_a_difference_in_order_alone_is_a_move() -> None:
    found = align(steps_of(lookups(1, 2, 3, 4)), steps_of(lookups(1, 4, 2, 3)))
    assert [(m.base, m.candidate, m.is_move) for m in found] == [
        (0, 0, False),
        (1, 1, False),
        (2, 3, False),
        (3, 4, False),
        (4, 2, True),
    ]


def test_the_same_lookup_in_another_turn_is_a_move() -> None:
    def turns(first: list[StepSpec], second: list[StepSpec]) -> list[StepSpec]:
        head = StepSpec(type=StepType.TURN, name="turn", parent=1, input={"messages": [user("Where is my order?")]})
        tail = StepSpec(type=StepType.TURN, name="turn", parent=1, input={"messages": [user("And now cancel it.")]})
        after = 3 + len(first)
        return [
            StepSpec(type=StepType.AGENT, name="agent"),
            head,
            *(replace(step, parent=2) for step in first),
            tail,
            *(replace(step, parent=after) for step in second),
        ]

    lookup = call("get_order", id=7)
    found = align(steps_of(turns([lookup], [])), steps_of(turns([], [lookup])))
    assert [(m.base, m.candidate) for m in found if m.is_move] == [(2, 3)]


def test_lineage_wins_over_likeness() -> None:
    base = steps_of(lookups(1, 2))
    candidate = steps_of(lookups(2, 1))
    derived = [replace(step, origin=base[index].origin) for index, step in enumerate(candidate)]
    assert [(m.base, m.candidate, m.found_by) for m in align(base, derived)] == [
        (0, 0, "lineage"),
        (1, 1, "lineage"),
        (2, 2, "lineage"),
    ]


def test_steps_that_a_replay_added_are_aligned_between_those_it_inherited() -> None:
    base = steps_of(lookups(1, 2, 3))
    candidate = steps_of(lookups(1, 8, 3))
    derived = [step if index == 2 else replace(step, origin=base[index].origin) for index, step in enumerate(candidate)]
    assert [(m.base, m.candidate, m.found_by) for m in align(base, derived)][2] == (2, 2, "sequence")


def test_long_stretches_of_alike_steps_are_aligned_in_order() -> None:
    base = steps_of(lookups(*[n % 5 for n in range(600)]))
    candidate = steps_of(lookups(*[n % 5 for n in range(600) if n not in {77, 300, 301}]))
    found = align(base, candidate)
    assert len(found) == len(candidate)
    assert [m.candidate for m in found] == sorted(m.candidate for m in found)


def test_a_parent_that_comes_later_or_is_missing_is_no_parent() -> None:
    broken = [replace(step, parent=99) for step in lookups(1, 2)]
    circular = [replace(step, parent=3) for step in lookups(1, 2)]
    assert len(align(steps_of(broken), steps_of(circular))) == 3


@st.composite
def runs(draw: st.DrawFn) -> Sequence[SideStep]:
    """Small trees with repeats: turns with lookups, and lookups beside them."""
    given = [StepSpec(type=StepType.AGENT, name="agent")]
    for _ in range(draw(st.integers(0, 4))):
        text = draw(st.sampled_from(TOPICS[:3]))
        given.append(StepSpec(type=StepType.TURN, name="turn", parent=1, input={"messages": [user(text)]}))
        parent = len(given)
        for number in draw(st.lists(st.integers(0, 3), max_size=4)):
            given.append(replace(call(LOOKUPS[number % 2], id=number), parent=parent))
    return steps_of(given)


def parent_of(steps: Sequence[SideStep], index: int) -> int | None:
    number = steps[index].parent_no
    return None if number is None else number - 1


@given(runs(), runs())
@settings(max_examples=150, deadline=None)
def test_the_alignment_is_a_partial_injection_that_respects_parents(
    base: Sequence[SideStep], candidate: Sequence[SideStep]
) -> None:
    found = align(base, candidate)
    assert len({m.base for m in found}) == len({m.candidate for m in found}) == len(found)
    partner = {m.base: m.candidate for m in found}
    for m in found:
        assert (base[m.base].type, base[m.base].tool_name) == (
            candidate[m.candidate].type,
            candidate[m.candidate].tool_name,
        )
        parent = parent_of(base, m.base)
        if not m.is_move:
            assert (partner[parent] if parent is not None else None) == parent_of(candidate, m.candidate)


@given(runs(), runs())
@settings(max_examples=150, deadline=None)
def test_swapping_the_sides_swaps_the_alignment(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> None:
    there = {(m.base, m.candidate, m.found_by, m.is_move) for m in align(base, candidate)}
    back = {(m.candidate, m.base, m.found_by, m.is_move) for m in align(candidate, base)}
    assert there == back


@given(runs())
@settings(max_examples=80, deadline=None)
def test_a_run_is_aligned_with_itself_step_by_step(base: Sequence[SideStep]) -> None:
    copy = [replace(step, id=new_id(), origin=new_id()) for step in base]
    assert [(m.base, m.candidate) for m in align(base, copy)] == [(n, n) for n in range(len(base))]


def f1(found: Sequence[Match], truth: dict[int, int]) -> float:
    right = sum(truth.get(m.base) == m.candidate for m in found)
    return 2 * right / (len(found) + len(truth))


def test_edits_of_whole_conversations_are_found_again() -> None:
    scores = []
    for seed in range(80):
        rng = random.Random(seed)
        messages = transcripts.generate(seed)
        script = editing.apply_edits(messages, rng.choices(list(editing.EDITS), k=rng.randint(1, 6)), rng)
        base, candidate = (
            transcripts.import_messages(messages),
            transcripts.import_messages([given for _, given in script.messages]),
        )
        found = align(transcripts.side(base).steps, transcripts.side(candidate).steps)
        scores.append(f1(found, editing.truth(base, candidate, script)))
    assert sum(scores) / len(scores) >= 0.98
    assert min(scores) >= 0.9


@pytest.mark.parametrize("count", [20_000])
def test_very_long_runs_are_aligned_without_comparing_all_with_all(count: int) -> None:
    base = steps_of([StepSpec(type=StepType.AGENT, name="agent")])
    flat = [base[0]] + [
        replace(
            base[0],
            id=new_id(),
            origin=new_id(),
            sequence_no=n + 2,
            parent_no=1,
            type=StepType.TOOL,
            tool_name=f"t{n % 7}",
            name=f"t{n % 7}",
            signature=f"s{n}",
            input_ref=f"i{n}",
            output_ref=f"o{n}",
        )
        for n in range(count)
    ]
    changed = [
        replace(step, id=new_id(), origin=new_id(), input_ref=f"{step.input_ref}x", signature=f"{step.signature}x")
        if step.sequence_no % 3 == 0
        else replace(step, id=new_id(), origin=new_id())
        for step in flat
    ]
    found = align(flat, changed)
    assert [(m.base, m.candidate) for m in found] == [(n, n) for n in range(count + 1)]


def turn(message: str, parent: int, *steps: StepSpec) -> list[StepSpec]:
    """A turn at place `parent`, with its steps under it."""
    head = StepSpec(type=StepType.TURN, name=message, parent=1, input={"messages": [user(message)]})
    return [head, *(replace(step, parent=parent) for step in steps)]


def test_the_model_that_asked_for_a_moved_call_moves_with_it() -> None:
    first, later = [user("Where is my order?")], [user("Where is my order?"), user("And now cancel it.")]
    asks = assistant_call("c1", "get_order", id=7)
    lookup = tool("get_order", "c1", {"id": 7}, {"state": "shipped"})
    base = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn(
            "Where is my order?", 2, model(first, assistant("Let me see.")), model([*first, user("x")], asks), lookup
        ),
        *turn("And now cancel it.", 6, model(later, assistant("Done."))),
    ]
    candidate = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn("Where is my order?", 2, model(first, assistant("Which one?"))),
        *turn("And now cancel it.", 4, model([*later, user("y")], asks), lookup, model(later, assistant("Cancelled."))),
    ]
    moved = [(m.base, m.candidate) for m in align(steps_of(base), steps_of(candidate)) if m.is_move]
    assert moved == [(3, 4), (4, 5)]


def test_the_first_and_the_last_answer_of_a_turn_go_together_however_they_differ() -> None:
    request = [user("Refund it.")]
    base = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn(
            "Refund it.",
            2,
            model(request, assistant("May I have your name?")),
            model(request, assistant("All of it is paid back.")),
        ),
    ]
    candidate = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn(
            "Refund it.",
            2,
            model([*request, user("x")], assistant_call("c1", "get_order", id=1)),
            tool("get_order", "c1", {"id": 1}, {"ok": True}),
            model([*request, user("y")], assistant_call("c2", "get_user", id=2)),
            tool("get_user", "c2", {"id": 2}, {"ok": True}),
            model([*request, user("z")], assistant("Your money is on its way.")),
        ),
    ]
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 3, 4: 7}


def test_what_was_said_to_a_moved_calls_answer_moves_with_it() -> None:
    request, lookup = [user("Cancel it.")], tool("get_order", "c1", {"id": 7}, {"state": "pending"})
    asks, found = assistant_call("c1", "get_order", id=7), "Order 7 is still pending, shall I cancel it?"
    base = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn("Cancel it.", 2, model(request, assistant("Which of your orders is it about?"))),
        *turn(
            "Number 7.", 4, model([*request, user("x")], asks), lookup, model([*request, user("y")], assistant(found))
        ),
    ]
    candidate = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn(
            "Cancel it.", 2, model([*request, user("z")], asks), lookup, model(request[:0], assistant(f"{found} Yes?"))
        ),
    ]
    moved = {m.base: m.candidate for m in align(steps_of(base), steps_of(candidate)) if m.is_move}
    assert moved == {4: 2, 5: 3, 6: 4}


def asking(*names: str) -> list[StepSpec]:
    """A model that asks for one tool after another."""
    steps: list[StepSpec] = []
    for number, name in enumerate(names):
        call_id = f"c{number}"
        steps.append(model([user(f"{names[:1]} {name}")], assistant_call(call_id, name, at=number)))
        steps.append(tool(name, call_id, {"at": number}, {"ok": number}))
    return [StepSpec(type=StepType.AGENT, name="agent"), *steps]


def test_a_model_goes_with_the_one_that_asked_for_the_same_tool() -> None:
    """Not with the only one at its place, where that asked for another tool and somebody else for this one."""
    found = pairs_of(
        steps_of(asking("get_user", "list_orders", "cancel_order")), steps_of(asking("list_orders", "cancel_order"))
    )
    assert found == {1: 1, 4: 2, 5: 3, 6: 4, 7: 5}


def test_models_at_one_place_that_asked_for_different_tools_correspond() -> None:
    found = pairs_of(
        steps_of(asking("get_user", "issue_refund", "notify")), steps_of(asking("get_user", "escalate", "notify"))
    )
    assert found == {1: 1, 2: 2, 3: 3, 4: 4, 6: 6, 7: 7}


def test_users_who_name_the_same_number_said_the_same_though_only_one_was_served() -> None:
    question, lookup = [user("Hi")], tool("get_user", "c1", {"id": "r_7340"}, {"name": "R."})
    asks = assistant_call("c1", "get_user", id="r_7340")
    told = "My user ID is r_7340. As for the number of the booking, I am not sure that I have it at hand right now."
    base = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn("Hi", 2, model(question, assistant("Who are you?"))),
        *turn(
            "Sure, my user ID is r_7340. I don't have the number of the booking with me right now, but I was told "
            "to cancel it here.",
            4,
            model([*question, user("x")], assistant("Then I cannot help.")),
        ),
        *turn("What a pity.", 6, model([*question, user("w")], assistant("Good bye."))),
    ]
    candidate = [
        StepSpec(type=StepType.AGENT, name="agent"),
        *turn("Hi", 2, model(question, assistant("Who are you?"))),
        *turn(
            told,
            4,
            model([*question, user("y")], asks),
            lookup,
            model([*question, user("z")], assistant("I found it.")),
        ),
        *turn("Then cancel it, please.", 8, model([*question, user("v")], assistant("It is cancelled."))),
    ]
    assert pairs_of(steps_of(base), steps_of(candidate))[4] == 4


def test_calls_of_different_models_correspond() -> None:
    def chat(name: str) -> list[StepSpec]:
        request, more = [user("Hi")], [user("Hi"), assistant("Hello."), user("Bye")]
        steps = [model(request, assistant("Hello."), model=name), model(more, assistant("Good bye."), model=name)]
        return [StepSpec(type=StepType.AGENT, name="agent"), *(replace(step, name=name) for step in steps)]

    assert pairs_of(steps_of(chat("small")), steps_of(chat("large"))) == {1: 1, 2: 2, 3: 3}


def test_runs_of_agents_by_other_names_correspond() -> None:
    base, candidate = lookups(1, 2), lookups(1, 2)
    candidate[0] = replace(candidate[0], name="the other desk")
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 3}


def test_the_final_answers_correspond_wherever_they_stand() -> None:
    base = [*lookups(1), StepSpec(type=StepType.OUTPUT, name="output", parent=1, output={"text": "Here."})]
    candidate = [*lookups(2), StepSpec(type=StepType.OUTPUT, name="answer", parent=2, output={"text": "There."})]
    assert pairs_of(steps_of(base), steps_of(candidate))[3] == 3
