"""Throw-away environments with one client library each, in its current version and the one before.

`python -m tests.clients.environments NAME…` builds them ahead of the tests.
"""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
OTLP: Final = ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2")
OTLP_CONTRIB: Final = (*OTLP, "opentelemetry-distro")
REQUIREMENTS: Final[dict[str, tuple[str, ...]]] = {
    "opentelemetry": ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2"),
    "openai-3": ("openai==3.57.0",),
    "openai-2": ("openai==2.54.0",),
    "anthropic-2": ("anthropic==2.14.0",),
    "anthropic-1": ("anthropic==1.17.0",),
    "langchain-1.5": (
        "langchain==1.5.2",
        "langgraph==1.2.24",
        "langchain-openai==1.7.4",
        "langchain-anthropic==1.7.10",
        "langchain-ollama==1.1.0",
    ),
    "langchain-1.4": ("langchain==1.4.7", "langgraph==1.2.22", "langchain-openai==1.7.3", "langchain-anthropic==1.7.7"),
    "agents-0.24": ("openai-agents==0.24.0",),
    "agents-0.23": ("openai-agents==0.23.1",),
    "genai-3": ("google-genai==3.6.1",),
    "genai-2": ("google-genai==2.34.0",),
    "litellm-1.110": ("litellm==1.110.2", "mcp"),
    "litellm-1.106": ("litellm==1.106.2", "mcp"),
    "mcp-2": ("mcp==2.3.0", "uvicorn"),
    "mcp-1": ("mcp==1.30.0", "uvicorn"),
    "pydantic-ai-2.68": ("pydantic-ai-slim[openai,anthropic]==2.68.0",),
    "pydantic-ai-2.66": ("pydantic-ai-slim[openai,anthropic]==2.66.0",),
    "smolagents-1.26": ("smolagents[openai]==1.26.0",),
    "smolagents-1.25": ("smolagents[openai]==1.25.0",),
    "autogen-0.7": ("autogen-agentchat==0.7.5", "autogen-ext[openai]==0.7.5"),
    "crewai-1.15.30": ("crewai==1.15.30",),
    "crewai-1.15.29": ("crewai==1.15.29",),
    "adk-2.13": ("google-adk==2.13.0",),
    "adk-2.12": ("google-adk==2.12.0",),
    "llama-index-0.14.25": ("llama-index-core==0.14.25", "llama-index-llms-openai==0.8.3"),
    "llama-index-0.14.24": ("llama-index-core==0.14.24", "llama-index-llms-openai==0.8.2"),
    "dspy-3.4": ("dspy==3.4.1",),
    "dspy-3.3": ("dspy==3.3.1",),
    "strands-1.62": ("strands-agents[openai]==1.62.0",),
    "strands-1.61": ("strands-agents[openai]==1.61.1",),
    "agno-3.1.10": ("agno==3.1.10", "openai"),
    "agno-3.1.9": ("agno==3.1.9", "openai"),
    "semantic-kernel-1.45": ("semantic-kernel==1.45.0",),
    "semantic-kernel-1.44": ("semantic-kernel==1.44.1",),
    "agent-framework-1.23": ("agent-framework-core==1.23.0", "agent-framework-openai==1.17.0"),
    "agent-framework-1.22": ("agent-framework-core==1.22.0", "agent-framework-openai==1.16.0"),
    "haystack-3.4": ("haystack-ai==3.4.1",),
    "haystack-3.3": ("haystack-ai==3.3.0",),
    "mirascope-2.8.2": ("mirascope[openai]==2.8.2",),
    "mirascope-2.8.1": ("mirascope[openai]==2.8.1",),
    "langfuse-2": ("langfuse==2.60.10", "openai<2"),
    "langfuse-3": ("langfuse==3.15.0", "openai==3.54.0"),
    "langfuse-4": ("langfuse==4.18.0", "openai==3.54.0"),
    "langfuse-5": ("langfuse==5.0.4", "openai==3.54.0"),
    "openinference-openai": (*OTLP, "openinference-instrumentation-openai==0.1.66", "openai==3.54.0"),
    "beside-openai": (
        "opentelemetry-sdk",
        "opentelemetry-exporter-otlp-proto-http",
        "opentelemetry-instrumentation-urllib",
        "openinference-instrumentation-openai==0.1.66",
        "openai==3.54.0",
    ),
    "openinference-openai-0.1.40": (*OTLP, "openinference-instrumentation-openai==0.1.40", "openai==2.54.0", "wrapt<2"),
    "genai-openai-2.3": (
        *OTLP_CONTRIB,
        "opentelemetry-instrumentation-openai-v2==2.3b0",
        "wrapt<2",
        "httpx",
        "openai==3.54.0",
    ),
    "genai-openai-2.1": (
        "opentelemetry-sdk<1.37",
        "opentelemetry-exporter-otlp-proto-http<1.37",
        "opentelemetry-distro",
        "opentelemetry-instrumentation-openai-v2==2.1b0",
        "wrapt<2",
        "openai<3",
        "httpx",
    ),
    "traceloop-0.62": ("traceloop-sdk==0.62.4", "httpx", "openai==3.54.0", "anthropic==2.12.0"),
    "traceloop-0.47": (
        "traceloop-sdk==0.47.5",
        "opentelemetry-sdk<1.37",
        "opentelemetry-exporter-otlp<1.37",
        "openai<2",
        "anthropic<1",
    ),
    "pydantic-ai-otlp-2": (*OTLP, "pydantic-ai-slim[openai,anthropic]==2.68.0"),
    "pydantic-ai-otlp-2.66": (*OTLP, "pydantic-ai-slim[openai,anthropic]==2.66.0"),
    "pydantic-ai-otlp-1": (*OTLP, "pydantic-ai-slim[openai,anthropic]==1.107.10"),
    "genai-openai-2.4": (
        *OTLP_CONTRIB,
        "opentelemetry-instrumentation-openai-v2==2.4b0",
        "opentelemetry-util-genai==1.1b0",
        "httpx",
        "openai==3.54.0",
    ),
    "openinference-agents": (*OTLP, "openinference-instrumentation-openai-agents==2.6.0", "openai-agents==0.24.0"),
    "openinference-crewai": (
        *OTLP,
        "openinference-instrumentation-crewai==1.1.21",
        "openinference-instrumentation-openai==0.1.66",
        "crewai==1.15.30",
    ),
    "openinference-smolagents": (
        *OTLP,
        "openinference-instrumentation-smolagents==0.1.43",
        "smolagents[openai]==1.26.0",
    ),
    "openinference-langchain": (
        *OTLP,
        "openinference-instrumentation-langchain==0.1.80",
        "langchain==1.4.7",
        "langgraph==1.2.22",
        "langchain-openai==1.7.3",
        "langchain-anthropic==1.7.7",
    ),
    "openinference-anthropic": (*OTLP, "openinference-instrumentation-anthropic==3.1.0", "anthropic==2.12.0"),
    "openinference-litellm": (*OTLP, "openinference-instrumentation-litellm==0.1.51", "litellm==1.106.2", "mcp"),
    "openinference-genai": (*OTLP, "openinference-instrumentation-google-genai==1.4.14", "google-genai==3.4.0"),
    "traceloop-langchain": (
        "traceloop-sdk==0.62.4",
        "httpx",
        "langchain==1.4.7",
        "langgraph==1.2.22",
        "langchain-openai==1.7.3",
    ),
    "traceloop-agents": ("traceloop-sdk==0.62.4", "httpx", "openai-agents==0.24.0"),
    "langsmith-0.15": ("langsmith==0.15.0", "langgraph==1.2.22", "langchain-openai==1.7.3", "openai==3.54.0"),
}


def environment(name: str) -> Path:
    """Return the Python of an environment, which is built if it does not exist or its requirements changed."""
    return build_environment(ROOT / ".make/clients", name, REQUIREMENTS[name])


def build_environment(home: Path, name: str, requirements: tuple[str, ...], *, python: str = sys.executable) -> Path:
    """Return the Python of an environment below `home`, with these requirements; `python` is the one it is made of."""
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    folder = home / f"{name}-{digest}"
    program = folder / "bin/python"
    if not (folder / "complete").exists():
        uv = ROOT / ".venv/bin/uv"
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", python, folder], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", program, *requirements], check=True)
        (folder / "complete").touch()
    return program


if __name__ == "__main__":
    for name in sys.argv[1:] or REQUIREMENTS:
        environment(name)
        print(name, "is ready")
