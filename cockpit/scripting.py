"""Replays from a Python program, on the local store or on a server.

from cockpit.scripting import replay

outcome = replay("trace.json", model="gpt-4o", on_text=lambda step, text: print(text, end="", flush=True))
print(outcome["session"]["status"], outcome["session"]["cost_usd"])
"""

from collections.abc import Callable
from typing import Any

from cockpit.cli.client import connect
from cockpit.cli.commands import replay as replay_command

OnText = Callable[[int, str], None]


def replay(
    run: str,
    *,
    from_step: str | int | None = None,
    overrides: str | list[Any] | dict[str, Any] | None = None,
    policy: str | dict[str, Any] | None = None,
    model: str | None = None,
    temperature: float | None = None,
    system_prompt: str | None = None,
    max_tokens: int | None = None,
    on_text: OnText | None = None,
    url: str | None = None,
    token: str | None = None,
) -> dict[str, Any]:
    """Fork a run and replay it to its end; return the document of `forkpoint replay --json`.

    `run` is an id, a unique prefix of one, a file, or `last`; `overrides` and `policy` are documents, or names or
    digests of saved ones. `on_text` receives the step number and the text of live answers as they arrive. Raises
    `cockpit.cli.errors.Failure` if the replay is refused.
    """
    profile = {"overrides": overrides} if isinstance(overrides, list) else overrides
    request: dict[str, Any] = {"overrides": profile or {"overrides": []}, "policy": policy or {}}
    if from_step is not None:
        request["fork_step"] = from_step
    shortcut = replay_command.shortcut(
        model=model, temperature=temperature, system_prompt=system_prompt, max_tokens=max_tokens
    )
    with connect(url, token) as api:
        return replay_command.outcome(api, run, {**request, "shortcut": shortcut}, on_text)
