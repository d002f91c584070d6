"""Equal calls of tasks and threads get the answers of the same task or job again, in whatever order they come."""

import itertools
from collections.abc import Iterator

import pytest

from tests.services.server import Server
from tests.support.gateway_agents import REQUESTS
from tests.support.gateway_runs import record, rerun, run_of
from tests.support.servers.provider_server import Exchange, ProviderServer, provider_server

pytestmark = pytest.mark.own_store
# With -1 the last ones call first. The last request contains all answers in the order of their tasks and jobs.
AGENT = f"""{REQUESTS}
import asyncio, aiohttp, forkpoint, random, time
from concurrent.futures import ThreadPoolExecutor

places = range(6)[::int(sys.argv[1])]
body = {{"model": "m1", "messages": [{{"role": "user", "content": "Roll."}}]}}
tool_body = {{"model": "m2", "messages": [{{"role": "user", "content": "Roll."}}]}}

def text(answer):
    return answer["choices"][0]["message"]["content"]

@forkpoint.tool
async def roll():
    return random.random()

@forkpoint.tool
def roll_in_thread():
    return random.random()

async def task(place, http):
    await asyncio.sleep(places[place] / 20)
    async with http.post(f"{{os.environ['OPENAI_BASE_URL']}}/chat/completions", json=body) as response:
        return text(await response.json())

async def tool_task(place):
    await asyncio.sleep(places[place] / 20)
    return await roll()

def job(place):
    time.sleep(places[place] / 20)
    return text(ask_openai("chat/completions", tool_body)), roll_in_thread()

async def main():
    async with aiohttp.ClientSession() as http:
        texts = await asyncio.gather(*(task(place, http) for place in range(6)))
    return texts, await asyncio.gather(*map(tool_task, range(6)))

results = asyncio.run(main())
with ThreadPoolExecutor(6) as pool:
    results = *results, [*pool.map(job, range(6))]
body = {{"model": "m1", "messages": [{{"role": "user", "content": str(results)}}]}}
print(text(ask_openai("chat/completions", body)))
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[ProviderServer]:
    numbers = itertools.count(1)

    def respond(exchange: Exchange) -> None:
        message = {"role": "assistant", "content": f"answer {next(numbers)}"}
        exchange.status(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    with provider_server(respond) as provider:
        yield provider


@pytest.fixture(scope="module")
def server(provider: ProviderServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    variables = {"FORKPOINT_QUIET_S": "1", "OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": f"{provider.base_url}/v1"}
    server = Server(tmp_path_factory.mktemp("server") / "home", "--no-demo", env=variables)
    server.start()
    yield server
    server.stop()


def test_tasks_and_jobs_get_their_own_answers_again(server: Server, provider: ProviderServer) -> None:
    recording = record(server, AGENT, "1")
    count = len(provider.requests)
    again = rerun(server, run_of(recording), AGENT, "-1")
    assert (again.returncode, again.stdout, len(provider.requests)) == (0, recording.stdout, count), again.stderr
    # Nothing proves it.
    assert "1 call exact, 12 cached\n" in again.stderr
