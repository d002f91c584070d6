"""The demo: an order desk, its local model, and recordings."""


def load() -> None:
    """Load the demo into the store of a running server."""
    from cockpit.demo.agent.loading import load  # noqa: PLC0415 - the desk and the model work without Django

    load()
