"""Links that open one report, over REST."""

from typing import Any

import pytest
from django.core.cache import cache, caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from cockpit.http import tokens
from diffing import queries, services
from diffing.models import DiffReport, ShareLink
from diffing.schemas.report import DiffOptions
from tests.support.comparing import CONFIRMATION, failing_refund, fixed_refund
from tests.support.stored_diffs import share_diff, store_run
from traces.core.ids import new_id

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _fresh_windows() -> None:
    cache.clear()


@pytest.fixture
def diff() -> DiffReport:
    base, candidate = store_run(failing_refund()), store_run(fixed_refund())
    return services.diff(base_id=base.id, candidate_id=candidate.id, options=DiffOptions(similarity="lexical"))


class TestShareLinks:
    def test_the_token_opens_the_report_and_counts_the_view(self, diff: DiffReport) -> None:
        token, link = share_diff(diff.id)
        answer = Client().get(f"/api/v1/share/{token}")
        assert answer.content == queries.body(diff.id)
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        listed = Client().get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert [(one["id"], one["views"], one["url"]) for one in listed] == [(str(link), 1, None)]

    def test_links_begin_with_the_public_address(self, diff: DiffReport, settings: Settings) -> None:
        settings.ALLOWED_HOSTS = ["*"]
        settings.PUBLIC_URL = "https://forkpoint.example.com/tool"
        client = Client(headers={"Host": "evil.example"})
        made = client.post(f"/api/v1/diffs/{diff.id}/shares", {}, content_type="application/json")
        assert made.json()["url"].startswith("https://forkpoint.example.com/tool/share/fps_")

    def test_it_opens_as_one_html_file_too(self, diff: DiffReport) -> None:
        token, _ = share_diff(diff.id)
        assert CONFIRMATION.encode() in Client().get(f"/api/v1/share/{token}", {"format": "html"}).content

    def test_tokens_are_unguessable_and_kept_as_hashes(self, diff: DiffReport) -> None:
        tokens = {share_diff(diff.id)[0] for _ in range(20)}
        assert len(tokens) == 20
        assert all(token.startswith("fps_") and (len(token) - 4) * 6 >= 190 for token in tokens)
        stored = "".join(str(value) for row in ShareLink.objects.values() for value in row.values())
        assert not any(token in stored or token[4:] in stored for token in tokens)

    def test_unknown_expired_and_revoked_links_are_one_answer(self, diff: DiffReport) -> None:
        revoked, link = share_diff(diff.id)
        assert Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"]
        expired, old = share_diff(diff.id, expires_in_s=60)
        ShareLink.objects.filter(id=old).update(expires_at="2020-01-01T00:00:00Z")
        answers = [Client().get(f"/api/v1/share/{token}") for token in ("fps_nothing", revoked, expired)]
        assert [answer.status_code for answer in answers] == [404, 404, 404]
        bodies = [{key: value for key, value in answer.json().items() if key != "request_id"} for answer in answers]
        assert bodies[0] == bodies[1] == bodies[2]
        assert {tuple(sorted(answer.headers)) for answer in answers} == {tuple(sorted(answers[0].headers))}

    def test_used_up_switched_off_and_foreign_links_are_the_same_answer(
        self, diff: DiffReport, settings: Settings
    ) -> None:
        once, _ = share_diff(diff.id, max_views=1)
        signed_in, _ = share_diff(diff.id, audience="signed_in")
        named, _ = share_diff(diff.id, audience="people", people=["Ada"])
        anyone, _ = share_diff(diff.id)
        assert Client().get(f"/api/v1/share/{once}").status_code == 200
        settings.LOGIN_REQUIRED = True
        stranger = Client(headers={"Authorization": f"Bearer {tokens.create(name='Bob', role='viewer')}"})
        answers = [Client().get(f"/api/v1/share/{token}") for token in ("fps_nothing", once, signed_in, named)]
        settings.SHARING = False
        answers.append(Client().get(f"/api/v1/share/{anyone}"))
        settings.SHARING = True
        headers = {tuple(sorted(answer.headers)) for answer in answers}
        answers.append(stranger.get(f"/api/v1/share/{named}"))  # another request: it sends a token
        assert {answer.status_code for answer in answers} == {404}
        bodies = [{key: value for key, value in answer.json().items() if key != "request_id"} for answer in answers]
        assert all(body == bodies[0] for body in bodies)
        assert len(headers) == 1

    def test_every_closed_link_takes_the_same_statements(self, diff: DiffReport) -> None:
        """So that the time an answer takes tells nothing either."""
        revoked, link = share_diff(diff.id)
        Client().delete(f"/api/v1/shares/{link}")
        expired, _ = share_diff(diff.id, expires_in_s=60)
        ShareLink.objects.filter(expires_at__isnull=False).update(expires_at="2020-01-01T00:00:00Z")
        used, _ = share_diff(diff.id, max_views=1)
        Client().get(f"/api/v1/share/{used}")
        made = []
        for token in ("fps_nothing", revoked, expired, used):
            with CaptureQueriesContext(connection) as queries_made:
                assert Client().get(f"/api/v1/share/{token}").status_code == 404
            made.append([query["sql"].split()[0] for query in queries_made])
        assert made == [["SELECT", "UPDATE"]] * 4

    def test_a_link_for_named_people_opens_for_them(self, diff: DiffReport, settings: Settings) -> None:
        token, _ = share_diff(diff.id, audience="people", people=["Ada", "Eve"])
        settings.LOGIN_REQUIRED = True
        ada = Client(headers={"Authorization": f"Bearer {tokens.create(name='Ada', role='viewer')}"})
        assert ada.get(f"/api/v1/share/{token}").status_code == 200
        [listed] = ada.get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert (listed["audience"], listed["people"], listed["views"]) == ("people", ["Ada", "Eve"], 1)

    def test_the_last_view_is_given_once(self, diff: DiffReport) -> None:
        token, link = share_diff(diff.id, max_views=3)
        statuses = [Client().get(f"/api/v1/share/{token}").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 404, 404]
        assert ShareLink.objects.get(id=link).views == 3
        [listed] = Client().get(f"/api/v1/diffs/{diff.id}/shares").json()["shares"]
        assert not listed["opens"]

    @pytest.mark.parametrize("meanwhile", [{"views": 1}, {"revoked_at": "2026-01-01T00:00:00Z"}])
    def test_a_link_that_closes_while_it_is_opened_stays_closed(
        self, diff: DiffReport, meanwhile: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        token, link = share_diff(diff.id, max_views=1)
        found = queries.share_for(token, "")
        ShareLink.objects.filter(id=link).update(**meanwhile)
        monkeypatch.setattr(queries, "share_for", lambda *_: found)
        assert Client().get(f"/api/v1/share/{token}").status_code == 404
        assert ShareLink.objects.get(id=link).views == meanwhile.get("views", 0)

    @pytest.mark.parametrize(
        "body", [{"audience": "people"}, {"people": ["Ada"]}, {"max_views": 0}, {"audience": "all"}]
    )
    def test_a_link_that_makes_no_sense_is_refused(self, diff: DiffReport, body: dict[str, Any]) -> None:
        path = f"/api/v1/diffs/{diff.id}/shares"
        assert Client().post(path, body, content_type="application/json").status_code == 422

    def test_a_server_that_shares_nothing_makes_no_links_and_says_so(
        self, diff: DiffReport, settings: Settings
    ) -> None:
        settings.SHARING = False
        path = f"/api/v1/diffs/{diff.id}/shares"
        refused = Client().post(path, {}, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert Client().get(path).json() == {"enabled": False, "shares": []}

    def test_a_link_with_time_left_opens(self, diff: DiffReport) -> None:
        token, _ = share_diff(diff.id, expires_in_s=60)
        assert Client().get(f"/api/v1/share/{token}").status_code == 200

    def test_it_needs_no_login_and_opens_nothing_else(self, diff: DiffReport, settings: Settings) -> None:
        token, _ = share_diff(diff.id)
        settings.LOGIN_REQUIRED = True
        stranger = Client(headers={"Authorization": f"Bearer {token}"})
        assert stranger.get(f"/api/v1/share/{token}").status_code == 200
        closed = ("diffs", f"diffs/{diff.id}", f"diffs/{diff.id}/shares", f"runs/{diff.base_id}", "runs")
        assert {stranger.get(f"/api/v1/{path}").status_code for path in closed} == {401}

    def test_revoking_twice_keeps_the_first_time(self, diff: DiffReport) -> None:
        _, link = share_diff(diff.id)
        first = Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"]
        assert Client().delete(f"/api/v1/shares/{link}").json()["revoked_at"] == first
        assert Client().delete(f"/api/v1/shares/{new_id()}").status_code == 404

    def test_openings_are_counted_by_all_processes_together(self, diff: DiffReport, settings: Settings) -> None:
        """On Redis another process finds the same window; a single process needs no Redis."""
        Client().get("/api/v1/share/fps_nothing")
        elsewhere = caches.create_connection("default")
        assert elsewhere.get("share-window:127.0.0.1") == 1
        assert ("redis" in settings.CACHES["default"]["BACKEND"]) is not settings.EMBEDDED

    def test_guessing_is_slowed_down(self, diff: DiffReport) -> None:
        token, _ = share_diff(diff.id)
        statuses = [Client().get(f"/api/v1/share/fps_{n}").status_code for n in range(121)]
        assert statuses[-1] == 429
        assert Client().get(f"/api/v1/share/{token}").status_code == 429

    def test_there_is_no_link_to_a_report_that_is_not_there(self) -> None:
        answer = Client().post(f"/api/v1/diffs/{new_id()}/shares", {}, content_type="application/json")
        assert answer.status_code == 404

    @pytest.mark.parametrize("seconds", [0, -5, "soon"])
    def test_an_expiry_must_lie_ahead(self, diff: DiffReport, seconds: Any) -> None:
        body = {"expires_in_s": seconds}
        assert (
            Client().post(f"/api/v1/diffs/{diff.id}/shares", body, content_type="application/json").status_code == 422
        )
