"""Override profiles and policies from files or from the store, and the commands that save them."""

import json as jsonlib
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connect, in_path
from cockpit.cli.errors import Exit, Failure
from cockpit.cli.json_input import read_json
from cockpit.cli.options import PROFILES, Kind

Document = dict[str, Any] | str
_EMPTY: Final[dict[str, Any]] = {"overrides": []}


def profile(source: str | None) -> Document:
    """Load an override profile or a list of entries from a file, or return the name or digest of a saved one."""
    if source is None:
        return _EMPTY
    document = _load(source, "override", lists=True)
    if isinstance(document, list):
        return {"overrides": document}
    return document or _EMPTY


def policy(source: str | None) -> Document:
    """Load a policy from a file, or return the name or digest of a saved one."""
    document: Document = {} if source is None else _load(source, "policy")
    return document


def resolve(api: Api, document: Document, kind: Kind) -> dict[str, Any]:
    """Return the document itself; load it if only its name is given."""
    return dict(api.get(f"{kind.path}/{document}")[kind.field]) if isinstance(document, str) else document


def listing(kind: Kind, *, json: bool, url: str | None, token: str | None) -> None:
    """Print all saved documents of a kind."""
    with connect(url, token) as api:
        documents = api.get(kind.path)
    if json:
        output.document(documents)
        return
    table = output.table("name", "digest", ">replays", "content")
    for document in documents[kind.path[1:]]:
        content = jsonlib.dumps(document[kind.field], ensure_ascii=False)
        table.add_row(
            ", ".join(document["names"]), document["digest"][:12], str(document["used_by"]), Text(content[:120])
        )
    output.people().print(table)


def show(kind: Kind, ref: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Print a saved document; --json adds its digest, its names and its number of uses."""
    with connect(url, token) as api:
        document = api.get(f"{kind.path}/{in_path(ref)}")
    output.document(document if json else document[kind.field])


def save(kind: Kind, name: str, source: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Save a document under a name, from a file or from another saved document."""
    with connect(url, token) as api:
        content = resolve(api, profile(source) if kind is PROFILES else policy(source), kind)
        stored_document = api.post(kind.path, {"name": name, kind.field: content})
    if json:
        output.document(stored_document)
    else:
        output.people().print(f"saved {kind.title} {stored_document['digest']} as {name}", soft_wrap=True)


def forget(kind: Kind, name: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Remove a name."""
    with connect(url, token) as api:
        api.delete(f"{kind.path}/{in_path(name)}")
    if json:
        output.document({"forgotten": name})
    else:
        output.note(f"removed the name {name} of the {kind.title}; past replays keep their version")


def _load(source: str, title: str, *, lists: bool = False) -> Any:
    """Load JSON from a file or from standard input. Anything else is the name of a saved document."""
    path = Path(source)
    if source != "-" and not path.is_file() and "/" not in source and path.suffix != ".json":
        return source
    name = f"the {title} file {path}"
    value = read_json(path, name)
    if not isinstance(value, (dict, list) if lists else dict):
        raise Failure(f"{name} must contain a JSON object", exit=Exit.BAD_INPUT)
    return value
