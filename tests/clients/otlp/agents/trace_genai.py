"""OpenTelemetry's own instrumentation, as `opentelemetry-instrument` sets it up, and spans of tools by hand."""

import functools
import json
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.instrumentation.auto_instrumentation import initialize


@contextmanager
def traced(desk):
    initialize()
    desk.TOOLS = {name: traced_tool(name, tool) for name, tool in desk.TOOLS.items()}
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk", "gen_ai.conversation.id": "s1"}
    with trace.get_tracer("desk").start_as_current_span("invoke_agent desk", attributes=attributes):
        yield


def traced_tool(name, tool):
    @functools.wraps(tool)
    def call(**arguments):
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        attributes["gen_ai.tool.call.arguments"] = json.dumps(arguments)
        with trace.get_tracer("desk").start_as_current_span(f"execute_tool {name}", attributes=attributes) as span:
            result = tool(**arguments)
            span.set_attribute("gen_ai.tool.call.result", result)
            return result

    return call
