"""OpenInference: the instrumentation of each library that this environment has."""

from contextlib import contextmanager
from importlib.metadata import entry_points

from openinference.instrumentation import TracerProvider, using_attributes
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import BatchSpanProcessor


@contextmanager
def traced(desk):
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    for entry in entry_points(group="openinference_instrumentor"):
        entry.load()().instrument(tracer_provider=provider)
    tracer = provider.get_tracer("desk")
    desk.TOOLS = {name: tracer.tool(tool) for name, tool in desk.TOOLS.items()}
    facts = using_attributes(session_id="s1", user_id="u1", tags=["demo"], metadata={"team": "blue"})
    with facts, tracer.start_as_current_span("desk", openinference_span_kind="agent") as span:
        span.set_input(desk.QUESTION)
        yield
    provider.shutdown()
