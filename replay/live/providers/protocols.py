"""Which providers can answer the requests of an agent that speaks the protocol of its own."""

from typing import Final

from replay.live.providers.configuration import configured_providers

_PROTOCOLS: Final = frozenset({"openai", "anthropic"})


def protocol_of(provider: str) -> str:
    """Return the protocol of a recorded provider: as it is configured, else as it is named; empty if unknown."""
    setting = configured_providers().get(provider)
    if setting is not None:
        return setting.protocol
    return provider.lower() if provider.lower() in _PROTOCOLS else ""


def provider_problem(name: str, agent_protocol: str = "") -> str:
    """Return why a provider cannot be asked in place of an agent's own; empty if it can, or that is not known yet."""
    setting = configured_providers().get(name)
    if setting is None:
        return f"provider “{name}” is not configured, so that no call of the agent can go to it"
    if agent_protocol not in {"", setting.protocol}:
        return (
            f"provider “{name}” speaks the protocol of {setting.protocol}, and the agent that of {agent_protocol}: "
            "choose another provider, or follow the recording"
        )
    return ""
