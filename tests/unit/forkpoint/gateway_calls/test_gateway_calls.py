"""What calls of the gateway tell of their place in the agent."""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from forkpoint.bootstrap import child_environment
from tests.support.servers.provider_server import Exchange, provider_server

# Each call names itself in the address. `inside` is made while a tool is open, `outside` when it is not.
PROGRAM = """
import asyncio, forkpoint, multiprocessing, os, subprocess, sys, threading, urllib.request
from concurrent.futures import ThreadPoolExecutor

def ask(name):
    urllib.request.urlopen(os.environ["FORKPOINT_GATEWAY"] + "/openai/v1/" + name, b"{}").read()

def ask_elsewhere():
    urllib.request.urlopen(os.environ["ELSEWHERE"], b"{}").read()

async def ask_by(client):
    if client == "httpx":
        import httpx
        async with httpx.AsyncClient() as http:
            await http.post(os.environ["FORKPOINT_GATEWAY"] + "/openai/v1/inside-httpx", json={})
    else:
        import aiohttp
        async with aiohttp.ClientSession() as http:
            await http.post(os.environ["FORKPOINT_GATEWAY"] + "/openai/v1/inside-aiohttp", json={})

async def ask_both():
    await asyncio.gather(ask_by("httpx"), ask_by("aiohttp"))

@forkpoint.tool
def research(pool):
    ask("inside-first")
    ask("inside-second")
    ask_elsewhere()
    thread = threading.Thread(target=ask, args=("inside-thread",))
    thread.start()
    thread.join()
    pool.submit(ask, "inside-pool").result()
    subprocess.run([sys.executable, sys.argv[0], "inside-program"], check=True)
    for kind in ("fork", "spawn"):
        process = multiprocessing.get_context(kind).Process(target=ask, args=(f"inside-{kind}",))
        process.start()
        process.join()
    asyncio.run(ask_both())

if __name__ == "__main__":
    if sys.argv[1:]:
        ask(sys.argv[1])
    else:
        class Pool(ThreadPoolExecutor):
            __hash__ = None
        with Pool(1) as pool:
            pool.submit(str).result()
        ask("outside-before")
        with ThreadPoolExecutor(1) as pool:
            pool.submit(ask, "outside-pool").result()
            research(pool)
            pool.submit(ask, "outside-pool-again").result()
        for name in ("outside-loop", "outside-next-loop"):
            asyncio.run(asyncio.sleep(0, ask(name)))
"""


def test_calls_name_their_step_and_their_thread(tmp_path: Path) -> None:
    places: dict[str, tuple[str, str]] = {}

    def note(exchange: Exchange) -> None:
        headers = exchange.headers
        places[exchange.path.rpartition("/")[2]] = (
            headers.get("x-forkpoint-step", ""),
            headers.get("x-forkpoint-lane", ""),
        )
        exchange.status(200, {})

    program = tmp_path / "agent.py"
    program.write_text(PROGRAM)
    with provider_server(note) as server:
        variables = {
            "FORKPOINT_GATEWAY": f"{server.base_url}/gateway/s1",
            "FORKPOINT_GATEWAY_RUN": f"r1 {time.time()}",
            "ELSEWHERE": f"{server.base_url}/gateway/s2/elsewhere",
            "FORKPOINT_URL": "",
        }
        environment = child_environment({**os.environ, **variables})
        subprocess.run([sys.executable, program], env=environment, cwd=tmp_path, timeout=60, check=True)
    assert places.pop("elsewhere") == ("", "")
    assert len(places) == 14
    steps = {name: step for name, (step, _) in places.items()}
    assert len({step for name, step in steps.items() if name.startswith("inside")} - {""}) == 1
    assert {name for name, step in steps.items() if not step} == {name for name in places if name.startswith("outside")}
    lanes: dict[str, set[str]] = defaultdict(set)
    for name, (_, lane) in places.items():
        lanes[lane.partition("/")[0]].add(name)
    jobs = [places[name][1].rpartition("/")[2] for name in ("outside-pool", "inside-pool", "outside-pool-again")]
    assert jobs == ["1", "2", "3"]
    one_after_another = {"outside-before", "inside-first", "inside-second", "outside-loop", "outside-next-loop"}
    assert sorted(lanes.values(), key=len)[-2:] == [
        {"outside-pool", "inside-pool", "outside-pool-again"},
        one_after_another,
    ]
    events = [json.loads(line) for path in tmp_path.rglob("*.jsonl") for line in path.read_text().splitlines()]
    [attributes] = [event["payload"]["attributes"] for event in events if event["event_type"] == "tool_result"]
    assert attributes["lane"] == places["inside-first"][1]
    assert len(lanes) == 2 + len({"thread", "program", "fork", "spawn", "httpx", "aiohttp"})
