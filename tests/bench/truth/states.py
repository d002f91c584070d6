"""Statements whose code has state: caches, counters, sets, sorted lists, windows, votes, budgets, fan-out, handoffs."""

import heapq
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.bench.truth.agent import Agent, as_text, fields
from tests.bench.truth.brain import ORDERS, system_prompt
from tests.bench.truth.formats import FORMATS, integer, say
from tests.bench.truth.statements import Statement, content_of, safe_call
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType


def cached_lookups(agent: Agent) -> JSONValue:
    """Orders that a text names, each looked up once."""
    cache: dict[str, JSONValue] = {}
    hits = 0
    for text in (say(agent, "writer", agent.text()), say(agent, "writer", agent.text(), ".b"), agent.fragment()):
        for order in re.findall(r"[A-C]-\d+", text):
            hits += order in cache
            if order not in cache:
                cache[order] = safe_call(agent, "get_order", {"order_id": order})
    return say(agent, "writer", f"{json.dumps(cache)}\ncache hits: {hits}", ".end")


def tally(agent: Agent) -> JSONValue:
    words = [say(agent, "router", agent.text(), f".{number}") for number in range(3)]
    lines = [f"{word}: {count}" for word, count in sorted(Counter(words).items())]
    return say(agent, "critic", "Votes\n" + "\n".join(lines), ".end")


def distinct(agent: Agent) -> JSONValue:
    words = {say(agent, "router", agent.text(), f".{number}") for number in range(3)}
    return say(agent, "writer", f"{len(words)} queues: {', '.join(sorted(words))}", ".end")


def ranked(agent: Agent) -> JSONValue:
    records = [fields(say(agent, "extractor", agent.text(), f".{number}")) for number in range(3)]
    records.sort(key=lambda record: -integer(record.get("amount")))
    lines = [f"{place}. {record.get('order_id')}" for place, record in enumerate(records, 1)]
    return say(agent, "writer", "\n".join(lines), ".end")


def merged_lines(agent: Agent) -> JSONValue:
    texts = agent.run.retrieve(agent.place, agent.text())
    lines = dict.fromkeys([*texts, *agent.run.retrieve(agent.place, agent.fragment()), say(agent, "writer", "Go on.")])
    return say(agent, "writer", "\n".join(f"* {line}" for line in lines), ".end")


def window(agent: Agent) -> JSONValue:
    answers: list[str] = []
    for number in range(4):
        answers.append(say(agent, "writer", f"Turn {number}: {' | '.join(answers[-2:])} {agent.value()}"))
    return answers[-1]


def rolling_summary(agent: Agent) -> JSONValue:
    summary = "nothing yet"
    for value in agent.values[-3:]:
        summary = say(agent, "writer", f"Summary: {summary[:60]}\nNew: {as_text(value)[:40]}")
    return summary


def backoff(agent: Agent) -> JSONValue:
    delay, log = 1, list[str]()
    for attempt in range(1, 4):
        result = as_text(safe_call(agent, "flaky", {"about": agent.fragment(), "attempt": attempt}))
        log.append(f"attempt {attempt} after {delay} s: {'failed' if 'rror' in result else 'ok'}")
        if "rror" not in result:
            break
        delay *= 2
    return say(agent, "writer", "\n".join(log))


def weighted_vote(agent: Agent) -> JSONValue:
    weights: Counter[str] = Counter()
    for number, weight in enumerate((3, 2, 2)):
        weights[say(agent, "router", f"Voter {number}: {agent.fragment()}")] += weight
    winner, weight = weights.most_common(1)[0]
    return say(agent, "writer", f"Winner: {winner} with {weight} of 7 points", ".end")


def early_exit(agent: Agent) -> JSONValue:
    tried: list[str] = []
    for order in ORDERS:
        tried.append(order)
        if "refunded" in say(agent, "writer", f"{order}: {agent.fragment()}"):
            break
    return say(agent, "writer", f"Tried {len(tried)}: {', '.join(tried)}", ".end")


def fan_out(agent: Agent) -> JSONValue:
    tasks = {f"T-{number}": part for number, part in enumerate(agent.text().split()[:3], 1)}
    results = {id: say(agent, "writer", f"Task {id}: {part}", f".{id}") for id, part in tasks.items()}
    return say(agent, "writer", json.dumps([{"id": id, "result": text[:25]} for id, text in results.items()]), ".end")


def longest(agent: Agent) -> JSONValue:
    drafts = [say(agent, "writer", f"Draft {number}: {agent.fragment()}") for number in range(3)]
    best = max(drafts, key=len)
    return say(agent, "critic", f"Best draft (#{drafts.index(best) + 1}, {len(best)} characters): {best}", ".end")


def handoff(agent: Agent) -> JSONValue:
    notes: list[JSONValue] = []
    receiver = say(agent, "router", agent.text())
    for name in (receiver, "closing"):
        state: JSONObject = {"from": "triage", "to": name, "notes": [*notes]}
        with agent.run.container(agent.place, StepType.AGENT, state) as output:
            answer = say(agent, "writer", json.dumps(state), ".worker")
            output["text"] = answer
        notes.append({"by": name, "text": answer[:30]})
    return as_text(notes)


def state_machine(agent: Agent) -> JSONValue:
    state, trail = "OPEN", ["OPEN"]
    moves = {"billing": "BILLED", "shipping": "SHIPPED", "technical": "IN REPAIR"}
    for _ in range(3):
        state = moves.get(say(agent, "router", f"State {state}. {agent.fragment()}"), "CLOSED")
        trail.append(state)
    return say(agent, "writer", " -> ".join(trail), ".end")


def budget(agent: Agent) -> JSONValue:
    left = 500
    for _ in range(3):
        left -= len(say(agent, "writer", f"{left} characters left. {agent.fragment()}"))
    return f"{left} left"


def word_difference(agent: Agent) -> JSONValue:
    before, after = say(agent, "writer", agent.text()).split(), say(agent, "writer", agent.text(), ".b").split()
    removed, added = [w for w in before if w not in after], [w for w in after if w not in before]
    return say(agent, "critic", f"- {' '.join(removed)}\n+ {' '.join(added)}", ".end")


def statistics(agent: Agent) -> JSONValue:
    results = [safe_call(agent, "get_order", {"order_id": order, "about": agent.fragment()}) for order in ORDERS]
    totals = sorted(integer(fields(result).get("total")) for result in results)
    return say(agent, "writer", f"median {totals[1]}, mean {sum(totals) / 3:.1f}, range {totals[-1] - totals[0]}")


def bars(agent: Agent) -> JSONValue:
    counts = Counter(say(agent, "router", agent.text(), f".{number}") for number in range(3))
    return say(agent, "writer", "\n".join(f"{name[:4]} {'#' * count}" for name, count in counts.items()), ".end")


def pages(agent: Agent) -> JSONValue:
    words = say(agent, "writer", agent.text()).split()
    chunks = [words[start : start + 4] for start in range(0, len(words), 4)]
    last = ""
    for number, chunk in enumerate(chunks[:3], 1):
        last = say(agent, "writer", f"Page {number} of {len(chunks)}: {' '.join(chunk)}", ".page")
    return last


def cheapest_first(agent: Agent) -> JSONValue:
    heap: list[tuple[int, str]] = []
    for order in ORDERS:
        result = fields(safe_call(agent, "get_order", {"order_id": order, "about": agent.fragment()}))
        heapq.heappush(heap, (integer(result.get("total")), order))
    return [*_each_cheapest(agent, heap)]


def _each_cheapest(agent: Agent, heap: list[tuple[int, str]]) -> Iterator[JSONValue]:
    while heap:
        amount, order = heapq.heappop(heap)
        yield say(agent, "critic", f"{order} for {amount}")


def compared(agent: Agent) -> JSONValue:
    first, second = (
        integer(fields(say(agent, "extractor", agent.text(), part)).get("amount")) for part in (".a", ".b")
    )
    word = "higher than" if first > second else "equal to" if first == second else "lower than"
    return say(agent, "writer", f"The first is {word} the second, by {abs(first - second)}.", ".end")


def collected_ids(agent: Agent) -> JSONValue:
    texts = [say(agent, "writer", agent.text()), as_text(safe_call(agent, "get_order", {"order_id": agent.fragment()}))]
    ids = dict.fromkeys(id for text in texts for id in re.findall(r"[A-C]-\d+", text))
    return safe_call(agent, "convert", {"orders": [*ids], "count": len(ids)})


def examples(agent: Agent) -> JSONValue:
    messages: list[JSONValue] = [{"role": "system", "content": system_prompt("router")}]
    for text in ("Lost parcel", "Wrong bill"):
        answer = say(agent, "router", f"{text} {agent.fragment()}", ".example")
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
    messages.append({"role": "user", "content": agent.fragment() or "nothing"})
    return content_of(agent.run.model(agent.place, messages))


def chosen_tool(agent: Agent) -> JSONValue:
    record = fields(say(agent, "extractor", agent.text()))
    name = "convert" if integer(record.get("amount")) > 200 else "get_order"
    result = safe_call(agent, name, {"order_id": record.get("order_id", "none")})
    return say(agent, "writer", f"{name} returned {as_text(result)[:40]}", ".end")


STATES: Final[tuple[Statement, ...]] = (
    *FORMATS,
    cached_lookups,
    tally,
    distinct,
    ranked,
    merged_lines,
    window,
    rolling_summary,
    backoff,
    weighted_vote,
    early_exit,
    fan_out,
    longest,
    handoff,
    state_machine,
    budget,
    word_difference,
    statistics,
    bars,
    pages,
    cheapest_first,
    compared,
    collected_ids,
    examples,
    chosen_tool,
)
