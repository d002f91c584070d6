"""What this server was configured to be, without secrets."""

import os
import re
from importlib.util import find_spec
from typing import Any, Final, cast

from django.conf import settings

from cockpit.http.schemas import (
    Configuration,
    HookSetting,
    McpServerSetting,
    ProviderSetting,
    RetrieverSetting,
    TelemetrySetting,
    ToolSetting,
)
from replay.hooks import configuration as hooks
from replay.live import retrieval, tools
from replay.live.mcp_servers import configured_servers
from replay.live.providers import configuration as providers

# A password may contain any character, even unescaped; libraries also accept one as a query option.
_PASSWORD: Final = re.compile(r"(//[^/@:]*):[^?]*@")
_SECRET_OPTION: Final = re.compile(r"([?&][^=&]*(?:pass|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def effective() -> Configuration:
    """Return the configuration in effect; raises `ImproperlyConfigured` for an invalid variable."""
    return Configuration(
        mode="embedded" if settings.EMBEDDED else "distributed",
        home=str(settings.HOME),
        host=settings.HOST,
        port=settings.PORT,
        otlp_grpc_port=settings.OTLP_GRPC_PORT,
        # Applies to the server: local commands need no login.
        login_required=not (settings.EMBEDDED and settings.LOOPBACK),
        sharing=settings.SHARING,
        database=hide_secrets(settings.DATABASE_URL) or f"sqlite: {settings.DATABASES['default']['NAME']}",
        redis=hide_secrets(settings.REDIS_URL) or None,
        artifacts=_artifacts(cast(dict[str, Any], settings.STORAGES["artifacts"])["OPTIONS"]),
        semantic=find_spec("sentence_transformers") is not None,
        providers=_providers(),
        tools=[ToolSetting(name=name, runs=place) for name, place in sorted(tools.executors().items())],
        mcp_servers=[
            McpServerSetting(name=name, url=str(server.url).partition("?")[0])
            for name, server in configured_servers().items()
        ],
        retrievers=_retrievers(),
        hooks=_hooks(),
        telemetry=[
            TelemetrySetting(name=name, goes_to=entry.place, problem=hooks.problem(entry))
            for name, entry in hooks.targets().items()
        ],
    )


def _providers() -> list[ProviderSetting]:
    return [
        ProviderSetting(
            name=provider.name,
            protocol=provider.protocol,
            base_url=provider.base_url,
            key=_key(provider.api_key_env, providers.api_key(provider)),
        )
        for provider in providers.configured_providers().values()
    ]


def _retrievers() -> list[RetrieverSetting]:
    return [
        RetrieverSetting(
            name=retriever.name,
            asks=retriever.place,
            serves=list(retriever.entry.serves or []),
            stores=retriever.entry.stores,
            embeddings={name: embedding.summary for name, embedding in retriever.entry.embeddings.items()},
            variables={name: _key(name, os.environ.get(name, "")) for name in retriever.variables},
        )
        for retriever in retrieval.configured_retrievers().values()
    ]


def _hooks() -> list[HookSetting]:
    return [
        HookSetting(
            name=name,
            asks=entry.place,
            events=[str(event) for event in entry.events],
            matcher=entry.matcher,
            gate=entry.gate,
        )
        for name, entry in hooks.hooks().items()
    ]


def _key(variable: str, value: str) -> str:
    if not variable:
        return "none needed"
    return f"{variable} is set" if value else f"{variable} is not set"


def _artifacts(options: dict[str, Any]) -> str:
    if "bucket_name" in options:
        return f"s3://{options['bucket_name']}/{options['location']}"
    return str(options["location"])


def hide_secrets(url: str) -> str:
    """Remove the secrets from a URL."""
    return _SECRET_OPTION.sub(r"\1***", _PASSWORD.sub(r"\1:***@", url))
