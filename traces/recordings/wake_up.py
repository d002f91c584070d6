"""Wake-up of the assembler in the same process. Assemblers of other processes poll."""

import threading

_arrival_event = threading.Event()


def signal() -> None:
    """Tell the assembler that segments have arrived."""
    _arrival_event.set()


def wait(timeout_s: float) -> None:
    """Wait until segments arrive, or for `timeout_s`."""
    _arrival_event.wait(timeout_s)
    _arrival_event.clear()
