"""A request to a model's API, as a curl command and as a Python program. Pure."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from replay.snippets.core.python_code import literal, string_literal
from traces.core.json_types import JSONObject

_HEREDOC: Final = "JSON"
_PROGRAM: Final = """\
{comment}import json
import os
import urllib.request

body = {body}
request = urllib.request.Request(
    {url},
    data=json.dumps(body).encode(),
    headers={headers},
)
with urllib.request.urlopen(request) as response:
    print(json.dumps(json.load(response), indent=2, ensure_ascii=False))
"""


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """The header that authenticates a request; its key stays in an environment variable."""

    header: str
    variable: str
    prefix: str = ""


@dataclass(frozen=True, kw_only=True)
class ApiRequest:
    """A POST of JSON. `left_out` names the recorded parameters that the API cannot express."""

    url: str
    body: JSONObject
    key: ApiKey | None
    headers: Mapping[str, str]
    left_out: tuple[str, ...] = ()

    def as_curl(self) -> str:
        """Return a command for a POSIX shell. The body is a quoted here-document, in which nothing is expanded."""
        headers = {"Content-Type": "application/json", **self.headers}
        options = [f"-H {shlex.quote(f'{name}: {value}')}" for name, value in headers.items()]
        if self.key is not None:
            options.append(f'-H "{self.key.header}: {self.key.prefix}${self.key.variable}"')
        command = " \\\n  ".join([f"curl {shlex.quote(self.url)}", *options, f"--data-binary @- <<'{_HEREDOC}'"])
        body = json.dumps(self.body, ensure_ascii=False, indent=2)
        return f"{self._comment()}{command}\n{body}\n{_HEREDOC}\n"

    def as_python(self) -> str:
        """Return a program that needs only the standard library."""
        headers = {"Content-Type": "application/json", **self.headers}
        entries = [f"{string_literal(name)}: {string_literal(value)}" for name, value in headers.items()]
        if self.key is not None:
            value = f"os.environ[{string_literal(self.key.variable)}]"
            prefix = f"{string_literal(self.key.prefix)} + " if self.key.prefix else ""
            entries.append(f"{string_literal(self.key.header)}: {prefix}{value}")
        lines = "".join(f"        {entry},\n" for entry in entries)
        return _PROGRAM.format(
            comment=self._comment(),
            body=literal(self.body),
            url=string_literal(self.url),
            headers=f"{{\n{lines}    }}",
        )

    def _comment(self) -> str:
        # Escaped, because a line break would end the comment, and quoted, because some shells run what is in comments
        # that are typed or pasted.
        names = ", ".join(shlex.quote(json.dumps(name)[1:-1]) for name in self.left_out)
        return f"# Without {names}: this API has no such parameter.\n" if names else ""
