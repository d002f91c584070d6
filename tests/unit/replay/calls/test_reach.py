"""Reach of changes through content of unknown origin, and the resulting labels."""

import base64
import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.core.applied_profile import AppliedProfile, apply_profile
from replay.core.plan import Plan, PlannedStep
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.planning.plan_environment import Sources
from replay.planning.planner import plan
from tests.support.memory_replays import labels, planned_labels, replay
from tests.support.recordings import NOON
from tests.support.replay_runs import ORDERS, POLICY, Reply, ToolCall, graph_of, order_desk
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

LETTER = "Dear customer, thank you for writing to us."
LOOK = ToolCall("get_order", {"order_id": "A-1"}, ORDERS["A-1"])
SEARCH = ToolCall("search_policy", {"query": "what happens with lost parcels"}, POLICY)
ROUTES = ("billing", "tech_support", "lost in transit", "REFUND", "needs a human agent", "claims-north")


def _model(key: str, *messages: tuple[str, str], says: str, name: str = "") -> RecordedStep:
    recorded_messages: list[JSONValue] = [{"role": role, "content": text} for role, text in messages]
    return RecordedStep(
        key=key,
        type=StepType.MODEL,
        name=name or key,
        provider="p",
        model="m",
        input={"messages": recorded_messages},
        output={"message": {"role": "assistant", "content": says}},
    )


def _run(*steps: RecordedStep) -> RecordedRun:
    return RecordedRun(external_id="r", name="r", app="a", format="test", steps=steps)


def _plan(run: RecordedRun, answer: JSONValue, *, step: int = 1) -> Plan:
    """Plan of a fork in which a step has another answer."""
    graph, payloads = graph_of(run)
    entry: JSONObject = {"match": {"step": step}, "output": answer}
    profile: AppliedProfile = apply_profile(OverrideProfile.model_validate({"overrides": [entry]}), graph)
    sources = Sources(
        payload=payloads.__getitem__, cached=lambda *_: None, provider=lambda *_: None, price=lambda *_: None
    )
    return plan(graph, profile, Policy(), sources)


def _step(plan: Plan, no: int) -> PlannedStep:
    return next(step for step in plan.steps if step.sequence_no == no)


def _router(text: str, answer: str = "billing") -> RecordedRun:
    return _run(
        _model("route", ("user", "Which queue is this for?"), says=answer),
        _model("answer", ("user", text), says="We are looking into it."),
    )


def test_value_in_the_next_request_is_replaced() -> None:
    plan = _plan(_router("Answer as the BILLING desk."), "shipping")
    assert _step(plan, 2).differs == ["messages"]
    assert _step(plan, 2).because == [1]


def test_value_of_a_placeholder_is_planned_as_replayed() -> None:
    fork = replay({"match": {"step": 1}, "model": {"temperature": 1}}, run=_router("Answer as the BILLING desk."))
    assert planned_labels(fork.plan())[2] == labels(fork.execute())[2] == "simulated assumed_unaffected"


def test_unexplained_request_is_assumed_unaffected() -> None:
    step = _step(_plan(_router("Answer in the tone of the department."), "shipping"), 2)
    assert (step.label, step.reason) == ("simulated", "assumed_unaffected")
    assert "Answer in the tone" in step.note


def test_unchanged_replay_stays_exact() -> None:
    plan = _plan(_router("Answer in the tone of the department."), "billing")
    assert plan.counts.exact == 2
    assert plan.assumed == 0


def test_assumed_steps_are_counted_and_named() -> None:
    plan = _plan(_router("Answer in the tone of the department."), "shipping")
    assert plan.assumed == 1
    assert any("1 step is assumed unaffected" in warning for warning in plan.warnings)


def test_content_from_before_the_change_is_explained() -> None:
    prompt = ("system", "You are the desk of a parcel service.")
    run = _run(
        _model("route", prompt, ("user", "Which queue is this for?"), says="billing"),
        _model("again", prompt, ("user", "Which queue is this for?"), says="billing"),
    )
    assert _step(_plan(run, "shipping"), 2).label == "exact"


def test_consumers_of_assumed_steps_are_assumed() -> None:
    run = _run(
        _model("route", ("user", "Which queue is this for?"), says="billing"),
        _model(
            "draft", ("user", "Write a friendly letter to them."), says="Dear customer, thank you for writing to us."
        ),
        _model("check", ("user", LETTER), says="Fine."),
    )
    assert _step(_plan(run, "shipping"), 3).reason == "assumed_unaffected"


def test_steps_inside_an_assumed_call_are_assumed() -> None:
    """A tool with a model inside: code cut its task out of the changed answer."""
    tool = RecordedStep(
        key="ask", type=StepType.TOOL, name="ask", tool_name="ask", input={"task": "wns"}, output="It is blue."
    )
    inner = replace(_model("inner", ("user", "wns"), says="It is blue."), parent="ask")
    run = _run(_model("first", ("user", "Hi"), says="two gowns"), tool, inner)
    steps = _plan(run, "three hats").steps
    assert [step.reason for step in steps if step.sequence_no > 1] == ["assumed_unaffected"] * 2
    assert _step(_plan(run, "three hats"), 3).note == (
        "Assumed unaffected because its input rests on such an assumption: step 2"
    )


def test_same_live_answer_to_an_assumed_request_rests_on_the_assumption() -> None:
    """Step 3 gets the recorded answer again, but step 2, which is only assumed to be unaffected, is in its request."""
    run = _run(
        _model("rate", ("user", "Rate it."), says="three"),
        _model("mood", ("user", "★★★"), says="A grumpy customer wrote this."),
        _model("sum", ("user", "three"), ("user", "A grumpy customer wrote this."), says="Call the customer first."),
        _model("act", ("user", "Call the customer first."), says="Done."),
    )
    fork = replay({"match": {"step": 1}, "output": "two"}, run=run)
    labels_by_step = labels(fork.execute(lambda call: {"content": "Call the customer first."}))
    assert labels_by_step[3] == "simulated live_model_call"
    assert labels_by_step[4] == "simulated assumed_unaffected"


def test_call_that_the_new_answer_does_not_request_is_not_exact() -> None:
    """The loop is not followed, because its last request does not extend the one before."""
    question: JSONObject = {"role": "user", "content": "Where is A-1?"}
    call: JSONObject = {"id": "c1", "name": "look", "arguments": {"id": "A-1"}}
    request: JSONObject = {"role": "assistant", "content": None, "tool_calls": [call]}
    result: JSONObject = {"role": "tool", "tool_call_id": "c1", "content": "lost"}
    asks = _model("ask", says="")
    run = _run(
        replace(asks, input={"messages": [question]}, output={"message": request}),
        RecordedStep(key="look", type=StepType.TOOL, name="look", call_id="c1", input={"id": "A-1"}, output="lost"),
        replace(_model("tell", says="Lost."), input={"messages": [question, request, result]}),
        replace(_model("end", says="Sorry."), input={"messages": [result, question]}),
    )
    other: JSONObject = {"message": {"tool_calls": [{"id": "c2", "name": "search", "arguments": {"id": "A-1"}}]}}
    assert _step(_plan(run, other), 2).reason == "assumed_unaffected"
    assert _step(_plan(run, {"message": {"tool_calls": [call], "content": "Wait."}}), 2).label == "exact"


def test_consumer_of_a_step_that_no_longer_runs_is_not_exact() -> None:
    """The second call is no longer made, so code that used its result does something else."""
    run = order_desk((("Where is A-1?", (LOOK, SEARCH, Reply("Lost."))),))
    note = replace(_model("note", ("user", POLICY), says="Noted."), provider="desk", model="m1")
    fork = replay({"match": {"step": 3}, "model": {"temperature": 1}}, run=replace(run, steps=(*run.steps, note)))
    labels_by_step = labels(fork.execute(lambda call: {"content": "Lost."}))
    assert labels_by_step[5] == "unreached"
    assert labels_by_step[len(run.steps) + 1] == "simulated assumed_unaffected"


@pytest.mark.parametrize(
    ("type", "label"),
    [(StepType.PROMPT, "simulated simulation_policy_fallback"), (StepType.PLANNER, "simulated assumed_unaffected")],
)
def test_text_of_a_placeholder_is_not_the_recorded_one(type: StepType, label: str) -> None:
    """Code made a long text of the changed answer; a placeholder of a plan has no text in its place."""
    case = "The parcel of the customer was lost by the carrier in March, and nobody has told her until today. " * 2
    input: JSONObject = {"template": "Write: {case}", "variables": {"case": case.upper()}}
    text = f"Write: {case.upper()}"
    run = _run(
        _model("sum", ("user", "Sum it up."), says=case),
        RecordedStep(key="render", type=type, name="letter", input=input, output={"text": text}),
        _model("write", ("user", text), says="Dear customer."),
    )
    fork = replay({"match": {"step": 1}, "output": "It was found."}, run=run)
    assert planned_labels(fork.plan())[3] == labels(fork.execute())[3] == label


def test_what_consumes_an_answer_cached_by_meaning_is_assumed() -> None:
    """Step 2 gets its recorded result for other words; step 3 only repeats that result."""
    result = "Lost parcels are refunded in full."
    run = _run(
        _model("ask", ("user", "Write a query."), says="policy for parcels lost in transit"),
        RecordedStep(
            key="search",
            type=StepType.TOOL,
            name="search",
            tool_name="search",
            input={"query": "policy for parcels lost in transit"},
            output=result,
        ),
        _model("tell", ("user", result), says="You get a refund."),
    )
    fork = replay({"match": {"step": 1}, "output": "policy for a parcel lost in transit"}, run=run)
    labels_by_step = labels(fork.execute())
    assert labels_by_step[2] == "cached cache_hit_semantic_match"
    assert labels_by_step[3] == planned_labels(fork.plan())[3] == "simulated assumed_unaffected"


def test_agent_without_recorded_steps_is_not_exact_after_a_change() -> None:
    """An instrumentation records what a chain read and returned, but nothing inside it."""
    run = _run(
        _model("rate", ("user", "Rate it."), says="three"),
        RecordedStep(key="chain", type=StepType.AGENT, name="chain", input={"task": "three"}, output={"text": "3/5"}),
        RecordedStep(key="agent", type=StepType.AGENT, name="agent", output={"text": "Thanks."}),
        replace(_model("thank", ("user", "Rate it."), says="Thanks."), parent="agent"),
    )
    steps = _plan(run, "two").steps
    assert [step.reason for step in steps[1:]] == ["assumed_unaffected", "source_output_reused", "source_output_reused"]


def test_recorded_times_clear_parallel_steps() -> None:
    run = _router("Answer in the tone of the department.")
    first, second = run.steps
    times = {"started_at": NOON, "ended_at": NOON + timedelta(seconds=9)}
    began = {"started_at": NOON + timedelta(seconds=1), "ended_at": NOON + timedelta(seconds=5)}
    parallel = replace(run, steps=(replace(first, **times), replace(second, **began)))  # type: ignore[arg-type]
    assert _step(_plan(parallel, "shipping"), 2).label == "exact"


@pytest.mark.parametrize("text", ["★★", "Urgent: parcel A-1042", "parcel A-1042 ✓"])
def test_short_content_of_unknown_origin_is_not_exact(text: str) -> None:
    run = _run(
        _model("rate", ("user", "Rate parcel A-1042."), says="three"),
        RecordedStep(key="look", type=StepType.TOOL, name="look", input={}, output="parcel A-1042"),
        _model("answer", ("user", text), says="We are looking into it."),
    )
    assert _step(_plan(run, "two"), 3).reason == "assumed_unaffected"


def test_same_request_again_is_traced_to_its_latest_source() -> None:
    """The second review repeats the first one's request, because the second draft equals the first draft."""
    draft = "The parcel was lost by the carrier."
    run = _run(
        _model("write", ("user", "Write."), says=draft),
        _model("review", ("user", draft), says="again"),
        _model("rewrite", ("user", "Write again."), says=draft),
        _model("review again", ("user", draft), says="good"),
    )
    assert _step(_plan(run, "The parcel is on its way again.", step=3), 4).because == [3]


def test_ambiguous_source_is_unknown() -> None:
    run = _run(
        _model("one", ("user", "Which queue is this for?"), says="billing"),
        _model("two", ("user", "Which queue is this for?"), says="billing"),
        _model("three", ("user", "Queue: billing"), says="Fine."),
    )
    assert "its new value is unknown" in _step(_plan(run, "shipping"), 3).note


def test_underivable_value_is_not_exact() -> None:
    run = _router("Look at ticket TCK-20931.", answer="I opened TCK-20931 for you.")
    step = _step(_plan(run, "I cannot open tickets today."), 2)
    assert step.label == "simulated"
    assert "its new value is unknown" in step.note


_WAYS = st.sampled_from(
    [
        lambda label: f"Answer as the {label} desk.",
        lambda label: f"Answer as the {label.upper()} desk.",
        lambda label: label,
        lambda label: f"Queue={label}",
        lambda label: f"You are number {len(label)} in the team of helpers.",
        lambda label: f"You write {'kindly' if label < 'm' else 'strictly'} to customers.",
        lambda label: label[:3] + " is the short code",
        lambda label: "-".join(reversed(label.split())) + " reversed",
        lambda label: "★" * len(label),
        lambda label: str(len(label.split())),
        lambda label: hashlib.sha256(label.encode()).hexdigest()[:10],
        lambda label: base64.b64encode(label.encode()).decode(),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ROUTES), st.sampled_from(ROUTES), _WAYS)
def test_every_use_of_answer_is_not_exact(before: str, after: str, way: object) -> None:
    """Whatever code does with an answer, a changed answer leaves no request labelled exact."""
    assert callable(way)
    if before == after:
        return
    step = _step(_plan(_router(way(before), answer=before), after), 2)
    assert step.label == "simulated"


def test_model_that_code_chose_is_assumed() -> None:
    ask = ("user", "Why was I charged twice?")
    first, second = _model("classify", ask, says="simple"), _model("answer", ask, says="It was a mistake.")
    assert _step(_plan(_run(first, second), "complex"), 2).label == "exact"
    unnamed = replace(first, provider="", model="")
    assert _step(_plan(_run(unnamed, second), "complex"), 2).label == "exact"
    routed = replace(second, model="m-large")
    assert _step(_plan(_run(first, routed), "complex"), 2).reason == "assumed_unaffected"


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "tool_calls": [{"id": "x", "name": "route", "arguments": {"queue": "the northern desk"}}]},
        {"content": None, "tool_calls": [{"id": "x", "name": "route", "arguments": {"urgent": True}}]},
        {"content": None, "tool_calls": [{"id": "x", "name": "escalate", "arguments": {}}]},
        {"content": "Why was I charged twice?", "name": "northern desk"},
    ],
)
def test_calls_and_names_that_code_wrote_are_unexplained(message: JSONObject) -> None:
    ask = ("user", "Why was I charged twice?")
    first, second = _model("classify", ask, says="billing"), _model("answer", ask, says="It was a mistake.")
    messages: list[JSONValue] = [*_messages(second), {"role": "assistant", **message}]
    composed = replace(second, input={"messages": messages})
    assert _step(_plan(_run(first, composed), "shipping"), 2).label == "simulated"


@pytest.mark.parametrize(("addition", "label"), [("", "exact"), ("\nYou work for the northern desk.", "simulated")])
def test_addition_to_tool_message_is_not_its_result(addition: str, label: str) -> None:
    ask = ("user", "Why was I charged twice?")
    call: JSONObject = {"id": "c", "name": "get_order", "arguments": {}}
    request: JSONObject = {"role": "assistant", "content": None, "tool_calls": [call]}
    result: JSONObject = {"role": "tool", "tool_call_id": "c", "content": '{"total": 42}' + addition}
    first, second = _model("classify", ask, says="billing"), _model("look", ask, says="")
    look = replace(second, output={"message": request})
    tool = RecordedStep(
        key="t",
        type=StepType.TOOL,
        name="get_order",
        call_id="c",
        input={},
        output={"total": 42},
        tool_name="get_order",
    )
    third = _model("answer", ask, says="It was a mistake.")
    answer = replace(third, input={"messages": [*_messages(second), request, result]})
    assert _step(_plan(_run(first, look, tool, answer), "shipping"), 4).label == label


@pytest.mark.parametrize("output", ["42", 42])
def test_failure_with_the_recorded_output_may_have_an_effect(output: JSONValue) -> None:
    call: JSONObject = {"id": "c", "name": "get_order", "arguments": {}}
    request: JSONObject = {"role": "assistant", "content": None, "tool_calls": [call]}
    result: JSONObject = {"role": "tool", "tool_call_id": "c", "content": "42"}
    asking = _model("look", ("user", "What does it cost?"), says="")
    tool = RecordedStep(key="t", type=StepType.TOOL, name="t", tool_name="t", call_id="c", input={}, output="42")
    answer = replace(asking, key="answer", input={"messages": [*_messages(asking), request, result]})
    run = _run(replace(asking, output={"message": request}), tool, answer)
    graph, payloads = graph_of(run)
    entry: JSONObject = {"match": {"step": 2}, "tool": {"output": output, "status": "error"}}
    profile = apply_profile(OverrideProfile.model_validate({"overrides": [entry]}), graph)
    sources = Sources(
        payload=payloads.__getitem__, cached=lambda *_: None, provider=lambda *_: None, price=lambda *_: None
    )
    step = _step(plan(graph, profile, Policy(), sources), 3)
    assert step.reason == "assumed_unaffected"
    assert "step 2 changed in a way that its input does not show" in step.note


@pytest.mark.parametrize("input", ["billing", {"question": "billing"}, {"query": "charged twice", "index": "billing"}])
def test_search_by_unusual_fields_is_not_exact(input: JSONValue) -> None:
    first = _model("classify", ("user", "Why was I charged twice?"), says="billing")
    search = RecordedStep(key="s", type=StepType.RETRIEVAL, name="s", input=input, output={"documents": []})
    assert _step(_plan(_run(first, search), "shipping"), 2).label == "simulated"


@pytest.mark.parametrize("step_type", [StepType.OUTPUT, StepType.PLANNER, StepType.VALIDATOR, StepType.RETRIEVAL])
@pytest.mark.parametrize("input", [{}, "", {"query": ""}])
def test_step_with_an_empty_input_read_something(step_type: StepType, input: JSONValue) -> None:
    first = _model("classify", ("user", "Why was I charged twice?"), says="Billing can help you with that.")
    later = RecordedStep(key="o", type=step_type, name="o", input=input, output={"text": "Billing can help you."})
    assert _step(_plan(_run(first, later), "Ask the technical support."), 2).reason == "assumed_unaffected"
    tool = replace(later, type=StepType.TOOL, input={}, tool_name="o")
    assert _step(_plan(_run(first, tool), "Ask the technical support."), 2).label == "exact"


def _messages(step: RecordedStep) -> list[JSONValue]:
    return as_list(as_object(step.input)["messages"])
