"""What the gateway adds to a model call: calls through it beside calls straight to the model server.

Run as a program, this is the model server. Rounds of both alternate, so that the machine's load concerns both.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
from aiohttp import ClientSession, TCPConnector, web

from tests.services.processes import scratch_folder
from tests.services.server import Server

_ROUNDS: Final = 10
_CALLS: Final = 30
# An agent waits for its model and works between two calls.
_PAUSE_S: Final = 0.02
_OPEN_CALLS: Final = 100
_OPEN_ROUNDS: Final = 5
_OPEN_WAIT_S: Final = 2.0
# Conversations that end and begin again, because an agent's context is limited.
_CONVERSATIONS: Final = 100
_TURNS: Final = 100
_WARM_CONVERSATIONS: Final = 10
_WAIT_HEADER: Final = "x-bench-wait"
_TEXT: Final = "Damaged goods are refunded within fourteen days. " * 400
_ANSWER: Final = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Refunded."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 4000, "completion_tokens": 3, "total_tokens": 4003},
}


@dataclass(frozen=True, kw_only=True)
class _Gateway:
    """A server whose gateway sends calls to the model server at `direct`."""

    direct: str
    server: Server

    def open_session(self) -> str:
        """Return the base URL of a new run."""
        address = f"{self.server.url}/api/v1/gateway/sessions"
        session = httpx2.post(address, json={}, trust_env=False).json()
        return f"{self.server.url}{session['path']}/openai/v1"


@contextmanager
def _gateway() -> Iterator[_Gateway]:
    with subprocess.Popen([sys.executable, "-m", "tests.bench.gateway"], stdout=subprocess.PIPE, text=True) as models:
        assert models.stdout is not None
        direct = models.stdout.readline().strip()
        home = Path(scratch_folder("fp-gateway-")) / "home"
        server = Server(home, "--no-demo", env={"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": direct})
        try:
            server.start()
            yield _Gateway(direct=direct, server=server)
        finally:
            server.stop()
            models.terminate()


def gateway_overhead_ms() -> float:
    """Return the median of what the gateway adds to a call of 20 kB, one call at a time."""
    with _gateway() as gateway:
        return asyncio.run(_overhead_ms(gateway.direct, gateway.open_session()))


def open_calls_overhead_ms() -> float:
    """Return the median of what the gateway adds while 100 calls at once wait for the model for 2 s each."""
    with _gateway() as gateway:
        return asyncio.run(_open_overhead_ms(gateway.direct, gateway.open_session()))


def memory_growth_mb() -> float:
    """Return how much the server's memory grows over 10,000 calls, after the first thousand."""
    with _gateway() as gateway:
        return asyncio.run(_memory_growth_mb(gateway))


async def _overhead_ms(direct: str, gateway: str) -> float:
    times_ms: dict[str, list[float]] = {direct: [], gateway: []}
    async with ClientSession() as client:
        for number in range(_ROUNDS):
            for base, durations in times_ms.items():
                durations += await _round(client, base, number)
    return _difference(times_ms[direct], times_ms[gateway])


async def _round(client: ClientSession, base: str, round_number: int) -> list[float]:
    """Return the times of a few calls, without the first one, which opens the connection."""
    times_ms = []
    for number in range(_CALLS):
        times_ms.append(await _call_ms(client, base, f"{round_number}.{number}: {_TEXT}"))
        await asyncio.sleep(_PAUSE_S)
    return times_ms[1:]


async def _open_overhead_ms(direct: str, gateway: str) -> float:
    times_ms: dict[str, list[float]] = {direct: [], gateway: []}
    async with ClientSession(connector=TCPConnector(limit=0)) as client:
        for number in range(_OPEN_ROUNDS):
            for base, durations in times_ms.items():
                rounds = await asyncio.gather(
                    *(_late_call_ms(client, base, number, place) for place in range(_OPEN_CALLS))
                )
                # The first round opens the connections.
                durations += rounds if number else []
    return _difference(times_ms[direct], times_ms[gateway])


async def _late_call_ms(client: ClientSession, base: str, round_number: int, place: int) -> float:
    """Return the time of a call that begins within the time that a call takes: agents do not call in step."""
    await asyncio.sleep(_OPEN_WAIT_S * place / _OPEN_CALLS)
    return await _call_ms(client, base, f"{round_number}.{place}: {_TEXT}", wait_s=_OPEN_WAIT_S)


async def _memory_growth_mb(gateway: _Gateway) -> float:
    async with ClientSession() as client:
        await _converse(client, gateway, _WARM_CONVERSATIONS)
        before = _memory_mb(gateway.server.pid)
        await _converse(client, gateway, _CONVERSATIONS - _WARM_CONVERSATIONS)
        return _memory_mb(gateway.server.pid) - before


async def _converse(client: ClientSession, gateway: _Gateway, conversations: int) -> None:
    """Make calls each of which repeats the conversation before it."""
    for conversation in range(conversations):
        base = gateway.open_session()
        texts: list[str] = []
        for turn in range(_TURNS):
            texts.append(f"{conversation}.{turn}: {_TEXT[:400]}")
            await _call_ms(client, base, *texts)


async def _call_ms(client: ClientSession, base: str, *texts: str, wait_s: float = 0.0) -> float:
    messages = [{"role": "user", "content": text} for text in texts]
    body = json.dumps({"model": "m1", "messages": messages}).encode()
    headers = {"content-type": "application/json", _WAIT_HEADER: str(wait_s)}
    start = time.perf_counter()
    async with client.post(f"{base}/chat/completions", data=body, headers=headers) as response:
        await response.read()
    return (time.perf_counter() - start) * 1000


def _difference(direct: list[float], gateway: list[float]) -> float:
    return statistics.median(gateway) - statistics.median(direct)


def _memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def _answer(request: web.Request) -> web.Response:
    await request.read()
    await asyncio.sleep(float(request.headers[_WAIT_HEADER]))
    return web.json_response(_ANSWER)


async def _serve_models() -> None:
    application = web.Application(client_max_size=2**24)
    application.router.add_post("/v1/{path:.*}", _answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site: Any = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve_models())
