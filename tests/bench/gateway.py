"""What the gateway adds to a model call: calls through it beside calls straight to the model server.

Run as a program, this is the model server. Rounds of both alternate, so that the machine's load concerns both.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import httpx2
from aiohttp import ClientSession, web

from tests.services.processes import scratch_folder
from tests.services.server import Server

_ROUNDS: Final = 10
_CALLS: Final = 30
# An agent waits for its model and works between two calls.
_PAUSE_S: Final = 0.02
_TEXT: Final = "Damaged goods are refunded within fourteen days. " * 400
_ANSWER: Final = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Refunded."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 4000, "completion_tokens": 3, "total_tokens": 4003},
}


def gateway_overhead_ms() -> float:
    """Return the median of what the gateway adds to a call of 20 kB, one call at a time."""
    with subprocess.Popen([sys.executable, "-m", "tests.bench.gateway"], stdout=subprocess.PIPE, text=True) as models:
        assert models.stdout is not None
        upstream = models.stdout.readline().strip()
        home = Path(scratch_folder("fp-gateway-")) / "home"
        server = Server(home, "--no-demo", env={"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": upstream})
        try:
            server.start()
            session = httpx2.post(f"{server.url}/api/v1/gateway/sessions", json={}, trust_env=False).json()
            return asyncio.run(_overhead_ms(upstream, f"{server.url}{session['path']}/openai/v1"))
        finally:
            server.stop()
            models.terminate()


async def _overhead_ms(direct: str, gateway: str) -> float:
    times_ms: dict[str, list[float]] = {direct: [], gateway: []}
    async with ClientSession() as client:
        for number in range(_ROUNDS):
            for base, durations in times_ms.items():
                durations += await _round(client, f"{base}/chat/completions", number)
    return statistics.median(times_ms[gateway]) - statistics.median(times_ms[direct])


async def _round(client: ClientSession, url: str, round_number: int) -> list[float]:
    """Return the times of a few calls, without the first one, which opens the connection."""
    times_ms = []
    for number in range(_CALLS):
        text = f"{round_number}.{number}: {_TEXT}"
        body = json.dumps({"model": "m1", "messages": [{"role": "user", "content": text}]}).encode()
        start = time.perf_counter()
        async with client.post(url, data=body, headers={"content-type": "application/json"}) as response:
            await response.read()
        times_ms.append((time.perf_counter() - start) * 1000)
        await asyncio.sleep(_PAUSE_S)
    return times_ms[1:]


async def _answer(request: web.Request) -> web.Response:
    await request.read()
    return web.json_response(_ANSWER)


async def _serve_models() -> None:
    application = web.Application()
    application.router.add_post("/v1/{path:.*}", _answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site: Any = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve_models())
