"""Which providers can answer the requests of an agent that speaks the protocol of its own."""

from replay.live.providers.configuration import address_of, configured_providers


def protocol_of(provider: str) -> str:
    """Return the protocol of a recorded provider; empty if it is unknown."""
    setting = address_of(provider, "")
    return "" if setting is None else setting.protocol


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
