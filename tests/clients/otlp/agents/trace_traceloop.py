"""Traceloop (OpenLLMetry), with its decorators."""

from contextlib import contextmanager

from opentelemetry import trace
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import tool


@contextmanager
def traced(desk):
    Traceloop.init(app_name="desk")
    Traceloop.set_association_properties({"session_id": "s1", "user_id": "u1"})
    desk.TOOLS = {name: tool(name=name)(function) for name, function in desk.TOOLS.items()}
    with trace.get_tracer("desk").start_as_current_span("desk"):
        yield
    trace.get_tracer_provider().shutdown()
