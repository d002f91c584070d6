"""Augment: sessions of its command line (`~/.augment/sessions/*.json`), a list of exchanges with the model.

An exchange is one call of the model: its request has what the user wrote, or what tools of the last answer returned.
"""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, has_object, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.model_calls import normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings, drop_unreadable
from traces.importers.files.source import Source

FORMAT: Final = "augment"
_EXCHANGE_FIELDS: Final = ("exchange", "finishedAt", "sequenceId", "completed", "isHistorySummary", "source")
# Members of nodes, which state what a node is.
_RESULT: Final = "tool_result_node"
_CALL: Final = "tool_use"
_USAGE: Final = "token_usage"
_THOUGHT: Final = "thinking"
_TEXT: Final = "text_node"
_NODES: Final = frozenset({_RESULT, _CALL, _USAGE, _THOUGHT, _TEXT})


def is_session(value: JSONValue) -> bool:
    """Return True if `value` is a session."""
    body = as_object(value)
    return "sessionId" in body and has_list(body, "chatHistory") and _is_exchange(first_item(body["chatHistory"]))


def _is_exchange(value: JSONValue) -> bool:
    exchange = as_object(as_object(value).get("exchange"))
    return not exchange.keys().isdisjoint({"request_message", "request_nodes", "response_nodes", "response_text"})


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per session."""
    for body, location in source.entries():
        state = as_object(body.get("agentState"))
        model = as_text(state.get("modelId"))
        entries = [
            entry
            for number, turn in enumerate(as_objects(body.get("chatHistory")))
            for entry in _entries(turn, f"{location}/chatHistory/{number}")
        ]
        yield build_run(
            RunFacts(
                external_id=as_text(body.get("sessionId")),
                app=FORMAT,
                format=FORMAT,
                title=as_text(body.get("customTitle")),
                started_at=parse_time(body.get("created"), f"{location}/created"),
                metadata=omit(body, "chatHistory", "sessionId", "customTitle", "created"),
            ),
            transcripts.build_steps(
                drop_unreadable(entries, source.problems),
                TranscriptSettings(agent=FORMAT, model=model, provider=normalize_provider(None, model)),
            ),
            location=location,
        )


def _entries(turn: JSONObject, location: str) -> Iterator[TranscriptMessage]:
    exchange = as_object(turn.get("exchange"))
    nodes = as_objects(exchange.get("request_nodes"))
    for node in nodes:
        if has_object(node, _RESULT):
            yield TranscriptMessage(value=_result(as_object(node[_RESULT])), location=location)
    text = as_text(exchange.get("request_message")) or _node_text(nodes)
    extra_nodes: list[JSONValue] = [node for node in nodes if _NODES.isdisjoint(node)]
    if text or extra_nodes:
        is_summary = turn.get("isHistorySummary") is True
        value: JSONObject = {"role": "user", "content": text, **({"request_nodes": extra_nodes} if extra_nodes else {})}
        yield TranscriptMessage(value=value, location=location, is_injected=is_summary, resets_history=is_summary)
    answer = _answer(turn, exchange)
    if answer.get("content") or answer.get("tool_calls") or answer.get("usage"):
        yield TranscriptMessage(value=answer, location=location)


def _result(node: JSONObject) -> JSONObject:
    content = first_member(node, "content", "content_nodes")
    failure: JSONObject = {"is_error": True} if node.get("is_error") is True else {}
    facts = omit(node, "tool_use_id", "content", "is_error")
    return {"role": "tool", "tool_call_id": node.get("tool_use_id"), "content": content or "", **facts, **failure}


def _answer(turn: JSONObject, exchange: JSONObject) -> JSONObject:
    nodes = as_objects(exchange.get("response_nodes"))
    thoughts = [_thought(as_object(node[_THOUGHT])) for node in nodes if has_object(node, _THOUGHT)]
    text = as_text(exchange.get("response_text")) or _node_text(nodes)
    blocks: list[JSONValue] = [{"type": "thinking", "thinking": thought} for thought in thoughts if thought]
    blocks += [{"type": "text", "text": text}] if text else []
    calls: list[JSONValue] = [
        {"id": call.get("tool_use_id"), "name": call.get("tool_name"), "arguments": call.get("input_json")}
        for call in (as_object(node.get(_CALL)) for node in nodes)
        if call
    ]
    usage = next((as_object(node[_USAGE]) for node in reversed(nodes) if has_object(node, _USAGE)), {})
    facts: JSONObject = {
        "ts": turn.get("finishedAt"),
        "usage": usage,
        "model": exchange.get("model_id"),
        "request_id": exchange.get("request_id"),
        **omit(turn, *_EXCHANGE_FIELDS),
    }
    known_facts = {name: item for name, item in facts.items() if item not in (None, "", [], {}, 0, False)}
    return {"role": "assistant", "content": blocks, "tool_calls": calls, **known_facts}


def _thought(node: JSONObject) -> str:
    return as_text(first_member(node, "content", "summary"))


def _node_text(nodes: list[JSONObject]) -> str:
    """Return the text of nodes; the last one may repeat it as a whole."""
    texts = (
        as_text(as_object(node.get(_TEXT)).get("content")) or as_text(node.get("content"))
        for node in nodes
        if _RESULT not in node
    )
    return "\n".join(dict.fromkeys(text for text in texts if text))
