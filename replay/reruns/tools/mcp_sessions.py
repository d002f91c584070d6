"""Sessions with MCP servers, which all web processes share: a server may keep a state in one, such as a cart."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from replay.models import RerunMcpSession
from traces.core.json_types import JSONObject


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """A client of a server in a rerun, by the session that it has; empty: it has none."""

    rerun_id: UUID
    server: str
    id: str

    @property
    def key(self) -> dict[str, Any]:
        return {"rerun_id": self.rerun_id, "server": self.server, "client": self.id}


def note_handshake(client: Client, parameters: JSONObject) -> None:
    """Store what a client says of itself: another process may open its session with the server."""
    RerunMcpSession.objects.update_or_create(**client.key, defaults={"parameters": parameters})


def find(client: Client) -> RerunMcpSession | None:
    return RerunMcpSession.objects.filter(**client.key).first()


def keep(client: Client, session: str) -> str:
    """Store the session that a process has opened; return the one that counts, if another process was faster."""
    row, _ = RerunMcpSession.objects.get_or_create(**client.key)
    if RerunMcpSession.objects.filter(id=row.id, session="").update(session=session):
        return session
    row.refresh_from_db()
    return row.session


def forget(client: Client, session: str) -> None:
    """Note that a session is over."""
    RerunMcpSession.objects.filter(**client.key, session=session).update(session="")
