"""Live retrieval: a test query on the tools page, then in a fork."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.cockpit import DESK, PHONE, Cockpit, Scheme
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.services.server import Server
from tests.support.patience import patience_ms
from tests.support.servers.provider_server import Exchange, provider_server

CONTENT = "Refunds above fifty euros need a supervisor."


@contextmanager
def store_of_documents() -> Iterator[str]:
    def respond(exchange: Exchange) -> None:
        document = {
            "id": "limits",
            "content": CONTENT,
            "score": 0.82,
            "metadata": {"asked": exchange.body.get("query")},
        }
        exchange.status(200, {"documents": [document]})

    with provider_server(respond) as running:
        yield running.base_url


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a retriever and a tool."""
    with store_of_documents() as url:
        environment = {
            "FORKPOINT_RETRIEVERS": json.dumps({"policies": {"http": {"url": f"{url}/search"}}}),
            "FORKPOINT_TOOLS": json.dumps({"get_order": {"http": {"url": f"{url}/orders"}}}),
        }
        server = Server(tmp_path / "home", env=environment)
        server.start()
        try:
            yield server
        finally:
            assert server.stop() == 0


def test_retriever_answers_trial_and_fork(open_cockpit: OpenCockpit, server: Server) -> None:
    session = Demo(server.url).session
    cockpit = open_cockpit("/tools")
    _try(cockpit)
    _call(cockpit)
    _fork(cockpit, session)


def _try(cockpit: Cockpit) -> None:
    page = cockpit.page
    page.get_by_text("Retrievers", exact=True).click()
    page.get_by_role("button", name="policies").click()
    expect(page.get_by_role("dialog", name="policies")).to_be_visible()
    dialog = cockpit.dialog()
    dialog.get_by_label("Query").fill("large refunds")
    dialog.get_by_label("Filters").fill('{"language": "en"')
    expect(dialog.get_by_role("button", name="Test query")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Filters").fill('{"language": "en"}')
    dialog.get_by_role("button", name="Test query").click()
    result = dialog.get_by_role("region", name="Result")
    expect(result).to_contain_text("1 document")
    expect(result).to_contain_text(CONTENT)
    expect(dialog).to_contain_text("by local")
    screens: tuple[tuple[ViewportSize, Scheme], ...] = ((DESK, "light"), (PHONE, "dark"))
    for viewport, scheme in screens:
        cockpit.show_in(viewport, scheme)
        assert cockpit.serious_accessibility_problems() == []
    cockpit.show_in(DESK, "light")


def _call(cockpit: Cockpit) -> None:
    cockpit.go("/tools")
    page = cockpit.page
    page.get_by_role("button", name="get_order").click()
    expect(page.get_by_role("dialog", name="get_order")).to_be_visible()
    dialog = cockpit.dialog()
    dialog.get_by_label("order_id").fill("A-1042")
    expect(dialog.get_by_role("button", name="Test call")).to_have_attribute("aria-disabled", "true")
    dialog.get_by_label("Run it anyway").check()
    dialog.get_by_role("button", name="Test call").click()
    expect(dialog.get_by_role("region", name="Result")).to_contain_text("answered")
    expect(dialog).to_contain_text("by local without a review")


def _fork(cockpit: Cockpit, session: dict[str, Any]) -> None:
    page, url = cockpit.page, cockpit.url
    cockpit.go(f"/runs/{session['source_run']}")
    policies = page.get_by_role("article", name=re.compile("policies")).get_by_role("link")
    policies.click()
    page.get_by_role("button", name="Fork from this step").click()
    fork = page.get_by_role("region", name="Fork")
    fork.get_by_label("Query").fill("large refunds")
    expect(fork).to_contain_text("No search is made")
    fork.get_by_text("Policy", exact=True).click()
    fork.get_by_label("Retrievers may be queried").check()
    expect(fork).not_to_contain_text("No search is made")
    expect(fork).to_contain_text("live call")
    fork.get_by_role("button", name=re.compile("^Replay")).click()
    page.wait_for_url(re.compile("/replays/"))
    state = page.get_by_label("State of the replay")
    expect(state.get_by_role("status")).to_contain_text("Done", timeout=patience_ms(30_000))
    replay = json.loads(page.request.get(f"{url}/api/v1{page.url.removeprefix(url)}").text())
    cockpit.go(f"/runs/{replay['run']}")
    policies.click()
    content = page.get_by_label("Content of the step")
    expect(content).to_contain_text("The retriever was queried")
    expect(content).to_contain_text(CONTENT)
