"""A worker that is killed in the middle of a replay: another one finishes it without repeating a finished call."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import replay_process
from tests.provider_server import Exchange, ProviderServer, openai_chunk, provider_server

pytestmark = pytest.mark.own_store
KILLS = 2


class Desk:
    """A model that answers with the number of the question, and can be made to hang on one of them."""

    def __init__(self) -> None:
        self.finished: Counter[str] = Counter()
        self.hangs_on = ""
        self.hanging = threading.Event()
        self.let_go = threading.Event()
        self.pause_s = 0.0

    def __call__(self, exchange: Exchange) -> None:
        question = exchange.body["messages"][-1]["content"]
        exchange.stream()
        exchange.send(openai_chunk({"role": "assistant", "content": "Live "}))
        if question == self.hangs_on:
            self.hanging.set()
            self.let_go.wait(60)
        time.sleep(self.pause_s)
        try:
            exchange.send(openai_chunk({"content": f"answer to: {question}"}, finish="stop"))
            exchange.send("[DONE]")
        except OSError:
            return  # the worker that asked is dead
        self.finished[question] += 1


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def server(desk: Desk) -> Iterator[ProviderServer]:
    with provider_server(desk) as running:
        yield running


def wait_for_end(env: dict[str, str]) -> Any:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if replay_process.status(env) not in {"pending", "running"}:
            return replay_process.ask("report", env)
        time.sleep(0.05)
    raise AssertionError("the session did not end")


def questions(server: ProviderServer) -> list[str]:
    return [exchange.body["messages"][-1]["content"] for exchange in server.seen]


def test_a_killed_worker_is_taken_over_in_the_middle_of_a_call(
    server: ProviderServer, desk: Desk, tmp_path: Path
) -> None:
    env = replay_process.environment(tmp_path / "home", server.base_url)
    replay_process.ask("prepare", env)
    desk.hangs_on = "Question 3?"
    first = replay_process.start("work", env)
    assert desk.hanging.wait(60), "the worker never asked the third question"
    first.kill()
    first.wait()
    desk.hangs_on = ""
    desk.let_go.set()
    second = replay_process.start("work", env)
    try:
        report = wait_for_end(env)
    finally:
        second.kill()
        second.wait()
    assert report["status"].startswith("completed"), report["error"]
    asked = Counter(questions(server))
    assert asked == {f"Question {number}?": 2 if number == 3 else 1 for number in range(1, 9)}
    assert report["live_calls"] == 8
    assert [tuple(attempt) for attempt in report["attempts"] if attempt[0] == 7] == [
        (7, 1, "failed"), (7, 2, "succeeded"),
    ]  # fmt: skip
    assert set(report["source"]) == {"live"}
    assert [line for line in report["steps"] if "model" in line] == [
        f"{2 * number + 1} model simulated Live answer to: Question {number}?" for number in range(1, 9)
    ]


def test_workers_killed_at_random_lose_no_step_and_repeat_no_finished_call(
    server: ProviderServer, desk: Desk, tmp_path: Path
) -> None:
    env = replay_process.environment(tmp_path / "home", server.base_url)
    replay_process.ask("prepare", env)
    desk.pause_s = 0.05
    chance = random.Random(7)
    kills = 0
    while replay_process.status(env) in {"pending", "running"} and kills < KILLS:
        worker = replay_process.start("work", env)
        asked = len(server.seen)
        until = time.monotonic() + 30
        while len(server.seen) == asked and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.15))
        worker.kill()
        worker.wait()
        kills += 1
    last = replay_process.start("work", env)
    try:
        report = wait_for_end(env)
    finally:
        last.kill()
        last.wait()
    assert report["status"].startswith("completed"), report["error"]
    succeeded = Counter(number for number, _, status in report["attempts"] if status == "succeeded")
    assert set(succeeded.values()) == {1}
    # A worker may die between storing that it will call and calling.
    assert len(server.seen) <= len(report["attempts"])
    assert len([line for line in report["steps"] if "model" in line]) == len(succeeded) == 8
    numbers = [int(line.split()[0]) for line in report["steps"]]
    assert numbers == list(range(1, len(report["source"]) + 1))
    assert json.dumps(report["source"]).count("live") == len(report["source"])
