"""Tasks that are awaited one after the other are one lane; those that may run beside others are not."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from forkpoint.lanes import current_lane

Await = Callable[[Awaitable[str]], Awaitable[str]]


async def whole_lane(pause_s: float = 0) -> str:
    await asyncio.sleep(pause_s)
    return current_lane()


async def lane(pause_s: float = 0) -> str:
    """Return the lane without the task that it works on."""
    return (await whole_lane(pause_s)).partition("/")[0]


async def as_task(call: Awaitable[str]) -> str:
    return await asyncio.ensure_future(call)


async def with_timeout(call: Awaitable[str]) -> str:
    return await asyncio.wait_for(call, 10)


async def gathered(call: Awaitable[str]) -> str:
    [result] = await asyncio.gather(call)
    return result


async def grouped(call: Awaitable[str]) -> str:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(as_task(call))
    return task.result()


async def shielded(call: Awaitable[str]) -> str:
    return await asyncio.shield(call)


async def polled(call: Awaitable[str]) -> str:
    task = asyncio.ensure_future(call)
    await asyncio.wait({task}, timeout=10)
    return task.result()


def lanes(one: Await, count: int = 2) -> set[str]:
    async def main() -> set[str]:
        return {await lane(), *[await one(lane()) for _ in range(count)]}

    return asyncio.run(main())


@pytest.mark.parametrize("one", [as_task, with_timeout, gathered, grouped])
def test_awaited_tasks_are_one_lane(one: Await) -> None:
    assert len(lanes(one)) == 1


@pytest.mark.parametrize("one", [shielded, polled])
def test_tasks_that_may_outlast_the_wait_are_lanes(one: Await) -> None:
    assert len(lanes(one)) == 3


def test_tasks_beside_each_other_are_lanes() -> None:
    async def main() -> list[str]:
        first, second = asyncio.ensure_future(lane(0.01)), asyncio.ensure_future(lane(0.05))
        return [await lane(), await first, await second]

    # The second is alone when it calls, but it might have called first.
    assert len(set(asyncio.run(main()))) > 1
    assert len({*asyncio.run(main())[1:]}) == 2


def test_task_beside_a_background_task_is_a_lane() -> None:
    async def main() -> set[str]:
        background = asyncio.ensure_future(asyncio.sleep(10))
        result = {await lane(), await as_task(lane())}
        background.cancel()
        return result

    assert len(asyncio.run(main())) == 2


def test_tasks_are_numbered_as_they_were_made() -> None:
    async def main() -> list[str]:
        # The last one calls first, and the first one is alone when it calls.
        tasks = [asyncio.ensure_future(whole_lane(pause_s)) for pause_s in (0.1, 0.05, 0)]
        named = asyncio.create_task(whole_lane(0.02), name="Task-ß")
        return [*await asyncio.gather(*tasks), await named]

    *numbers, name = [lane.rpartition("/")[2] for lane in asyncio.run(main())]
    first = int(numbers[0].removeprefix("task"))
    assert numbers == [f"task{first + place}" for place in range(3)]
    assert name.startswith("branch")


def test_task_keeps_its_lane() -> None:
    async def call_twice() -> tuple[str, str]:
        first = current_lane()
        background = asyncio.ensure_future(asyncio.sleep(10))
        second = current_lane()
        background.cancel()
        return first, second

    async def main() -> tuple[str, str]:
        return await asyncio.ensure_future(call_twice())

    assert len(set(asyncio.run(main()))) == 1
