"""Kill a server while agents send spans, and check that everything it acknowledged is stored exactly once."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import httpx2

from tests.services.server import Server
from tests.support.arriving_spans import model, request, root, tool
from tests.support.patience import patience_s

_SENDERS: Final = 4
_SPANS: Final = 3
_SEALED_LIMIT_S: Final = 60
_PAGE: Final = 200


@dataclass
class SentSpans:
    """What the senders got acknowledged: the number of spans by trace."""

    acknowledged: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class IngestionOutcome:
    kills: int
    traces: int
    problems: list[str]


def kill_while_receiving(server: Server, *, kills: int) -> IngestionOutcome:
    """Kill a running server at random moments; return what is missing or stored twice in the end."""
    sent, stop = SentSpans(), threading.Event()
    senders = [threading.Thread(target=_send, args=(server, sent, stop, number)) for number in range(_SENDERS)]
    for sender in senders:
        sender.start()
    chance = random.Random(7)  # noqa: S311  # reproducible moments
    for _ in range(kills):
        time.sleep(chance.uniform(0.1, 1.5))
        server.kill()
        server.start()
    time.sleep(1)
    stop.set()
    for sender in senders:
        sender.join()
    return IngestionOutcome(kills=kills, traces=len(sent.acknowledged), problems=list(_problems(server, sent)))


def _send(server: Server, sent: SentSpans, stop: threading.Event, seed: int) -> None:
    """Send traces span by span, each until it is acknowledged, as an exporter does."""
    chance = random.Random(seed)  # noqa: S311
    with httpx2.Client(timeout=5) as client:
        while not stop.is_set():
            trace = chance.randbytes(16).hex()
            for span in (model(trace), tool(trace), root(trace)):
                while not _post(client, server, request(span)):
                    if stop.wait(0.05):
                        return
                    with sent.lock:
                        sent.refused += 1
                with sent.lock:
                    sent.acknowledged[trace] += 1


def _post(client: httpx2.Client, server: Server, body: bytes) -> bool:
    try:
        response = client.post(f"{server.url}/v1/traces", content=body, headers={"Content-Type": "application/json"})
    except httpx2.HTTPError:
        return False
    return response.status_code == HTTPStatus.OK


def _problems(server: Server, sent: SentSpans) -> Iterator[str]:
    runs = _settled_runs(server, {trace for trace, spans in sent.acknowledged.items() if spans == _SPANS})
    for trace, spans in sent.acknowledged.items():
        found = runs.get(trace, [])
        if len(found) != 1:
            yield f"trace {trace} has {len(found)} runs instead of one"
        elif found[0]["steps"] < spans:
            yield f"trace {trace} has {found[0]['steps']} of {spans} acknowledged spans"
        elif found[0]["steps"] > _SPANS:
            yield f"trace {trace} has {found[0]['steps']} steps instead of {_SPANS}"


def _settled_runs(server: Server, ended: set[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the runs by trace, once all that have ended are sealed."""
    deadline = time.monotonic() + patience_s(_SEALED_LIMIT_S)
    while True:
        runs = _runs(server)
        open_traces = [trace for trace in ended if not any(run["sealed"] for run in runs.get(trace, []))]
        if not open_traces or time.monotonic() > deadline:
            return runs
        time.sleep(0.5)


def _runs(server: Server) -> dict[str, list[dict[str, Any]]]:
    runs: dict[str, list[dict[str, Any]]] = {}
    cursor = ""
    while True:
        page = httpx2.get(f"{server.url}/api/v1/runs", params={"limit": _PAGE, "cursor": cursor}, timeout=30).json()
        for run in page["runs"]:
            runs.setdefault(run["external_id"], []).append(run)
        if page["next"] is None:
            return runs
        cursor = page["next"]
