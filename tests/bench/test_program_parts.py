"""Parts that the benchmark's programs are made of: readers, a code interpreter, simulated models and their chance."""

from collections import Counter

import pytest

from tests.bench.attribution.mechanisms.running import request_of
from tests.bench.attribution.programs.chance import Chance, with_chance
from tests.bench.attribution.programs.families.computers import evaluate
from tests.bench.attribution.programs.field.parsing import fields, items, json_in, real
from tests.bench.attribution.programs.later.reading import day_of, decimal, find, number
from tests.bench.attribution.programs.model import Request, ToolCall, model_of
from traces.core.json_types import JSONValue


def test_chance_replaces_phrases_at_its_rate() -> None:
    def vote(request: Request) -> str:
        return "Verdict: yes"

    chance = Chance(rate=0.25, alternatives=(("yes", "no"), ("no", "yes")))
    request = request_of({}, "voter", [{"role": "system", "content": "You are the voter."}], None)
    models = [with_chance(model_of({"voter": vote}), chance, str(place)) for place in range(400)]
    answers = Counter(str(model(request, "m1")["content"]) for model in models)
    assert answers.keys() == {"Verdict: yes", "Verdict: no"}
    assert 60 < answers["Verdict: no"] < 140
    assert models[0](request, "m1") == models[0](request, "m1")


def test_json_of_any_shape_is_read() -> None:
    assert (json_in('Here: {"a": 1}.'), json_in("none"), json_in("{broken}")) == ({"a": 1}, {}, {})
    assert (fields({"a": 1}), fields([1]), items([{"a": 1}, 2]), items("x")) == ({"a": 1}, {}, [{"a": 1}], [])
    assert (real("1.5"), real(2), real("two", 3.0)) == (1.5, 2.0, 3.0)


@pytest.mark.parametrize("expression", ["1 +", "open('x')", "length ** 2", "width"])
def test_code_interpreter_rejects_other_code(expression: str) -> None:
    with pytest.raises(ValueError, match=r"not defined|syntax|unsupported"):
        evaluate(expression, {"length": 2.0})


def test_code_interpreter_computes_with_inputs() -> None:
    assert evaluate("(length + 1) * 4 / 2 - 1", {"length": 2.0}) == 5.0


def test_values_are_read_with_defaults() -> None:
    assert (find(r"(\w+)@", "anna@example.org"), find(r"(\w+)@", "none", "?")) == ("anna", "?")
    assert (number(r"([\d,]+) euros", "2,000 euros"), number(r"(\d+)", "none", 7)) == (2000, 7)
    assert (decimal(r"([\d,.]+) USD", "1,250.50 USD"), decimal(r"(\d+)", "none", 0.5)) == (1250.5, 0.5)
    assert day_of("03/01/2026").isoformat() == "2026-01-03"


def test_model_requests_several_calls_and_sees_its_temperature() -> None:
    def role(request: Request) -> str | list[ToolCall]:
        return "hot" if request.temperature > 0.5 else [("look", {"at": "a"}), ("look", {"at": "b"})]

    ask = model_of({"clerk": role})
    messages: list[JSONValue] = [{"role": "system", "content": "You are the clerk."}]
    calls = ask({"messages": messages, "parameters": {"temperature": 0}}, "m1")["tool_calls"]
    assert isinstance(calls, list)
    assert [call["id"] for call in calls if isinstance(call, dict)] == ["call_1", "call_2"]
    assert ask({"messages": messages, "parameters": {"temperature": 0.9}}, "m1")["content"] == "hot"
