"""Child process that runs a Python callable; a script that imports only the standard library.

The first input line names the callable, each further line contains the arguments of one call. Each line is answered
with one line. Output that the callable prints is discarded, so that it cannot be mistaken for an answer.
"""

import importlib
import inspect
import json
import os
import sys
from typing import Any

MARK = "forkpoint_replay"


def load(request: dict[str, Any]) -> Any:
    sys.path[:] = request["path"]
    module, _, attributes = request["callable"].partition(":")
    target: Any = importlib.import_module(module)
    for name in filter(None, attributes.split(".")):
        target = getattr(target, name)
    return target


def call(function: Any, arguments: dict[str, Any], replay: str) -> dict[str, Any]:
    if MARK in inspect.signature(function).parameters:
        arguments[MARK] = replay
    try:
        output = function(**arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        # Any error of the tool becomes its answer.
        return {"error": f"{type(error).__name__}: {error}"}
    try:
        json.dumps(output)
    except (TypeError, ValueError, RecursionError) as error:
        return {"error": f"the tool's answer is not JSON: {error}"}
    return {"output": output}


def main() -> None:
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    null_device = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null_device, descriptor)

    def send(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    first = json.loads(requests.readline())
    try:
        function = load(first)
    except (Exception, SystemExit) as error:  # noqa: BLE001
        # Importing a package can fail in any way.
        send({"cannot": f"{type(error).__name__}: {error}"})
        return
    send({"loaded": True})
    for line in requests:
        send(call(function, json.loads(line), first["replay"]))


if __name__ == "__main__":
    main()
