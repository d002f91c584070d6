"""Turns of the requests that wait for a slot."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from cockpit.http.transfer.slots import FairSemaphore, Slots, Turn


async def turns_of(semaphore: FairSemaphore, parties: list[str]) -> list[str]:
    """Let all parties wait for the only slot at once; return them in the order in which they get it."""
    order: list[str] = []

    async def take(party: str) -> None:
        await semaphore.acquire(party)
        order.append(party)
        semaphore.release()

    await semaphore.acquire("first")
    tasks = [asyncio.create_task(take(party)) for party in parties]
    await asyncio.sleep(0)
    semaphore.release()
    await asyncio.gather(*tasks)
    return order


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def test_parties_take_turns() -> None:
    assert run(turns_of(FairSemaphore(1), [*"aaaaa", *"bb", "c"])) == list("abcabaaa")


def test_cancelled_waiters_are_passed_over() -> None:
    async def cancel_one() -> list[str]:
        semaphore = FairSemaphore(1)
        await semaphore.acquire("first")
        waiting = [asyncio.create_task(semaphore.acquire("a")) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        semaphore.release()
        # This one has got its turn, and is cancelled before it runs.
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return await turns_of(semaphore, ["b"])

    assert run(cancel_one()) == ["b"]


def test_probes_need_no_slot_of_others() -> None:
    async def probe() -> bool:
        slots = Slots(active=1, slow=0, slow_per_address=0)
        async with Turn(slots, "a"), asyncio.timeout(1), Turn(slots, "a", is_probe=True):
            return True

    assert run(probe())


def test_pipelined_requests_delay_others_by_one_turn() -> None:
    async def order() -> list[int]:
        slots, served = Slots(active=1, slow=0, slow_per_address=0), []

        async def request(number: int, *, is_pipelined: bool) -> None:
            async with Turn(slots, "a", is_pipelined=is_pipelined):
                served.append(number)
                await asyncio.sleep(0)

        flood = [asyncio.create_task(request(number, is_pipelined=True)) for number in range(20)]
        await asyncio.sleep(0)
        await asyncio.gather(request(99, is_pipelined=False), *flood)
        return served

    assert run(order()).index(99) <= 3
