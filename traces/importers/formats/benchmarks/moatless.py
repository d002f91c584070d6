"""Moatless: the trajectory of its agent or tree search. A node is an answer with its actions and what they returned.

The trajectories of the first version are transitions between states, whose actions are requests with responses.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from traces.core.json_access import (
    as_list,
    as_number,
    as_object,
    as_objects,
    as_text,
    first_member,
    has_list,
    text_or_json,
)
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source
from traces.importers.formats.chats.message_branches import MOST_BRANCHES, current_path, other_branches

FORMAT: Final = "moatless"
_CLASS: Final = "action_args_class"
# What a node has beside its answer.
_NODE_FACTS: Final = ("reward", "feedback_data", "is_duplicate", "visits")
_COUNTS: Final = {
    "prompt_tokens": "prompt_tokens",
    "completion_tokens": "completion_tokens",
    "cache_read_tokens": "cached_tokens",
    "cache_write_tokens": "cache_write_tokens",
}


def is_trajectory(value: JSONValue) -> bool:
    """Return True if `value` is a trajectory: a tree of nodes, a list of them that name their parents, or states."""
    body = as_object(value)
    if "initial_message" in body and has_list(body, "transitions"):
        return True
    root = as_object(body.get("root")) or as_object(next(iter(as_list(body.get("nodes"))), None))
    return "node_id" in root and not root.keys().isdisjoint({"children", "parent_id", "action_steps"})


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of the best path of each trajectory, and one for every other path with an answer."""
    for body, location in source.entries():
        parents: dict[str, str] = {}
        nodes: dict[str, JSONObject] = {}
        for node, parent in _nodes(body):
            nodes[as_text(node.get("node_id"))] = node
            parents[as_text(node.get("node_id"))] = parent
        facts = as_object(body.get("metadata"))
        name = as_text(first_member(facts, "instance_id") or first_member(body, "trajectory_id", "id"))
        id = f"{name or FORMAT}-{content_id(body, location)}"
        main = current_path(parents, _best_leaf(nodes, parents))
        answers = {key for key, node in nodes.items() if _steps(node)}
        branches = other_branches(parents, main, answers)
        metadata: JSONObject = {**facts, "instance_id": name or None, "other_branches": len(branches) or None}
        yield _run([nodes[key] for key in main], id, metadata, location)
        for branch in branches[:MOST_BRANCHES]:
            metadata = {**facts, "left_branch_of": id, "shared_messages": branch.shared_length}
            yield _run([nodes[key] for key in branch.path], f"{id}/{branch.fork}", metadata, location)


def _nodes(body: JSONObject) -> Iterator[tuple[JSONObject, str]]:
    """Yield the nodes with the ids of their parents, in the order of the file."""
    if nodes := as_objects(body.get("nodes")):
        yield from ((node, as_text(node.get("parent_id"))) for node in nodes)
        return
    if has_list(body, "transitions"):
        yield from _old_nodes(body)
        return
    waiting = [(as_object(body.get("root")), "")]
    while waiting:
        node, parent = waiting.pop()
        yield node, parent
        waiting += [(child, as_text(node.get("node_id"))) for child in reversed(as_objects(node.get("children")))]


def _old_nodes(body: JSONObject) -> Iterator[tuple[JSONObject, str]]:
    parent = "start"
    yield {"node_id": parent, "user_message": body.get("initial_message")}, ""
    for state in as_objects(body["transitions"]):
        for number, item in enumerate(as_objects(state.get("actions"))):
            request = as_object(item.get("request"))
            action: JSONObject = {name: value for name, value in request.items() if name != "scratch_pad"}
            response = item.get("response")
            node: JSONObject = {
                "node_id": f"{as_text(state.get('id'))}.{number}",
                "assistant_message": request.get("scratch_pad"),
                "action": {_CLASS: as_text(state.get("name")), **action},
                "output": {"message": text_or_json(response)} if response else None,
                "completions": {"build_action": item.get("completion")},
            }
            yield node, parent
            parent = as_text(node["node_id"])


def _best_leaf(nodes: Mapping[str, JSONObject], parents: Mapping[str, str]) -> str:
    """Return the finished leaf with the highest reward; the last leaf if none is finished."""
    inner = {*parents.values()}
    leaves = [key for key in nodes if key not in inner]
    finished = [key for key in leaves if nodes[key].get("terminal") is True or _is_terminal(nodes[key])] or leaves
    return max(reversed(finished), key=lambda key: _reward(nodes[key]) or 0.0, default="")


def _is_terminal(node: JSONObject) -> bool:
    return any(as_object(step.get("observation")).get("terminal") is True for step in _steps(node))


def _reward(node: JSONObject) -> float | None:
    return as_number(as_object(node.get("reward")).get("value"))


def _steps(node: JSONObject) -> list[JSONObject]:
    """Return the actions of a node; older versions have one in the node itself."""
    if steps := as_objects(node.get("action_steps")):
        return steps
    action = as_object(node.get("action"))
    return [{"action": action, "observation": node.get("output")}] if action else []


def _run(path: Sequence[JSONObject], id: str, metadata: JSONObject, location: str) -> RecordedRun:
    entries = [entry for node in path for entry in _entries(node, f"{location}/{as_text(node.get('node_id'))}")]
    reward = _reward(path[-1])
    return build_run(
        RunFacts(
            external_id=id,
            app=FORMAT,
            format=FORMAT,
            name=as_text(metadata.get("instance_id")),
            metadata=metadata,
            judgements=[] if reward is None else [judgement("reward", reward)],
        ),
        transcripts.build_steps(entries, TranscriptSettings(agent=FORMAT)),
        location=location or "/",
    )


def _entries(node: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    if request := first_member(node, "user_message", "message"):
        yield TranscriptMessage(value={"role": "user", "content": request}, location=location)
    steps = _steps(node)
    text = as_text(node.get("assistant_message"))
    if not (steps or text or node.get("error")):
        return
    calls: list[JSONValue] = [_call(node, step, number) for number, step in enumerate(steps)]
    thought = as_text(as_object(node.get("thoughts")).get("text"))
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought}] if thought else []
    blocks += [{"type": "text", "text": text}] if text else []
    call = as_object(as_object(node.get("completions")).get("build_action"))
    message: JSONObject = {"role": "assistant", "content": blocks or None, "tool_calls": calls, **_facts(node, call)}
    yield TranscriptMessage(
        value=message,
        location=location,
        request_messages=call["input"] if has_list(call, "input") else None,
        started_at=parse_time(call.get("start_time") or None, location),
    )
    for number, step in enumerate(steps):
        if observation := as_object(step.get("observation")):
            yield TranscriptMessage(value=_result(node, observation, number), location=location)


def _call(node: JSONObject, step: JSONObject, number: int) -> JSONObject:
    action = as_object(step.get("action"))
    name = as_text(action.get(_CLASS)).rpartition(".")[2].removesuffix("Args")
    arguments: JSONObject = {key: value for key, value in action.items() if key not in (_CLASS, "thoughts")}
    return {
        "id": f"{as_text(node.get('node_id'))}.{number}",
        "name": name or as_text(first_member(action, "name", "action_name")) or "action",
        "arguments": arguments,
    }


def _result(node: JSONObject, observation: JSONObject, number: int) -> JSONObject:
    facts: JSONObject = {name: observation[name] for name in ("summary", "properties") if observation.get(name)}
    return {
        "role": "tool",
        "tool_call_id": f"{as_text(node.get('node_id'))}.{number}",
        "content": observation.get("message"),
        "ts": node.get("timestamp"),
        **facts,
    }


def _facts(node: JSONObject, call: JSONObject) -> JSONObject:
    """Return what the model's call states, with the usage of all its attempts, and what the node states of it."""
    usages = [as_object(attempt.get("usage")) for attempt in as_objects(call.get("attempts"))]
    usages = usages or [as_object(call.get("usage"))]
    totals = {name: sum(as_number(usage.get(name)) or 0 for usage in usages) for name in (*_COUNTS, "completion_cost")}
    counts: JSONObject = {_COUNTS[name]: int(totals[name]) for name in _COUNTS if totals[name]}
    facts: JSONObject = {
        "model": call.get("model"),
        "usage": counts,
        "cost": totals["completion_cost"] or None,
        "ts": call.get("end_time") or node.get("timestamp"),
        "error": node.get("error"),
        "retries": len(usages) - 1 or None,
        **{name: node.get(name) for name in _NODE_FACTS},
    }
    return {name: value for name, value in facts.items() if value not in (None, "", {}, 0, False)}
