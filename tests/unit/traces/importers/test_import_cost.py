"""Files are hostile: the time to import them is linear in their size, whatever refers to what in them."""

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from traces.importers import registry
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source
from traces.importers.shapes import other_shapes

MOST_S = 1.0


def lines(values: list[Any]) -> bytes:
    return b"\n".join(map(orjson.dumps, values))


def calls_of_other_names() -> list[bytes]:
    def event(name: str, **attributes: Any) -> dict[str, Any]:
        return {"attributes": {"session.id": "s", "event.name": f"gemini_cli.{name}", **attributes}}

    parts = [{"functionCall": {"name": "find"}}] * 7000
    answer = orjson.dumps({"candidates": [{"content": {"parts": parts}}]}).decode()
    calls = [event("tool_call", function_name="order")] * 7000
    return [lines([event("api_response", model="m", response_text=answer), *calls])]


def pieces_after_a_long_text() -> list[bytes]:
    return [b'0:"%b"\n' % (b"x" * 5_000_000) + b'0:"a"\n' * 10_000]


def calls_of_a_long_message() -> list[bytes]:
    block = {"contents": [{"type": "tool_use"}] * 4000}
    message = {"sender": "Machine", "text": "x" * 300_000, "session_id": "s", "flow_id": "f", "content_blocks": [block]}
    return [orjson.dumps([message])]


def updates_of_an_item_with_many_members() -> list[bytes]:
    def started(**members: Any) -> dict[str, Any]:
        return {"method": "item/started", "params": {"threadId": "t", "item": {"id": "a", **members}}}

    facts = {f"k{number}": 0 for number in range(60_000)}
    return [lines([started(type="agentMessage", text="x", **facts), *([started()] * 6000)])]


def runs_in_runs() -> list[bytes]:
    runs = [{"id": str(number), "parent_run_id": str(number - 1)} for number in range(1500)]
    step = {"id": "s", "run_id": "1499", "step_number": 0, "model_id": "m", "started_at": "2026-01-01T00:00:00Z"}
    return [orjson.dumps({"runs": runs, "steps": [{**step, "input": "{}"}]})]


def spans_without_parents() -> list[bytes]:
    spans = [{"span_id": str(number), "type": "tool", "timestamps": {}} for number in range(2000)]
    facts = {f"k{number}": 0 for number in range(20_000)}
    scores = [{"name": "faith", "score": 1}] * 1000
    return [orjson.dumps({"trace_id": "t", **facts, "spans": spans, "evaluations": scores})]


def subagents_of_a_long_thread() -> list[bytes]:
    def thread(id: str, **meta: Any) -> dict[str, Any]:
        return {"type": "session_meta", "payload": {"id": id, **meta}}

    message = {"type": "message", "role": "user", "content": "x"}
    outer = [thread("t"), *({"type": "response_item", "payload": {**message, "n": number}} for number in range(3000))]
    inner = [
        [thread(f"t{number}", parent_thread_id="t"), thread("t"), {"type": "response_item", "payload": message}]
        for number in range(300)
    ]
    return [*map(lines, [outer, *inner])]


def samples_of_a_model_with_many_parameters() -> list[bytes]:
    messages = [{"role": "user", "content": "q"}]
    samples = [
        {"id": number, "epoch": 1, "input": "q", "target": "a", "messages": messages, "uuid": f"u{number}"}
        for number in range(400)
    ]
    plan = {"config": {f"k{number}": "1" for number in range(20_000)}}
    log = {"status": "success", "eval": {"task": "t", "model": "m"}, "plan": plan, "samples": samples}
    return [orjson.dumps(log)]


def interactions_with_a_model_of_many_parameters() -> list[bytes]:
    config = {"model_name": "m", "parameters": {f"k{number}": "1" for number in range(20_000)}}
    interactions = [{"input": "q", "output": "a"}] * 400
    replay = {"kurral_id": "k", "llm_config": config, "inputs": {}, "outputs": {"interactions": interactions}}
    return [orjson.dumps(replay)]


@pytest.mark.parametrize(
    ("format", "build"),
    [
        ("gemini-telemetry", calls_of_other_names),
        ("ui-stream", pieces_after_a_long_text),
        ("langflow", calls_of_a_long_message),
        ("codex-app-server", updates_of_an_item_with_many_members),
        ("otlp", runs_in_runs),
        ("otlp", spans_without_parents),
        ("codex", subagents_of_a_long_thread),
        ("inspect", samples_of_a_model_with_many_parameters),
        ("kurral", interactions_with_a_model_of_many_parameters),
    ],
)
def test_time_to_import_is_linear(format: str, build: Callable[[], list[bytes]]) -> None:
    sources = [Source(name=f"{number}", data=data) for number, data in enumerate(build())]
    start = time.thread_time()
    runs = list(registry.get_importer(format).runs(sources))
    assert runs
    assert time.thread_time() - start < MOST_S


def test_columns_of_unequal_length_are_no_table() -> None:
    columns: list[Any] = [{"name": "a", "values": []}, {"name": "b", "values": [0, 0]}]
    sample = Sample(name="x", head=orjson.dumps({"columns": columns}), is_complete=True)
    assert all("values" in str(shape.rows) for shape in other_shapes(sample))
