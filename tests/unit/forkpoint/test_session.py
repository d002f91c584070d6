"""Calls in a rerun: answered from the recording, run, or the end of the process."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, NoReturn
from uuid import UUID

import pytest

import forkpoint
from forkpoint import Recorder
from forkpoint.answers import Answer, Reply
from forkpoint.capture.steps import put_argument, record_calls
from forkpoint.encoding import freeze
from forkpoint.session import ReplaySession
from forkpoint.transport.events import Event
from forkpoint.transport.reports import SessionSink
from forkpoint.transport.writer import Writer


class Session:
    """A rerun that gives one answer to everything."""

    def __init__(self, answer: Answer | None, arguments: Any = None) -> None:
        self.questions: list[tuple[str, str, Any]] = []
        self.names: list[str] = []
        self._reply = Reply(answer=answer, arguments=arguments, call="c1")

    def ask(self, type: str, name: str, arguments: Any, server: Any = None, lane: str = "", call_id: str = "") -> Reply:
        self.questions.append((type, name, arguments))
        return self._reply

    def refuse(self, reason: str) -> NoReturn:
        raise SystemExit(reason)

    def declare_tools(self, names: Iterable[str]) -> None:
        self.names += names

    def report(self, lines: list[str]) -> None:
        raise AssertionError("nothing is recorded")


class OutOfStock(Exception):
    def __init__(self, item: str, *, count: int) -> None:
        super().__init__(f"{item}: {count} left")


def rerun(answer: Answer | None, arguments: Any = None) -> tuple[Recorder, Session]:
    recorder, session = Recorder("off"), Session(answer, arguments)
    recorder.session = session
    return recorder, session


def test_answer_that_depends_on_a_client_is_a_loss_where_nobody_asks_the_client() -> None:
    losses: list[str] = []
    question = {"method": "elicitation/create", "params": {}, "response": {"result": {"action": "accept"}}}

    def get_order(messages: list[Any], *, plays_messages: bool = False) -> Any:
        recorder, _ = rerun(Answer("lost", messages=messages, report_loss=lambda: losses.append("reported")))
        step = recorder.tool("get_order", {})
        step.plays_messages = plays_messages
        return step.answer()

    get_order([{"method": "notifications/message", "params": {}}])
    get_order([question], plays_messages=True)
    assert losses == []
    get_order([question])
    assert losses == ["reported"]


def never(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("this call is made")


def test_function_is_not_called_if_the_recording_answers() -> None:
    recorder, session = rerun(Answer(output={"id": 7}))

    @recorder.tool()
    def get_order(id: int, *, full: bool = False) -> Any:
        never()

    @recorder.retrieval("policies")
    def search(query: str) -> Any:
        never()

    assert get_order(7, full=True) == {"id": 7}
    search("refunds")
    assert session.questions == [
        ("tool", "get_order", {"id": 7, "full": True}),
        ("retrieval", "policies", {"query": "refunds"}),
    ]


def test_function_is_called_if_the_session_says_so() -> None:
    recorder, session = rerun(None)
    assert recorder.tool("double")(lambda number: 2 * number)(4) == 8
    assert session.questions == [("tool", "double", {"number": 4})]


def test_function_gets_the_arguments_of_an_override() -> None:
    recorder, session = rerun(None, {"id": "A-2", "limit": 1})

    class Desk:
        @recorder.tool()
        def get_order(self, id: str, *extra: str, limit: int = 3) -> Any:
            return id, extra, limit

    @recorder.tool()
    def get_any(**arguments: Any) -> Any:
        return arguments

    @recorder.tool()
    async def get_later(id: str, note: str = "none", limit: int = 3) -> Any:
        return id, note, limit

    @recorder.retrieval("orders")
    def search(id: str, limit: int) -> Iterator[Any]:
        yield id, limit

    assert Desk().get_order("A-1", limit=9) == ("A-2", (), 1)
    assert get_any(id="A-1", note="x") == {"id": "A-2", "limit": 1}
    assert asyncio.run(get_later("A-1", "x")) == ("A-2", "none", 1)
    assert [*search("A-1", 2)] == [("A-2", 1)]
    assert session.questions[0] == ("tool", "get_order", {"id": "A-1", "limit": 9})


def test_call_without_such_an_argument_is_refused() -> None:
    forkpoint.recorder.configure(sink="off")
    for arguments, problem in (({"order": 1}, "it has no argument “order”"), ("A-2", "its arguments have no names")):
        recorder, _ = rerun(None, arguments)
        with pytest.raises(SystemExit, match=problem):
            recorder.tool("get_order")(lambda id: never())("A-1")
    recorder, _ = rerun(None, {"id": "A-2"})
    framework = record_calls(lambda id: never(), lambda args, kwargs: recorder.tool("get_order", {"id": args[0]}))
    with pytest.raises(SystemExit, match="this framework has read them already; override its result"):
        framework("A-1")


def test_call_of_a_framework_gets_the_arguments_of_an_override() -> None:
    forkpoint.recorder.configure(sink="off")
    recorder, _ = rerun(None, {"id": "A-2"})

    def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return recorder.tool("get_order", args[1] if len(args) > 1 else kwargs["arguments"])

    def rearrange(args: tuple[Any, ...], kwargs: dict[str, Any], old: Any, new: Any) -> Any:
        return put_argument(args, kwargs, 1, "arguments", new)

    async def invoke(name: str, arguments: Any) -> Any:
        return arguments

    call = record_calls(lambda name, arguments: arguments, describe, rearrange=rearrange)
    assert [call("x", {"id": "A-1"}), call("x", arguments={"id": "A-1"})] == [{"id": "A-2"}] * 2
    assert asyncio.run(record_calls(invoke, describe, rearrange=rearrange)("x", {"id": "A-1"})) == {"id": "A-2"}


def test_agents_models_and_checks_are_not_asked_about() -> None:
    recorder, session = rerun(Answer(output="recorded"))
    for step in (recorder.agent("desk"), recorder.validator("check"), recorder.prompt("p"), recorder.model("m1")):
        assert step(lambda: "run")() == "run"
    assert session.questions == []


def test_coroutines_and_generators_are_answered() -> None:
    recorder, _ = rerun(Answer(output=[1, 2]))

    @recorder.tool()
    async def numbers() -> Any:
        never()

    @recorder.tool()
    def items() -> Iterator[int]:
        yield never()

    @recorder.tool()
    async def async_items() -> AsyncIterator[int]:
        yield never()

    async def main() -> tuple[Any, list[int]]:
        return await numbers(), [item async for item in async_items()]

    assert asyncio.run(main()) == ([1, 2], [1, 2])
    assert [*items()] == [1, 2]


def _dict_function() -> dict[str, int]:
    never()


def _text_function() -> str:
    never()


@pytest.mark.parametrize(
    ("function", "output", "result"),
    [(_dict_function, '{"a": 1}', {"a": 1}), (_text_function, '{"a": 1}', '{"a": 1}'), (_dict_function, "no", "no")],
)
def test_text_that_a_model_got_becomes_what_the_function_returns(
    function: Callable[[], Any], output: str, result: Any
) -> None:
    recorder, _ = rerun(Answer(output=output, is_text=True))
    assert recorder.tool()(function)() == result


def test_recorded_error_is_raised_again() -> None:
    recorder, _ = rerun(Answer(error="OutOfStock: chair: 0 left"))
    with pytest.raises(OutOfStock, match=r"^chair: 0 left$"):
        recorder.tool()(never)()


def test_cancelled_call_waits_until_it_is_cancelled_again() -> None:
    recorder, _ = rerun(Answer(error="CancelledError"))

    @recorder.tool()
    async def slow() -> None:
        never()

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(slow(), 0.05))


def test_generator_yields_until_it_raises() -> None:
    recorder, _ = rerun(Answer(output=[1, 2], error="OutOfStock: chair"))

    @recorder.tool()
    def numbers() -> Iterator[int]:
        yield never()

    items = numbers()
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(OutOfStock):
        next(items)


def test_failed_question_ends_the_process() -> None:
    code = """
import forkpoint
try:
    forkpoint.tool(lambda: print("run"))()
finally:
    print("caught")
"""
    # The discard port: nothing listens there.
    variables = {"FORKPOINT_RERUN": "r1", "FORKPOINT_URL": "http://127.0.0.1:9"}
    process = subprocess.run(
        [sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert (process.returncode, process.stdout) == (6, "")
    assert "forkpoint: rerun r1 gave no answer about <lambda>: URLError" in process.stderr


def test_values_are_new_outside_of_a_rerun() -> None:
    assert abs(datetime.now(UTC) - forkpoint.now()) < timedelta(minutes=1)
    assert 0 <= forkpoint.random() < 1
    assert forkpoint.uuid() != forkpoint.uuid()


@pytest.mark.parametrize(
    ("read", "output", "value"),
    [
        (forkpoint.now, "2026-03-01T10:00:00+00:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (forkpoint.random, 0.25, 0.25),
        (forkpoint.uuid, "7cde93eb-b711-46c0-ac50-709226bda13b", UUID("7cde93eb-b711-46c0-ac50-709226bda13b")),
    ],
)
def test_values_of_a_rerun_are_recorded_ones(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[], Any], output: Any, value: Any
) -> None:
    monkeypatch.setattr(forkpoint.recorder, "session", Session(Answer(output=output)))
    assert read() == value


class Replies(BaseHTTPRequestHandler):
    """A server that is away for a moment while an operator is asked."""

    replies: ClassVar[list[dict[str, Any] | int | None]] = []
    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        reply = self.replies.pop(0)
        if reply is None:
            self.close_connection = True
            return
        content = json.dumps({} if isinstance(reply, int) else reply).encode()
        self.send_response(reply if isinstance(reply, int) else 200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def test_call_waits_for_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forkpoint.session._POLL_S", 0.01)
    outcome: dict[str, Any] = {"decision": "overridden", "output": "sent", "error": "", "is_text": True}
    outcome["delay_s"] = 0.3
    Replies.replies, start = [{"decision": "ask"}, {"decision": "ask"}, None, 503, outcome], time.monotonic()
    with ThreadingHTTPServer(("127.0.0.1", 0), Replies) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        session = ReplaySession("r1", f"http://127.0.0.1:{server.server_port}", "")
        reply = session.ask("tool", "send", {"to": "Bern"})
        assert (reply.answer, bool(reply.call)) == (Answer(output="sent", is_text=True), True)
        assert time.monotonic() - start > 0.3
        server.shutdown()
    # The same call each time.
    assert (len(Replies.bodies), len(set(Replies.bodies))) == (5, 1)
    assert json.loads(Replies.bodies[0])["call"]


def test_call_that_runs_has_been_reported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may die in it. A server that is busy gets the report again."""
    monkeypatch.setattr("forkpoint.session._POLL_S", 0.01)
    run: dict[str, Any] = {"decision": "run", "arguments": None}
    Replies.replies, Replies.bodies = [503, run, run], []
    with ThreadingHTTPServer(("127.0.0.1", 0), Replies) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        session = ReplaySession("r1", f"http://127.0.0.1:{server.server_port}", "")
        writer = Writer(SessionSink(session))
        writer.enqueue(Event("r1", "s1", None, 1, "tool_called", 0.0, freeze({"tool_name": "pay"})))
        session.ask("tool", "pay", {"amount": 3})
        reports = [body for body in Replies.bodies if b"tool_called" in body]
        writer.flush()
        writer.close()
        server.shutdown()
    assert (len(Replies.bodies), len(reports) in {1, 2}) == (3, True)


def test_last_question_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forkpoint.session._OPERATOR_S", 0)
    Replies.bodies = []
    Replies.replies = [{"decision": "ask"}, {"decision": "run", "arguments": {"to": "Rome"}}]
    with ThreadingHTTPServer(("127.0.0.1", 0), Replies) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        reply = ReplaySession("r1", f"http://127.0.0.1:{server.server_port}", "").ask("tool", "send", {"to": "Bern"})
        server.shutdown()
    assert (reply.answer, reply.arguments) == (None, {"to": "Rome"})
    assert ["is_last" in json.loads(body) for body in Replies.bodies] == [False, True]


def test_what_cannot_be_restored_is_reported() -> None:
    Replies.bodies = []
    form = {"type": "opaque", "str": "sensor A"}
    exact = {"decision": "exact", "output": "<Sensor>", "output_form": form, "error": "", "is_text": False}
    plain = {**exact, "output": "sunny", "output_form": None}
    Replies.replies = [exact, {"decision": "cached"}, plain, {"decision": "cached"}]
    with ThreadingHTTPServer(("127.0.0.1", 0), Replies) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        session = ReplaySession("r1", f"http://127.0.0.1:{server.server_port}", "")
        sensor = session.ask("tool", "read", {}).answer
        assert sensor is not None
        assert str(sensor.result()) == "sensor A"
        weather = session.ask("tool", "look", {}).answer
        assert weather == Answer("sunny")
        # By an instrumentation that knows that something is missing.
        weather.report_loss()
        # Another object may have the same `repr`.
        Replies.replies = [plain, {"decision": "cached"}, plain]
        for value in object(), {"at": [datetime(2026, 1, 1, tzinfo=UTC), (b"a", 1.5)]}:
            session.ask("tool", "look", {"at": value})
        server.shutdown()
    bodies = [json.loads(body) for body in Replies.bodies]
    assert [body.get("has_stand_in", False) for body in bodies] == [False, True, False, True, False, True, False]
    assert (bodies[0]["call"], bodies[2]["call"]) == (bodies[1]["call"], bodies[3]["call"])


_POOL = """
import multiprocessing
from forkpoint.session import ReplaySession, end_process

ReplaySession.from_environment()
with multiprocessing.get_context("fork").Pool(1) as pool:
    pool.apply(end_process, ["refused", 5])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_refusal_in_a_pool_ends_the_program() -> None:
    """The pool would start another worker, and wait for the result of the first."""
    variables = {"FORKPOINT_RERUN": "1.1", "FORKPOINT_URL": "http://127.0.0.1:9"}
    program = subprocess.run([sys.executable, "-c", _POOL], env=variables, capture_output=True, text=True, timeout=60)
    assert (program.returncode, program.stderr.splitlines()[0]) == (5, "forkpoint: refused")
