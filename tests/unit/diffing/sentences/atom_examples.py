"""One example of every typed case that has a sentence about a tested change."""

from collections.abc import Iterator

from diffing.sentences.atoms import obstacles, titles
from diffing.sentences.atoms.obstacles import Gap, Obstacle
from diffing.sentences.atoms.titles import MessageOperation, OverrideFacts, OverrideKind, SelectedSteps
from traces.core.json_types import JSONValue

STEP = obstacles.step_name(3, "model", "chat")


def atom_lines() -> Iterator[str]:
    yield from map(titles.override, overrides())
    yield from part_titles()
    yield titles.setting("top_k", 1, 2)
    yield titles.request_field("tier")
    yield titles.other_settings("find_orders")
    yield from (titles.several_steps("Calling get_order at step 4 of the candidate", more) for more in (0, 1, 2))
    yield titles.made_up_answer(4, "issue_refund")
    yield titles.made_up_reason("simulation_policy_fallback")
    yield from (titles.step_location(4, "tool", more) for more in (0, 1))
    yield from (titles.locations(numbers) for numbers in ((), (4,), (4, 6, 8)))


def overrides() -> Iterator[OverrideFacts]:
    """Every kind of override, every operation on a message and every way to select steps."""
    models = SelectedSteps(type="model", name="chat", first=2, end=9)
    for kind in OverrideKind:
        yield OverrideFacts(
            kind=kind,
            steps=SelectedSteps(number=3),
            field="temperature",
            value=titles.value_text("Be kind."),
            base="Be kind.",
            candidate="Be brief.",
        )
    for operation in MessageOperation:
        yield OverrideFacts(
            kind=OverrideKind.MESSAGE, steps=models, operation=operation, index=2, value=titles.quote_text("Cancel it.")
        )
    yield OverrideFacts(kind=OverrideKind.MESSAGE, steps=models, operation=MessageOperation.DELETE)
    for field in ("system", "model", "tools", "response_format", "seed"):
        yield OverrideFacts(kind=OverrideKind.VALUE, steps=SelectedSteps(type="model"), field=field, value="m2")
    yield OverrideFacts(kind=OverrideKind.TOOLS, steps=models, value=titles.names_text(["pay", "refund"]))
    yield OverrideFacts(kind=OverrideKind.CALL, steps=models, value=titles.value_text({"amount": 42}))


def part_titles() -> Iterator[str]:
    """Every way to divide a change into parts."""
    for base, candidate in (("", "Be kind."), ("Be kind.", ""), ("Be kind.", "Be brief.")):
        yield titles.text_part(base, candidate)
        yield titles.run_input(base, candidate)
    document: JSONValue = {"id": "a", "content": "Refunds take a day."}
    items: list[tuple[list[JSONValue], list[JSONValue]]] = [
        ([], [document]),
        ([document], []),
        ([document], [{"content": "New."}]),
        ([1], [{}]),
    ]
    yield from (titles.item_part(*sides) for sides in items)
    for before, after in (([], [2]), ([1], []), ([1], [2])):
        yield titles.field_part("amount", before, after)
    yield titles.part_location(0, 2)
    yield titles.request_of_step("Is it open?")


def obstacle_lines() -> Iterator[str]:
    yield from (obstacles.obstacle(kind, step=STEP, detail="searches are its own") for kind in Obstacle)
    yield obstacles.STAND_IN


def gap_lines() -> Iterator[str]:
    ignored_fields = obstacles.dropped_fields("openai", ["seed", "top_k"])
    details = {Gap.CHANGE_IGNORED: ignored_fields, Gap.GUESS: "its tool was removed", Gap.MODEL_UNAVAILABLE: "m1"}
    yield from (obstacles.gap(kind, step=STEP, number=2, detail=details.get(kind, "cancelled")) for kind in Gap)
    yield from (obstacles.call_difference(path, "“21”", "“22”", 3) for path in ("/messages/0/content", ""))
    yield from (obstacles.unavailable_model(model, 3) for model in ("m1", ""))
    yield obstacles.guess(STEP, "A tool's answer is made up.")
