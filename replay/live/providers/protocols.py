"""Which providers can answer the requests of an agent that speaks the protocol of its own."""

from collections.abc import Mapping
from typing import Final

from replay.live.providers.configuration import address_of, configured_providers
from replay.live.providers.types import Protocol

# Under the name with which its APIs begin.
_NAMES: Final = {"google": "gemini"}
# Servers with a protocol of their own may have that of OpenAI beside it.
_SECOND_PROTOCOLS: Final[Mapping[Protocol, Protocol]] = {"ollama": "openai"}


def protocol_of(provider: str) -> str:
    """Return the protocol in which agents ask a recorded provider; empty if it is unknown."""
    if provider in _NAMES:
        return _NAMES[provider]
    setting = address_of(provider, "")
    return "" if setting is None else setting.protocol


def provider_problem(name: str) -> str:
    """Return why a provider cannot be asked in place of an agent's own; empty if it can."""
    if name in configured_providers():
        return ""
    return f"provider “{name}” is not configured, so that no call of the agent can go to it"


def foreign_protocol(name: str, agent_protocol: str) -> Protocol | None:
    """Return the protocol of a configured provider that does not speak an agent's; None if it does."""
    own_protocol = configured_providers()[name].protocol
    protocol = _SECOND_PROTOCOLS.get(own_protocol, own_protocol)
    speaks_it = _NAMES.get(agent_protocol, agent_protocol) in {own_protocol, protocol}
    return None if speaks_it else protocol
