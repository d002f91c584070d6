"""Steps with unreadable recordings, in plans."""

from dataclasses import replace

from replay.planning.plan_environment import Sources
from replay.planning.planner import plan
from tests.support.memory_replays import replay
from traces.core.json_types import JSONValue
from traces.payloads.lost_payloads import Loss, LostPayload
from traces.payloads.parts import MissingPart


def test_plan_refuses_a_reached_call_whose_arguments_are_lost() -> None:
    """The replay has to read them."""
    fork = replay({"match": {"step": 3}, "model": {"temperature": 0.7}}, fork=3)
    lost = replace(fork.graph.by_no[4], losses=(LostPayload(field="input", loss=Loss.MISSING, digest="0"),))
    fork.graph = replace(fork.graph, nodes=tuple(lost if node.no == 4 else node for node in fork.graph.nodes))

    def payload(ref: str) -> JSONValue:
        if ref == lost.input_ref:
            raise MissingPart(ref)
        return fork.payloads[ref]

    sources = Sources(payload=payload, cached=lambda *_: None, provider=lambda *_: None, price=lambda *_: None)
    (refusal,) = plan(fork.graph, fork.profile, fork.policy, sources).refusals
    assert (refusal.code, refusal.step) == ("artifact_missing", 4)
