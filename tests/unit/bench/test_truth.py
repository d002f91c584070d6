"""Labels of forks against true runs of the changed programs: a few programs, and what counts as wrong."""

from dataclasses import replace

from tests.bench.truth.judging import CHOICE, MEMORY, REPETITION, Truth, first_wrong
from tests.bench.truth.measuring import measure
from tests.bench.truth.programs import Program, random_program
from tests.bench.truth.runtime import Changes
from tests.bench.truth.statements import Statement, ask, loop, remember
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import scalars

ANSWER: JSONObject = {"output": {"message": {"role": "assistant", "content": "It is another order."}}}


def test_no_step_is_exact_that_a_true_run_shows_otherwise() -> None:
    results = measure(36, seed=2)
    assert results.programs > 30
    assert results.is_right, results.findings
    assert results.exact["replayed"] > 0.15 * results.equal["replayed"]


def test_same_seed_builds_the_same_program() -> None:
    program = random_program("1.1")
    assert program.run({}).steps == random_program("1.1").run({}).steps


def test_call_that_the_true_run_makes_otherwise_is_wrong() -> None:
    truth = _truth((ask, ask), {"0.ask:model#1": ANSWER})
    finding = first_wrong(truth, ["1.ask:model#1"])
    assert finding is not None
    assert (finding.kind, finding.is_named) == ("ask:model: call differs", False)


def test_call_that_the_true_run_does_not_make_is_not_wrong() -> None:
    truth = _truth((loop,), {"0.loop:model#1": ANSWER})
    left_out = [key for key in truth.recorded if key not in truth.true]
    assert "0.loop:model#2" in left_out
    assert first_wrong(truth, left_out) is None


def test_documented_kinds_are_named() -> None:
    truth = _truth((ask, ask), {"0.ask:model#1": ANSWER})
    assert _kind(replace(truth, choice=1), "1.ask:model#1") == CHOICE
    earlier = {"first": replace(truth.recorded["1.ask:model#1"], key="first"), **truth.recorded}
    assert _kind(replace(truth, recorded=earlier), "1.ask:model#1").startswith(REPETITION)
    quotes: list[JSONValue] = [f"As I wrote: {text} Thanks." for _, text in scalars(earlier["first"].input)]
    earlier["first"] = replace(earlier["first"], input=quotes)
    assert _kind(replace(truth, recorded=earlier), "1.ask:model#1").startswith(REPETITION)
    key = as_object(_truth((remember,), {}).recorded["0.remember:read_note#1"].input)
    note: JSONObject = {"arguments": {**key, "text": "It is lost."}}
    assert _kind(_truth((remember,), {"0.remember:save_note#1": note}), "0.remember:read_note#1") == MEMORY


def _kind(truth: Truth, key: str) -> str:
    finding = first_wrong(truth, [key])
    assert finding is not None
    assert finding.is_named
    return finding.kind


def _truth(statements: tuple[Statement, ...], changes: Changes) -> Truth:
    program = Program("a", statements, ("Where is my order A-1042?",), remembers=False)
    return Truth.of(program.run({}), program.run(changes))
