"""Words of the command line for figures that may be unknown."""

import pytest

from cockpit.cli import output


@pytest.mark.parametrize(
    ("estimate", "most", "words"),
    [
        (None, None, "unknown"),
        (0.5, None, "about $0.5000, maximum unknown"),
        (0.5, 0.75, "about $0.5000, at most $0.7500"),
    ],
)
def test_a_price_may_be_unknown(estimate: float | None, most: float | None, words: str) -> None:
    assert output.price(estimate, most) == words


def test_unknown_tokens_are_not_zero() -> None:
    assert output.tokens({"tokens_in": 0, "tokens_out": 0}) == "–"
    assert output.tokens({"tokens_in": 12, "tokens_out": 0}) == "12"


@pytest.mark.parametrize(
    ("engine", "is_listed"), [({"engine": "agent"}, True), ({}, True), ({"engine": "follow"}, False)]
)
def test_plan_names_the_tools_that_really_run(engine: dict[str, str], is_listed: bool) -> None:
    plan = {**engine, "unintercepted_tools": [{"name": "send_email", "consent": None}], "warnings": ["It may differ."]}
    *tools, warning = output.plan_warnings(plan)
    assert ("send_email" in "".join(tools), warning) == (is_listed, "It may differ.")
