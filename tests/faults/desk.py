"""A model and two tools on one real server that counts requests, and a recording that uses them."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.replay_runs import Reply, ToolCall, order_desk
from tests.support.servers.provider_server import Exchange, openai_chunk, provider_server
from traces.core.recorded_run import RecordedRun

TURNS: Final = 3
CALLS: Final = 3 * TURNS  # each turn asks the model, runs a tool and asks the model again
STEPS: Final = 2 + 4 * TURNS  # an agent, the output, and each turn with its calls
CHARGES: Final = "charge_card"  # not idempotent: at most once, whatever happens
LOOKS_UP: Final = "look_up"


@dataclass
class Desk:
    """Counts requests; `pause_s` is the duration of each half of an answer.

    At `silent_count` requests it clears `may_answer`, so that the next request waits.
    """

    base_url: str = ""
    pause_s: float = 0.02
    request_counts: Counter[str] = field(default_factory=Counter)
    may_answer: threading.Event = field(default_factory=threading.Event)  # cleared, no answer goes out
    waiting: int = 0
    silent_count: int | None = None

    def respond(self, exchange: Exchange) -> None:
        self.waiting += 1
        self.may_answer.wait(60)
        self.waiting -= 1
        try:
            if exchange.path.startswith("/tools/"):
                self._tool(exchange)
            else:
                self._model(exchange)
        except OSError:
            return  # the worker that asked is dead

    def count(self) -> int:
        return sum(self.request_counts.values())

    def _record(self, request: str) -> None:
        self.request_counts[request] += 1
        if self.count() == self.silent_count:
            self.may_answer.clear()

    def _tool(self, exchange: Exchange) -> None:
        order = exchange.body["order"]
        self._record(f"{exchange.path.rpartition('/')[2]} {order}")
        time.sleep(self.pause_s)
        exchange.status(200, {"order": order, "done": "live"})

    def _model(self, exchange: Exchange) -> None:
        last = exchange.body["messages"][-1]
        question = next(m["content"] for m in reversed(exchange.body["messages"]) if m["role"] == "user")
        self._record(f"{last['role']} {question}")
        exchange.stream()
        if last["role"] == "user":
            session, turn = (int(word) for word in question.rstrip("?").split()[1::2])
            function = {"name": _tool(turn), "arguments": f'{{"order": "{_order(session, turn)}"}}'}
            call = {"index": 0, "id": f"live-{turn}", "type": "function", "function": function}
            exchange.send(openai_chunk({"role": "assistant", "tool_calls": [call]}))
            time.sleep(self.pause_s)
            exchange.send(openai_chunk(finish="tool_calls"))
        else:
            exchange.send(openai_chunk({"role": "assistant", "content": "Live "}))
            time.sleep(self.pause_s)
            exchange.send(openai_chunk({"content": f"answer to: {question}"}, finish="stop"))
        exchange.send("[DONE]")


@contextmanager
def desk_server() -> Iterator[Desk]:
    desk = Desk()
    desk.may_answer.set()
    with provider_server(desk.respond) as server:
        desk.base_url = server.base_url
        yield desk
        desk.may_answer.set()


def recording(session: int) -> RecordedRun:
    conversation = [
        (
            f"Customer {session} turn {turn}?",
            (
                ToolCall(
                    _tool(turn), {"order": _order(session, turn)}, {"order": _order(session, turn), "done": "before"}
                ),
                Reply(f"Recorded answer {turn}."),
            ),
        )
        for turn in range(1, TURNS + 1)
    ]
    return order_desk(conversation, external_id=f"desk-{session}")


def request(run: str) -> dict[str, Any]:
    """A fork that repeats all calls live."""
    entries = [{"match": {"type": "model"}, "prompt": {"system": "Be brief."}}]
    policy = {"allow": ["model", "tool"], "order": "reexecute", "retries": {"max": 5, "initial_s": 0.05, "base": 1.5}}
    return {"run": run, "overrides": {"overrides": entries}, "policy": policy}


def experiment(run: str) -> dict[str, Any]:
    """Two models, two samples each, two sessions in parallel."""
    values = [
        {"name": name, "overrides": [{"match": {"type": "model"}, "model": {"provider": "desk", "model": name}}]}
        for name in ("one", "other")
    ]
    matrix = {"axes": [{"name": "model", "values": values}], "samples": 2, "parallel": 2}
    return {**request(run), **matrix, "checks": [{"kind": "contains", "text": "answer to"}]}


def tools(base_url: str) -> dict[str, Any]:
    return {
        CHARGES: {"http": {"url": f"{base_url}/tools/{CHARGES}"}, "idempotent": False},
        LOOKS_UP: {"http": {"url": f"{base_url}/tools/{LOOKS_UP}"}, "idempotent": True},
    }


def _tool(turn: int) -> str:
    return CHARGES if turn % 2 else LOOKS_UP


def _order(session: int, turn: int) -> str:
    return f"{session}.{turn}"


def requests_of(session: int, turn: int) -> list[str]:
    """Requests of a turn as the server counts them."""
    question = f"Customer {session} turn {turn}?"
    return [f"user {question}", f"{_tool(turn)} {_order(session, turn)}", f"tool {question}"]
