"""Properties of every diff: a run equals itself, and swapping the runs swaps the report."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffing.compare.run_side import Side
from tests.bench.attribution import transcripts
from tests.support.comparing import (
    Spec,
    Store,
    agent,
    output,
    reply,
    report_of,
    side_of,
    system,
    tool,
    tool_call,
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
IGNORE_RULES = IgnoreRules(rules=(IgnoreRule(type="tool", pointer="/at"),), version=1)


@dataclass
class Talk:
    """A generated run: steps with their parents, and the conversation so far."""

    steps: list[Spec] = field(default_factory=lambda: [agent()])
    history: list[JSONObject] = field(default_factory=list)
    turn: int = 1

    def add(self, step: Spec) -> int:
        self.steps.append(replace(step, parent=self.turn))
        return len(self.steps)

    def hear(self, text: str) -> None:
        self.turn = 1
        self.turn = self.add(Spec(type=StepType.TURN, name=text, input={"messages": [user(text)]}))
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
def talks(draw: st.DrawFn) -> list[Spec]:
    """Turns with parallel calls, retries after failures, retrievals, prompts and agents inside calls."""
    talk, name = Talk(), draw(st.sampled_from(("m1", "m1", "m2")))
    rules = draw(st.sampled_from(("You are the desk of a shop.", "You are the desk of a shop. Be brief.")))
    talk.history = [system(rules)]
    if draw(st.booleans()):  # as if a separate step had made it
        variables: JSONObject = {"template": "{{rules}}", "variables": {"rules": rules}}
        talk.add(Spec(type=StepType.PROMPT, name="rules", input=variables, output={"text": rules}))
    for text in draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)):
        talk.hear(text)
        for kind in draw(st.lists(st.sampled_from(("calls", "again", "retrieval", "prompt", "expert")), max_size=2)):
            _do(draw, talk, kind, name)
        talk.ask(name, reply(draw(st.sampled_from(ANSWERS))))
    return [*talk.steps, output(str(talk.history[-1]["content"]))]


def _do(draw: st.DrawFn, talk: Talk, kind: str, name: str) -> None:
    number, id, at = len(talk.steps), draw(st.integers(1, 3)), draw(st.integers(0, 99))
    tool_name = draw(st.sampled_from(TOOLS))
    if kind == "retrieval":
        documents: list[JSONValue] = [
            {"id": f"d{item}", "content": f"Text {item}."} for item in draw(st.permutations(range(3)))
        ]
        talk.add(
            Spec(type=StepType.RETRIEVAL, name="search", input={"query": f"q{id}"}, output={"documents": documents})
        )
    elif kind == "prompt":
        variables: JSONObject = {"template": "Hello {{n}}", "variables": {"n": id}}
        talk.add(Spec(type=StepType.PROMPT, name="greeting", input=variables, output={"text": f"Hello {id}"}))
    elif kind == "calls":
        ids = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        talk.ask(name, tool_call(f"c{number}", tool_name, id=id))
        for item, order in enumerate(ids):
            talk.call(number + item, tool_name, order, at)
    elif kind == "again":
        talk.ask(name, tool_call(f"c{number}", tool_name, id=id))
        talk.call(number, tool_name, id, at, fails=True)
        talk.ask(name, tool_call(f"c{number}b", tool_name, id=id))
        talk.call(number, tool_name, id, at)
    else:
        talk.ask(name, tool_call(f"c{number}", "ask_expert", id=id))
        outer = talk.turn
        talk.turn = talk.call(number, "ask_expert", id, at)
        talk.turn = talk.add(Spec(type=StepType.AGENT, name="expert"))
        talk.add(asked_model([user(f"Look at {id}")], reply(draw(st.sampled_from(ANSWERS))), model=name))
        talk.turn = outer


def ignoring(side: Side, run: Sequence[Spec]) -> Side:
    """A side with signatures under an app's ignore list."""
    steps = [
        step._replace(
            signature=IGNORE_RULES.signature(
                type=StepType(step.type),
                name=step.name,
                input=spec.input,
                tool_name=step.tool_name,
            )
            or step.signature,
        )
        for step, spec in zip(side.steps, run, strict=True)
    ]
    return replace(side, steps=steps, ignoring=IGNORE_RULES)


def at_another_time(run: Sequence[Spec], delay: int) -> list[Spec]:
    """The same run with another time in the tools' arguments."""
    return [
        replace(step, input={**step.input, "at": step.input["at"] + delay})  # type: ignore[operator]  # a number
        if isinstance(step.input, dict) and "at" in step.input
        else step
        for step in run
    ]


def both_sides(base: Sequence[Spec], candidate: Sequence[Spec], store: Store, *, is_fork: bool) -> tuple[Side, Side]:
    left = side_of(base, store)
    right = side_of(candidate, store, source_run=left.run.id if is_fork else None)
    if is_fork:
        alike = zip(right.steps, left.steps, strict=False)
        steps = [mine._replace(origin=source.id) if mine.type == source.type else mine for mine, source in alike]
        right = replace(right, steps=[*steps, *right.steps[len(steps) :]])
    return left, right


@given(base=talks(), candidate=talks(), is_fork=st.booleans())
@settings(max_examples=30, deadline=None)
def test_swapped_runs_swap_the_report(base: list[Spec], candidate: list[Spec], *, is_fork: bool) -> None:
    store = Store()
    left, right = both_sides(base, candidate, store, is_fork=is_fork)
    assert essence(report_of(left, right, store)) == essence(report_of(right, left, store), is_swapped=True)


@given(talks())
@settings(max_examples=15, deadline=None)
def test_run_equals_itself(run: list[Spec]) -> None:
    store = Store()
    side = side_of(run, store)
    copies = [step._replace(id=new_id(), origin=new_id()) for step in side.steps]
    assert is_empty(report_of(side, side, store))
    assert is_empty(report_of(side, replace(side, steps=copies), store))


@given(talks(), talks(), st.integers(1, 9))
@settings(max_examples=15, deadline=None)
def test_ignored_fields_are_no_difference(base: list[Spec], candidate: list[Spec], delay: int) -> None:
    store = Store()
    later = at_another_time(base, delay)
    left, same = ignoring(side_of(base, store), base), ignoring(side_of(later, store), later)
    right = ignoring(side_of(candidate, store), candidate)
    assert is_empty(report_of(left, same, store))
    assert essence(report_of(left, right, store)) == essence(report_of(right, left, store), is_swapped=True)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_equals_itself_and_mirrors(name: str) -> None:
    store = Store()
    sides = [transcripts.side(run, store, links=True) for run in runs(name)][:4]
    for side in sides:
        assert is_empty(report_of(side, side, store))
    for left, right in pairwise(sides):
        assert essence(report_of(left, right, store)) == essence(report_of(right, left, store), is_swapped=True)


def test_missing_inputs_mirror() -> None:
    store = Store()
    base, candidate = (
        side_of([Spec(type=StepType.TOOL, name="get_order", input={"id": id}, output=str(id))], store) for id in (1, 2)
    )
    without_inputs = [side.steps[0].input_ref for side in (base, candidate)]
    for ref in without_inputs:
        del store.values[ref]
    report = report_of(base, candidate, store)
    [gap] = report.sections.tool.unavailable
    assert all(ref in gap.reason for ref in without_inputs)
    assert essence(report) == essence(report_of(candidate, base, store), is_swapped=True)
