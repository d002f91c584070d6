"""What Kurral, ReplayControl, Prela, Krabs and the replay-fork-diff document say or do, case by case.

The cases in `tests/fixtures/cases` are written anew, in the words and by the rulings of this project where the
systems contradict themselves or each other; each one drives the function that the product itself uses.

    area                        here   where the rest is
    determinism, replay type      17
    tool matching, call keys      27   Kurral's own cache keys are not read: calls are matched by their arguments
    ReplayControl                 19   denied steps in replays: test_replayer
    side effects                  25   the block until reviewed: test_tool_review, test_live_tools
    tool accuracy, ARS            26   one-sided interactions: test_scores; scores in files: importers
    similarity                    26   embeddings: test_similarity
    retries                       19   attempts and `Retry-After`: test_live_models, test_live_replays
    costs, providers              15
    replays, retrievals           24   following answers: test_replayer; exit codes: test_cli
    states of sessions             9   in test_session_cases, on a database
    comparing                     19   in test_cases_comparing; reports: test_verdict
    hooks                         28   in test_cases_hooks; in walks: test_hook_points; telemetry, Langfuse: test_hooks
    formats, spans, transcripts    -   test_formats, test_hostile_files
    nesting                        2
    formats without content        -   test_refusals: a recording that holds no call's content is not replayed
    checkpoints, resuming          -   test_durability; what a killed worker left is rolled back, never the source
    a proxy for MCP, its streams   -   not applicable: recordings are imported; what such a proxy captured, too
    an SDK's spans and exporters   -   not applicable: test_recorder has our own; their files: test_formats
    ingestion, redaction           -   not there yet: the README says so
    tiers of a subscription        -   not applicable: nothing here is paid for
"""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import anthropic
import httpx2
import openai
import pytest
from pytest_django import Settings

from diffing.content import similarity as likeness
from diffing.content.determinism import ModelConfig
from diffing.report.scores import reading, regression_score, tool_accuracy
from diffing.schemas.report import ToolAccuracy
from replay.core.calls import Call
from replay.core.errors import InvalidReplay
from replay.core.events import Event, StepResolved
from replay.core.graph import CONTAINERS
from replay.execution.calls.attempts import back_off
from replay.live.pricing import price
from replay.live.providers import provider_for
from replay.live.providers.failures import classify
from replay.live.providers.types import Provider
from replay.loops.duplicate_calls import ReplayControl, ToolSpec, call_key
from replay.overrides.policy import Policy, Retries
from replay.planning.determinism import assess, replay_type
from replay.resolution import tool_matching as resolution_tool_matching
from replay.resolution.side_effects import suggest
from replay.tool_review import side_effects_yaml
from tests.support.replay_runs import order_desk
from tests.unit.replay.engine.test_replayer import Model, Replay, labels
from tests.unit.replay.inputs.test_documents import library
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

CASES: Final = Path(__file__).parents[2] / "fixtures" / "cases"
AT: Final = datetime(2025, 6, 1, tzinfo=UTC)
Case = dict[str, Any]


def cases(name: str) -> pytest.MarkDecorator:
    """Every case of a file as a parameter, under its own words."""
    found: list[Case] = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for case in found])


def config(given: Case) -> ModelConfig:
    return ModelConfig(provider=given["provider"], model=given["model"], parameters=given["parameters"])


@cases("determinism")
def test_determinism_and_replay_type(case: Case) -> None:
    pairs = [(config(case["recorded"]), config(case["current"]))] if case["current"] else []
    found = assess(pairs, changed=case["changed"], threshold=case["threshold"])
    assert (found.score, replay_type(found)) == (case["score"], case["type"])
    assert (found.critical_changes, found.other_changes) == (case["critical"], case["other"])


@cases("tool_matching")
def test_which_recorded_call_answers(case: Case) -> None:
    calls: resolution_tool_matching.RecordedCalls[int] = resolution_tool_matching.RecordedCalls()
    calls.add(1, "tool", case["recorded"])
    exact, similar = calls.exact("tool", case["request"]), calls.similar("tool", case["request"], 0.85)
    alike = resolution_tool_matching.similarity(case["recorded"], case["request"], "tool")
    assert (exact is not None, (exact or similar) is not None) == (case["exact"], case["hit"])
    assert calls.exact("other", case["request"]) is calls.similar("other", case["request"], 0.0) is None
    if case["similarity"] is None:
        assert 0 < alike < 0.85
    else:
        assert alike == pytest.approx(case["similarity"], abs=1e-4)
    if (match := exact or similar) is not None:  # it is used up by that
        calls.use(match.call)
        assert calls.exact("tool", case["request"]) is calls.similar("tool", case["request"], 0.85) is None


@cases("replay_control_keys")
def test_the_key_of_a_call(case: Case) -> None:
    assert call_key(case["tool"], case["arguments"]) == case["key"]


def test_which_calls_are_the_same_call() -> None:
    keys = {case["case"]: case["key"] for case in json.loads((CASES / "replay_control_keys.json").read_text("utf-8"))}
    assert keys['t {"z": 2, "a": 1}'] == keys['t {"a": 1, "z": 2}']
    assert len(set(keys.values())) == len(keys) - 1


@cases("replay_control")
def test_a_call_that_succeeded_is_not_made_again(case: Case) -> None:
    spec = None if case["idempotent"] is None else ToolSpec(name="t", idempotent=case["idempotent"])
    turn, next_turn = ReplayControl(), ReplayControl()
    for outcome in case["history"]:
        getattr(turn, f"record_{outcome}")("t", {"a": 1}, spec)
    decision = turn.should_skip("t", {"a": 1}, spec)
    assert (decision.skip, decision.reason) == (case["skip"], "duplicate" if case["skip"] else "")
    assert turn.history_size() == (1 if case["history"] else 0)
    assert not turn.should_skip("t", {"a": 2}, spec).skip
    assert not next_turn.should_skip("t", {"a": 1}, spec).skip


@cases("replay_control_turns")
def test_a_turn_of_calls(case: Case) -> None:
    turn = ReplayControl()
    for step, call in enumerate(case["calls"], 1):
        spec = None if case["idempotent"] is None else ToolSpec(name=call["tool"], idempotent=case["idempotent"])
        decision = turn.should_skip(call["tool"], call["arguments"], spec)
        assert decision.skip is call["skip"], step
        if call["skip"]:
            assert 0 < (decision.step or 0) < step  # it names the success
        elif call["outcome"] == "success":
            turn.record_success(call["tool"], call["arguments"], spec, step=step)
        else:
            getattr(turn, f"record_{call['outcome']}")(call["tool"], call["arguments"], spec)
    assert turn.history_size() == case["seen"]


@cases("side_effects")
def test_what_a_tools_words_suggest(case: Case) -> None:
    found = suggest(case["tool"], case["description"])
    assert (found.safe, case["says"] in found.reason) == (case["safe"], True)


@cases("side_effect_files")
def test_a_file_of_decisions(case: Case) -> None:
    if "refused" in case:
        with pytest.raises(InvalidReplay) as refused:
            side_effects_yaml.read(case["file"].encode())
        assert refused.value.where == case["refused"]
    else:
        assert side_effects_yaml.read(case["file"].encode()) == side_effects_yaml.ToolFile(
            tools=case["tools"], done=case["done"]
        )


@cases("tool_accuracy")
def test_how_well_the_tools_were_kept(case: Case) -> None:
    counts = ToolAccuracy(
        total_original=case["total"], used_original=case["used"], new=case["new"], unused=case["unused"]
    )
    assert tool_accuracy(counts) == pytest.approx(case["accuracy"], abs=5e-5)


@cases("ars")
def test_the_regression_score(case: Case) -> None:
    found = regression_score(case["similarity"], case["accuracy"])
    assert (found, reading(found)) == (case["ars"], case["reading"])


@cases("similarity")
def test_how_alike_two_texts_are(case: Case) -> None:
    [found], [back] = (likeness.Lexical().compare([pair]) for pair in _both_ways(case))
    assert found.method == case["method"]
    if case["score"] is not None:
        assert round(found.score, 4) == case["score"]
    assert back.method == found.method


def _both_ways(case: Case) -> tuple[tuple[str, str], tuple[str, str]]:
    return (case["a"], case["b"]), (case["b"], case["a"])


@cases("similarity_readings")
def test_what_a_similarity_means(case: Case) -> None:
    assert likeness.reading(case["score"]) == case["reading"]


@cases("retries")
@pytest.mark.parametrize("sdk", [openai, anthropic])
def test_which_failures_are_tried_again(case: Case, sdk: Any) -> None:
    request = httpx2.Request("POST", "http://127.0.0.1:9/v1")
    error = sdk.APIStatusError(
        "429 in a message says nothing", response=httpx2.Response(case["status"], request=request), body=None
    )
    found = classify(error, Provider(name="desk", protocol="openai", base_url="http://127.0.0.1:9/v1"), "")
    assert (found.code, found.retryable, found.status) == (case["code"], case["retryable"], case["status"])


@cases("back_off")
def test_how_long_it_waits(case: Case) -> None:
    retries = Retries.model_validate(case["retries"])
    assert [back_off(retries, failures) for failures in range(1, retries.max + 1)] == case["delays"]


@cases("costs")
def test_what_tokens_cost(case: Case) -> None:
    if "unknown" in case:
        assert _price(case["unknown"]) is None
    else:
        assert 0 < _price(case["cheaper"]) < _price(case["dearer"])


def _price(given: list[Any]) -> Any:
    provider, model, tokens_in, tokens_out = given
    return price(provider, model, tokens_in, tokens_out, 0, AT)


@cases("providers")
def test_who_serves_a_model_that_names_nobody(case: Case, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PROVIDERS = {}
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    found = provider_for("", case["model"], None)
    assert (found.name if found else None) == case["provider"]


@cases("nesting")
def test_however_deep_a_run_is_nested_it_is_replayed(case: Case) -> None:
    agents = [
        RecordedStep(key=f"a{at}", type=StepType.AGENT, name="agent", parent=f"a{at - 1}" if at else None)
        for at in range(case["depth"])
    ]
    call = RecordedStep(
        key="t",
        type=StepType.TOOL,
        name="look",
        tool_name="look",
        parent=agents[-1].key,
        input={"q": 1},
        output=2,
    )
    run = replace(order_desk(), steps=(*agents, call))
    found = labels(Replay(run=run, fork=1, entries=[], policy=Policy()).execute())
    assert set(found.values()) == {"exact source_output_reused"}
    assert len(found) == case["depth"] + 1


@dataclass
class _Asked:
    """A model that always answers the same, and what it was asked."""

    answer: str
    requests: dict[int, JSONObject] = field(default_factory=dict)

    def __call__(self, call: Call) -> JSONObject:
        assert isinstance(call.input, dict)
        self.requests[call.no] = call.input
        return {"content": self.answer}


@cases("replays")
def test_what_becomes_of_every_step(case: Case) -> None:
    run = order_desk(parameters=case["parameters"])
    asked = _Asked(case["answer"] or "")
    fork = Replay(run=run, fork=case["fork"], entries=case["overrides"], policy=Policy.model_validate(case["policy"]))
    before = dict(fork.payloads)
    events = fork.execute(asked if case["answer"] else None)
    found = labels(events)
    assert {no: found[int(no)] for no in case["labels"]} == case["labels"]
    before_fork = {no for no in found if no < case["fork"] and fork.graph.by_no[no].type not in CONTAINERS}
    assert all(found[no] == "exact source_output_reused" for no in before_fork)
    assert fork.payloads == before  # the source is never touched
    assert case.get("new", []) == _new(events)
    if "request" in case:
        _check_request(asked.requests[case["request"]["step"]], case["request"])


def _new(events: list[Event]) -> list[list[str]]:
    """The calls that the recording does not have, and what became of them."""
    return [
        [event.call.callee, f"{event.answer.label} {event.answer.reason}"]
        for event in events
        if isinstance(event, StepResolved) and event.answer.detail.get("divergence") and event.call.tool_name
    ]


def _check_request(request: JSONObject, expected: Case) -> None:
    text = json.dumps(request["messages"])
    assert expected.get("holds", "") in text
    assert expected.get("not", "\x00") not in text
    if "parameters" in expected:
        tools = request["tools"]
        assert isinstance(tools, list)
        assert (request["parameters"], len(tools)) == (expected["parameters"], expected["tools"])


@cases("retrievals")
def test_what_becomes_of_a_retrieval(case: Case) -> None:
    model: Model = _Asked("new")
    fork = Replay(run=library(), fork=1, entries=case["overrides"], policy=Policy())
    if "refused" in case:
        assert [refusal.code for refusal in fork.plan().refusals] == [case["refused"]]
        return
    events = fork.execute(model)
    found = labels(events)
    assert {no: found[int(no)] for no in case["labels"]} == case["labels"]
    if "documents" in case:
        output = next(event.answer.output for event in events if isinstance(event, StepResolved) and event.call.no == 1)
        assert isinstance(output, dict)
        assert [document["id"] for document in output["documents"]] == case["documents"]  # type: ignore[union-attr, index, call-overload]  # documents of the fixture


def test_where_the_rest_is_exists() -> None:
    """The table above names files that are there."""
    assert __doc__ is not None
    named = {word.strip(",;:.") for word in __doc__.split() if word.startswith("test_")}
    there = {path.stem for path in Path(__file__).parents[2].rglob("test_*.py")}
    assert named - there == set()
