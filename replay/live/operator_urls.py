"""Addresses that operators write down, checked as they are written.

`http://2852039166/`, `http://0251.0376.0251.0376/` and `http://[::ffff:a9fe:a9fe]/` are all 169.254.169.254: what one
reads must be what is reached, so other spellings of an address are refused. Pure.
"""

import ipaddress
import socket
import unicodedata
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, HttpUrl


def spelling_problem(url: str) -> str:
    """Return why the host or the credentials of a URL may not be written like this; empty if they may."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        return f"it is no URL: {error}"
    if "@" in parts.netloc:
        return "it holds credentials: name environment variables that hold them instead"
    if "%" in host or "\\" in url or any(character.isspace() for character in url.strip()):
        return "its host is escaped: write it as it is"
    plain = _plain_address(host)
    return "" if plain in ("", host) else f"its host {host!r} is another spelling of {plain}: write that"


def _plain_address(host: str) -> str:
    """The usual spelling of an IP address; empty for a name."""
    text = unicodedata.normalize("NFKC", host).rstrip(".")
    if ":" in text:
        address = ipaddress.IPv6Address(text.partition("%")[0])
        return str(address.ipv4_mapped or address)
    try:
        return socket.inet_ntoa(socket.inet_aton(text))  # takes decimal, octal, hexadecimal and short forms
    except (OSError, UnicodeEncodeError):
        return ""


def _checked(value: object) -> object:
    if isinstance(value, str) and (problem := spelling_problem(value)):
        raise ValueError(problem)
    return value


OperatorUrl = Annotated[HttpUrl, BeforeValidator(_checked)]
