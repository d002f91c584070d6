"""How the calls of an agent that runs again are answered."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.db import connection

from replay.core.errors import SessionConflict
from replay.models import Rerun
from replay.overrides.profile import OverrideProfile
from replay.reruns import answers, exchanges, queries, recordings, services
from replay.reruns.requests.agent_requests import AgentRequest, UnreadableRequest
from replay.reruns.resolutions import CallRefusal, Resolution
from replay.reruns.schemas import ToolQuestion
from replay.reruns.tools import calls
from replay.saved_profiles import services as library
from tests.support.agent_requests import first_request
from tests.support.lost_artifacts import lose
from tests.support.replay_runs import Reply, order_desk
from traces.core.json_types import JSONObject
from traces.core.vocabulary import Label, Reason, StepType
from traces.models import Run
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True)]

MaxQueries = Callable[[int], AbstractContextManager[object]]
TOOLS = ["get_order", "search_policy", "send_email"]
UNREADABLE: JSONObject = {recordings.UNREADABLE_REQUEST: "it is not JSON"}
# The digest of the bytes of each request of `recorded_bytes`.
SENT = ("first", "second", "second")
# An id in each answer.
CODE = "order_0123456789"


@pytest.fixture
def recorded_bytes() -> Run:
    """A run with three model calls, the last two of which are equal, recorded as they were sent."""
    recording = order_desk()
    models = [step for step in recording.steps if step.type is StepType.MODEL]
    calls = zip((models[0], models[1], replace(models[1], key="again")), SENT, strict=True)
    steps = tuple(
        replace(step, parent=None, links=(), attributes={RAW_RESPONSE: raw(sent, answer(place))})
        for place, (step, sent) in enumerate(calls)
    )
    return Run.objects.get(id=record(replace(recording, steps=steps)).run_id)


def raw(sent: str, text: str) -> JSONObject:
    headers: JSONObject = {"headers": [["content-type", "application/json"]]}
    body: JSONObject = {"text": text, "marks": [], "request": sent, "content": "known"}
    return {"api": "openai.chat", "status": 200, **headers, **body}


def sent(run: Run, digest: str) -> AgentRequest:
    """Return a request whose bytes are known, so that nobody reads them."""
    return replace(first_request(run), read_body=fail, digest=digest)


def fail() -> Any:
    raise AssertionError("the body is read")


def text(resolution: Resolution) -> str:
    assert resolution.response is not None
    return resolution.response.body.decode()


def answer(place: int, code: str = CODE) -> str:
    return f'"answer {place}: {code}"'


@pytest.mark.once
def test_recorded_call_is_answered_with_few_queries(django_assert_max_num_queries: MaxQueries) -> None:
    run = Run.objects.get(id=record(order_desk()).run_id)
    request = first_request(run)
    first, second = (Rerun.objects.create(source_run=run) for _ in range(2))
    answers.resolve(first.id, request)
    # The rerun and its source, the calls before this one, the step and its two payloads, the new call, the transaction.
    with django_assert_max_num_queries(12):
        assert answers.resolve(second.id, request).response is not None
    assert second.calls.get().label == Label.EXACT


def test_recorded_bytes_are_answered_in_order_without_being_read(
    recorded_bytes: Run, django_assert_max_num_queries: MaxQueries
) -> None:
    rerun = Rerun.objects.create(source_run=recorded_bytes)
    first, second = sent(recorded_bytes, "first"), sent(recorded_bytes, "second")
    assert text(answers.resolve(rerun.id, second)) == answer(1)
    # One statement in its transaction.
    with django_assert_max_num_queries(3):
        assert text(answers.resolve(rerun.id, first)) == answer(0)
    assert text(answers.resolve(rerun.id, second)) == answer(2)
    assert [(call.sequence_no, call.label) for call in rerun.calls.order_by("id")] == [
        (2, Label.EXACT),
        (1, Label.EXACT),
        (3, Label.EXACT),
    ]
    request = replace(first_request(recorded_bytes), digest="first")
    with pytest.raises(CallRefusal, match="no call left"):
        answers.resolve(rerun.id, request)


def test_parallel_calls_of_recorded_bytes_get_different_answers(recorded_bytes: Run) -> None:
    rerun = Rerun.objects.create(source_run=recorded_bytes)

    def ask(digest: str) -> str:
        try:
            return text(answers.resolve(rerun.id, sent(recorded_bytes, digest)))
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as threads:
        assert {*threads.map(ask, SENT)} == {answer(0), answer(1), answer(2)}


def test_rerun_that_has_ended_answers_no_recorded_bytes(recorded_bytes: Run) -> None:
    rerun = Rerun.objects.create(source_run=recorded_bytes, ended_at=datetime.now(UTC))
    with pytest.raises(SessionConflict, match="has ended"):
        answers.resolve(rerun.id, sent(recorded_bytes, "first"))
    assert not rerun.calls.exists()


def test_lost_answer_is_not_repeated_from_an_earlier_rerun(recorded_bytes: Run) -> None:
    """A rerun gives only what it has read and verified itself."""
    first, second = (Rerun.objects.create(source_run=recorded_bytes) for _ in range(2))
    request = replace(first_request(recorded_bytes), digest="first")
    assert text(answers.resolve(first.id, request)) == answer(0)
    lose(recorded_bytes.steps.get(sequence_no=1).attributes_ref, "flipped")
    assert CODE not in text(answers.resolve(second.id, request))


def test_answer_to_recorded_bytes_has_the_renamed_values(recorded_bytes: Run) -> None:
    rerun = Rerun.objects.create(source_run=recorded_bytes, names=[["id", CODE, "order_9876543210"]])
    renamed_answer = text(answers.resolve(rerun.id, sent(recorded_bytes, "first")))
    assert renamed_answer == answer(0, "order_9876543210")


def test_fork_stores_recorded_bytes_before_it_and_reads_those_after(recorded_bytes: Run) -> None:
    entry = {"match": {"type": "model"}, "model": {"temperature": 0.5}}
    profile = library.store_profile(OverrideProfile.model_validate({"overrides": [entry]}))
    rerun = Rerun.objects.create(source_run=recorded_bytes, profile=profile, fork_sequence_no=2)
    resolution = answers.resolve(rerun.id, sent(recorded_bytes, "first"))
    assert (resolution.call_id, resolution.is_exact) == (rerun.calls.get().id, True)
    with pytest.raises(AssertionError, match="the body is read"):
        answers.resolve(rerun.id, sent(recorded_bytes, "second"))
    # The agent is started again, and the call is that of its first start.
    Rerun.objects.filter(id=rerun.id).update(attempt=2)
    again = answers.resolve(rerun.id, sent(recorded_bytes, "first"))
    assert (again.call_id, rerun.calls.get().attempt) == (resolution.call_id, 2)


def test_requests_recorded_as_other_bytes_too_are_read(recorded_bytes: Run) -> None:
    """The first of equal calls has the answer, whatever bytes they were sent as."""
    recording = order_desk(external_id="other bytes")
    model = next(step for step in recording.steps if step.type is StepType.MODEL)
    steps = tuple(
        replace(model, key=digest, parent=None, links=(), attributes={RAW_RESPONSE: raw(digest, digest)})
        for digest in ("compact", "indented")
    )
    run = Run.objects.get(id=record(replace(recording, steps=steps)).run_id)
    rerun = Rerun.objects.create(source_run=run)
    request = replace(first_request(run), digest="indented")
    assert text(answers.resolve(rerun.id, request)) == "compact"


def test_outputs_of_a_replay_do_not_count_as_exact() -> None:
    recording = order_desk()
    steps = tuple(replace(step, label=Label.SIMULATED, reason=Reason.OPERATOR_OVERRIDE) for step in recording.steps)
    run = Run.objects.get(id=record(replace(recording, steps=steps)).run_id)
    rerun = services.start(str(run.id), tools_to_run=TOOLS, caller="me")
    answers.resolve(rerun.id, first_request(run))
    question = ToolQuestion(type=StepType.TOOL, name="get_order", arguments={"order_id": "A-1"})
    assert calls.answer(rerun, question).decision == "exact"
    report = queries.view(rerun)
    (tool,) = report.tools
    assert (report.exact, report.from_replay, tool.exact, tool.from_replay) == (0, 1, 0, 1)


def test_agent_whose_tool_was_refused_gets_no_live_answer_any_more() -> None:
    """What it started, such as Claude Code, may ask its model once more before it ends."""
    run = Run.objects.get(id=record(order_desk()).run_id)
    profile = library.store_profile(OverrideProfile(overrides=[]))
    rerun = Rerun.objects.create(source_run=run, profile=profile, is_live=True)
    request = first_request(run)
    new_request = replace(request, digest="", read_body=lambda: {**request.body, "temperature": 0.9})
    question = ToolQuestion(type=StepType.TOOL, name="get_order", arguments={"order_id": "new"})
    # The client of an MCP server, for example, goes on after a refusal.
    assert calls.answer(rerun, question).decision == "refusal"
    assert answers.resolve(rerun.id, new_request).response is None
    assert calls.answer(rerun, question.model_copy(update={"ends_agent": True})).decision == "refusal"
    other_request = replace(new_request, read_body=lambda: {**request.body, "temperature": 0.8})
    with pytest.raises(SessionConflict, match="its call of get_order was refused"):
        answers.resolve(rerun.id, other_request)
    assert rerun.calls.count() == 1


def test_call_that_only_another_run_has_is_answered_from_there_but_not_in_a_comparison() -> None:
    run = Run.objects.get(id=record(order_desk()).run_id)
    conversation = (("Where is my parcel?", (Reply("Lost."),)),)
    other = Run.objects.get(id=record(replace(order_desk(conversation), external_id="other")).run_id)
    rerun = services.start(str(run.id), tools_to_run=TOOLS, caller="me")
    assert answers.resolve(rerun.id, first_request(other)).response is not None
    report = queries.view(rerun)
    assert (report.cached, report.misses, report.from_other_runs) == (1, 0, 1)
    assert report.divergence is not None
    # An agent that asks without end must not be answered without end.
    with pytest.raises(CallRefusal):
        answers.resolve(rerun.id, first_request(other))
    comparison = services.start(str(run.id), tools_to_run=TOOLS, is_comparison=True, caller="me")
    with pytest.raises(CallRefusal, match="is not in the recording"):
        answers.resolve(comparison.id, first_request(other))


def test_call_that_differs_in_what_steps_do_not_store_goes_live_only_where_it_may(recorded_bytes: Run) -> None:
    profile = library.store_profile(OverrideProfile(overrides=[]))
    known = replace(first_request(recorded_bytes), digest_content=lambda body: "known")
    other = replace(known, digest_content=lambda body: "other")
    labels = []
    for is_live, request in (True, known), (True, other), (False, other):
        rerun = Rerun.objects.create(source_run=recorded_bytes, profile=profile, is_live=is_live)
        answers.resolve(rerun.id, request)
        call = rerun.calls.get()
        labels.append((call.label, call.reason, call.sequence_no))
    assert labels == [
        (Label.EXACT, Reason.SOURCE_OUTPUT_REUSED, 1),
        (Label.SIMULATED, Reason.LIVE_MODEL, 1),
        (Label.CACHED, Reason.CACHE_NORMALISED, 1),
    ]


@pytest.mark.parametrize("is_live", [False, True])
def test_requests_that_cannot_be_read_are_known_by_their_bytes_alone(is_live: bool) -> None:
    """They are all stored alike: as nothing."""

    def read_body() -> JSONObject:
        raise UnreadableRequest("the body of this request cannot be read")

    recording = order_desk()
    step = next(step for step in recording.steps if step.type is StepType.MODEL)
    steps = [
        replace(
            step, key=sent, parent=None, links=(), attributes={RAW_RESPONSE: raw(sent, answer(place)), **UNREADABLE}
        )
        for place, sent in enumerate(("first", "second"))
    ]
    run = Run.objects.get(id=record(replace(recording, steps=(*steps,))).run_id)
    profile = library.store_profile(OverrideProfile(overrides=[])) if is_live else None
    rerun = Rerun.objects.create(source_run=run, profile=profile, is_live=is_live)
    request = replace(first_request(run), read_body=read_body)
    assert text(answers.resolve(rerun.id, replace(request, digest="second"))) == answer(1)
    with pytest.raises(CallRefusal, match="cannot be read"):
        answers.resolve(rerun.id, replace(request, digest="other"))
    assert (queries.view(rerun).exact, queries.view(rerun).misses) == (1, 1)


def test_equal_calls_of_several_threads_are_not_exact(recorded_bytes: Run) -> None:
    """Which of them a call is, nobody knows."""
    recording = order_desk(external_id="threads")
    first, second, *_ = (step for step in recording.steps if step.type is StepType.MODEL)
    span: Any = {"started_at": datetime(2026, 11, 1, 12, tzinfo=UTC), "ended_at": datetime(2026, 11, 1, 13, tzinfo=UTC)}
    threads = [replace(first, **span), replace(first, key="again", output=second.output, **span)]
    steps = tuple(
        replace(step, parent=None, links=(), attributes={RAW_RESPONSE: raw("same", answer(place))})
        for place, step in enumerate(threads)
    )
    run = Run.objects.get(id=record(replace(recording, steps=steps)).run_id)
    rerun = Rerun.objects.create(source_run=run)
    assert [text(answers.resolve(rerun.id, sent(run, "same"))) for _ in range(2)] == [answer(0), answer(1)]
    assert [(call.label, call.detail["equal_steps"]) for call in rerun.calls.all()] == [(Label.CACHED, [1, 2])] * 2


@pytest.mark.parametrize(("most_calls", "live_calls"), [(2, 2), (1, 1)])
def test_live_call_that_is_made_again_counts_again(recorded_bytes: Run, most_calls: int, live_calls: int) -> None:
    """The process that made it is gone, and its answer with it; the budget holds for both."""
    profile = library.store_profile(OverrideProfile(overrides=[]))
    rerun = Rerun.objects.create(
        source_run=recorded_bytes, profile=profile, is_live=True, budget={"max_live_calls": most_calls}
    )
    request = replace(first_request(recorded_bytes), digest_content=lambda body: "other")
    call = answers.resolve(rerun.id, request).row
    payload = {"provider": request.provider, "model_id": request.model, "api": request.api, "request": request.body}
    event = orjson.dumps({"event_type": "model_called", "payload": payload})
    exchanges.store_live(call, event, app="desk")
    Rerun.objects.filter(id=rerun.id).update(attempt=2)
    if most_calls > 1:
        assert answers.resolve(rerun.id, request, attempt=2).response is None
    else:
        with pytest.raises(CallRefusal, match="limit of live calls is 1"):
            answers.resolve(rerun.id, request, attempt=2)
    rerun.refresh_from_db()
    assert rerun.live_calls == live_calls


@pytest.mark.parametrize(("model_start_s", "delay_s"), [(2, 5), (5.01, 0)])
def test_call_that_the_agent_gave_up_takes_its_time_again(model_start_s: float, delay_s: float) -> None:
    desk = order_desk()
    models = [step for step in desk.steps if step.type is StepType.MODEL]
    tool = next(step for step in desk.steps if step.type is StepType.TOOL)
    start = datetime(2026, 11, 28, 12, tzinfo=UTC)
    # The second model call has the result of the tool.
    seconds = {models[0].key: (-1, 0), tool.key: (0, 5), models[1].key: (model_start_s, 6)}
    steps = tuple(
        replace(
            step,
            parent=None,
            links=(),
            started_at=start + timedelta(seconds=first),
            ended_at=start + timedelta(seconds=last),
        )
        for step in desk.steps
        if step.key in seconds
        for first, last in [seconds[step.key]]
    )
    run = Run.objects.get(id=record(replace(desk, steps=steps)).run_id)
    rerun = Rerun.objects.create(source_run=run)
    question = ToolQuestion(type="tool", name=tool.tool_name, arguments=tool.input, call="c1")
    assert calls.answer(rerun, question).delay_s == delay_s


def test_only_ids_of_models_name_calls_of_tools() -> None:
    """A client that counts the calls of several threads may give the same id to another one next time."""
    recording = order_desk(external_id="ids")
    steps = [replace(step, call_id=step.call_id and "call_1", links=()) for step in recording.steps]
    runs = [record(run).run_id for run in (recording, replace(recording, external_id="counted", steps=(*steps,)))]
    ids = [[call.call_id for call in recordings.load_tool_calls(run)] for run in runs]
    assert ids[0] == [step.call_id for step in recording.steps if step.type is StepType.TOOL]
    assert all(ids[0])
    assert not any(ids[1])
