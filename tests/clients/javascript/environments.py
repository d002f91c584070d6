"""Throw-away environments of Node with one client library each.

`python -m tests.clients.javascript.environments NAME…` builds them ahead of the tests.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.clients.environments import ROOT

WITH_NODE: Final = ROOT / "scripts/with-node"
_OPENTELEMETRY: Final = ("@opentelemetry/sdk-trace-node@2.12.0", "@opentelemetry/resources@2.12.1")
_JSON_EXPORTER: Final = "@opentelemetry/exporter-trace-otlp-http@0.223.1"
_OPENAI: Final = "openai@6.49.0"
REQUIREMENTS: Final[dict[str, tuple[str, ...]]] = {
    "vercel-7": (
        "ai@7.0.173",
        "@ai-sdk/openai@4.0.118",
        "@ai-sdk/otel@1.0.173",
        "zod@4.6.7",
        _JSON_EXPORTER,
        *_OPENTELEMETRY,
    ),
    "vercel-6": ("ai@6.0.326", "@ai-sdk/openai@3.0.141", "zod@4.6.7", _JSON_EXPORTER, *_OPENTELEMETRY),
    "langfuse-5": (
        "@langfuse/tracing@5.11.1",
        "@langfuse/otel@5.11.1",
        "@langfuse/client@5.11.1",
        "@langfuse/openai@5.11.1",
        _JSON_EXPORTER,
        _OPENAI,
        *_OPENTELEMETRY,
    ),
    "openinference-4": (
        "@arizeai/openinference-instrumentation-openai@4.2.7",
        "@opentelemetry/exporter-trace-otlp-proto@0.223.1",
        _OPENAI,
        *_OPENTELEMETRY,
    ),
    "openai-6": (_OPENAI,),
    # The program itself is in the package for a platform.
    "claude-code-2": ("@anthropic-ai/claude-code@2.1.332",),
    "langsmith-0.12": ("langsmith@0.12.0", _OPENAI),
}


def environment(name: str) -> Path:
    """Return the folder of an environment, which is built if it does not exist or its requirements changed."""
    requirements = REQUIREMENTS[name]
    digest = hashlib.sha256("\n".join(requirements).encode()).hexdigest()[:12]
    folder = ROOT / ".make/clients" / f"node-{name}-{digest}"
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
        options = ("--no-progress", "--loglevel=error", "--no-audit", "--no-fund")
        subprocess.run([WITH_NODE, "npm", "install", *options, *requirements], cwd=folder, check=True)
        (folder / "complete").touch()
    return folder


if __name__ == "__main__":
    for name in sys.argv[1:] or REQUIREMENTS:
        environment(name)
        print(name, "is ready")
