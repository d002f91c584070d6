"""`check`: the effective configuration without secrets, and whether what it needs can be reached."""

from typing import Any

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.failures import Exit, Failure


def check(*, json: bool, url: str | None, token: str | None) -> Exit:
    """Validate, reach, print."""
    # What cannot be reached is for the checks to say, so nothing is touched before them.
    with connected(url, token, migrate=False) as api:
        found = {**_state(api), **(_configuration() if api.local else {})}
    if json:
        output.document(found)
    else:
        _show(found)
    return Exit.OK if found["ok"] else Exit.UNAVAILABLE


def _state(api: Api) -> dict[str, Any]:
    health = api.get("/health")
    ready = api.state("/ready")
    access = api.get("/access")
    return {
        "ok": ready["ready"],
        "version": health["version"],
        "login_required": access["login_required"],
        "role": access["role"],
        "checks": ready["checks"],
    }


def _configuration() -> dict[str, Any]:
    from django.core.exceptions import ImproperlyConfigured

    from cockpit.effective import effective

    try:
        return effective().model_dump(mode="json")
    except ImproperlyConfigured as error:
        raise Failure(str(error), exit=Exit.BAD_INPUT, code="validation_error") from error


def _show(found: dict[str, Any]) -> None:
    console = output.people()
    output.facts(console, [(name, value) for name, value in found.items() if isinstance(value, str | int | bool)])
    for provider in found.get("providers", []):
        said = f"{provider['protocol']} {provider['base_url']} ({provider['key']})"
        output.facts(console, [(f"provider {provider['name']}", said)])
    for tool in found.get("tools", []):
        output.facts(console, [(f"tool {tool['name']}", tool["runs"])])
    for retriever in found.get("retrievers", []):
        parts = [retriever["asks"], *retriever["embeddings"].values(), *retriever["variables"].values()]
        output.facts(console, [(f"retriever {retriever['name']}", ", ".join(parts))])
    for hook in found.get("hooks", []):
        gate = ", a gate" if hook["gate"] else ""
        events = ", ".join(hook["events"]) or "every event"
        output.facts(console, [(f"hook {hook['name']}", f"{hook['asks']} at {events}{gate}")])
    for target in found.get("telemetry", []):
        problem = f" ({target['problem']})" if target["problem"] else ""
        output.facts(console, [(f"telemetry {target['name']}", f"{target['goes_to']}{problem}")])
    for name, outcome in found["checks"].items():
        sign = output.glyph("exact" if outcome == "ok" else "live", "ok" if outcome == "ok" else "failed")
        console.print(sign + f" {name}" + ("" if outcome == "ok" else f": {outcome}"), soft_wrap=True)
