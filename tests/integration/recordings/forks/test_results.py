"""What tools return comes back in a rerun as it was, or is not called exact."""

from tests.clients.model_server import ANSWER, ModelServer
from tests.services.server import Server
from tests.support.gateway_agents import REQUESTS
from tests.support.gateway_runs import GatewaySession, record, rerun, run_of

# Tells the model what a tool returned in words that depend on everything about it.
AGENT = f"""{REQUESTS}
import collections, dataclasses, datetime, decimal, enum, forkpoint, pathlib, uuid

@dataclasses.dataclass(frozen=True)
class Weather:
    degrees: float
    city: str
    days: tuple = ()

class Sky(enum.Enum):
    CLEAR = "clear"

class Point(collections.namedtuple("Point", "lon lat")):
    pass

class Sensor:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"sensor {{self.name}}"

    __repr__ = __str__

values = {{
    "restored": [
        {{"weather": 21, "city": "Lima", "hours": [6.0, 18.5]}}, 42.0, (1, 2.0), {{2: "b", 1: "a"}},
        {{None: 1, True: -0.0}},
        Weather(21.0, "Lima", (datetime.date(2026, 11, 28),)), Sky.CLEAR, Point(8.5, 47.0), float("inf"), 2**70,
        decimal.Decimal("1.50"), uuid.UUID(int=7), pathlib.Path("/a/b"), b"bytes",
        datetime.timedelta(days=1, seconds=2),
        collections.OrderedDict(b=1, a=2), [{{"b": 1, "a": 2}}] * 3, None, "text", [], (),
    ],
    "known_by_text": [Sensor("A"), {{"b": Sensor("B"), "a": 1.0}}, collections.Counter("aab")],
}}

def make(name):
    @forkpoint.tool(name)
    def tool(number: int):
        return values[name][number]
    return tool

for name in values:
    tool = make(name)
    texts = []
    for number, value in enumerate(values[name]):
        result = tool(number)
        texts.append(f"Result: {{result}} {{result!r}} {{type(result) if name == 'restored' else ''}}")
        if name == "restored":
            try:
                texts.append(json.dumps(result))
            except TypeError as error:
                texts.append(str(error))

    @forkpoint.recorder.retrieval(f"search {{name}}")
    def search(query: str) -> list:
        return ["a text", {{"content": "x", "score": 1.0, "metadata": {{"b": 1, "a": 2}}, "id": "d1"}}]

    texts.append(str(search("refunds")))
    messages = [{{"role": "user", "content": "; ".join(texts)}}]
    print(ask_openai("chat/completions", {{"model": "m1", "messages": messages}})["choices"][0]["message"]["content"])
"""


def test_results_are_exact_only_as_they_were(server: Server, models: ModelServer) -> None:
    first = record(server, AGENT)
    assert (first.returncode, first.stdout) == (0, f"{ANSWER}\n" * 2), first.stderr
    run = run_of(first)
    again = rerun(server, run, AGENT)
    assert (again.returncode, again.stdout) == (0, f"{ANSWER}\n" * 2), again.stderr
    assert "2 calls exact" in again.stderr
    assert "restored: 21 exact\n" in again.stderr
    assert "known_by_text: 3 cached\n" in again.stderr


def test_step_with_a_stand_in_says_so(server: Server, models: ModelServer) -> None:
    run = run_of(record(server, AGENT))
    fork = rerun(server, run, AGENT, options=["--set-prompt", "Be brief.", "--live"])
    assert fork.returncode == 0, fork.stderr
    id = fork.stderr.partition("Fork: ")[2].split()[0].rpartition("/")[2]
    steps = GatewaySession(server, "", id).steps(24)
    [sensor, *_] = [step for step in steps if step["name"] == "known_by_text"]
    assert (sensor["label"], sensor["reason"], sensor["detail"]["stand_in"]) == ("cached", "cache_hit_normalised", True)
