"""Client of the REST API, of a server or of the local store.

For the local store, the same requests go to the application inside this process, and a worker in this process runs
replays.
"""

import contextlib
import gzip
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from cockpit.cli.errors import Exit, Failure, failure_from_problem
from traces.core.json_access import as_object

_TIMEOUT = httpx2.Timeout(300, connect=10)
# An import says nothing while it waits for its turn and reads a large file.
_TIMEOUT_OF_IMPORTS = httpx2.Timeout(3600, connect=10)
# The beginning of an operating system error.
_ERROR_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


class Api:
    """Requests under `/api/v1`. Every failure is raised as a `Failure` with its exit code."""

    def __init__(self, http: httpx2.Client, *, local: bool) -> None:
        self._http = http
        self.local = local

    def get(self, path: str, **query: Any) -> Any:
        return self._json("GET", path, params=_without_none(query))

    def state(self, path: str) -> Any:
        """Return the JSON of a state endpoint, which may also respond with 503."""
        response = self._send("GET", path)
        return response.json() if response.status_code == 503 else self._check(response).json()

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        return self._json("POST", path, json={} if body is None else body, params=_without_none(query))

    def patch(self, path: str, body: Any) -> Any:
        return self._json("PATCH", path, json=body)

    def append(self, path: str, part: bytes, **query: Any) -> Any:
        """Send the next part of a file, compressed."""
        headers = {"content-type": "application/x-ndjson", "content-encoding": "gzip"}
        return self._json("POST", path, content=gzip.compress(part, 1), headers=headers, params=query)

    def upload(self, path: str, body: bytes) -> None:
        """Send a file."""
        self._check(self._send("PUT", path, content=body))

    def delete(self, path: str) -> None:
        self._check(self._send("DELETE", path))

    def text(self, path: str, **query: Any) -> str:
        return self._check(self._send("GET", path, params=_without_none(query))).text

    def download(self, path: str, body: Any, target: Path) -> None:
        """Write the response to a file, which appears only when it is complete, in a folder that may be new."""
        part = target.with_name(f"{target.name}.part")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with self._stream("POST", path, json=body) as response, part.open("wb") as file:
                for chunk in response.iter_bytes():
                    file.write(chunk)
            part.replace(target)
        except OSError as error:
            raise Failure(f"cannot write {target}: {error.strerror}", exit=Exit.BAD_INPUT) from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink()

    @contextlib.contextmanager
    def lines(self, path: str, **request: Any) -> Iterator[Iterator[str]]:
        """Yield the lines of the response as they arrive."""
        headers = {"accept": "application/x-ndjson"}
        with self._stream("POST", path, headers=headers, timeout=_TIMEOUT_OF_IMPORTS, **request) as response:
            yield split_lines(response.iter_bytes())

    def start_worker(self) -> None:
        """Start a worker for the local store; a server has its own."""
        if self.local:
            from cockpit.cli.in_process import start_worker

            start_worker()

    @contextlib.contextmanager
    def _stream(self, method: str, path: str, **request: Any) -> Iterator[httpx2.Response]:
        try:
            with self._http.stream(method, f"/api/v1{path}", **request) as response:
                if response.is_error:
                    response.read()
                yield self._check(response)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error

    def _json(self, method: str, path: str, **request: Any) -> Any:
        response = self._check(self._send(method, path, **request))
        try:
            return response.json()
        except ValueError as error:
            raise Failure(f"{self._http.base_url} did not respond with JSON: is it a Forkpoint server?") from error

    def _send(self, method: str, path: str, **request: Any) -> httpx2.Response:
        try:
            return self._http.request(method, f"/api/v1{path}", **request)
        except httpx2.HTTPError as error:
            raise self._unreachable(error) from error
        except ValueError as error:
            # Of NaN and infinity, which options for numbers accept.
            raise Failure(f"the request cannot be sent: {error}", exit=Exit.BAD_INPUT) from error

    def _check(self, response: httpx2.Response) -> httpx2.Response:
        if response.is_success:
            return response
        try:
            problem = response.json()
        except ValueError:
            problem = {}
        raise failure_from_problem(as_object(problem), response.status_code)

    def _unreachable(self, error: httpx2.HTTPError) -> Failure:
        reason = _ERROR_NUMBER.sub("", str(error)) or "the connection failed"
        detail = f"cannot reach {self._http.base_url}: {reason}"
        return Failure(detail, exit=Exit.UNAVAILABLE, code="dependency_unavailable")


@contextlib.contextmanager
def connect(url: str | None, token: str | None, *, migrate: bool = True) -> Iterator[Api]:
    """Open the API of the server at `url`, or of the local store, whose database is migrated first."""
    url = url or os.environ.get("FORKPOINT_URL")
    token = token or os.environ.get("FORKPOINT_TOKEN")
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if not url:
        from cockpit.cli.in_process import open_store

        with open_store(migrate=migrate) as http:
            yield Api(http, local=True)
        return
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Failure(
            f"“{url}” is not a server address: use http://host:port", exit=Exit.BAD_INPUT, code="validation_error"
        )
    with httpx2.Client(base_url=url.rstrip("/"), headers=headers, timeout=_TIMEOUT) as http:
        yield Api(http, local=False)


def split_lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yield the lines of a text. JSON contains Unicode's other line separators, at which httpx splits lines, too."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in lines)
    if rest:
        yield rest.decode()


def in_path(ref: str) -> str:
    """Quote user input as one path segment."""
    return quote(ref, safe="")


def _without_none(query: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in query.items() if value is not None}
