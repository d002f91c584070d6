"""The TCP ports that a program and all that it starts may connect to, enforced by the kernel: Linux 6.7 and newer.

The kernel compares ports, not hosts. Unlike the guard of Python's sockets, nothing passes by: no native library, and no
program in another language.
"""

import ctypes
import struct
import sys
from collections.abc import Callable, Collection
from typing import Any, Final

# The same numbers on all architectures.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_ASK_VERSION: Final = 1
# The first version that knows TCP.
_VERSION: Final = 4
_CONNECT_TCP: Final = 2
_PORT_RULE: Final = 2
_NO_NEW_PRIVILEGES: Final = 38
# Of both structures, in bytes.
_SIZE: Final = 16


def is_supported() -> bool:
    """Return whether the kernel can enforce the ports."""
    return sys.platform == "linux" and bool(_libc().syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) >= _VERSION)


def connect_limit(ports: Collection[int]) -> Callable[[], None]:
    """Return what a new process calls before its program starts, to connect to these ports only.

    Programs that change the user, such as `sudo`, do not work afterwards.
    """
    libc = _libc()
    # File accesses, of which none is restricted, and network accesses.
    accesses = ctypes.create_string_buffer(struct.pack("=QQ", 0, _CONNECT_TCP), _SIZE)
    rules = [ctypes.create_string_buffer(struct.pack("=QQ", _CONNECT_TCP, port), _SIZE) for port in ports]

    def restrict() -> None:
        ruleset = libc.syscall(_CREATE_RULESET, accesses, _SIZE, 0)
        results = [libc.syscall(_ADD_RULE, ruleset, _PORT_RULE, rule, 0) for rule in rules]
        results += [libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), libc.syscall(_RESTRICT_SELF, ruleset, 0)]
        if ruleset < 0 or any(results):
            raise OSError(ctypes.get_errno(), "the kernel does not restrict the network")

    return restrict


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)
