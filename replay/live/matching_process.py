"""Match a value against a schema in a process of its own, which is ended in time."""

import subprocess
import sys

import orjson

from replay.checks.bounded_matching import first_error
from traces.core.json_types import JSONObject, JSONValue

LIMIT_S = 5.0


def first_error_isolated(document: JSONObject, value: JSONValue) -> str:
    """Where and why a value does not fit, or that it took too long to find out."""
    asked = orjson.dumps({"document": document, "value": value})
    try:
        # -P: nothing in the working directory can take the place of a module.
        done = subprocess.run(
            [sys.executable, "-P", "-m", __name__], input=asked, stdout=subprocess.PIPE, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"it cannot be decided: that took longer than {LIMIT_S:g} s"
    return done.stdout.decode() if not done.returncode else "it cannot be decided: the process that tried to has died"


def main() -> None:
    """What the process does."""
    asked = orjson.loads(sys.stdin.buffer.read())
    sys.stdout.buffer.write(first_error(asked["document"], asked["value"]).encode(errors="replace"))


if __name__ == "__main__":
    main()
