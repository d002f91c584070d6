"""Match a value against a JSON schema in a child process with a time limit."""

import subprocess
import sys

import orjson

from replay.checks.bounded_matching import first_error
from traces.core.json_types import JSONObject, JSONValue

LIMIT_S = 5.0


def first_error_isolated(document: JSONObject, value: JSONValue) -> str:
    """Return where and why a value does not match, or that the check timed out."""
    request = orjson.dumps({"document": document, "value": value})
    try:
        # -P: no module is imported from the working directory.
        result = subprocess.run(
            [sys.executable, "-P", "-m", __name__], input=request, stdout=subprocess.PIPE, timeout=LIMIT_S
        )
    except subprocess.TimeoutExpired:
        return f"could not be checked: it took longer than {LIMIT_S:g} s"
    return result.stdout.decode() if not result.returncode else "could not be checked: the process crashed"


def main() -> None:
    """Run the match in the child process."""
    request = orjson.loads(sys.stdin.buffer.read())
    sys.stdout.buffer.write(first_error(request["document"], request["value"]).encode(errors="replace"))


if __name__ == "__main__":
    main()
