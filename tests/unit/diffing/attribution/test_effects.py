"""Steps that only pass on a change are no cause; untraced changes are not ruled out."""

from dataclasses import replace

from tests.support.comparing import Spec, agent, diff_of, model, output, reply, system, tool, user
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType

QUESTION = "How long may I keep it?"


def rendered_run(days: int, *, reason: Reason | None = None) -> list[Spec]:
    """A question answered from a document that a prompt step renders into the system prompt."""
    document = f"Unused goods can be returned within {days} days."
    prompt = f"Answer from the policies. {document}"
    answer = f"You may keep it for {days} days."
    steps = [
        agent(),
        Spec(
            type=StepType.RETRIEVAL,
            name="policies",
            parent=1,
            input={"query": QUESTION},
            output={"documents": [{"id": "returns", "content": document}]},
        ),
        Spec(
            type=StepType.PROMPT,
            name="desk.system",
            parent=1,
            input={"template": "Answer from the policies. {{policies}}", "variables": {"policies": document}},
            output={"text": prompt},
        ),
        model([system(prompt), user(QUESTION)], reply(answer)),
        output(answer),
    ]
    return [replace(step, reason=reason) if reason and step.type in _PASSED_ON else step for step in steps]


_PASSED_ON = {StepType.RETRIEVAL, StepType.PROMPT, StepType.OUTPUT}


def test_rendered_prompt_is_not_a_second_cause() -> None:
    result = diff_of(rendered_run(14), rendered_run(30, reason=Reason.OPERATOR_OVERRIDE), derived=True).attribution
    assert result.primary is not None
    assert (result.primary.category, result.confidence) == ("retrieval", "medium")
    assert result.alternatives == []
    assert not [line for line in result.evidence if "ruled out" in line]
    assert result.sentence.startswith("Changing “14” to “30” in a document from policies")


def test_template_and_request_are_one_cause() -> None:
    def run(words: str, answer: str) -> list[Spec]:
        prompt = Spec(
            type=StepType.PROMPT,
            name="desk.system",
            parent=1,
            input={"template": words, "variables": {}},
            output={"text": words},
        )
        return [agent(), prompt, model([system(words), user(QUESTION)], reply(answer)), output(answer)]

    base = run("Answer briefly, in German.", "Vierzehn Tage.")
    candidate = run("Answer briefly, in French.", "Quatorze jours.")
    candidate[1] = replace(candidate[1], reason=Reason.OPERATOR_OVERRIDE)
    result = diff_of(base, candidate, derived=True).attribution
    assert (result.verdict, result.confidence, result.alternatives) == ("cause", "medium", [])
    assert result.sentence.startswith("Changing “German” to “French” in the prompt template")


def test_answer_and_output_are_one_cause() -> None:
    base = [agent(), model([user(QUESTION)], reply("For 14 days, alas.")), output("For 14 days, alas.")]
    candidate = [agent(), model([user(QUESTION)], reply("As long as you like.")), output("As long as you like.")]
    candidate[1:] = [replace(step, reason=Reason.OPERATOR_OVERRIDE) for step in candidate[1:]]
    result = diff_of(base, candidate, derived=True).attribution
    assert (result.confidence, result.alternatives) == ("medium", [])


def search_run(query: str, model_name: str, answer: str) -> list[Spec]:
    """A recording that contains only the last model call of an agent."""
    document: JSONObject = {"title": f"All about {query}"}
    asked_with = model([user("Search it."), {"role": "user", "content": str(document["title"])}], reply(answer))
    return [agent(), tool("search", "c1", {"q": query}, document), replace(asked_with, model=model_name)]


def test_model_switch_precedes_chosen_calls() -> None:
    base = search_run("Maroon 5", "m1", "It is sent to you.")
    result = diff_of(base, search_run("maroon5", "m2", "I have sent it, as you wanted.")).attribution
    assert result.primary is not None
    assert (result.primary.category, result.confidence) == ("model", "low")
    [call] = result.alternatives
    assert call.category == "tool"
    assert "no recorded change before it explains why" in call.description


def looked_up(result: str, answer: str) -> list[Spec]:
    """A recording whose request does not contain the tool's answer."""
    return [
        agent(),
        tool("order_lookup", "c1", {"order": "A-1"}, {"state": result}),
        model([user("Where is order A-1?")], reply(answer)),
    ]


def test_untraced_tool_answer_is_suspected() -> None:
    result = diff_of(
        looked_up("on its way", "It comes on Monday."), looked_up("timed out", "I cannot reach the shop now.")
    ).attribution
    assert (result.verdict, result.confidence) == ("cause", "low")
    assert result.primary is not None
    assert result.primary.category == "tool"
    assert [cause.category for cause in result.alternatives] == ["output"]
    assert any("No recorded data flow" in line for line in result.evidence)


def test_unrelated_runs_have_no_cause() -> None:
    base = [
        agent(),
        model([user("Refund A-1.")], reply("It is refunded.")),
        tool("refund", "c1", {"id": "A-1"}, {}),
    ]
    listing = tool("bash", "c2", {"command": "ls"}, {"files": 2})
    candidate = [agent(), listing, replace(listing, input={"command": "ls /tmp"}), output("There are two files.")]
    result = diff_of([*base, output("It is refunded.")], candidate).attribution
    assert (result.verdict, result.primary, result.confidence) == ("inconclusive", None, "low")
    assert result.sentence.startswith("The two runs have nothing in common: no call of one")
    assert result.headline is not None
    assert result.headline.effect == "The two runs have no calls in common"
