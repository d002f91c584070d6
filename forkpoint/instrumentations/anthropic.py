"""Anthropic's client: messages."""

from types import ModuleType
from typing import Any

from forkpoint.capture import stainless
from forkpoint.capture.assembly import assemble_message


def patch(module: ModuleType) -> None:
    apis = {"/v1/messages": stainless.Api(name="anthropic.messages", assemble=assemble_message)}
    stainless.patch(module, stainless.Client(apis=apis, provider=_provider))


def _provider(client: Any) -> str:
    return "bedrock" if "Bedrock" in type(client).__name__ else "anthropic"
