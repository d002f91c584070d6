"""Behaviour of Kurral, ReplayControl, Prela, Krabs and the replay-fork-diff document, case by case.

The cases in `tests/fixtures/cases` are our own. Where the systems contradict themselves or each other, they follow
this project's decisions. Each case drives the function that the product uses.

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
    comparing                     21   in test_cases_comparing; reports: test_verdict
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
from tests.support.memory_replays import Model, Replay, labels
from tests.support.replay_runs import order_desk
from tests.unit.replay.inputs.test_documents import library
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType

CASES: Final = Path(__file__).parents[2] / "fixtures" / "cases"
AT: Final = datetime(2025, 6, 1, tzinfo=UTC)
Case = dict[str, Any]


def cases(name: str) -> pytest.MarkDecorator:
    """Parametrize a test with the cases of a file, named by their descriptions."""
    loaded_cases: list[Case] = json.loads((CASES / f"{name}.json").read_text("utf-8"))
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for case in loaded_cases])


def config(settings: Case) -> ModelConfig:
    return ModelConfig(provider=settings["provider"], model=settings["model"], parameters=settings["parameters"])


@cases("determinism")
def test_determinism_and_replay_type(case: Case) -> None:
    pairs = [(config(case["recorded"]), config(case["current"]))] if case["current"] else []
    determinism = assess(pairs, changed=case["changed"], threshold=case["threshold"])
    assert (determinism.score, replay_type(determinism)) == (case["score"], case["type"])
    assert (determinism.critical_changes, determinism.other_changes) == (case["critical"], case["other"])


@cases("tool_matching")
def test_recorded_call_that_answers(case: Case) -> None:
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
    # It is used up by that
    if (match := exact or similar) is not None:
        calls.use(match.call)
        assert calls.exact("tool", case["request"]) is calls.similar("tool", case["request"], 0.85) is None


@cases("replay_control_keys")
def test_key_of_call(case: Case) -> None:
    assert call_key(case["tool"], case["arguments"]) == case["key"]


def test_calls_with_equal_keys() -> None:
    keys = {case["case"]: case["key"] for case in json.loads((CASES / "replay_control_keys.json").read_text("utf-8"))}
    assert keys['t {"z": 2, "a": 1}'] == keys['t {"a": 1, "z": 2}']
    assert len(set(keys.values())) == len(keys) - 1


@cases("replay_control")
def test_successful_call_is_not_repeated(case: Case) -> None:
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
def test_calls_of_one_turn(case: Case) -> None:
    turn = ReplayControl()
    for step, call in enumerate(case["calls"], 1):
        spec = None if case["idempotent"] is None else ToolSpec(name=call["tool"], idempotent=case["idempotent"])
        decision = turn.should_skip(call["tool"], call["arguments"], spec)
        assert decision.skip is call["skip"], step
        if call["skip"]:
            # It names the success
            assert 0 < (decision.step or 0) < step
        elif call["outcome"] == "success":
            turn.record_success(call["tool"], call["arguments"], spec, step=step)
        else:
            getattr(turn, f"record_{call['outcome']}")(call["tool"], call["arguments"], spec)
    assert turn.history_size() == case["seen"]


@cases("side_effects")
def test_suggestion_from_tool_words(case: Case) -> None:
    suggestion = suggest(case["tool"], case["description"])
    assert (suggestion.safe, case["says"] in suggestion.reason) == (case["safe"], True)


@cases("side_effect_files")
def test_file_of_tool_decisions(case: Case) -> None:
    if "refused" in case:
        with pytest.raises(InvalidReplay) as refusal:
            side_effects_yaml.read(case["file"].encode())
        assert refusal.value.where == case["refused"]
    else:
        assert side_effects_yaml.read(case["file"].encode()) == side_effects_yaml.ToolFile(
            tools=case["tools"], is_reviewed=case["done"]
        )


@cases("tool_accuracy")
def test_tool_accuracy(case: Case) -> None:
    counts = ToolAccuracy(
        total_original=case["total"], used_original=case["used"], new=case["new"], unused=case["unused"]
    )
    assert tool_accuracy(counts) == pytest.approx(case["accuracy"], abs=5e-5)


@cases("ars")
def test_regression_score(case: Case) -> None:
    score = regression_score(case["similarity"], case["accuracy"])
    assert (score, reading(score)) == (case["ars"], case["reading"])


@cases("similarity")
def test_similarity_of_two_texts(case: Case) -> None:
    [forward], [backward] = (likeness.Lexical().compare([pair]) for pair in _both_ways(case))
    assert forward.method == case["method"]
    if case["score"] is not None:
        assert round(forward.score, 4) == case["score"]
    assert backward.method == forward.method


def _both_ways(case: Case) -> tuple[tuple[str, str], tuple[str, str]]:
    return (case["a"], case["b"]), (case["b"], case["a"])


@cases("similarity_readings")
def test_meaning_of_similarity(case: Case) -> None:
    assert likeness.reading(case["score"]) == case["reading"]


@cases("retries")
@pytest.mark.parametrize("sdk", [openai, anthropic])
def test_failures_that_are_retried(case: Case, sdk: Any) -> None:
    request = httpx2.Request("POST", "http://127.0.0.1:9/v1")
    error = sdk.APIStatusError(
        "429 in a message says nothing", response=httpx2.Response(case["status"], request=request), body=None
    )
    failure = classify(error, Provider(name="desk", protocol="openai", base_url="http://127.0.0.1:9/v1"), "")
    assert (failure.code, failure.retryable, failure.status) == (case["code"], case["retryable"], case["status"])


@cases("back_off")
def test_retry_delays(case: Case) -> None:
    retries = Retries.model_validate(case["retries"])
    assert [back_off(retries, failures) for failures in range(1, retries.max + 1)] == case["delays"]


@cases("costs")
def test_cost_of_tokens(case: Case) -> None:
    if "unknown" in case:
        assert _price(case["unknown"]) is None
    else:
        assert 0 < _price(case["cheaper"]) < _price(case["dearer"])


def _price(rates: list[Any]) -> Any:
    provider, model, tokens_in, tokens_out = rates
    return price(provider, model, tokens_in, tokens_out, 0, AT)


@cases("providers")
def test_provider_of_model_without_provider(case: Case, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.PROVIDERS = {}
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, "k")
    provider = provider_for("", case["model"], None)
    assert (provider.name if provider else None) == case["provider"]


@cases("nesting")
def test_deeply_nested_run_is_replayed(case: Case) -> None:
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
    labels_by_step = labels(Replay(run=run, fork=1, entries=[], policy=Policy()).execute())
    assert set(labels_by_step.values()) == {"exact source_output_reused"}
    assert len(labels_by_step) == case["depth"] + 1


@dataclass
class _FixedModel:
    """A model with one fixed answer, and its requests."""

    answer: str
    requests: dict[int, JSONObject] = field(default_factory=dict)

    def __call__(self, call: Call) -> JSONObject:
        assert isinstance(call.input, dict)
        self.requests[call.no] = call.input
        return {"content": self.answer}


@cases("replays")
def test_outcome_of_every_step(case: Case) -> None:
    run = order_desk(parameters=case["parameters"])
    environment = _FixedModel(case["answer"] or "")
    fork = Replay(run=run, fork=case["fork"], entries=case["overrides"], policy=Policy.model_validate(case["policy"]))
    before = dict(fork.payloads)
    events = fork.execute(environment if case["answer"] else None)
    labels_by_step = labels(events)
    assert {no: labels_by_step[int(no)] for no in case["labels"]} == case["labels"]
    before_fork = {no for no in labels_by_step if no < case["fork"] and fork.graph.by_no[no].type not in CONTAINERS}
    assert all(labels_by_step[no] == "exact source_output_reused" for no in before_fork)
    # The source is never touched
    assert fork.payloads == before
    assert case.get("new", []) == _new(events)
    if "request" in case:
        _check_request(environment.requests[case["request"]["step"]], case["request"])


def _new(events: list[Event]) -> list[list[str]]:
    """New calls and their outcomes."""
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
def test_outcome_of_retrieval(case: Case) -> None:
    model: Model = _FixedModel("new")
    fork = Replay(run=library(), fork=1, entries=case["overrides"], policy=Policy())
    if "refused" in case:
        assert [refusal.code for refusal in fork.plan().refusals] == [case["refused"]]
        return
    events = fork.execute(model)
    labels_by_step = labels(events)
    assert {no: labels_by_step[int(no)] for no in case["labels"]} == case["labels"]
    if "documents" in case:
        output = next(event.answer.output for event in events if isinstance(event, StepResolved) and event.call.no == 1)
        assert isinstance(output, dict)
        assert [document["id"] for document in output["documents"]] == case["documents"]  # type: ignore[union-attr, index, call-overload]  # documents of the fixture


def test_referenced_tests_exist() -> None:
    """The table above names existing files."""
    assert __doc__ is not None
    referenced_names = {word.strip(",;:.") for word in __doc__.split() if word.startswith("test_")}
    existing_names = {path.stem for path in Path(__file__).parents[2].rglob("test_*.py")}
    assert referenced_names - existing_names == set()
