"""The clock and the random numbers of a program in a rerun with `--freeze`."""

import importlib
import os
import random
import threading
import uuid
from datetime import datetime
from typing import Final

from forkpoint.session import end_process

_BAD_INPUT: Final = 2


def freeze(text: str) -> None:
    """Let the clock start at a time, and draw random numbers and ids from a seed; the text is both, with a space."""
    start, _, seed = text.partition(" ")
    try:
        time_machine = importlib.import_module("time_machine")
    except ImportError:
        reason = "--freeze needs time-machine in the environment of the agent: pip install 'forkpoint[freeze]'"
        end_process(reason, _BAD_INPUT)
    _draw_uuid1()
    # It goes on from there, because a program may wait for a time.
    time_machine.travel(datetime.fromisoformat(start), tick=True).start()
    seed_draws(seed)


def seed_draws(seed: str) -> None:
    """Draw random numbers and ids from a seed, also while a program is recorded: a rerun with it draws the same."""
    _draw_uuid1()
    _Entropy(seed).install()


def _draw_uuid1() -> None:
    """Let `uuid1` draw as it does at a set clock, so that it shifts the draws of a recording and of a rerun alike."""
    # Looked up first, because without the system's function an unknown address of the machine is drawn, too.
    uuid.getnode()
    uuid._generate_time_safe = None  # type: ignore[attr-defined]  # not in the types


class _Entropy:
    """Bytes in place of the operating system's, which `uuid4` and `secrets` use: the same for a seed.

    A forked process draws others than its parent.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._forks = 0
        self._lock = threading.Lock()
        self._random = random.Random(seed)

    def install(self) -> None:
        os.urandom = self.draw
        # `SystemRandom` has a reference of its own.
        random._urandom = self.draw  # type: ignore[attr-defined]  # not in the types
        random.seed(self._seed)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._count_fork, after_in_child=self._renew)

    def draw(self, size: int, /) -> bytes:
        with self._lock:
            return self._random.randbytes(size)

    def _count_fork(self) -> None:
        self._forks += 1

    def _renew(self) -> None:
        self._seed = f"{self._seed}/{self._forks}"
        self._lock = threading.Lock()
        self._random = random.Random(self._seed)
        self._forks = 0
        random.seed(self._seed)
