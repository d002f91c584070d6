"""Comments over REST: who writes, edits, resolves, deletes and restores them, and when they are removed."""

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from pytest_django import Settings

from cockpit.http import tokens
from cockpit.http.schemas import Role
from tests.integration.retention.test_deletion import delete
from tests.integration.sharing.test_shared_subjects import World, world
from tests.support.proofs import no_queue
from tests.support.recordings import assistant, model_step, order_run, user
from traces.comments import services
from traces.core.ids import new_id
from traces.models import Comment
from traces.redaction.policy import PolicyContent
from traces.redaction_policies.services import set_policy
from traces.retention import purge
from traces.runs import services as runs

__all__ = ["no_queue", "world"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.divided]
JSON = "application/json"


class Comments:
    """The comments on one subject, for one caller."""

    def __init__(self, kind: str, subject: UUID, client: Client | None = None) -> None:
        self._client = client or Client()
        self._path = f"/api/v1/comments?kind={kind}&subject={subject}"

    def post(self, **body: Any) -> Any:
        return self._client.post(self._path, body, content_type=JSON)

    def add(self, **body: Any) -> dict[str, Any]:
        response = self.post(**body)
        assert response.status_code == 201, response.content
        return dict(response.json())

    def rows(self) -> list[dict[str, Any]]:
        return list(self._client.get(self._path).json()["comments"])

    def edit(self, comment: dict[str, Any], **body: Any) -> Any:
        return self._client.patch(f"/api/v1/comments/{comment['id']}", body, content_type=JSON)

    def delete(self, comment: dict[str, Any]) -> int:
        return self._client.delete(f"/api/v1/comments/{comment['id']}").status_code

    def restore(self, comment: dict[str, Any]) -> int:
        return self._client.post(f"/api/v1/comments/{comment['id']}/restore").status_code


def caller(name: str, role: Role) -> Client:
    return Client(headers={"Authorization": f"Bearer {tokens.create(name=name, role=role)}"})


def answer_place(client: Client, diff: UUID) -> dict[str, Any]:
    """The first line of the first text difference of a report."""
    sections = client.get(f"/api/v1/diffs/{diff}").json()["sections"]
    items = [(name, item) for name, section in sections.items() for item in section["items"] if item["text"]]
    name, item = items[0]
    steps = {side: item[side] and item[side]["sequence_no"] for side in ("base", "candidate")}
    return {"section": name, "kind": item["kind"], "line": 0, **steps}


def test_thread_on_a_step(world: World) -> None:
    comments = Comments("run", world.fork)
    first = comments.add(step=3, text=" **Why** 4200? ")
    assert (first["text"], first["by"], first["step"], first["mine"]) == ("**Why** 4200?", "local", 3, True)
    reply = comments.add(thread=first["id"], text="Cents.")
    assert comments.edit(reply, text="Cents, not euros.").json()["edited_at"]
    assert comments.edit(first, is_resolved=True).json()["resolved_by"] == "local"
    assert comments.edit(first, is_resolved=False).json()["resolved_at"] is None
    assert [(row["text"], row["thread"]) for row in comments.rows()] == [
        ("**Why** 4200?", None),
        ("Cents, not euros.", first["id"]),
    ]
    assert Comments("run", world.source).rows() == []


def test_comment_on_a_cause_of_a_report_quotes_it(world: World, client: Client) -> None:
    cause = client.get(f"/api/v1/diffs/{world.diff}").json()["attribution"]["primary"]
    steps = {side: cause[side] and cause[side]["sequence_no"] for side in ("base", "candidate")}
    place = {"section": "causes", "kind": cause["category"], "part": cause["title"], **steps}
    comments = Comments("diff", world.diff)
    assert comments.add(place=place, text="Agreed.")["quote"] == cause["title"]
    assert comments.post(place={**place, "part": "another"}, text="x").status_code == 404


def test_comment_on_a_line_of_a_report_quotes_it(world: World, client: Client) -> None:
    place = answer_place(client, world.diff)
    comment = Comments("diff", world.diff).add(place=place, text="Here.")
    assert comment["place"] == {"occurrence": 0, "part": "", **place}
    assert comment["quote"]


def test_exported_report_lists_comments_when_asked(world: World, client: Client) -> None:
    comments = Comments("diff", world.diff)
    first = comments.add(place=answer_place(client, world.diff), text="Is <b>this</b> needed?")
    comments.add(thread=first["id"], text="It is.")
    for form in ("md", "html"):
        path = f"/api/v1/diffs/{world.diff}?format={form}"
        assert "needed?" not in client.get(path).content.decode()
        document = client.get(f"{path}&comments=true").content.decode()
        assert document.index("Is &lt;b&gt;this&lt;/b&gt; needed?") < document.index("It is.")


def test_deleted_comment_is_restored_or_removed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    comments = Comments("run", world.fork)
    first = comments.add(step=3, text="First.")
    reply = comments.add(thread=first["id"], text="Reply.")
    assert (comments.delete(first), comments.delete(first)) == (204, 404)
    [stub, _] = comments.rows()
    assert (stub["text"], stub["by"], stub["mine"], stub["deleted_at"] is None) == ("", "", False, False)
    assert comments.restore(first) == 200
    assert comments.rows()[0]["text"] == "First."
    comments.delete(first)
    assert not purge.is_removal_due()
    monkeypatch.setattr(services, "_GRACE", timedelta(seconds=-1))
    assert purge.is_removal_due()
    purge.remove_due()
    assert not purge.is_removal_due()
    assert [row.text for row in Comment.objects.order_by("id")] == ["", "Reply."]
    assert comments.restore(first) == 404
    comments.delete(reply)
    purge.remove_due()
    assert not Comment.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"step": 3, "text": "  "}, 422),
        ({"step": 3, "text": "x" * 5_001}, 422),
        ({"text": "no anchor"}, 422),
        ({"step": 3, "thread": str(new_id()), "text": "two anchors"}, 422),
        ({"step": 999, "text": "no such step"}, 404),
        ({"thread": str(new_id()), "text": "no such thread"}, 404),
        ({"place": {"section": "tool", "kind": "arguments"}, "text": "place of a report"}, 400),
    ],
)
def test_invalid_comments_are_refused(world: World, body: dict[str, Any], status: int) -> None:
    assert Comments("run", world.fork).post(**body).status_code == status
    assert not Comment.objects.exists()


def test_subject_must_exist_and_fit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Comments("run", new_id()).post(step=1, text="x").status_code == 404
    report = Comments("diff", world.diff)
    assert report.post(step=1, text="x").status_code == 400
    missing = report.post(place={"section": "tool", "kind": "arguments", "base": 99}, text="x")
    assert (missing.status_code, missing.json()["where"]) == (404, "/place")
    run = Comments("run", world.fork)
    first = run.add(step=1, text="x")
    reply = run.add(thread=first["id"], text="y")
    assert run.post(thread=reply["id"], text="z").status_code == 400
    assert run.edit(reply, is_resolved=True).status_code == 400
    monkeypatch.setattr(services, "MAX_COMMENTS", 2)
    assert run.post(step=1, text="one too many").status_code == 409


def test_only_authors_edit_and_only_admins_delete_for_others(world: World, settings: Settings) -> None:
    settings.LOGIN_REQUIRED = True
    roles: dict[str, Role] = {"Ada": "debugger", "Bob": "debugger", "Root": "admin", "Vi": "viewer"}
    ada, bob, root, guest = (Comments("run", world.fork, caller(*entry)) for entry in roles.items())
    comment = ada.add(step=2, text="Mine.")
    assert bob.edit(comment, text="Yours.").status_code == 403
    assert bob.delete(comment) == 403
    assert bob.edit(comment, is_resolved=True).json()["resolved_by"] == "Bob"
    assert guest.post(step=2, text="x").status_code == 403
    assert [(row["mine"], row["may_delete"]) for comments in (ada, bob, root, guest) for row in comments.rows()] == [
        (True, True),
        (False, False),
        (False, True),
        (False, False),
    ]
    assert root.delete(comment) == 204


def test_redaction_applies_to_comments(world: World) -> None:
    set_policy("", PolicyContent.model_validate({"personal_data": ["email"]}), by="ada")
    comment = Comments("run", world.fork).add(step=2, text="Ask ada@example.com about it.")
    assert "ada@example.com" not in comment["text"]
    assert "ada@example.com" not in Comment.objects.get().text


def test_deletion_takes_the_comments_along(world: World, client: Client) -> None:
    Comments("run", world.fork).add(step=2, text="On the fork.")
    Comments("run", world.source).add(step=2, text="On the source.")
    Comments("diff", world.diff).add(place=answer_place(client, world.diff), text="On the report.")
    assert delete(client, world.fork, cited="true", at_once="true").status_code == 200
    assert [row.text for row in Comment.objects.all()] == ["On the source."]


def test_newer_revision_begins_with_comments_on_unchanged_steps() -> None:
    def record(*answers: str) -> Comments:
        steps = tuple(model_step(text.split()[0], [user("Hello")], assistant(text)) for text in answers)
        return Comments("run", runs.record(replace(order_run("grown"), steps=steps)).run_id)

    earlier = record("first answer", "second ans")
    thread = earlier.add(step=1, text="Why?")
    earlier.add(thread=thread["id"], text="Because.")
    earlier.edit(thread, is_resolved=True)
    earlier.delete(earlier.add(step=1, text="Never mind."))
    earlier.add(step=2, text="It stops here.")
    newer = record("new answer", "first answer", "second answer", "third answer")
    begin, reply = newer.rows()
    assert [(row["step"], row["text"], row["thread"]) for row in (begin, reply)] == [
        (2, "Why?", None),
        (None, "Because.", begin["id"]),
    ]
    assert (bool(begin["resolved_at"]), begin["at"], begin["mine"]) == (True, thread["at"], True)
    newer.edit(begin, text="Why not?")
    assert [row["text"] for row in earlier.rows()] == ["Why?", "Because.", "It stops here."]
