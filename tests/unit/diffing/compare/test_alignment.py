"""Alignment pairs the steps that a person would pair."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffing.compare.alignment import Match, align
from diffing.compare.run_side import SideStep
from tests.bench.attribution import editing, transcripts
from tests.support.comparing import Spec, model, pairs_of, reply, steps_of, system, tool, tool_call, user
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


def call(name: str, **arguments: int | str) -> Spec:
    return tool(name, "c1", dict(arguments), {"of": dict[str, int | str](arguments)})  # type: ignore[dict-item]  # numbers and texts are JSON


def lookups(*numbers: int) -> list[Spec]:
    return [Spec(type=StepType.AGENT, name="agent"), *(call("get_order", id=number) for number in numbers)]


def test_models_pair_by_turn() -> None:
    def chat(greeting: str, answer: str) -> list[Spec]:
        hello, order = [user("Hi!")], [user("Hi!"), reply(greeting), user("Where is order 7?")]
        return [
            Spec(type=StepType.AGENT, name="agent"),
            Spec(type=StepType.TURN, name="turn", parent=1, input={"messages": [hello[0]]}),
            replace(model(hello, reply(greeting)), parent=2),
            Spec(type=StepType.TURN, name="turn", parent=1, input={"messages": [order[-1]]}),
            replace(model(order, reply(answer)), parent=4),
        ]

    base = chat("Hello! How can I help you today?", "Order 7 was shipped on Monday.")
    candidate = chat("Good morning, what can I do?", "It left the warehouse on Monday, order 7.")
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}


def test_repeated_call_leaves_a_gap() -> None:
    assert pairs_of(steps_of(lookups(1, 2, 3)), steps_of(lookups(1, 2, 2, 3))) == {1: 1, 2: 2, 3: 3, 4: 5}


def test_call_with_other_arguments_pairs_in_place() -> None:
    assert pairs_of(steps_of(lookups(1, 2, 3)), steps_of(lookups(1, 9, 3)))[3] == 3


def test_tools_of_different_names_never_pair() -> None:
    base = [*lookups(1), call("cancel_order", id=5)]
    candidate = [*lookups(1), call("issue_refund", id=5)]
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2}


def test_wordy_model_requested_no_call() -> None:
    def routed(*models: tuple[str, str]) -> list[Spec]:
        calls = [
            replace(model([system(f"You are the {name}."), user("A broken window.")], reply(text)), name=name)
            for name, text in models
        ]
        policy = tool("get_policy", "", {"number": "K20"}, {"covers": "glass"})
        return [Spec(type=StepType.AGENT, name="agent"), *calls, policy]

    base = routed(("sorter", "First glass, certainty 66."))
    candidate = routed(("sorter", "First glass, certainty 50."), ("expert", "I decide for water."))
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 4}


def test_reordered_steps_are_moves() -> None:
    matches = align(steps_of(lookups(1, 2, 3, 4)), steps_of(lookups(1, 4, 2, 3)))
    assert [(m.base, m.candidate, m.is_move) for m in matches] == [
        (0, 0, False),
        (1, 1, False),
        (2, 3, False),
        (3, 4, False),
        (4, 2, True),
    ]


def test_call_in_another_turn_is_a_move() -> None:
    def turns(first: list[Spec], second: list[Spec]) -> list[Spec]:
        head = Spec(type=StepType.TURN, name="turn", parent=1, input={"messages": [user("Where is my order?")]})
        tail = Spec(type=StepType.TURN, name="turn", parent=1, input={"messages": [user("And now cancel it.")]})
        after = 3 + len(first)
        return [
            Spec(type=StepType.AGENT, name="agent"),
            head,
            *(replace(step, parent=2) for step in first),
            tail,
            *(replace(step, parent=after) for step in second),
        ]

    lookup = call("get_order", id=7)
    matches = align(steps_of(turns([lookup], [])), steps_of(turns([], [lookup])))
    assert [(m.base, m.candidate) for m in matches if m.is_move] == [(2, 3)]


def test_lineage_precedes_similarity() -> None:
    base = steps_of(lookups(1, 2))
    candidate = steps_of(lookups(2, 1))
    derived = [step._replace(origin=base[index].origin) for index, step in enumerate(candidate)]
    assert [(m.base, m.candidate, m.found_by) for m in align(base, derived)] == [
        (0, 0, "lineage"),
        (1, 1, "lineage"),
        (2, 2, "lineage"),
    ]


def test_added_steps_align_between_inherited_ones() -> None:
    base = steps_of(lookups(1, 2, 3))
    candidate = steps_of(lookups(1, 8, 3))
    derived = [step if index == 2 else step._replace(origin=base[index].origin) for index, step in enumerate(candidate)]
    assert [(m.base, m.candidate, m.found_by) for m in align(base, derived)][2] == (2, 2, "sequence")


def test_long_similar_stretches_align_in_order() -> None:
    base = steps_of(lookups(*[n % 5 for n in range(600)]))
    candidate = steps_of(lookups(*[n % 5 for n in range(600) if n not in {77, 300, 301}]))
    matches = align(base, candidate)
    assert len(matches) == len(candidate)
    assert [m.candidate for m in matches] == sorted(m.candidate for m in matches)


def test_invalid_parents_are_ignored() -> None:
    broken = [replace(step, parent=99) for step in lookups(1, 2)]
    circular = [replace(step, parent=3) for step in lookups(1, 2)]
    assert len(align(steps_of(broken), steps_of(circular))) == 3


@st.composite
def runs(draw: st.DrawFn) -> Sequence[SideStep]:
    """Small trees with repeated steps: turns with lookups, and lookups beside them."""
    steps = [Spec(type=StepType.AGENT, name="agent")]
    for _ in range(draw(st.integers(0, 4))):
        text = draw(st.sampled_from(TOPICS[:3]))
        steps.append(Spec(type=StepType.TURN, name="turn", parent=1, input={"messages": [user(text)]}))
        parent = len(steps)
        for number in draw(st.lists(st.integers(0, 3), max_size=4)):
            steps.append(replace(call(LOOKUPS[number % 2], id=number), parent=parent))
    return steps_of(steps)


def parent_of(steps: Sequence[SideStep], index: int) -> int | None:
    number = steps[index].parent_no
    return None if number is None else number - 1


@given(runs(), runs())
@settings(max_examples=75, deadline=None)
def test_alignment_is_injective_and_respects_parents(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> None:
    matches = align(base, candidate)
    assert len({m.base for m in matches}) == len({m.candidate for m in matches}) == len(matches)
    partner = {m.base: m.candidate for m in matches}
    for m in matches:
        assert (base[m.base].type, base[m.base].tool_name) == (
            candidate[m.candidate].type,
            candidate[m.candidate].tool_name,
        )
        parent = parent_of(base, m.base)
        if not m.is_move:
            assert (partner[parent] if parent is not None else None) == parent_of(candidate, m.candidate)


@given(runs(), runs())
@settings(max_examples=75, deadline=None)
def test_swapped_runs_swap_the_alignment(base: Sequence[SideStep], candidate: Sequence[SideStep]) -> None:
    matches = {(m.base, m.candidate, m.found_by, m.is_move) for m in align(base, candidate)}
    back = {(m.candidate, m.base, m.found_by, m.is_move) for m in align(candidate, base)}
    assert matches == back


@given(runs())
@settings(max_examples=40, deadline=None)
def test_run_aligns_with_itself(base: Sequence[SideStep]) -> None:
    copy = [step._replace(id=new_id(), origin=new_id()) for step in base]
    assert [(m.base, m.candidate) for m in align(base, copy)] == [(n, n) for n in range(len(base))]


def f1(matches: Sequence[Match], truth: dict[int, int]) -> float:
    right = sum(truth.get(m.base) == m.candidate for m in matches)
    return 2 * right / (len(matches) + len(truth))


def test_conversation_edits_are_recovered() -> None:
    scores = []
    for seed in range(80):
        rng = random.Random(seed)
        messages = transcripts.generate(seed)
        script = editing.apply_edits(messages, rng.choices(list(editing.EDITS), k=rng.randint(1, 6)), rng)
        base, candidate = (
            transcripts.import_messages(messages),
            transcripts.import_messages([given for _, given in script.messages]),
        )
        matches = align(transcripts.side(base).steps, transcripts.side(candidate).steps)
        scores.append(f1(matches, editing.truth(base, candidate, script)))
    assert sum(scores) / len(scores) >= 0.98
    assert min(scores) >= 0.9


@pytest.mark.parametrize("count", [20_000])
def test_long_runs_align_in_near_linear_time(count: int) -> None:
    base = steps_of([Spec(type=StepType.AGENT, name="agent")])
    flat = [base[0]] + [
        base[0]._replace(
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
        step._replace(id=new_id(), origin=new_id(), input_ref=f"{step.input_ref}x", signature=f"{step.signature}x")
        if step.sequence_no % 3 == 0
        else step._replace(id=new_id(), origin=new_id())
        for step in flat
    ]
    matches = align(flat, changed)
    assert [(m.base, m.candidate) for m in matches] == [(n, n) for n in range(count + 1)]


def turn(message: str, parent: int, *steps: Spec) -> list[Spec]:
    """A turn at place `parent`, with its steps."""
    head = Spec(type=StepType.TURN, name=message, parent=1, input={"messages": [user(message)]})
    return [head, *(replace(step, parent=parent) for step in steps)]


def test_requesting_model_moves_with_its_call() -> None:
    first, later = [user("Where is my order?")], [user("Where is my order?"), user("And now cancel it.")]
    asks = tool_call("c1", "get_order", id=7)
    lookup = tool("get_order", "c1", {"id": 7}, {"state": "shipped"})
    base = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn("Where is my order?", 2, model(first, reply("Let me see.")), model([*first, user("x")], asks), lookup),
        *turn("And now cancel it.", 6, model(later, reply("Done."))),
    ]
    candidate = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn("Where is my order?", 2, model(first, reply("Which one?"))),
        *turn("And now cancel it.", 4, model([*later, user("y")], asks), lookup, model(later, reply("Cancelled."))),
    ]
    moves = [(m.base, m.candidate) for m in align(steps_of(base), steps_of(candidate)) if m.is_move]
    assert moves == [(3, 4), (4, 5)]


def test_first_and_last_answers_of_a_turn_pair() -> None:
    request = [user("Refund it.")]
    base = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn(
            "Refund it.",
            2,
            model(request, reply("May I have your name?")),
            model(request, reply("All of it is paid back.")),
        ),
    ]
    candidate = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn(
            "Refund it.",
            2,
            model([*request, user("x")], tool_call("c1", "get_order", id=1)),
            tool("get_order", "c1", {"id": 1}, {"ok": True}),
            model([*request, user("y")], tool_call("c2", "get_user", id=2)),
            tool("get_user", "c2", {"id": 2}, {"ok": True}),
            model([*request, user("z")], reply("Your money is on its way.")),
        ),
    ]
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 3, 4: 7}


def test_reading_model_moves_with_its_call() -> None:
    request, lookup = [user("Cancel it.")], tool("get_order", "c1", {"id": 7}, {"state": "pending"})
    asks, matches = tool_call("c1", "get_order", id=7), "Order 7 is still pending, shall I cancel it?"
    base = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn("Cancel it.", 2, model(request, reply("Which of your orders is it about?"))),
        *turn("Number 7.", 4, model([*request, user("x")], asks), lookup, model([*request, user("y")], reply(matches))),
    ]
    candidate = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn(
            "Cancel it.", 2, model([*request, user("z")], asks), lookup, model(request[:0], reply(f"{matches} Yes?"))
        ),
    ]
    moves = {m.base: m.candidate for m in align(steps_of(base), steps_of(candidate)) if m.is_move}
    assert moves == {4: 2, 5: 3, 6: 4}


def asking(*names: str) -> list[Spec]:
    """A model that requests one tool after another."""
    steps: list[Spec] = []
    for number, name in enumerate(names):
        call_id = f"c{number}"
        steps.append(model([user(f"{names[:1]} {name}")], tool_call(call_id, name, at=number)))
        steps.append(tool(name, call_id, {"at": number}, {"ok": number}))
    return [Spec(type=StepType.AGENT, name="agent"), *steps]


def test_models_requesting_the_same_tool_pair() -> None:
    """They do not pair with the model in their place, which requested another tool."""
    matches = pairs_of(
        steps_of(asking("get_user", "list_orders", "cancel_order")), steps_of(asking("list_orders", "cancel_order"))
    )
    assert matches == {1: 1, 4: 2, 5: 3, 6: 4, 7: 5}


def test_remaining_models_in_one_place_pair() -> None:
    matches = pairs_of(
        steps_of(asking("get_user", "issue_refund", "notify")), steps_of(asking("get_user", "escalate", "notify"))
    )
    assert matches == {1: 1, 2: 2, 3: 3, 4: 4, 6: 6, 7: 7}


def test_turns_naming_the_same_id_pair() -> None:
    question, lookup = [user("Hi")], tool("get_user", "c1", {"id": "r_7340"}, {"name": "R."})
    asks = tool_call("c1", "get_user", id="r_7340")
    message = "My user ID is r_7340. As for the number of the booking, I am not sure that I have it at hand right now."
    base = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn("Hi", 2, model(question, reply("Who are you?"))),
        *turn(
            "Sure, my user ID is r_7340. I don't have the number of the booking with me right now, but I was told "
            "to cancel it here.",
            4,
            model([*question, user("x")], reply("Then I cannot help.")),
        ),
        *turn("What a pity.", 6, model([*question, user("w")], reply("Good bye."))),
    ]
    candidate = [
        Spec(type=StepType.AGENT, name="agent"),
        *turn("Hi", 2, model(question, reply("Who are you?"))),
        *turn(
            message,
            4,
            model([*question, user("y")], asks),
            lookup,
            model([*question, user("z")], reply("I found it.")),
        ),
        *turn("Then cancel it, please.", 8, model([*question, user("v")], reply("It is cancelled."))),
    ]
    assert pairs_of(steps_of(base), steps_of(candidate))[4] == 4


def test_calls_of_different_models_correspond() -> None:
    def chat(name: str) -> list[Spec]:
        request, more = [user("Hi")], [user("Hi"), reply("Hello."), user("Bye")]
        steps = [model(request, reply("Hello."), model=name), model(more, reply("Good bye."), model=name)]
        return [Spec(type=StepType.AGENT, name="agent"), *(replace(step, name=name) for step in steps)]

    assert pairs_of(steps_of(chat("small")), steps_of(chat("large"))) == {1: 1, 2: 2, 3: 3}


def test_models_of_both_runs_do_not_stand_in_for_each_other() -> None:
    """The candidate sums up one turn earlier. Its summary resembles the base's answer at that point."""

    def talk(*steps: tuple[str, str]) -> list[Spec]:
        models = [replace(model([user(text)], reply(text)), name=name) for name, text in steps]
        return [Spec(type=StepType.AGENT, name="agent"), *models]

    base = talk(("guide", "Noted, Noor is here."), ("guide", "Noted, Noor likes fish."), ("memory", "Noor, fish"))
    candidate = talk(
        ("guide", "Noted, Noor is there."), ("memory", "Noted, Noor likes meat."), ("guide", "Meat, then.")
    )
    pairs = pairs_of(steps_of(base), steps_of(candidate))
    names = [(base[left - 1].name, candidate[right - 1].name) for left, right in pairs.items()]
    assert names == [("agent", "agent"), ("guide", "guide"), ("memory", "memory")]


def test_root_agents_of_different_names_pair() -> None:
    base = lookups(1, 2)
    candidate = [replace(base[0], name="the other desk"), *base[1:]]
    assert pairs_of(steps_of(base), steps_of(candidate)) == {1: 1, 2: 2, 3: 3}


def test_final_answers_pair_anywhere() -> None:
    base = [*lookups(1), Spec(type=StepType.OUTPUT, name="output", parent=1, output={"text": "Here."})]
    candidate = [*lookups(2), Spec(type=StepType.OUTPUT, name="answer", parent=2, output={"text": "There."})]
    assert pairs_of(steps_of(base), steps_of(candidate))[3] == 3
