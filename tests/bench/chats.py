"""How the cost of a chat's import grows with its length, measured on the command as users run it."""

import os
import subprocess
import sys

import orjson

from tests.services.processes import scratch_folder

_SHORT, _LONG = 30_000, 300_000
_COMMAND = (sys.executable, "-c", "from cockpit.cli import main; main()", "import")


def growth_of_time() -> float:
    """Return the processor time per message of a chat of 300,000 messages, relative to one of 30,000."""
    (short, _), (long, _) = _cost(_SHORT), _cost(_LONG)
    return long / short


def growth_of_memory() -> float:
    """Return the memory per message beyond that of an empty command, in the same relation."""
    (_, short), (_, long) = _cost(_SHORT), _cost(_LONG)
    return long / short


def _cost(messages: int) -> tuple[float, float]:
    """Return processor seconds and peak kilobytes per message, without those of a chat of two messages."""
    (seconds, peak), (least_seconds, least_peak) = _import(messages), _import(2)
    return (seconds - least_seconds) / messages, (peak - least_peak) / messages


def _import(messages: int) -> tuple[float, float]:
    home = scratch_folder("fp-chat-")
    file = home / "chat.json"
    file.write_bytes(_chat(messages))
    environment = {**os.environ, "FORKPOINT_HOME": str(home / "home")}
    process = subprocess.Popen([*_COMMAND, str(file)], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"the import of {messages} messages failed: {status}")
    return usage.ru_utime + usage.ru_stime, float(usage.ru_maxrss)


def _chat(messages: int) -> bytes:
    roles = ("user", "assistant")
    return orjson.dumps(
        {
            "id": f"chat-{messages}",
            "messages": [
                {"role": roles[number % 2], "content": f"Message {number} is about order {number // 7}."}
                for number in range(messages)
            ],
        }
    )
