"""The demo: an order desk, its local model, and recordings."""


def load(*, restores_deleted: bool) -> None:
    """Load the demo into the store of a running server; `restores_deleted` brings back what users have deleted."""
    from cockpit.demo.agent.loading import load  # noqa: PLC0415 - the desk and the model work without Django

    load(restores_deleted=restores_deleted)
