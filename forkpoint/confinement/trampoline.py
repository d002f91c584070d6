"""Start a program that ends with its parent, and that connects to listed TCP ports only. On Linux.

A process with threads must not run Python code between fork and exec. So this file also runs as a script, which limits
its own process and then becomes the program: `python -I -S trampoline.py PARENT PORTS COMMAND...`. It imports little,
because every start of an agent waits for it: `typing` or `signal` alone would double its time.

The kernel (Landlock, since 6.7) compares ports, not hosts. Unlike the guard of Python's sockets, nothing passes by: no
native library, and no program in another language. Programs that change the user, such as `sudo`, fail.
"""

import ctypes
import os
import struct
import sys

_IS_LINUX = sys.platform == "linux"
# System calls have the same numbers on all architectures.
_CREATE_RULESET = 444
_ADD_RULE = 445
_RESTRICT_SELF = 446
_ASK_VERSION = 1
# The first version that knows TCP.
_VERSION = 4
_CONNECT_TCP = 2
_PORT_RULE = 2
# Of both structures, in bytes.
_SIZE = 16
# Of `prctl`.
_DEATH_SIGNAL = 1
_NO_NEW_PRIVILEGES = 38
_SIGKILL = 9
# SIGPIPE and SIGXFSZ: Python ignores them, and a program would inherit that.
_IGNORED_SIGNALS = (13, 25)
_NO_LIMIT = "-"
# Exit codes: as that of `forkpoint rerun` without a server, and that of the shells for a program that cannot start.
_UNAVAILABLE = 6
_NO_PROGRAM = 127


def enforces_ports() -> bool:
    """Return whether the kernel can enforce the ports."""
    return _IS_LINUX and bool(_libc().syscall(_CREATE_RULESET, None, 0, _ASK_VERSION) >= _VERSION)


def limited_command(words: list[str], ports: list[int] | None) -> list[str]:
    """Return a command that runs another one, which connects to these ports only and is killed if this process ends.

    For the kernel, the thread that starts it is this process: use one that lives as long.
    """
    if not _IS_LINUX:
        return words
    limit = _NO_LIMIT if ports is None else ",".join(map(str, ports))
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), limit, *words]


def become(parent: str, ports: str, *words: str) -> None:
    """Limit this process, and let it become the program."""
    libc = _libc()
    libc.prctl(_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)
    # A parent that ended before this sends no signal.
    if os.getppid() != int(parent):
        sys.exit(_UNAVAILABLE)
    if ports != _NO_LIMIT and not _restrict(libc, [int(port) for port in ports.split(",")]):
        _end(f"the kernel does not restrict the network: {os.strerror(ctypes.get_errno())}", _UNAVAILABLE)
    for number in _IGNORED_SIGNALS:
        libc.signal(number, None)
    try:
        os.execvpe(words[0], words, _environment())  # noqa: S606 - it is the command that the user names
    except OSError as error:
        _end(f"cannot run {words[0]}: {error.strerror}", _NO_PROGRAM)


def _environment() -> dict[bytes, bytes]:
    """Return the variables with which this process was started: Python may have set that of the locale."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib takes as long as all of this
        items = file.read().split(b"\0")
    return dict(item.split(b"=", 1) for item in items if b"=" in item)


def _restrict(libc: ctypes.CDLL, ports: list[int]) -> bool:
    """Let the kernel refuse connections to other ports, and return whether it does."""
    # File accesses, of which none is restricted, and network accesses.
    ruleset = libc.syscall(_CREATE_RULESET, struct.pack("=QQ", 0, _CONNECT_TCP), _SIZE, 0)
    rules = [struct.pack("=QQ", _CONNECT_TCP, port) for port in ports]
    results = [libc.syscall(_ADD_RULE, ruleset, _PORT_RULE, rule, 0) for rule in rules]
    results += [libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), libc.syscall(_RESTRICT_SELF, ruleset, 0)]
    return ruleset >= 0 and not any(results)


def _end(reason: str, code: int) -> None:
    print(f"forkpoint: {reason}", file=sys.stderr)  # noqa: T201 - it is the standard error of the program
    sys.exit(code)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    become(*sys.argv[1:])
