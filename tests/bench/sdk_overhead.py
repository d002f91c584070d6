"""Time that recording takes from an agent, per step: the capture SDK beside the plain OpenTelemetry SDK.

`make bench-sdk` runs it in a throw-away environment. Both export to a server on loopback, in alternating rounds of one
process. A step is a model call with a payload of 2 kB; OpenTelemetry's span has the same content as JSON attributes.
"""

import gc
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from forkpoint import Recorder
from forkpoint.transport.server import ServerSink
from forkpoint.transport.spill import SpillFolder
from forkpoint.transport.writer import Writer

ROUNDS, STEPS = 40, 250
TEXT = "Damaged goods are refunded within fourteen days. "
MESSAGES = [{"role": "system", "content": TEXT * 20}, {"role": "user", "content": TEXT * 12}]
RESPONSE = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT * 6}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 400, "completion_tokens": 70},
}
Step = Callable[[], None]


class _Sink(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


def measure(step: Step) -> tuple[list[int], list[int]]:
    """Return each step's time on the clock and on the processor, in nanoseconds."""
    clock, processor = [], []
    for _ in range(STEPS):
        clock_start, processor_start = time.perf_counter_ns(), time.thread_time_ns()
        step()
        processor.append(time.thread_time_ns() - processor_start)
        clock.append(time.perf_counter_ns() - clock_start)
        # An agent waits for its model between two steps.
        time.sleep(0.0005)
    return clock, processor


def percentile(values: list[int], share: float) -> float:
    return sorted(values)[int(len(values) * share)] / 1000


def opentelemetry_step(url: str) -> Step:
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{url}/v1/traces")))
    tracer = provider.get_tracer("bench")

    def step() -> None:
        with tracer.start_as_current_span("m1") as span:
            span.set_attribute("llm.provider", "local")
            span.set_attribute("llm.model_name", "m1")
            span.set_attribute("input.value", json.dumps({"messages": MESSAGES, "parameters": {"temperature": 0}}))
            span.set_attribute("output.value", json.dumps(RESPONSE))

    return step


def forkpoint_step(recorder: Recorder) -> Step:
    def step() -> None:
        with recorder.model("m1", provider="local", messages=MESSAGES, parameters={"temperature": 0}) as model:
            model.record_response(RESPONSE)

    return step


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    recorder = Recorder("off")
    recorder._writer = Writer(ServerSink(url=url, token="", spill=SpillFolder(Path(tempfile.mkdtemp()))))
    times: dict[str, tuple[list[int], list[int]]] = {"OpenTelemetry": ([], []), "forkpoint": ([], [])}
    with recorder.run("bench"):
        steps = {"OpenTelemetry": opentelemetry_step(url), "forkpoint": forkpoint_step(recorder)}
        for step in steps.values():
            measure(step)
        gc.collect()
        for _ in range(ROUNDS):
            for name, step in steps.items():
                clock, processor = measure(step)
                times[name][0].extend(clock)
                times[name][1].extend(processor)
    payload = len(json.dumps([MESSAGES, RESPONSE]))
    print(f"{ROUNDS * STEPS} steps each, payload {payload} bytes; microseconds")
    print(f"{'':15}{'clock p50':>12}{'clock p99':>12}{'CPU p50':>12}{'CPU p99':>12}")
    for name, (clock, processor) in times.items():
        figures = [percentile(values, share) for values in (clock, processor) for share in (0.5, 0.99)]
        print(f"{name:15}" + "".join(f"{figure:12.1f}" for figure in figures))
    (own_clock, _), (peer_clock, _) = times["forkpoint"], times["OpenTelemetry"]
    is_met = percentile(own_clock, 0.5) <= percentile(peer_clock, 0.5) and percentile(own_clock, 0.99) < 1000
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
