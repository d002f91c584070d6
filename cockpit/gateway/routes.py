"""Addresses of the gateway: which provider and which of its operations a request is for. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote, urlsplit, urlunsplit

PREFIX: Final = "/gateway/"
PROVIDERS: Final = ("openai", "anthropic", "gemini", "ollama")
_ADDRESS: Final = re.compile(r"/gateway/[^/]+/(?P<provider>[\w.-]{1,100})(?P<path>(?:/.*)?)", re.DOTALL)
_MCP_ADDRESS: Final = re.compile(r"/gateway/[^/]+/mcp/(?P<server>[\w.-]{1,100})(?:/(?P<shim>stdio|exchanges)?)?")
_TOOLS_ADDRESS: Final = re.compile(r"/gateway/[^/]+/sdk/tools")
_VERSION: Final = re.compile(r"/(v\d+(?:alpha|beta)?\d*)(/.*)?")
_GEMINI_CALL: Final = re.compile(r"/models/(?P<model>[\w.-]+):(?P<method>\w+)")
# Of the server, below which the base URL of OpenAI's protocol has a version.
_OPENAI_ROOT: Final = re.compile(r"/v\d+$")
# Azure has its operations below a path of its own, with a version or without one, or below a deployment of a model.
_AZURE, _DEPLOYMENTS = "/openai", "/deployments/"
_DEPLOYMENT: Final = re.compile(r"/openai(?P<path>/deployments/(?P<model>[\w-][\w.-]*)(?P<rest>/.*))")
_STORED_RESPONSE: Final = "openai.stored_response"
_RESPONSE: Final = re.compile(r"/responses/resp_\w+")
_MODELS: Final = re.compile(r"/models(?:/(?P<model>[^/]+))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One operation of a provider: its path below the provider's base URL, and its API."""

    path: str
    api: str
    # For providers that name the model in the path.
    model: str = ""
    # Whether the provider is asked by GET.
    is_read: bool = False
    # Whether the path begins at the root of the server, beside that of OpenAI's protocol.
    is_at_root: bool = False

    @property
    def answer_api(self) -> str:
        """The API whose form the answer has."""
        return "openai.responses" if self.api == _STORED_RESPONSE else self.api


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """A request's provider and operation; None if the gateway does not serve it."""

    provider: str
    # That of the provider which is named so.
    protocol: str
    operation: Operation | None
    # Below the provider, without its version.
    path: str = ""
    lists_models: bool = False
    # The model that is asked about instead of the list.
    model: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class McpRoute:
    """The name of the MCP server that a request is for; `shim` is what `forkpoint mcp-shim` wants."""

    server: str
    shim: str = ""


_OPERATIONS: Final[dict[str, dict[str, Operation]]] = {
    "openai": {
        "/chat/completions": Operation(path="/chat/completions", api="openai.chat"),
        "/responses": Operation(path="/responses", api="openai.responses"),
        "/embeddings": Operation(path="/embeddings", api="openai.embeddings"),
        "/images/generations": Operation(path="/images/generations", api="openai.images"),
        "/moderations": Operation(path="/moderations", api="openai.moderations"),
        # Of servers that speak OpenAI's protocol, such as vLLM.
        "/rerank": Operation(path="/rerank", api="openai.rerank"),
        "/score": Operation(path="/score", api="openai.score"),
        "/classify": Operation(path="/classify", api="openai.classify", is_at_root=True),
        "/detokenize": Operation(path="/detokenize", api="openai.detokenize", is_at_root=True),
        "/pooling": Operation(path="/pooling", api="openai.pooling", is_at_root=True),
        "/tokenize": Operation(path="/tokenize", api="openai.tokenize", is_at_root=True),
    },
    "anthropic": {
        "/messages": Operation(path="/v1/messages", api="anthropic.messages"),
        "/messages/count_tokens": Operation(path="/v1/messages/count_tokens", api="anthropic.count_tokens"),
    },
}
# Of Ollama, which speaks OpenAI's protocol, too.
_OLLAMA_OPERATIONS: Final = {
    **{
        f"/api/{name}": Operation(path=f"/api/{name}", api=f"ollama.{name}", is_at_root=True)
        for name in ("chat", "generate", "embed", "embeddings", "show")
    },
    **{
        f"/api/{name}": Operation(path=f"/api/{name}", api=f"ollama.{name}", is_at_root=True, is_read=True)
        for name in ("ps", "version")
    },
    "/api/tags": Operation(path="/api/tags", api="ollama.models", is_at_root=True, is_read=True),
}
_OLLAMA_PATHS: Final = "/api/"
_GEMINI_APIS: Final = {
    "generateContent": "google.generate_content",
    "streamGenerateContent": "google.generate_content",
    "countTokens": "google.count_tokens",
    "embedContent": "google.embed_content",
    "batchEmbedContents": "google.batch_embed_contents",
}


def session_of(path: str) -> str:
    """Return the session of a path; empty if it names none."""
    return path.removeprefix(PREFIX).partition("/")[0]


def protocol_of(path: str) -> str:
    """Return the protocol of a path whose provider has it as its name; empty for any other."""
    match = _ADDRESS.fullmatch(path)
    if match is None or match["provider"] not in PROVIDERS:
        return ""
    return _protocol(match["provider"], _split_version(match["path"])[1])


def find_route(path: str, configured_protocol: Callable[[str], str]) -> Route | None:
    """Return the route of a path, with or without the provider's version in it; None if it names no provider.

    `configured_protocol` returns the protocol of any further provider; empty if there is none.
    """
    match = _ADDRESS.fullmatch(path)
    if match is None:
        return None
    provider = match["provider"]
    protocol = provider if provider in PROVIDERS else configured_protocol(provider)
    if not protocol:
        return None
    version, rest = _split_version(match["path"])
    rest = rest.rstrip("/") or "/"
    protocol = _protocol(protocol, rest)
    operation = _operation(protocol, version, rest)
    # Gemini has its operations below its models.
    models = None if operation else _MODELS.fullmatch(rest)
    if models is not None:
        operation = _models_operation(protocol, version, rest)
    return Route(
        provider=provider,
        protocol=protocol,
        operation=operation,
        path=rest,
        lists_models=models is not None or (operation is not None and operation.api == "ollama.models"),
        model=(models["model"] or "").removeprefix("models/") if models else "",
    )


def served_paths(protocol: str) -> list[str]:
    """Return the paths of a protocol that the gateway passes on, as a client may call them."""
    if protocol == "gemini":
        return [f"/models/MODEL:{method}" for method in _GEMINI_APIS]
    if protocol == "ollama":
        return [*_OLLAMA_OPERATIONS]
    operations = _OPERATIONS[protocol].items()
    return [path if operation.is_at_root else f"/v1{path}" for path, operation in operations] + ["/v1/models"]


def find_mcp_route(path: str) -> McpRoute | None:
    """Return the route of a path; None if it names no MCP server."""
    match = _MCP_ADDRESS.fullmatch(path)
    return McpRoute(server=match["server"], shim=match["shim"] or "") if match else None


def url_of(operation: Operation, base_url: str) -> str:
    """Return the address of an operation of a provider. Azure's base URL may name its API, or one deployment."""
    if operation.is_at_root:
        return _OPENAI_ROOT.sub("", base_url) + operation.path
    path = _AZURE + operation.path if operation.path.startswith(_DEPLOYMENTS) else operation.path
    if not path.startswith(_AZURE + "/"):
        return base_url + path
    parts = urlsplit(base_url)
    root = parts.path.partition(_AZURE)[0].rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, root + path, "", ""))


def operation_elsewhere(operation: Operation) -> Operation:
    """Return an operation of Azure as other providers have it; any other one as it is."""
    if not operation.path.startswith((_DEPLOYMENTS, _AZURE + "/")):
        return operation
    return next((item for item in _OPERATIONS["openai"].values() if item.api == operation.api), operation)


def path_of_model(operation: Operation, model: str) -> str:
    """Return the path of an operation that names its model there, for another model."""
    place, new = re.escape(operation.model), quote(model, safe="")
    return re.sub(rf"(?<=/models/){place}(?=:)|(?<={_DEPLOYMENTS}){place}(?=/)", lambda _: new, operation.path, count=1)


def is_tools_address(path: str) -> bool:
    """Return whether the SDK in an agent says at this path which tools it knows."""
    return _TOOLS_ADDRESS.fullmatch(path) is not None


def _split_version(path: str) -> tuple[str, str]:
    match = _VERSION.fullmatch(path)
    return (match[1], match[2] or "/") if match else ("", path or "/")


def _protocol(provider_protocol: str, path: str) -> str:
    """Return the protocol of a path. A server may have the paths of Ollama beside those of OpenAI."""
    if provider_protocol not in {"openai", "ollama"}:
        return provider_protocol
    is_native = path.startswith(_OLLAMA_PATHS) or (provider_protocol == "ollama" and path == "/")
    return "ollama" if is_native else "openai"


def _operation(protocol: str, version: str, path: str) -> Operation | None:
    match protocol:
        case "gemini":
            return _gemini_operation(version, path)
        case "ollama":
            return _OLLAMA_OPERATIONS.get(path)
        case "openai":
            return _openai_operation(path)
        case _:
            return _OPERATIONS[protocol].get(path)


def _models_operation(protocol: str, version: str, path: str) -> Operation:
    """Return the operation that lists models, or describes one."""
    family = "google" if protocol == "gemini" else protocol
    prefix = {"openai": "", "anthropic": "/v1"}.get(protocol, f"/{version or 'v1beta'}")
    return Operation(path=prefix + path, api=f"{family}.models", is_read=True)


def _openai_operation(path: str) -> Operation | None:
    if deployment := _DEPLOYMENT.fullmatch(path):
        return _deployment_operation(deployment)
    prefix = _AZURE if path.startswith(_AZURE + "/") else ""
    version, rest = _split_version(path.removeprefix(prefix)) if prefix else ("", path)
    operation = _OPERATIONS["openai"].get(rest)
    if operation is None and _RESPONSE.fullmatch(rest):
        operation = Operation(path=rest, api=_STORED_RESPONSE, is_read=True)
    if operation is None or not prefix:
        return operation
    return replace(operation, path="/".join(filter(None, (prefix, version, rest.removeprefix("/")))))


def _deployment_operation(match: re.Match[str]) -> Operation | None:
    operation = _OPERATIONS["openai"].get(match["rest"])
    return None if operation is None else replace(operation, path=match["path"], model=match["model"])


def _gemini_operation(version: str, path: str) -> Operation | None:
    match = _GEMINI_CALL.fullmatch(path)
    if match is None or match["method"] not in _GEMINI_APIS:
        return None
    return Operation(path=f"/{version or 'v1beta'}{path}", api=_GEMINI_APIS[match["method"]], model=match["model"])
