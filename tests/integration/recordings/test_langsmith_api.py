"""Endpoints of LangSmith clients: runs in each of their forms, attachments and feedback."""

from typing import Any

import orjson
import pytest
import zstandard
from django.test import Client

from tests.support.assembler_time import let_pass
from tests.support.langsmith_records import (
    CALL,
    TOOL,
    TRACE,
    call,
    feedback,
    form,
    part,
    root,
    root_end,
    run_parts,
    tool,
)
from tests.support.langsmith_records import (
    Run as Record,
)
from traces.core.vocabulary import RunStatus
from traces.models import Judgement, Recording, Run, Segment
from traces.runs.queries import step_detail

pytestmark = [pytest.mark.django_db, pytest.mark.divided]
_END = {name: call()[name] for name in ("end_time", "outputs")}
WHOLE = [("agent", "desk", None), ("model", "ChatOpenAI", 1), ("tool", "get_order", 1)]


def _send(method: str, path: str, content: Any, media_type: str = "application/json", **headers: str) -> Any:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return getattr(Client(), method)(f"/langsmith/{path}", body, content_type=media_type, headers=headers)


def _batch(**batch: list[Record]) -> None:
    assert _send("post", "runs/batch", batch).status_code == 202


def _form(*parts: bytes) -> Any:
    return _send("post", "runs/multipart", form(*parts), "multipart/form-data; boundary=b0undary")


def _steps(run: Run) -> list[tuple[str, str, int | None]]:
    return list(run.steps.order_by("sequence_no").values_list("type", "name", "parent_no"))


def _scores() -> list[tuple[str, float | None, int | None]]:
    rows = Judgement.objects.filter(withdrawn_at__isnull=True).order_by("name")
    return list(rows.values_list("name", "value", "step_no"))


def _sealed_run() -> Run:
    let_pass(10)
    run = Run.objects.get()
    assert (run.external_id, run.app, run.status, run.sealed_at is None) == (
        TRACE,
        "shop",
        RunStatus.COMPLETED,
        False,
    )
    return run


@pytest.mark.parametrize("compress", [False, True])
def test_form_is_recorded(compress: bool) -> None:
    parts = [*run_parts("post", call()), *run_parts("post", tool()), *run_parts("post", root(**root_end()))]
    body = form(*parts)
    headers = {"Content-Encoding": "zstd"} if compress else {}
    data = zstandard.ZstdCompressor().compress(body) if compress else body
    response = _send("post", "runs/multipart", data, "multipart/form-data; boundary=b0undary", **headers)
    assert response.status_code == 202
    run = _sealed_run()
    assert _steps(run) == WHOLE
    step = run.steps.get(sequence_no=2)
    assert (step.tokens_in, step.tokens_out, step.model, step.provider) == (12, 5, "m1", "openai")


def test_run_is_open_until_its_root_has_ended() -> None:
    _batch(post=[root(), call()])
    let_pass(60)
    assert Run.objects.get().sealed_at is None
    _batch(post=[tool()], patch=[root_end()])
    assert _steps(_sealed_run()) == WHOLE


def test_single_runs_and_patches_without_a_trace_are_joined() -> None:
    """Clients without batches name the trace in no request."""
    no_trace = {"trace_id": None}
    _send("post", "runs", root(**no_trace))
    _send("post", "runs", call(**no_trace, end_time=None, outputs=None))
    assert _send("patch", f"runs/{CALL}", _END).status_code == 202
    _send("post", "runs", tool(**no_trace, parent_run_id=CALL))
    _send("patch", f"runs/{TRACE}", {**root_end(), **no_trace})
    run = _sealed_run()
    assert _steps(run) == [*WHOLE[:2], ("tool", "get_order", 2)]
    assert run.steps.get(sequence_no=2).summary == "It is on its way."


def test_patch_before_its_post_is_kept_until_the_post_arrives() -> None:
    _send("patch", f"runs/{CALL}", _END)
    let_pass(1)
    assert not Run.objects.exists()
    _batch(post=[root(**root_end()), call(end_time=None, outputs=None), tool()])
    run = _sealed_run()
    assert (_steps(run), Recording.objects.count()) == (WHOLE, 1)
    assert run.steps.get(sequence_no=2).summary == "It is on its way."


def test_patch_after_assembly_finds_the_run_of_its_step() -> None:
    _batch(post=[root(), call(end_time=None, outputs=None), tool()])
    let_pass(1)
    _send("patch", f"runs/{CALL}", _END)
    _batch(patch=[root_end()])
    assert _sealed_run().steps.get(sequence_no=2).summary == "It is on its way."


def test_attachment_is_an_attribute_of_its_step() -> None:
    attachment = part(f"attachment.{CALL}.photo", b"\x89PNG\r\n--not a boundary", "image/png; length=18")
    _form(*run_parts("post", root(**root_end())), *run_parts("post", call()), attachment)
    let_pass(10)
    attributes = step_detail(Run.objects.get().steps.get(sequence_no=2))["attributes"]
    photo = {"media_type": "image/png", "data": "iVBORw0KLS1ub3QgYSBib3VuZGFyeQ=="}
    assert attributes["attachments"] == {"photo": photo}


def test_batch_that_arrives_twice_is_stored_once() -> None:
    for _ in range(2):
        _form(*run_parts("post", root(**root_end())), *run_parts("post", call()))
        let_pass(10)
    assert (Segment.objects.count(), Run.objects.count()) == (1, 1)


@pytest.mark.parametrize("order", ["before", "after"])
def test_feedback_ends_at_its_run(order: str) -> None:
    if order == "before":
        _send("post", "feedback", feedback())
        let_pass(1)
    _batch(post=[root(**root_end()), call(), tool()])
    let_pass(10)
    if order == "after":
        _form(part("feedback.f1", feedback()))
        let_pass(10)
    assert (_scores(), Run.objects.get().revision) == ([("helpful", 0.5, None)], 1)


def test_feedback_on_a_step_without_its_trace_judges_the_step() -> None:
    _batch(post=[root(**root_end()), call(), tool()])
    let_pass(10)
    _send("post", "feedback", feedback(run_id=TOOL, trace_id=None))
    let_pass(10)
    assert _scores() == [("helpful", 0.5, 3)]


def test_feedback_keeps_what_it_states_beside_its_score() -> None:
    _batch(post=[root(), call(), tool()], patch=[root_end()])
    source = {"type": "model", "metadata": {"__run": {"run_id": CALL}}}
    more = {"value": "good", "correction": {"answer": "42"}, "extra": {"rubric": 1}}
    _send("post", "feedback", feedback(**more, feedback_source=source))
    _send("post", "feedback", feedback(id="f2", key="plain", feedback_source={"type": "api", "metadata": {}}))
    let_pass(10)
    details = dict(Judgement.objects.values_list("name", "detail"))
    assert details == {"helpful": {**more, "feedback_source": {"metadata": source["metadata"]}}, "plain": None}


def test_feedback_is_changed_and_deleted() -> None:
    _batch(post=[root(**root_end())])
    _send("post", "feedback", feedback(comment="well"))
    let_pass(10)
    assert _send("patch", "feedback/f1", {"score": 1, "comment": None}).status_code == 200
    let_pass(10)
    assert _scores() == [("helpful", 1.0, None)]
    assert Judgement.objects.get(withdrawn_at__isnull=True).text == ""
    assert _send("delete", "feedback/f1", b"").status_code == 200
    let_pass(10)
    assert (_scores(), Judgement.objects.count()) == ([], 2)
    assert _send("patch", "feedback/unknown", {"score": 1}).status_code == 404


def test_bad_records_are_named_and_the_others_stored() -> None:
    response = _form(
        *run_parts("post", root(**root_end())),
        *run_parts("post", call(start_time="yesterday")),
        part(f"post.{TOOL}", b"{broken"),
        part("feedback.f2", {"id": "f2", "key": "helpful", "score": 1}),
    )
    assert response.status_code == 422
    detail = response.json()["detail"]
    assert "/post/1" in detail
    assert "the part at byte" in detail
    assert "only feedback on runs" in detail
    assert _steps(_sealed_run()) == WHOLE[:1]


def test_number_that_is_not_json_rejects_only_its_run() -> None:
    body = orjson.dumps({"post": [root(**root_end()), call(inputs="@")]}).replace(b'"@"', b"NaN")
    assert _send("post", "runs/batch", body).status_code == 422
    assert _steps(_sealed_run()) == WHOLE[:1]


@pytest.mark.parametrize(
    ("path", "body"), [("runs/batch", b"{"), ("runs/batch", b"[]"), ("runs/multipart", b"--x\r\n"), ("runs", b"1")]
)
def test_malformed_body_is_refused(path: str, body: bytes) -> None:
    response = _send("post", path, body)
    assert (response.status_code, list(response.json())) == (400, ["detail"])
    assert not Segment.objects.exists()


def test_too_large_body_is_refused(settings: Any) -> None:
    settings.MAX_BODY_BYTES = 100
    assert _form(*run_parts("post", root())).status_code == 413


def test_clients_learn_how_to_send() -> None:
    info = Client().get("/langsmith/info").json()
    assert info["batch_ingest_config"]["use_multipart_endpoint"] is True
    assert info["instance_flags"]["zstd_compression_enabled"] is True


def test_project_of_a_name_is_always_the_same() -> None:
    first, second = (Client().get("/langsmith/sessions?limit=1&name=shop").json() for _ in range(2))
    assert (first[0]["name"], first[0]["id"]) == ("shop", second[0]["id"])


@pytest.mark.parametrize(
    ("method", "path"), [("get", f"runs/{TRACE}"), ("post", "runs/query"), ("get", "feedback"), ("get", "feedback/f1")]
)
def test_reading_of_runs_and_feedback_is_missing(method: str, path: str) -> None:
    response = getattr(Client(), method)(f"/langsmith/{path}")
    assert (response.status_code, list(response.json())) == (404, ["detail"])


def test_other_endpoints_are_missing() -> None:
    response = Client().get("/langsmith/commits/a/b")
    assert (response.status_code, list(response.json())) == (404, ["detail"])
