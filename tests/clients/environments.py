"""Throw-away environments with one client library each, in its current version and the one before.

`python -m tests.clients.environments NAME…` builds them ahead of the tests.
"""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
REQUIREMENTS: Final[dict[str, tuple[str, ...]]] = {
    "opentelemetry": ("opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2"),
    "openai-3": ("openai==3.54.0",),
    "openai-2": ("openai==2.54.0",),
    "anthropic-2": ("anthropic==2.12.0",),
    "anthropic-1": ("anthropic==1.17.0",),
    "langchain-1.4": ("langchain==1.4.7", "langgraph==1.2.22", "langchain-openai==1.7.3", "langchain-anthropic==1.7.7"),
    "langchain-1.3": ("langchain==1.3.18", "langgraph<1.2.20", "langchain-openai<1.7", "langchain-anthropic<1.7"),
    "agents-0.24": ("openai-agents==0.24.0",),
    "agents-0.23": ("openai-agents==0.23.1",),
    "genai-3": ("google-genai==3.4.0",),
    "genai-2": ("google-genai==2.34.0",),
    "litellm-1.106": ("litellm==1.106.2", "mcp"),
    "litellm-1.105": ("litellm<1.106", "mcp"),
    "mcp-2": ("mcp==2.3.0", "uvicorn"),
    "mcp-1": ("mcp==1.30.0", "uvicorn"),
    "pydantic-ai-2.68": ("pydantic-ai-slim[openai,anthropic]==2.68.0",),
    "pydantic-ai-2.66": ("pydantic-ai-slim[openai,anthropic]==2.66.0",),
    "smolagents-1.26": ("smolagents[openai]==1.26.0",),
    "smolagents-1.25": ("smolagents[openai]==1.25.0",),
    "crewai-1.15.30": ("crewai==1.15.30",),
    "crewai-1.15.29": ("crewai==1.15.29",),
    "langfuse-2": ("langfuse==2.60.10", "openai<2"),
    "langfuse-3": ("langfuse==3.15.0", "openai==3.54.0"),
    "langfuse-4": ("langfuse==4.18.0", "openai==3.54.0"),
    "langfuse-5": ("langfuse==5.0.4", "openai==3.54.0"),
    "langsmith-0.15": ("langsmith==0.15.0", "langgraph==1.2.22", "langchain-openai==1.7.3", "openai==3.54.0"),
}


def environment(name: str) -> Path:
    """Return the Python of an environment, which is built if it does not exist or its requirements changed."""
    requirements = REQUIREMENTS[name]
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    folder = ROOT / ".make/clients" / f"{name}-{digest}"
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        uv = ROOT / ".venv/bin/uv"
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *requirements], check=True)
        (folder / "complete").touch()
    return python


if __name__ == "__main__":
    for name in sys.argv[1:] or REQUIREMENTS:
        environment(name)
        print(name, "is ready")
