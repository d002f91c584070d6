"""Run a sample agent under one of the tracers that send OpenTelemetry.

The arguments are the tracer, the agent and the agent's arguments. Only the environment points the tracer anywhere.
"""

import importlib
import runpy
import sys
from pathlib import Path

AGENTS = Path(__file__).resolve().parents[2] / "agents"

tracer, agent, *arguments = sys.argv[1:]
sys.argv = [agent, *arguments]
sys.path.insert(0, str(AGENTS))
desk = importlib.import_module("desk")
with importlib.import_module(f"trace_{tracer}").traced(desk):
    runpy.run_path(str(AGENTS / f"{agent}.py"), run_name="__main__")
