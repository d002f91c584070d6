"""Share links over REST."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache, caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from cockpit.http import tokens
from diffing import queries, services
from diffing.models import DiffReport
from diffing.schemas.report import DiffOptions
from tests.support.comparing import CONFIRMATION, failing_refund, fixed_refund
from tests.support.stored_diffs import share_diff, store_run
from traces.core.ids import new_id
from traces.models import ShareLink
from traces.sharing import links

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_windows() -> None:
    cache.clear()


@pytest.fixture
def diff() -> DiffReport:
    base, candidate = store_run(failing_refund()), store_run(fixed_refund())
    return services.diff(base_id=base.id, candidate_id=candidate.id, options=DiffOptions(similarity="lexical"))


class TestShareLinks:
    def test_token_opens_report_and_counts_view(self, diff: DiffReport) -> None:
        token, link = share_diff(diff.id)
        answer = Client().get(f"/api/v1/share/{token}")
        assert answer.content == queries.body(diff.id)
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        shares = Client().get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert [(share["id"], share["views"], share["url"]) for share in shares] == [(str(link), 1, None)]

    def test_links_use_the_public_url(self, diff: DiffReport, settings: Settings) -> None:
        settings.ALLOWED_HOSTS = ["*"]
        settings.PUBLIC_URL = "https://forkpoint.example.com/tool"
        client = Client(headers={"Host": "evil.example"})
        response = client.post(f"/api/v1/diffs/{diff.id}/shares", {}, content_type="application/json")
        assert response.json()["url"].startswith("https://forkpoint.example.com/tool/share/fps_")

    def test_link_opens_as_html(self, diff: DiffReport) -> None:
        token, _ = share_diff(diff.id)
        assert CONFIRMATION.encode() in Client().get(f"/api/v1/share/{token}", {"format": "html"}).content

    def test_pasted_link_has_a_preview_without_payloads(
        self, diff: DiffReport, settings: Settings, tmp_path: Path
    ) -> None:
        (tmp_path / "index.html").write_text("<head><title>Forkpoint</title></head>")
        settings.FRONTEND_DIST = tmp_path
        token, _ = share_diff(diff.id)
        page = Client().get(f"/share/{token}").content.decode()
        title = 'og:title" content="Unknown → unknown: what changed and why"'
        assert title in page
        assert "confidence in the cause" in page
        assert CONFIRMATION not in page
        share = Client().get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"][0]
        assert share["views"] == 0
        unknown = Client().get("/share/fps_unknown").content.decode()
        links.revoke_link(UUID(share["id"]), by="")
        assert Client().get(f"/share/{token}").content.decode() == unknown
        assert 'og:title" content="Shared with Forkpoint"' in unknown
        assert "og:" not in Client().get("/").content.decode()

    def test_tokens_are_stored_as_hashes(self, diff: DiffReport) -> None:
        tokens = {share_diff(diff.id)[0] for _ in range(20)}
        assert len(tokens) == 20
        assert all(token.startswith("fps_") and (len(token) - 4) * 6 >= 190 for token in tokens)
        token_hash = "".join(str(value) for row in ShareLink.objects.values() for value in row.values())
        assert not any(token in token_hash or token[4:] in token_hash for token in tokens)

    def test_unknown_expired_and_revoked_links_look_alike(self, diff: DiffReport) -> None:
        revoked_link, link = share_diff(diff.id)
        assert Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"]
        expired_link, old = share_diff(diff.id, expires_in_s=60)
        ShareLink.objects.filter(id=old).update(expires_at="2020-01-01T00:00:00Z")
        answers = [Client().get(f"/api/v1/share/{token}") for token in ("fps_nothing", revoked_link, expired_link)]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        bodies = [{key: value for key, value in answer.json().items() if key != "request_id"} for answer in answers]
        assert bodies[0] == bodies[1] == bodies[2]
        assert {tuple(sorted(answer.headers)) for answer in answers} == {tuple(sorted(answers[0].headers))}

    def test_used_up_disabled_and_foreign_links_look_alike(self, diff: DiffReport, settings: Settings) -> None:
        single_view, _ = share_diff(diff.id, max_views=1)
        signed_in, _ = share_diff(diff.id, audience="signed_in")
        for_people, _ = share_diff(diff.id, audience="people", people=["Ada"])
        anyone, _ = share_diff(diff.id)
        assert Client().get(f"/api/v1/share/{single_view}").status_code == 200
        settings.LOGIN_REQUIRED = True
        stranger = Client(headers={"Authorization": f"Bearer {tokens.create(name='Bob', role='viewer')}"})
        answers = [
            Client().get(f"/api/v1/share/{token}") for token in ("fps_nothing", single_view, signed_in, for_people)
        ]
        settings.SHARING = False
        answers.append(Client().get(f"/api/v1/share/{anyone}"))
        settings.SHARING = True
        headers = {tuple(sorted(answer.headers)) for answer in answers}
        answers.append(stranger.get(f"/api/v1/share/{for_people}"))  # another request: it sends a token
        assert {answer.status_code for answer in answers} == {404}
        bodies = [{key: value for key, value in answer.json().items() if key != "request_id"} for answer in answers]
        assert all(body == bodies[0] for body in bodies)
        assert len(headers) == 1

    def test_closed_links_run_the_same_statements(self, diff: DiffReport) -> None:
        """The response time must not reveal the reason either."""
        revoked_link, link = share_diff(diff.id)
        Client().delete(f"/api/v1/shares/{link}")
        expired_link, _ = share_diff(diff.id, expires_in_s=60)
        ShareLink.objects.filter(expires_at__isnull=False).update(expires_at="2020-01-01T00:00:00Z")
        used_link, _ = share_diff(diff.id, max_views=1)
        Client().get(f"/api/v1/share/{used_link}")
        statements = []
        for token in ("fps_nothing", revoked_link, expired_link, used_link):
            with CaptureQueriesContext(connection) as queries_made:
                assert Client().get(f"/api/v1/share/{token}").status_code == 404
            statements.append([query["sql"].split()[0] for query in queries_made])
        assert statements == [["SELECT", "UPDATE"]] * 4

    def test_link_for_people_opens_for_them(self, diff: DiffReport, settings: Settings) -> None:
        token, _ = share_diff(diff.id, audience="people", people=["Ada", "Eve"])
        settings.LOGIN_REQUIRED = True
        ada = Client(headers={"Authorization": f"Bearer {tokens.create(name='Ada', role='viewer')}"})
        assert ada.get(f"/api/v1/share/{token}").status_code == 200
        [shares] = ada.get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert (shares["audience"], shares["people"], shares["views"]) == ("people", ["Ada", "Eve"], 1)

    def test_last_view_is_granted_once(self, diff: DiffReport) -> None:
        token, link = share_diff(diff.id, max_views=3)
        statuses = [Client().get(f"/api/v1/share/{token}").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 404, 404]
        assert ShareLink.objects.get(id=link).views == 3
        [shares] = Client().get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert not shares["opens"]

    @pytest.mark.parametrize("meanwhile", [{"views": 1}, {"revoked_at": "2026-01-01T00:00:00Z"}])
    def test_link_closed_during_opening_stays_closed(
        self, diff: DiffReport, meanwhile: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token, link = share_diff(diff.id, max_views=1)
        link_ = links.link_for(token, "")
        ShareLink.objects.filter(id=link).update(**meanwhile)
        monkeypatch.setattr(links, "link_for", lambda *_: link_)
        assert Client().get(f"/api/v1/share/{token}").status_code == 404
        assert ShareLink.objects.get(id=link).views == meanwhile.get("views", 0)

    @pytest.mark.parametrize(
        "body", [{"audience": "people"}, {"people": ["Ada"]}, {"max_views": 0}, {"audience": "all"}]
    )
    def test_contradictory_link_is_rejected(self, diff: DiffReport, body: dict[str, Any]) -> None:
        path = f"/api/v1/diffs/{diff.id}/shares"
        assert Client().post(path, body, content_type="application/json").status_code == 422

    def test_disabled_sharing_rejects_new_links(self, diff: DiffReport, settings: Settings) -> None:
        settings.SHARING = False
        path = f"/api/v1/diffs/{diff.id}/shares"
        response = Client().post(path, {}, content_type="application/json")
        assert (response.status_code, response.json()["code"]) == (409, "conflict")
        assert Client().get(path).json() == {"enabled": False, "shares": []}

    def test_unexpired_link_opens(self, diff: DiffReport) -> None:
        token, _ = share_diff(diff.id, expires_in_s=60)
        assert Client().get(f"/api/v1/share/{token}").status_code == 200

    def test_link_needs_no_login_and_opens_nothing_else(self, diff: DiffReport, settings: Settings) -> None:
        token, _ = share_diff(diff.id)
        settings.LOGIN_REQUIRED = True
        stranger = Client(headers={"Authorization": f"Bearer {token}"})
        assert stranger.get(f"/api/v1/share/{token}").status_code == 200
        closed = ("diffs", f"diffs/{diff.id}", f"diffs/{diff.id}/shares", f"runs/{diff.base_id}", "runs")
        assert {stranger.get(f"/api/v1/{path}").status_code for path in closed} == {401}

    def test_second_revocation_keeps_first_time(self, diff: DiffReport) -> None:
        _, link = share_diff(diff.id)
        first = Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"]
        assert Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"] == first
        assert Client().delete(f"/api/v1/shares/{new_id()}").status_code == 404

    def test_processes_share_the_opening_limit(self, diff: DiffReport, settings: Settings) -> None:
        """With Redis, processes share the window; a single process needs no Redis."""
        Client().get("/api/v1/share/fps_nothing")
        elsewhere = caches.create_connection("default")
        assert elsewhere.get("share-window:127.0.0.1") == 1
        assert ("redis" in settings.CACHES["default"]["BACKEND"]) is not settings.EMBEDDED

    def test_guessing_is_throttled(self, diff: DiffReport) -> None:
        token, _ = share_diff(diff.id)
        statuses = [Client().get(f"/api/v1/share/fps_{n}").status_code for n in range(121)]
        assert statuses[-1] == 429
        assert Client().get(f"/api/v1/share/{token}").status_code == 429

    def test_unknown_report_has_no_link(self) -> None:
        answer = Client().post(f"/api/v1/diffs/{new_id()}/shares", {}, content_type="application/json")
        assert answer.status_code == 404

    @pytest.mark.parametrize("seconds", [0, -5, "soon"])
    def test_expiry_must_be_in_the_future(self, diff: DiffReport, seconds: Any) -> None:
        body = {"expires_in_s": seconds}
        assert (
            Client().post(f"/api/v1/diffs/{diff.id}/shares", body, content_type="application/json").status_code == 422
        )
