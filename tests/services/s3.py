"""S3 server that checks credentials (moto), behind a port forward that can be closed."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from tests.services.processes import free_port, scratch_folder, start, stop

BUCKET = "artifacts"
_REGION = "eu-central-1"
# The requests that create the account below.
_UNCHECKED_REQUESTS = 4
_POLICY = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::*"}]}'
)


class PortForward:
    """Forwards a port to another while open. Closed, nothing listens on it."""

    def __init__(self, port: int) -> None:
        self._behind, self.port = port, free_port()
        self._connections: list[socket.socket] = []
        self.open()

    def open(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Close the listener and all connections."""
        for connection in (self._listener, *self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._connections.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                front, _ = listener.accept()
            except OSError:
                return
            back = socket.create_connection(("127.0.0.1", self._behind))
            self._connections += [front, back]
            for source, target in ((front, back), (back, front)):
                threading.Thread(target=self._forward, args=(source, target), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@dataclass(frozen=True, kw_only=True)
class S3Server:
    """`client` connects to the server directly, whether the forward is open or not."""

    forward: PortForward
    client: Any
    key: str
    secret: str

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables of a deployment."""
        return {
            "FORKPOINT_ARTIFACTS": f"s3://{BUCKET}/fp",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.forward.port}",
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": _REGION,
        }


@contextmanager
def s3_server() -> Iterator[S3Server]:
    port, log = free_port(), scratch_folder("fp-s3-") / "log"
    process = start(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        is_ready=lambda: _listens(port),
        stop_signal=signal.SIGTERM,
        log=log,
        env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": str(_UNCHECKED_REQUESTS)},
    )
    forward = PortForward(port)
    try:
        yield _with_account(port, forward)
    finally:
        forward.close()
        stop(process, signal.SIGTERM)


def _listens(port: int) -> bool:
    with suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False


def _with_account(port: int, forward: PortForward) -> S3Server:
    """Create a user with access to S3 only, and the bucket."""

    def client(service: str, key: str, secret: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=f"http://127.0.0.1:{port}",
            region_name=_REGION,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            config=Config(s3={"addressing_style": "path"}),
        )

    iam = client("iam", "root", "root")
    iam.create_user(UserName="forkpoint")
    access_key = iam.create_access_key(UserName="forkpoint")["AccessKey"]
    iam.put_user_policy(UserName="forkpoint", PolicyName="store", PolicyDocument=_POLICY)
    key, secret = access_key["AccessKeyId"], access_key["SecretAccessKey"]
    s3 = client("s3", key, secret)
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": _REGION})
    return S3Server(forward=forward, client=s3, key=key, secret=secret)
