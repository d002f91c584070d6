"""Override profiles and policies: from files or from what is stored, and the commands that store them."""

import json as jsonlib
import sys
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connected, in_path
from cockpit.cli.errors import Exit, Failure
from cockpit.cli.options import PROFILES, Kind
from traces.core import duplicate_keys

Document = dict[str, Any] | str
_EMPTY: Final[dict[str, Any]] = {"overrides": []}


def profile(given: str | None) -> Document:
    """An override profile from a file, or the name or digest of a stored one; a bare list of entries is one, too."""
    if given is None:
        return _EMPTY
    found = _given(given, "overrides", lists=True)
    if isinstance(found, list):
        return {"overrides": found}
    return found or _EMPTY


def policy(given: str | None) -> Document:
    """A policy from a file, or the name or digest of a stored one."""
    found: Document = {} if given is None else _given(given, "policy")
    return found


def written(api: Api, document: Document, kind: Kind) -> dict[str, Any]:
    """The document itself, also where only its name was given."""
    return dict(api.get(f"{kind.path}/{document}")[kind.field]) if isinstance(document, str) else document


def listing(kind: Kind, *, json: bool, url: str | None, token: str | None) -> None:
    """Everything of a kind that has a name."""
    with connected(url, token) as api:
        found = api.get(kind.path)
    if json:
        output.document(found)
        return
    shown = output.table("name", "digest", ">replays", "what it says")
    for each in found[kind.path[1:]]:
        said = jsonlib.dumps(each[kind.field], ensure_ascii=False)
        shown.add_row(", ".join(each["names"]), each["digest"][:12], str(each["used_by"]), Text(said[:120]))
    output.people().print(shown)


def show(kind: Kind, ref: str, *, json: bool, url: str | None, token: str | None) -> None:
    """One document as it was written; with --json also its digest, its names and how often it was used."""
    with connected(url, token) as api:
        found = api.get(f"{kind.path}/{in_path(ref)}")
    output.document(found if json else found[kind.field])


def save(kind: Kind, name: str, given: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Store a document under a name, from a file or from what another name or a digest means."""
    with connected(url, token) as api:
        content = written(api, profile(given) if kind is PROFILES else policy(given), kind)
        found = api.post(kind.path, {"name": name, kind.field: content})
    if json:
        output.document(found)
    else:
        output.people().print(f"{name} is {kind.words} {found['digest']}", soft_wrap=True)


def forget(kind: Kind, name: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Take a name away."""
    with connected(url, token) as api:
        api.delete(f"{kind.path}/{in_path(name)}")
    if json:
        output.document({"forgotten": name})
    else:
        output.note(f"no {kind.words} is named {name} any more; replays that used it keep it")


def _given(given: str, what: str, *, lists: bool = False) -> Any:
    """The JSON of a file or of standard input; what names no file is the name of something stored."""
    path = Path(given)
    if given != "-" and not path.is_file() and "/" not in given and path.suffix != ".json":
        return given
    try:
        value = duplicate_keys.loads(sys.stdin.read().encode() if given == "-" else path.read_bytes())
    except OSError as error:
        raise Failure(f"cannot read the {what} file {path}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    except ValueError as error:  # of JSON, or of UTF-8
        raise Failure(f"the {what} file {path} is not JSON: {error}", exit=Exit.BAD_INPUT) from error
    if not isinstance(value, (dict, list) if lists else dict):
        raise Failure(f"the {what} file {path} must hold an object", exit=Exit.BAD_INPUT)
    return value
