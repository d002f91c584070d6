"""The process in which a Python callable runs: started as a script, it imports nothing but the standard library.

It is told what to load in its first line, and the arguments of one call in each line after it; every line is answered
with one. What the callable prints goes nowhere, so that it cannot be taken for an answer.
"""

import importlib
import inspect
import json
import os
import sys
from typing import Any

MARK = "forkpoint_replay"


def load(asked: dict[str, Any]) -> Any:
    sys.path[:] = asked["path"]
    module, _, attributes = asked["callable"].partition(":")
    found: Any = importlib.import_module(module)
    for name in filter(None, attributes.split(".")):
        found = getattr(found, name)
    return found


def call(function: Any, arguments: dict[str, Any], replay: str) -> dict[str, Any]:
    if MARK in inspect.signature(function).parameters:
        arguments[MARK] = replay
    try:
        output = function(**arguments)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # the tool's own, of any kind; it becomes its answer
        return {"error": f"{type(error).__name__}: {error}"}
    try:
        json.dumps(output)
    except (TypeError, ValueError, RecursionError) as error:
        return {"error": f"the tool's answer is not JSON: {error}"}
    return {"output": output}


def main() -> None:
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)

    def say(answer: dict[str, Any]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    first = json.loads(asked.readline())
    try:
        function = load(first)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # importing a package can fail in any way
        say({"cannot": f"{type(error).__name__}: {error}"})
        return
    say({"loaded": True})
    for line in asked:
        say(call(function, json.loads(line), first["replay"]))


if __name__ == "__main__":
    main()
