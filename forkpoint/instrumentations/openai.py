"""OpenAI's client: chat completions and responses."""

from types import ModuleType
from typing import Any

from forkpoint.capture import stainless
from forkpoint.capture.assembly import assemble_chat, assemble_response


def patch(module: ModuleType) -> None:
    apis = {
        "/chat/completions": stainless.Api(name="openai.chat", assemble=assemble_chat),
        "/responses": stainless.Api(name="openai.responses", assemble=assemble_response),
    }
    stainless.patch(module, stainless.Client(apis=apis, provider=_provider))


def _provider(client: Any) -> str:
    return "azure" if "Azure" in type(client).__name__ else "openai"
