"""What only carries another step's change on is no cause; what a recording does not trace is not ruled out."""

from dataclasses import replace

from tests.support.comparing import StepSpec, agent, assistant, diff_of, model, output, system, tool, user
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Reason, StepType

QUESTION = "How long may I keep it?"


def rendered_run(days: int, *, reason: Reason | None = None) -> list[StepSpec]:
    """A question answered from a document that a prompt step renders into the system prompt."""
    document = f"Unused goods can be returned within {days} days."
    prompt = f"Answer from the policies. {document}"
    answer = f"You may keep it for {days} days."
    given = [
        agent(),
        StepSpec(
            type=StepType.RETRIEVAL,
            name="policies",
            parent=1,
            input={"query": QUESTION},
            output={"documents": [{"id": "returns", "content": document}]},
        ),
        StepSpec(
            type=StepType.PROMPT,
            name="desk.system",
            parent=1,
            input={"template": "Answer from the policies. {{policies}}", "variables": {"policies": document}},
            output={"text": prompt},
        ),
        model([system(prompt), user(QUESTION)], assistant(answer)),
        output(answer),
    ]
    return [replace(step, reason=reason) if reason and step.type in _CARRIED else step for step in given]


_CARRIED = {StepType.RETRIEVAL, StepType.PROMPT, StepType.OUTPUT}


def test_a_prompt_rendered_from_another_document_is_no_second_cause() -> None:
    found = diff_of(rendered_run(14), rendered_run(30, reason=Reason.OPERATOR_OVERRIDE), derived=True).attribution
    assert found.primary is not None
    assert (found.primary.category, found.confidence) == ("retrieval", "medium")
    assert found.alternatives == []
    assert not [line for line in found.evidence if "ruled out" in line]
    assert found.sentence.startswith("Changing “14” to “30” in a document from policies")


def test_a_changed_template_is_one_cause_with_the_request_that_it_renders_to() -> None:
    def run(words: str, answer: str) -> list[StepSpec]:
        prompt = StepSpec(
            type=StepType.PROMPT,
            name="desk.system",
            parent=1,
            input={"template": words, "variables": {}},
            output={"text": words},
        )
        return [agent(), prompt, model([system(words), user(QUESTION)], assistant(answer)), output(answer)]

    base = run("Answer briefly, in German.", "Vierzehn Tage.")
    candidate = run("Answer briefly, in French.", "Quatorze jours.")
    candidate[1] = replace(candidate[1], reason=Reason.OPERATOR_OVERRIDE)
    found = diff_of(base, candidate, derived=True).attribution
    assert (found.verdict, found.confidence, found.alternatives) == ("cause", "medium", [])
    assert found.sentence.startswith("Changing “German” to “French” in the prompt template")


def test_an_answer_that_the_output_repeats_is_one_cause() -> None:
    base = [agent(), model([user(QUESTION)], assistant("For 14 days, alas.")), output("For 14 days, alas.")]
    candidate = [agent(), model([user(QUESTION)], assistant("As long as you like.")), output("As long as you like.")]
    candidate[1:] = [replace(step, reason=Reason.OPERATOR_OVERRIDE) for step in candidate[1:]]
    found = diff_of(base, candidate, derived=True).attribution
    assert (found.confidence, found.alternatives) == ("medium", [])


def searched(query: str, model_name: str, answer: str) -> list[StepSpec]:
    """A recording of an agent of which only the last model call is there."""
    found: JSONObject = {"title": f"All about {query}"}
    asked_with = model([user("Search it."), {"role": "user", "content": str(found["title"])}], assistant(answer))
    return [agent(), tool("search", "c1", {"q": query}, found), replace(asked_with, model=model_name)]


def test_another_model_is_suspected_before_the_calls_that_it_may_have_chosen() -> None:
    base = searched("Maroon 5", "m1", "It is sent to you.")
    found = diff_of(base, searched("maroon5", "m2", "I have sent it, as you wanted.")).attribution
    assert found.primary is not None
    assert (found.primary.category, found.confidence) == ("model", "low")
    [call] = found.alternatives
    assert call.category == "tool"
    assert "no recorded change before it explains why" in call.description


def looked_up(result: str, answer: str) -> list[StepSpec]:
    """A recording whose request does not hold what the tool answered."""
    return [
        agent(),
        tool("order_lookup", "c1", {"order": "A-1"}, {"state": result}),
        model([user("Where is order A-1?")], assistant(answer)),
    ]


def test_a_tools_other_answer_is_suspected_where_a_recording_does_not_say_where_it_went() -> None:
    found = diff_of(
        looked_up("on its way", "It comes on Monday."), looked_up("timed out", "I cannot reach the shop now.")
    ).attribution
    assert (found.verdict, found.confidence) == ("cause", "low")
    assert found.primary is not None
    assert found.primary.category == "tool"
    assert [cause.category for cause in found.alternatives] == ["output"]
    assert any("No recorded data flow" in line for line in found.evidence)


def test_runs_that_have_nothing_in_common_have_no_cause() -> None:
    base = [
        agent(),
        model([user("Refund A-1.")], assistant("It is refunded.")),
        tool("refund", "c1", {"id": "A-1"}, {}),
    ]
    listing = tool("bash", "c2", {"command": "ls"}, {"files": 2})
    candidate = [agent(), listing, replace(listing, input={"command": "ls /tmp"}), output("There are two files.")]
    found = diff_of([*base, output("It is refunded.")], candidate).attribution
    assert (found.verdict, found.primary, found.confidence) == ("inconclusive", None, "low")
    assert found.sentence.startswith("The two runs have nothing in common")
