"""`check`: validate the configuration, print it without secrets, and test its dependencies. `reindex`: rebuild what
is computed from the runs."""

from collections.abc import Iterator
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.client import Api, connect
from cockpit.cli.errors import Exit, Failure
from cockpit.cli.in_process import open_store
from diffing.sentences.text import count_noun

# For each dependency: whoever runs the command wants the cause, and this process has yet to load its clients.
_LIMIT_S: Final = 20.0
_SETTINGS: Final = {
    "ok": "ready",
    "version": "version",
    "mode": "mode",
    "home": "home",
    "host": "host",
    "port": "port",
    "otlp_grpc_port": "OTLP/gRPC port",
    "login_required": "login required",
    "role": "role",
    "sharing": "share links",
    "database": "database",
    "redis": "queue",
    "artifacts": "payloads",
    "semantic": "similarity by meaning",
}


def check(*, artifacts: bool, totals: bool, json: bool, url: str | None, token: str | None) -> Exit:
    """Validate the configuration and report the state of all dependencies."""
    # The checks report what is unreachable, so they need no migrated database; only reading its tables does.
    with connect(url, token, migrate=artifacts or totals) as api:
        if (artifacts or totals) and not api.local:
            option = "artifacts" if artifacts else "totals"
            detail = f"--{option} needs direct access to the store: run this command on the server, without --url"
            raise Failure(detail, exit=Exit.BAD_INPUT, code="validation_error")
        report = {**_state(api), **(_configuration() if api.local else {})}
        if artifacts:
            report["artifacts"] = _artifacts()
        if totals:
            report["totals"] = _totals()
    if json:
        output.document(report)
    else:
        _show(report, artifacts=artifacts, totals=totals)
    if not report["ok"]:
        return Exit.UNAVAILABLE
    has_losses = artifacts and report["artifacts"]["lost"]
    return Exit.ERROR if has_losses or (totals and report["totals"]["wrong"]) else Exit.OK


def reindex(*, json: bool) -> None:
    """Rebuild the usage totals and the search index of the local store."""
    with open_store():
        from traces.search import indexer
        from traces.totals import usage_totals

        usage_totals.rebuild()
        report = {"documents": indexer.rebuild()}
    if json:
        output.document(report)
    else:
        output.facts(output.people(), [("search index", count_noun(report["documents"], "document"))])


def _totals() -> dict[str, Any]:
    """Compare the usage totals with the steps."""
    from traces.totals import usage_totals

    return {"wrong": usage_totals.differences()}


def _artifacts() -> dict[str, Any]:
    """Verify the hash of every artifact."""
    from traces.retention import unused_files
    from traces.storage.integrity import check_store

    report = check_store()
    losses = [
        {
            "sha256": loss.digest,
            "loss": str(loss.loss),
            "problem": loss.problem,
            "runs": [str(run) for run in loss.runs],
        }
        for loss in report.lost_artifacts
    ]
    return {"verified": report.artifacts, "lost": losses, "unused_files": len(unused_files.find())}


def _state(api: Api) -> dict[str, Any]:
    if api.local:
        from cockpit.http.api import CHECKS

        CHECKS.limit_s = _LIMIT_S
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


def _show(report: dict[str, Any], *, artifacts: bool, totals: bool) -> None:
    console = output.people()
    output.facts(console, _settings(report))
    for title, summary in _services(report):
        output.facts(console, [(title, summary)])
    if totals:
        wrong_totals = report["totals"]["wrong"]
        comparison = f"{len(wrong_totals)} differ from the steps" if wrong_totals else "match the steps"
        output.facts(console, [("usage totals", comparison)])
        for key in wrong_totals:
            output.error(f"the usage total of {key} is wrong: run `forkpoint reindex`")
    if artifacts:
        _show_artifacts(report["artifacts"])
    for name, outcome in report["checks"].items():
        sign = output.glyph("exact" if outcome == "ok" else "live", "ok" if outcome == "ok" else "failed")
        console.print(sign + f" {name}" + ("" if outcome == "ok" else f": {outcome}"), soft_wrap=True)


def _services(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the titles and summaries of what the operator configured by name."""
    for provider in report.get("providers", []):
        yield f"provider {provider['name']}", f"{provider['protocol']} {provider['base_url']} ({provider['key']})"
    for tool in report.get("tools", []):
        yield f"tool {tool['name']}", tool["runs"]
    for server in report.get("mcp_servers", []):
        yield f"MCP server {server['name']}", server["url"]
    for retriever in report.get("retrievers", []):
        parts = [retriever["asks"], *retriever["embeddings"].values(), *retriever["variables"].values()]
        yield f"retriever {retriever['name']}", ", ".join(parts)
    for hook in report.get("hooks", []):
        gate = ", a gate" if hook["gate"] else ""
        events = ", ".join(hook["events"]) or "all events"
        yield f"hook {hook['name']}", f"{hook['asks']} at {events}{gate}"
    for target in report.get("telemetry", []):
        problem = f" ({target['problem']})" if target["problem"] else ""
        yield f"telemetry {target['name']}", f"{target['goes_to']}{problem}"


def _settings(report: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the titles and values of settings. The result of `--artifacts` replaces the place of the payloads."""
    for name, title in _SETTINGS.items():
        value = report.get(name)
        if isinstance(value, bool):
            yield title, "yes" if value else "no"
        elif not isinstance(value, dict):
            yield title, value


def _show_artifacts(verification: dict[str, Any]) -> None:
    losses = verification["lost"]
    output.facts(
        output.people(), [("artifacts", f"{verification['verified']} verified, {len(losses)} missing or damaged")]
    )
    if count := verification["unused_files"]:
        output.note(f"{count_noun(count, 'file')} without an artifact: `forkpoint purge --unused-files` removes them")
    for loss in losses:
        users = ", ".join(loss["runs"]) or "no run"
        output.error(f"artifact {loss['sha256']} is {loss['loss']}: used by {users}")
