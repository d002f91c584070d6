"""Data flow between steps that no recorded edge shows."""

from dataclasses import replace

from tests.support.comparing import Spec, diff_of, model, output, reply, system, tool, user
from traces.core.vocabulary import StepType


def _run(rule: str, advice: str, verdict: str) -> list[Spec]:
    """A tool with a search and a model inside; code adds words to the model's answer."""
    search = Spec(
        type=StepType.RETRIEVAL,
        name="rules",
        parent=1,
        input={"query": "lost parcels"},
        output={"documents": [{"id": "r1", "content": rule}]},
    )
    expert = replace(model([system("You know the rules."), user(rule)], reply(advice)), parent=1)
    result = f"The expert advises: {advice}"
    return [
        replace(tool("ask_expert", "", {"task": "lost parcels"}, result), parent=None),
        search,
        expert,
        replace(model([system("You decide."), user(result)], reply(verdict)), parent=None),
        replace(output(verdict), parent=None),
    ]


def test_change_inside_a_tool_call_reaches_its_result() -> None:
    base = _run(
        "Lost parcels are refunded in full within two weeks.",
        "Refund the whole price of the parcel to the customer today.",
        "Yes.",
    )
    candidate = _run(
        "Lost parcels are never refunded, whoever asks for it.",
        "Refuse to pay anything for the parcel, and close the case.",
        "No.",
    )
    report = diff_of(base, candidate)
    assert not [text for text in report.attribution.evidence if text.startswith("Ruled out")]
    assert report.attribution.primary is not None
    assert "in a document from rules" in report.attribution.primary.title
    assert report.attribution.alternatives == []
