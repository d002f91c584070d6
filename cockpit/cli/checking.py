"""`check`: the effective configuration without secrets, and whether what it needs can be reached."""

import os
import re
from importlib.util import find_spec
from typing import Any, Final, cast

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.failures import Exit, Failure

_SECRET: Final = re.compile(r"//([^/@:]*)(:[^/@]*)?@")


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
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        providers, tools, retrievers = _providers(), _tools(), _retrievers()
        hooks, telemetry = _hooks(), _telemetry()
    except ImproperlyConfigured as error:
        raise Failure(str(error), exit=Exit.BAD_INPUT, code="validation_error") from error
    return {
        "mode": "embedded" if settings.EMBEDDED else "distributed",
        "home": str(settings.HOME),
        "host": settings.HOST,
        "port": settings.PORT,
        # Of the server: this command itself needs no login.
        "login_required": not (settings.EMBEDDED and settings.LOOPBACK),
        "database": _masked(settings.DATABASE_URL) or f"sqlite: {settings.DATABASES['default']['NAME']}",
        "redis": _masked(settings.REDIS_URL) or None,
        "artifacts": _artifacts(cast(dict[str, Any], settings.STORAGES["artifacts"])["OPTIONS"]),
        "semantic": find_spec("sentence_transformers") is not None,
        "providers": providers,
        "tools": tools,
        "retrievers": retrievers,
        "hooks": hooks,
        "telemetry": telemetry,
    }


def _providers() -> list[dict[str, Any]]:
    from replay.providers import configuration

    return [
        {
            "name": provider.name,
            "protocol": provider.protocol,
            "base_url": provider.base_url,
            "key": _key(provider.api_key_env, configuration.api_key(provider)),
        }
        for provider in configuration.configured().values()
    ]


def _tools() -> list[dict[str, Any]]:
    from replay import tools

    return [{"name": name, "runs": place} for name, place in sorted(tools.executors().items())]


def _retrievers() -> list[dict[str, Any]]:
    from replay import retrieval

    return [
        {
            "name": one.name,
            "asks": one.place,
            "serves": one.entry.serves or [],
            "stores": one.entry.stores,
            "embeddings": {name: embedding.said for name, embedding in one.entry.embeddings.items()},
            "variables": {name: _key(name, os.environ.get(name, "")) for name in one.variables},
        }
        for one in retrieval.configured().values()
    ]


def _hooks() -> list[dict[str, Any]]:
    from replay.hooks import configuration

    return [
        {
            "name": name,
            "asks": entry.place,
            "events": [str(event) for event in entry.events],
            "matcher": entry.matcher,
            "gate": entry.gate,
        }
        for name, entry in configuration.hooks().items()
    ]


def _telemetry() -> list[dict[str, Any]]:
    from replay.hooks import configuration

    return [
        {"name": name, "goes_to": entry.place, "problem": configuration.problem(entry)}
        for name, entry in configuration.targets().items()
    ]


def _key(variable: str, value: str) -> str:
    if not variable:
        return "none needed"
    return f"{variable} is set" if value else f"{variable} is not set"


def _artifacts(options: dict[str, Any]) -> str:
    if "bucket_name" in options:
        return f"s3://{options['bucket_name']}/{options['location']}"
    return str(options["location"])


def _masked(url: str) -> str:
    """A URL without the password in it."""
    return _SECRET.sub(lambda found: f"//{found[1]}{':***' if found[2] else ''}@", url)


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
