"""`check`: the effective configuration without secrets, and whether what it needs can be reached."""

from typing import Any

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.errors import Exit, Failure


def check(*, artifacts: bool, json: bool, url: str | None, token: str | None) -> Exit:
    """Validate, reach, print."""
    # What cannot be reached is for the checks to say, so nothing is touched before them.
    with connected(url, token, migrate=False) as api:
        if artifacts and not api.local:
            detail = "artifacts are verified on the machine that stores them: run this there, without --url"
            raise Failure(detail, exit=Exit.BAD_INPUT, code="validation_error")
        found = {**_state(api), **(_configuration() if api.local else {})}
        if artifacts:
            found["artifacts"] = _artifacts()
    if json:
        output.document(found)
    else:
        _show(found)
    if not found["ok"]:
        return Exit.UNAVAILABLE
    return Exit.ERROR if artifacts and found["artifacts"]["lost"] else Exit.OK


def _artifacts() -> dict[str, Any]:
    """Every artifact, read and compared with its name."""
    from traces.storage.integrity import check_store

    report = check_store()
    lost = [
        {
            "sha256": each.digest,
            "loss": str(each.loss),
            "problem": each.problem,
            "runs": [str(run) for run in each.runs],
        }
        for each in report.lost
    ]
    return {"verified": report.artifacts, "lost": lost}


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

    from cockpit.http.config_report import effective

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
    if "artifacts" in found:
        _show_artifacts(found["artifacts"])
    for name, outcome in found["checks"].items():
        sign = output.glyph("exact" if outcome == "ok" else "live", "ok" if outcome == "ok" else "failed")
        console.print(sign + f" {name}" + ("" if outcome == "ok" else f": {outcome}"), soft_wrap=True)


def _show_artifacts(found: dict[str, Any]) -> None:
    lost = found["lost"]
    output.facts(output.people(), [("artifacts", f"{found['verified']} verified, {len(lost)} missing or damaged")])
    for each in lost:
        users = ", ".join(each["runs"]) or "no run"
        output.error(f"artifact {each['sha256']} is {each['loss']}: used by {users}")
