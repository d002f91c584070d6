"""The demo: an order desk, the local model that runs it, and their recordings."""


def load() -> None:
    """Put the demo into the store, beside a server that serves already."""
    from cockpit.demo.agent.loading import load  # noqa: PLC0415 - the desk and the model work without Django

    load()
