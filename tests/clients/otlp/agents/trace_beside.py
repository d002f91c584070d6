"""Another tracer, which sends OpenTelemetry, and Forkpoint's SDK in the same process, in either order."""

import importlib
import os
from contextlib import contextmanager, nullcontext
from importlib.metadata import entry_points

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

import forkpoint


@contextmanager
def traced(desk):
    tracer, order = os.environ["BESIDE"].split()
    # Instrumentations of what the SDK itself uses, such as the requests of the standard library.
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    for entry in entry_points(group="opentelemetry_instrumentor", name="urllib"):
        entry.load()().instrument(tracer_provider=provider)
    if order == "before":
        forkpoint.init()
    with importlib.import_module(f"trace_{tracer}").traced(desk):
        if order == "after":
            forkpoint.init()
        # A plain loop says what its run is; a framework's agent is one.
        with nullcontext() if tracer == "pydantic" else forkpoint.recorder.run("desk", input=desk.QUESTION):
            yield
    forkpoint.flush(20)
    provider.shutdown()
