"""Secret detector: one RE2 expression as a first look, and a rule's own pattern only where its shape occurs."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import Any, Final

import re2

from traces.redaction.findings import Finding
from traces.redaction.markers import FAILURE
from traces.redaction.secret_rules import CREDENTIAL_NAMES, SecretRule, has_digit, is_assigned, secret_rules

_MEMORY: Final = 64 * 2**20
# A character after which a key may begin: a boundary of its rule.
_WORD: Final = re.compile(rb"[0-9A-Za-z_+-]")
# In JSON inside a text, the letters of these escapes are no part of the word after them.
_ESCAPES: Final = (b"\\n", b"\\t", b"\\r", b"\\b", b"\\f")
_SEPARATORS: Final = re.compile(r"[^0-9a-z]+")
_MEMBER_KIND: Final = "credential"
_SCHEMES: Final = ("bearer ", "basic ", "token ")
_SHORTEST_PASSWORD: Final = 4
_SHORTEST_KEY: Final = 8


class SecretDetector:
    """Finds the secrets of all rules."""

    def __init__(self) -> None:
        self._rules = secret_rules()
        hints = "|".join(f"(?:{rule.hint or rule.pattern})" for rule in self._rules)
        self._hints = _without_groups(rf"{hints}|\[{FAILURE}\]")
        patterns = "\n".join(rule.pattern for rule in self._rules)
        self.version = f"secrets:{sha256(patterns.encode()).hexdigest()[:8]}"
        self._hint = re2.compile(self._hints.encode(), expression_options(captures=False))
        self._patterns = [re2.compile(rule.pattern.encode(), expression_options(captures=True)) for rule in self._rules]
        self._groups = [pattern.groupindex[b"value"] for pattern in self._patterns]
        self._following = [re.compile(rule.following.encode()) if rule.following else None for rule in self._rules]
        self._set = re2.Set.SearchSet(expression_options(captures=False))
        for rule in self._rules:
            self._set.Add(_without_groups(rule.pattern).encode())
        self._set.Compile()

    def suspects(self, data: bytes) -> bool:
        return self._hint.search(data) is not None

    def first_look(self, expression: str) -> Any:
        """Return the expression that searches for what `suspects` does and for another one, in the time of either."""
        return re2.compile(f"{self._hints}|{expression}".encode(), expression_options(captures=False))

    def findings(self, text: bytes, name: str) -> Sequence[Finding]:
        readable = _without_escapes(text)
        findings = [
            finding
            for index in sorted(self._set.Match(readable) or ())
            for finding in self._findings_of(self._rules[index], index, readable)
        ]
        return findings if findings or not is_credential_name(name) else list(_member_value(text, name))

    def _findings_of(self, rule: SecretRule, index: int, text: bytes) -> Iterator[Finding]:
        following = self._following[index]
        for match in self._patterns[index].finditer(text):
            start, end = match.span(self._groups[index])
            if rule.boundary and start and _WORD.match(text, start - 1):
                continue
            if following is not None and following.match(text, end):
                continue
            if rule.accepts(text[start:end].decode(errors="replace")):
                yield Finding(start, end, rule.kind)


@cache
def secret_detector() -> SecretDetector:
    """Return the detector; compiling its rules takes a tenth of a second."""
    return SecretDetector()


def is_credential_name(name: str) -> bool:
    """Return whether a member with this name contains a credential, such as `clientSecret` or `X-Api-Key`."""
    return bool(name) and _SEPARATORS.sub("", name.lower()).endswith(CREDENTIAL_NAMES)


def _member_value(text: bytes, name: str) -> Iterator[Finding]:
    """Yield the whole value of a member that contains a credential, without the scheme before it."""
    value = text.decode(errors="replace")
    scheme = next((scheme for scheme in _SCHEMES if value.lower().startswith(scheme)), "")
    secret = value[len(scheme) :]
    if not secret or any(character.isspace() for character in secret) or not is_assigned(secret):
        return
    is_password = "pass" in name.lower()
    if len(secret) >= _SHORTEST_PASSWORD if is_password else len(secret) >= _SHORTEST_KEY and has_digit(secret):
        yield Finding(len(scheme), len(text), _MEMBER_KIND)


def _without_escapes(text: bytes) -> bytes:
    """Replace escapes of JSON inside a text by spaces, so that positions stay the same."""
    if b"\\" in text:
        for escape in _ESCAPES:
            text = text.replace(escape, b"  ")
    return text


def _without_groups(pattern: str) -> str:
    return pattern.replace("(?P<value>", "(?:")


def expression_options(*, captures: bool) -> re2.Options:
    """Return options for bytes: positions are those of the UTF-8 text, and marshalled data is no text."""
    options = re2.Options()
    values = {"encoding": re2.Options.Encoding.LATIN1, "max_mem": _MEMORY, "never_capture": not captures}
    for name, value in values.items():
        setattr(options, name, value)
    return options
