"""Prompts from changed templates."""

from replay.resolution.prompt_templates import render
from traces.core.json_types import JSONObject

RECORDED: JSONObject = {"template": "Hello {name}", "variables": {"name": "Ada"}}
TEXT: JSONObject = {"text": "Hello Ada"}


def test_template_is_filled_as_recorded() -> None:
    current: JSONObject = {"template": "Dear {name}, {code}", "variables": {"name": "Eve"}}
    assert render(RECORDED, TEXT, current) == {"text": "Dear Eve, {code}"}


def test_repeated_variable_is_bounded() -> None:
    current: JSONObject = {"template": "{name}" * 30_000, "variables": {"name": "x" * 100_000}}
    assert render(RECORDED, TEXT, current) is None


def test_recorded_template_is_bounded() -> None:
    recorded: JSONObject = {"template": "{name}" * 300_000, "variables": {"name": "x" * 1_000_000}}
    assert render(recorded, TEXT, RECORDED) is None
