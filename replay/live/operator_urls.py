"""Checks of the spelling of URLs in the operator's configuration.

`http://2852039166/`, `http://0251.0376.0251.0376/` and `http://[::ffff:a9fe:a9fe]/` are all 169.254.169.254. A reader
must be able to see which host is reached, so unusual spellings of an address are rejected. Pure.
"""

import ipaddress
import socket
import unicodedata
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, HttpUrl


def spelling_problem(url: str) -> str:
    """Return what is wrong with the spelling of a URL's host or credentials; empty if nothing is."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        return f"it is not a URL: {error}"
    if "@" in parts.netloc:
        return "it contains credentials: name environment variables that contain them instead"
    if "%" in host or "\\" in url or any(character.isspace() for character in url.strip()):
        return "its host is escaped: write it without escapes"
    if not host:
        return "it names no host: write //, and the host after it"
    if any(unicodedata.category(character) == "Cf" for character in host):
        return "its host contains invisible characters"
    plain = _plain_address(host)
    return "" if plain in ("", host) else f"its host “{host}” is another spelling of {plain}: write {plain}"


def _plain_address(host: str) -> str:
    """Return the usual spelling of an IP address; empty for a name."""
    # URLs accept the full stop of Chinese texts as a dot.
    text = unicodedata.normalize("NFKC", host).replace("\u3002", ".").rstrip(".")
    if ":" in text:
        address = ipaddress.IPv6Address(text.partition("%")[0])
        return str(address.ipv4_mapped or address)
    try:
        # Accepts decimal, octal, hexadecimal and short forms.
        return socket.inet_ntoa(socket.inet_aton(text))
    except (OSError, UnicodeEncodeError):
        return ""


def _validate(value: object) -> object:
    if isinstance(value, str) and (problem := spelling_problem(value)):
        raise ValueError(problem)
    return value


OperatorUrl = Annotated[HttpUrl, BeforeValidator(_validate)]
