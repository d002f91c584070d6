"""What holds for every diff: a run does not differ from itself, and swapping the sides swaps the report."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffing.compare.run_side import Side
from tests.bench.attribution import transcripts
from tests.support.comparing import (
    StepSpec,
    Store,
    agent,
    assistant,
    assistant_call,
    output,
    report_of,
    side_of,
    system,
    tool,
    tool_message,
    user,
)
from tests.support.comparing import model as asked_model
from tests.support.importing_fixtures import FORMATS, runs
from tests.support.mirroring import essence, is_empty
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.signatures.ignore_rules import IgnoreRule, IgnoreRules

WORDS = ("Where is it?", "Please refund order 4711.", "Thank you, that is all.")
ANSWERS = ("It is on its way.", "Your refund of 42.00 EUR is done.", "I am sorry, I cannot do that.", "Good bye.")
TOOLS = ("get_order", "get_user", "issue_refund")
IGNORED = IgnoreRules(rules=(IgnoreRule(type="tool", pointer="/at"),), version=1)


@dataclass
class Talk:
    """A run as it is made up: every step with its parent, and the conversation so far."""

    steps: list[StepSpec] = field(default_factory=lambda: [agent()])
    history: list[JSONObject] = field(default_factory=list)
    turn: int = 1

    def add(self, step: StepSpec) -> int:
        self.steps.append(replace(step, parent=self.turn))
        return len(self.steps)

    def hear(self, text: str) -> None:
        self.turn = 1
        self.turn = self.add(StepSpec(type=StepType.TURN, name=text, input={"messages": [user(text)]}))
        self.history.append(user(text))

    def ask(self, name: str, message: JSONObject) -> None:
        self.add(asked_model(list(self.history), message, model=name))
        self.history.append(message)

    def call(self, number: int, name: str, id: int, at: int, *, fails: bool = False) -> int:
        result: JSONObject = {"error": "try again"} if fails else {"of": id}
        status = "error" if fails else "ok"
        self.history.append(tool_message(f"c{number}", result))
        return self.add(tool(name, f"c{number}", {"id": id, "at": at}, result, status=status))


@st.composite
def talks(draw: st.DrawFn) -> list[StepSpec]:
    """Turns with calls side by side, tries again after a failure, retrievals, prompts and agents inside of calls."""
    talk, name = Talk(), draw(st.sampled_from(("m1", "m1", "m2")))
    rules = draw(st.sampled_from(("You are the desk of a shop.", "You are the desk of a shop. Be brief.")))
    talk.history = [system(rules)]
    if draw(st.booleans()):  # as a step of its own made it
        given: JSONObject = {"template": "{{rules}}", "variables": {"rules": rules}}
        talk.add(StepSpec(type=StepType.PROMPT, name="rules", input=given, output={"text": rules}))
    for text in draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)):
        talk.hear(text)
        for kind in draw(st.lists(st.sampled_from(("calls", "again", "retrieval", "prompt", "expert")), max_size=2)):
            _do(draw, talk, kind, name)
        talk.ask(name, assistant(draw(st.sampled_from(ANSWERS))))
    return [*talk.steps, output(str(talk.history[-1]["content"]))]


def _do(draw: st.DrawFn, talk: Talk, kind: str, name: str) -> None:
    number, id, at = len(talk.steps), draw(st.integers(1, 3)), draw(st.integers(0, 99))
    called = draw(st.sampled_from(TOOLS))
    if kind == "retrieval":
        documents: list[JSONValue] = [
            {"id": f"d{each}", "content": f"Text {each}."} for each in draw(st.permutations(range(3)))
        ]
        talk.add(
            StepSpec(type=StepType.RETRIEVAL, name="search", input={"query": f"q{id}"}, output={"documents": documents})
        )
    elif kind == "prompt":
        given: JSONObject = {"template": "Hello {{n}}", "variables": {"n": id}}
        talk.add(StepSpec(type=StepType.PROMPT, name="greeting", input=given, output={"text": f"Hello {id}"}))
    elif kind == "calls":
        ids = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        talk.ask(name, assistant_call(f"c{number}", called, id=id))
        for each, order in enumerate(ids):
            talk.call(number + each, called, order, at)
    elif kind == "again":
        talk.ask(name, assistant_call(f"c{number}", called, id=id))
        talk.call(number, called, id, at, fails=True)
        talk.ask(name, assistant_call(f"c{number}b", called, id=id))
        talk.call(number, called, id, at)
    else:
        talk.ask(name, assistant_call(f"c{number}", "ask_expert", id=id))
        outer = talk.turn
        talk.turn = talk.call(number, "ask_expert", id, at)
        talk.turn = talk.add(StepSpec(type=StepType.AGENT, name="expert"))
        talk.add(asked_model([user(f"Look at {id}")], assistant(draw(st.sampled_from(ANSWERS))), model=name))
        talk.turn = outer


def ignoring(side: Side, run: Sequence[StepSpec]) -> Side:
    """A side as it is read under an app's ignore list."""
    steps = [
        replace(
            step,
            signature=IGNORED.signature(
                type=StepType(step.type),
                name=step.name,
                input=given.input,
                tool_name=step.tool_name,
            )
            or step.signature,
        )
        for step, given in zip(side.steps, run, strict=True)
    ]
    return replace(side, steps=steps, ignoring=IGNORED)


def at_another_time(run: Sequence[StepSpec], by: int) -> list[StepSpec]:
    """The same work, whose tools were told another time."""
    return [
        replace(step, input={**step.input, "at": step.input["at"] + by})  # type: ignore[operator]  # a number
        if isinstance(step.input, dict) and "at" in step.input
        else step
        for step in run
    ]


def both(base: Sequence[StepSpec], candidate: Sequence[StepSpec], store: Store, *, forked: bool) -> tuple[Side, Side]:
    left = side_of(base, store)
    right = side_of(candidate, store, source_run=left.run.id if forked else None)
    if forked:
        alike = zip(right.steps, left.steps, strict=False)
        steps = [replace(mine, origin=of.id) if mine.type == of.type else mine for mine, of in alike]
        right = replace(right, steps=[*steps, *right.steps[len(steps) :]])
    return left, right


@given(base=talks(), candidate=talks(), forked=st.booleans())
@settings(max_examples=30, deadline=None)
def test_swapping_the_sides_swaps_the_report(base: list[StepSpec], candidate: list[StepSpec], *, forked: bool) -> None:
    store = Store()
    left, right = both(base, candidate, store, forked=forked)
    assert essence(report_of(left, right, store)) == essence(report_of(right, left, store), swapped=True)


@given(talks())
@settings(max_examples=15, deadline=None)
def test_a_run_does_not_differ_from_itself(run: list[StepSpec]) -> None:
    store = Store()
    side = side_of(run, store)
    again = [replace(step, id=new_id(), origin=new_id()) for step in side.steps]
    assert is_empty(report_of(side, side, store))
    assert is_empty(report_of(side, replace(side, steps=again), store))


@given(talks(), talks(), st.integers(1, 9))
@settings(max_examples=15, deadline=None)
def test_what_an_ignore_list_leaves_out_is_no_difference(
    base: list[StepSpec], candidate: list[StepSpec], by: int
) -> None:
    store = Store()
    later = at_another_time(base, by)
    left, same = ignoring(side_of(base, store), base), ignoring(side_of(later, store), later)
    right = ignoring(side_of(candidate, store), candidate)
    assert is_empty(report_of(left, same, store))
    assert essence(report_of(left, right, store)) == essence(report_of(right, left, store), swapped=True)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_recordings_of_every_format_do_not_differ_from_themselves_and_mirror(name: str) -> None:
    store = Store()
    sides = [transcripts.side(run, store, links=True) for run in runs(name)][:4]
    for side in sides:
        assert is_empty(report_of(side, side, store))
    for left, right in pairwise(sides):
        assert essence(report_of(left, right, store)) == essence(report_of(right, left, store), swapped=True)


def test_missing_inputs_of_both_runs_are_named_alike() -> None:
    store = Store()
    base, candidate = (
        side_of([StepSpec(type=StepType.TOOL, name="get_order", input={"id": id}, output=str(id))], store)
        for id in (1, 2)
    )
    lost = [side.steps[0].input_ref for side in (base, candidate)]
    for ref in lost:
        del store.values[ref]
    report = report_of(base, candidate, store)
    [gap] = report.sections.tool.unavailable
    assert all(ref in gap.reason for ref in lost)
    assert essence(report) == essence(report_of(candidate, base, store), swapped=True)
