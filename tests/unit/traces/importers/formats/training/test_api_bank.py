"""Dialogues of API-Bank."""

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType

CALL = {"api_name": "find", "input": {"title": "Dune"}}
TURNS = [
    {"role": "User", "text": "Any Dune?"},
    {
        "role": "API",
        "api_name": "find",
        "param_dict": {"title": "Dune"},
        "result": {**CALL, "output": 3, "exception": None},
    },
    {"role": "API", "api_name": "open", "param_dict": {}, "result": {"output": None, "exception": "no till"}},
    {"role": "AI", "text": "Three."},
]


@pytest.mark.parametrize("data", [orjson.dumps(TURNS), fixtures.json_lines(TURNS)], ids=["list", "lines"])
def test_turns_of_calls_are_answers_with_results(data: bytes) -> None:
    ((run,), problems) = fixtures.detect_and_read("api-bank", data)
    answered, failed = fixtures.steps(run, StepType.TOOL)
    assert (answered.tool_name, answered.input, answered.output, failed.error) == (
        "find",
        {"title": "Dune"},
        "3",
        "no till",
    )
    assert (run.steps[-1].output, len(fixtures.steps(run, StepType.MODEL)), problems) == ({"text": "Three."}, 3, [])
