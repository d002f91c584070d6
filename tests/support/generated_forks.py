"""Hypothesis strategies: conversations, and forks of their recordings."""

from typing import Any

from hypothesis import strategies as st

from replay.overrides.policy import Policy
from tests.support.memory_replays import Replay
from tests.support.replay_runs import ORDERS, Reply, ToolCall, order_desk
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

words = st.sampled_from(["lost", "parcel", "refund", "monday", "carrier", "northern", "policy", "order"])
texts = st.lists(words, min_size=3, max_size=12).map(" ".join)
results = st.one_of(texts, st.sampled_from(list(ORDERS.values())), st.none(), st.integers(-9, 99999))
asks = st.builds(
    ToolCall,
    st.sampled_from(["get_order", "search_policy", "send_email"]),
    st.fixed_dictionaries({"q": texts}),
    results,
)
conversations = st.lists(
    st.tuples(
        texts, st.tuples(st.lists(asks, max_size=3), st.builds(Reply, texts)).map(lambda pair: (*pair[0], pair[1]))
    ),
    min_size=1,
    max_size=3,
)


@st.composite
def forks(draw: st.DrawFn) -> Replay:
    """A fork of a generated run at any step, with one to three changes after it."""
    conversation: list[Any] = draw(conversations)
    run = order_desk(conversation)
    fork = draw(st.integers(1, len(run.steps)))
    numbers_chosen = draw(st.lists(st.integers(fork, len(run.steps)), min_size=0, max_size=3, unique=True))
    entries: list[JSONValue] = [_entry(draw, no, run.steps[no - 1].type) for no in numbers_chosen]
    return Replay(run=run, fork=fork, entries=entries, policy=Policy())


def _entry(draw: st.DrawFn, no: int, type: StepType) -> JSONValue:
    match: JSONValue = {"step": no}
    if type is StepType.TOOL:
        result: JSONValue = draw(results)
        return {"match": match, "tool": {"output": result}}
    if type is StepType.MODEL and draw(st.booleans()):
        kind = draw(st.sampled_from(["model", "prompt"]))
        change: JSONValue = (
            {"temperature": draw(st.sampled_from([0.0, 1.0]))} if kind == "model" else {"system": draw(texts)}
        )
        return {"match": match, kind: change}
    return {"match": match, "output": draw(texts)}
