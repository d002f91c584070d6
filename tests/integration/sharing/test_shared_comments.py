"""Comments of visitors: only on the subject of a link that allows them."""

from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django import Settings

from tests.integration.sharing.test_comments import JSON, Comments, answer_place, caller
from tests.integration.sharing.test_shared_subjects import World, share, world
from tests.support.proofs import no_queue, post
from traces.models import Comment, ShareLink
from traces.sharing import links

__all__ = ["no_queue", "world"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]


@pytest.fixture(autouse=True)
def _fresh_windows() -> None:
    cache.clear()


class Visitor:
    """The browser of a visitor who opened a link."""

    def __init__(self, token: str, name: str = "Vera", client: Client | None = None) -> None:
        self._client = client or Client()
        self._name = name
        self._path = f"/api/v1/share/{token}"
        ticket = self._client.get(f"{self._path}/ticket").json()
        self.allows_comments = ticket["allows_comments"]
        self._headers = {"X-Share-Ticket": ticket["ticket"], "X-Visitor-Key": f"key-of-{name}-0123456789"}

    def send(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        address = f"{self._path}/comments{path}"
        data = {"data": body, "content_type": JSON} if body is not None else {}
        return getattr(self._client, method)(address, headers={**self._headers, **headers}, **data)

    def post(self, **body: Any) -> Any:
        return self.send("post", body={"name": self._name, **body})

    def rows(self) -> list[dict[str, Any]]:
        return list(self.send("get").json()["comments"])

    def statuses(self, comment: str) -> list[int]:
        """Of every request with a comment id."""
        return [
            self.send("patch", f"/{comment}", {"text": "changed"}).status_code,
            self.send("patch", f"/{comment}", {"is_resolved": True}).status_code,
            self.send("delete", f"/{comment}").status_code,
            self.send("post", f"/{comment}/restore").status_code,
        ]


def comment_body(world: World, kind: str) -> dict[str, Any]:
    if kind == "diff":
        return {"place": answer_place(Client(), world.diff), "text": "Visited."}
    return {"step": 2, "text": "Visited."}


@pytest.mark.parametrize("kind", ["run", "replay", "diff"])
def test_visitors_comment_where_the_link_allows_it(world: World, settings: Settings, kind: str) -> None:
    body = comment_body(world, kind)
    token = share(kind, world.subject(kind), allows_comments=True)
    subject: tuple[str, UUID] = ("diff", world.diff) if kind == "diff" else ("run", world.fork)
    team = Comments(*subject).add(**{**body, "text": "Team."})
    settings.LOGIN_REQUIRED = True
    vera = Visitor(token)
    assert vera.allows_comments
    posted = vera.post(**body)
    assert (posted.status_code, posted["Cache-Control"]) == (201, "private, no-store")
    comment = posted.json()
    assert (comment["by"], comment["is_visitor"], comment["mine"]) == ("Vera", True, True)
    assert [row["text"] for row in vera.rows()] == ["Team.", "Visited."]
    assert [row["mine"] for row in Visitor(token, "Vera’s twin").rows()] == [False, False]
    assert vera.statuses(comment["id"]) == [200, 200, 204, 200]
    assert vera.statuses(team["id"]) == [403, 403, 403, 404]
    assert Visitor(token, "Eve").statuses(comment["id"]) == [403, 403, 403, 404]


@pytest.mark.parametrize("kind", ["run", "tree", "replay", "diff"])
def test_other_links_have_no_comments(world: World, kind: str) -> None:
    Comments("run", world.fork).add(step=2, text="Team.")
    vera = Visitor(share(kind, world.subject(kind)))
    assert not vera.allows_comments
    assert vera.send("get").status_code == 404
    assert vera.post(**comment_body(world, kind)).status_code == 404
    assert vera.statuses(str(Comment.objects.get().id)) == [404] * 4
    assert Comment.objects.count() == 1


def test_link_reaches_only_comments_on_its_subject(world: World) -> None:
    others = [
        Comments("run", world.source).add(step=2, text="On the source."),
        Comments("diff", world.diff).add(place=answer_place(Client(), world.diff), text="On the report."),
    ]
    vera = Visitor(share("run", world.fork, allows_comments=True))
    assert vera.rows() == []
    for other in others:
        assert vera.statuses(other["id"]) == [404] * 4
        assert vera.post(thread=other["id"], text="x").status_code == 404
    assert vera.post(place=answer_place(Client(), world.diff), text="x").status_code == 400


def test_ended_links_refuse_comments(world: World) -> None:
    vera = Visitor(share("run", world.fork, allows_comments=True, expires_in_s=60))
    comment = vera.post(step=2, text="In time.").json()["id"]
    links.revoke_link(ShareLink.objects.get().id, by="ada")
    assert vera.send("get").status_code == 404
    assert vera.post(step=2, text="Too late.").status_code == 404
    assert vera.statuses(comment) == [404] * 4
    assert Comment.objects.get().text == "In time."


def test_visitors_need_a_name_and_a_key(world: World) -> None:
    vera = Visitor(share("run", world.fork, allows_comments=True))
    for name in ("", " ", "x" * 61):
        assert vera.post(step=2, text="x", name=name).status_code == 422
    body = {"name": "Vera", "step": 2, "text": "x"}
    assert vera.send("post", body=body, **{"X-Visitor-Key": "short"}).status_code == 400
    assert vera.send("post", body=body, **{"X-Share-Ticket": "guess"}).status_code == 404


def test_comments_of_visitors_are_throttled(world: World) -> None:
    vera = Visitor(share("run", world.fork, allows_comments=True))
    statuses = [vera.post(step=2, text="again").status_code for _ in range(21)]
    assert statuses == [201] * 20 + [429]
    assert vera.send("get").status_code == 200


def test_visitor_cannot_pass_for_a_member(world: World, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    ada = caller("Ada", "debugger")
    response = post(ada, "/shares", {"kind": "run", "subject": str(world.fork), "allows_comments": True})
    impostor = Visitor(response.json()["url"].rpartition("/share/")[2], "Ada")
    own = Comments("run", world.fork, ada).add(step=2, text="Mine.")
    forged = impostor.post(step=2, text="Forged.").json()
    [first, second] = Comments("run", world.fork, ada).rows()
    assert (first["mine"], second["mine"], second["is_visitor"], second["may_delete"]) == (True, False, True, True)
    assert impostor.statuses(own["id"]) == [403, 403, 403, 404]
    assert Comments("run", world.fork, ada).delete(forged) == 204


def test_link_for_signed_in_users_knows_their_names(world: World, settings: Settings) -> None:
    token = share("run", world.fork, allows_comments=True, audience="people", people=["Vi"])
    settings.LOGIN_REQUIRED = True
    guest = Visitor(token, "Somebody", caller("Vi", "viewer"))
    assert guest.post(step=2, text="x").json()["by"] == "Vi"


def test_sender_opens_no_link_for_signed_in_users(world: World, settings: Settings) -> None:
    token = share("run", world.fork, audience="signed_in")
    settings.LOGIN_REQUIRED = True
    clients = [caller("Se", "sender"), caller("Vi", "viewer")]
    statuses = [client.get(f"/api/v1/share/{token}/ticket").status_code for client in clients]
    assert statuses == [404, 200]


def test_trees_take_no_comments(world: World) -> None:
    body = {"kind": "tree", "subject": str(world.source), "allows_comments": True}
    assert post(Client(), "/shares", body).status_code == 422
