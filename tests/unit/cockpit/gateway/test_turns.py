"""The order in which the parallel calls of a rerun are answered."""

import asyncio

from cockpit.gateway.events import Call
from cockpit.gateway.playback import Turns
from cockpit.gateway.routes import Operation
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest

CALL = Call(
    run_id="r",
    id="c",
    provider="openai",
    protocol="openai",
    operation=Operation(path="/", api="openai.chat"),
    run_start=1.0,
    start=1.0,
    body=b"",
)
SPANS = [(0, 0), (1, 9), (2, 5), (3, 7), (5, 6), (10, 12)]


def test_calls_that_were_open_together_and_answered_before() -> None:
    requests = [
        RecordedRequest(no=no, request={}, strict={}, start_s=start, end_s=end) for no, (start, end) in enumerate(SPANS)
    ]
    calls = RecordedCalls(requests)
    assert {call.no: calls.answered_before(call) for call in requests} == {
        0: [],
        1: [2, 3, 4],
        2: [],
        3: [2, 4],
        4: [],
        5: [],
    }


def test_answers_wait_for_their_turn() -> None:
    async def answer(turns: Turns, number: int, predecessors: list[int], order: list[int]) -> None:
        await turns.wait(CALL, predecessors)
        order.append(number)
        turns.note(CALL, number)

    async def scenario() -> list[int]:
        turns, order = Turns(), list[int]()
        await asyncio.gather(*(answer(turns, number, [*range(number)], order) for number in (3, 1, 2, 0)))
        return order

    assert asyncio.run(scenario()) == [0, 1, 2, 3]
