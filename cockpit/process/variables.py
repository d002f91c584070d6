"""Environment variables by type. A wrong value raises `ImproperlyConfigured` that names the variable and the fix."""

import json
import math
import os
import re
from typing import Any, Final

import environ
from django.core.exceptions import ImproperlyConfigured

# A name, as of a container; or an address, with its interface if it is local to a link.
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?")


class _Variables(environ.Env):
    """Environment variables, of which an empty one is not set: files of variables for containers keep such lines."""

    def get_value(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, **options: Any) -> Any:
        is_set = bool(os.environ.get(var)) or default is self.NOTSET
        return super().get_value(var, cast=cast, default=default, **options) if is_set else default


env = _Variables()


def host(name: str, *, default: str) -> str:
    """Return a host to listen on: a name, or an address."""
    text: str = env.str(name, default=default)
    if not _HOST.fullmatch(text):
        raise ImproperlyConfigured(f"{name} is “{text}”: set it to the address or name of an interface, such as ::1.")
    return text


def port(name: str, *, default: str) -> int:
    """Return a port; 0 stands for any that is free."""
    text = env.str(name, default=default)
    if not text.isdecimal() or not 0 <= int(text) < 65536:
        raise ImproperlyConfigured(f"{name} is “{text}”: set it to a port number from 0 to 65535.")
    return int(text)


def whole_number(name: str, *, default: str, least: int, most: int) -> int:
    """Return a whole number between two bounds."""
    text = env.str(name, default=default)
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ImproperlyConfigured(f"{name} is “{text}”: set it to a whole number from {least} to {most}.")
    return int(text)


def seconds(name: str, *, default: str, least: float, most: float) -> float:
    """Return a number of seconds between two bounds."""
    text = env.str(name, default=default)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    # NaN fails this comparison.
    if not least <= number <= most:
        raise ImproperlyConfigured(f"{name} is “{text}”: set it to seconds from {least:g} to {most:g}.")
    return number


def switch(name: str) -> bool:
    """Return whether something is on, which is the default."""
    text = env.str(name, default="on").lower()
    if text not in {"on", "off"}:
        raise ImproperlyConfigured(f"{name} is “{text}”: set it to on or off.")
    return bool(text == "on")


def objects_by_name(name: str, title: str) -> dict[str, dict[str, Any]]:
    """Parse a variable as a JSON object of objects. Its users validate the contents."""
    text = env.str(name, default="{}")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not JSON ({error}).") from error
    if not isinstance(value, dict) or not all(isinstance(item, dict) for item in value.values()):
        raise ImproperlyConfigured(f"{name} must be an object of {title} by name.")
    return value
