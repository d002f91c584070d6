"""Runs assembled from segments: the same in whatever order these arrived, and nothing is left out unnoticed."""

import tracemalloc
from collections.abc import Sequence
from functools import partial
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from tests.support.arriving_spans import TRACE, Span, model, protobuf, request, root, tool
from traces.importers.assembly import Assembly, SegmentContent, assemble

AT = "2026-11-28T10:00:0{}.000Z"
# Each is a span of the trace in contradiction with another one, or with itself.
ODD_SPANS: list[Span] = [
    {**tool(), "name": "other_tool"},
    {**tool(), "attributes": []},
    {**tool(), "endTimeUnixNano": "0"},
    {**tool(), "status": {"code": 2, "message": "out of stock"}},
    {**tool(), "parentSpanId": model()["spanId"]},
    {**model(), "parentSpanId": tool()["spanId"]},
    {**model(), "parentSpanId": model()["spanId"]},
    {**model(), "startTimeUnixNano": model()["endTimeUnixNano"], "endTimeUnixNano": model()["startTimeUnixNano"]},
    {**root(), "parentSpanId": model()["spanId"]},
    {**root(), "startTimeUnixNano": "0", "endTimeUnixNano": "0"},
]


def langfuse(*observations: str) -> bytes:
    return orjson.dumps(
        {
            "batch": [
                {
                    "id": f"event-{id}",
                    "type": "span-create",
                    "timestamp": AT.format(1),
                    "body": {"id": id, "traceId": TRACE, "name": id, "startTime": AT.format(1)},
                }
                for id in observations
            ]
        }
    )


def assemble_in_order(segments: Sequence[tuple[str, bytes]]) -> Assembly:
    return assemble(
        TRACE, [SegmentContent(format=format, file="", read=partial(bytes, data)) for format, data in segments]
    )


def result(assembly: Assembly) -> tuple[Any, list[str]]:
    return assembly.run, sorted(map(str, assembly.problems))


@given(st.lists(st.sampled_from(ODD_SPANS), max_size=4), st.data())
def test_contradicting_spans_give_one_run_in_any_order(odd_spans: list[Span], data: st.DataObject) -> None:
    bodies = [request(span) for span in (root(), model(), tool(), *odd_spans)]
    segments = [("otlp", body if data.draw(st.booleans()) else protobuf(body)) for body in bodies]
    expected = result(assemble_in_order(segments))
    assert result(assemble_in_order(data.draw(st.permutations(segments)))) == expected


def test_contradicting_spans_are_a_problem() -> None:
    spans = [root(), tool(), {**tool(), "name": "other_tool"}, {**tool(), "attributes": []}, tool()]
    assembly = assemble_in_order([("otlp", request(span)) for span in spans])
    span = tool()["spanId"]
    assert [str(problem) for problem in assembly.problems] == [
        f"span {span} occurs twice with different contents; the fuller one is shown"
    ]
    assert assembly.run is not None
    assert assembly.run.steps[-1].output == '{"status": "sent"}'


def test_span_sent_before_its_end_and_again_after_it_is_no_problem() -> None:
    for spans in ([{**tool(), "endTimeUnixNano": "0"}, tool()], [tool(), tool()]):
        assert assemble_in_order([("otlp", request(span)) for span in (root(), *spans)]).problems == []


@given(st.permutations([("otlp", request(root())), ("langfuse", langfuse("a"))]))
def test_steps_in_another_format_are_a_problem(segments: list[tuple[str, bytes]]) -> None:
    assembly = assemble_in_order(segments)
    assert assembly.run is not None
    assert assembly.run.format == "otlp"
    assert [str(problem) for problem in assembly.problems] == [
        "1 steps came in the format langfuse, and are not shown beside those in otlp"
    ]


def langsmith(kind: str, **fields: Any) -> tuple[str, bytes]:
    return "langsmith", orjson.dumps({kind: [{"id": TRACE, "trace_id": TRACE, **fields}]})


@given(st.data())
def test_end_of_a_langsmith_run_counts_also_if_it_arrives_first(data: st.DataObject) -> None:
    segments = [
        langsmith("post", name="desk", run_type="tool", start_time=AT.format(0), inputs={"id": 1}, error="no answer"),
        langsmith("patch", inputs={"id": 2}, outputs={"status": "sent"}, error="", end_time=AT.format(1)),
    ]
    run = assemble_in_order(data.draw(st.permutations(segments))).run
    assert run is not None
    assert [(step.input, step.output, step.error) for step in run.steps] == [({"id": 2}, {"status": "sent"}, "")]


def test_segments_are_read_one_by_one() -> None:
    """A long run would not fit into memory with all of them."""
    assert _peak_bytes(segments=20) < 2 * _peak_bytes(segments=1)


def _peak_bytes(*, segments: int) -> int:
    """Return the memory that it takes to assemble large segments of which little remains."""

    def read(number: int) -> bytes:
        event = {"run_id": TRACE, "step_id": f"s{number}", "sequence_no": number, "event_type": "final_output"}
        return orjson.dumps({**event, "payload": {"output": number}}) + b" " * 100_000

    contents = [SegmentContent(format="forkpoint", file="", read=partial(read, number)) for number in range(segments)]
    tracemalloc.start()
    assembly = assemble(TRACE, contents)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert assembly.run is not None
    assert len(assembly.run.steps) == segments
    return peak
