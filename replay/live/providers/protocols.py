"""Which providers can answer the requests of an agent that speaks the protocol of its own."""

from typing import Final

from replay.live.providers.configuration import address_of, configured_providers
from replay.live.providers.types import Protocol

# Agents ask Google in its own protocol, replays in OpenAI's.
_OWN_PROTOCOLS: Final = {"google": "gemini"}


def protocol_of(provider: str) -> str:
    """Return the protocol in which agents ask a recorded provider; empty if it is unknown."""
    if provider in _OWN_PROTOCOLS:
        return _OWN_PROTOCOLS[provider]
    setting = address_of(provider, "")
    return "" if setting is None else setting.protocol


def provider_problem(name: str) -> str:
    """Return why a provider cannot be asked in place of an agent's own; empty if it can."""
    if name in configured_providers():
        return ""
    return f"provider “{name}” is not configured, so that no call of the agent can go to it"


def foreign_protocol(name: str, agent_protocol: str) -> Protocol | None:
    """Return the protocol of a configured provider that does not speak an agent's; None if it does."""
    protocol = configured_providers()[name].protocol
    return None if protocol == agent_protocol else protocol
