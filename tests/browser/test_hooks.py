"""Hooks, usage and exports in the browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.services.server import Server
from tests.support.patience import patience_ms
from tests.support.servers.langfuse_server import KEYS, langfuse_server

SLOWEST_MS = 20_000  # the hooks page polls every few seconds
HOOKS = {
    "refunds": {
        "events": ["pre_tool_use"],
        "matcher": "refund",
        "answer": {"action": "deny", "message": "no money moves in a replay"},
    }
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with a hook that sends telemetry to Langfuse and to a file."""
    with langfuse_server() as langfuse:
        telemetry = {
            "lf": {"langfuse": {"base_url": langfuse.base_url, "public_key": KEYS[0]}},
            "file": {"jsonl": str(tmp_path / "telemetry.jsonl")},
        }
        environment = {"FORKPOINT_HOOKS": json.dumps(HOOKS), "FORKPOINT_TELEMETRY": json.dumps(telemetry)}
        server = Server(tmp_path / "home", env={**environment, "LANGFUSE_SECRET_KEY": KEYS[1]})
        server.start()
        try:
            yield server
            assert langfuse.rejections == []
        finally:
            assert server.stop() == 0
    assert '"event_type":"agent_stop"' in (tmp_path / "telemetry.jsonl").read_text()


def test_hooks_page_shows_decisions_and_telemetry(open_cockpit: OpenCockpit, server: Server) -> None:
    url, session = server.url, Demo(server.url).session
    page = open_cockpit(f"/replays/{session['id']}").page
    decisions = page.get_by_role("region", name="Hooks")
    expect(decisions).to_contain_text("refunds denied the call", timeout=patience_ms(SLOWEST_MS))
    expect(decisions).to_contain_text("no money moves in a replay")
    page.get_by_text("Details", exact=True).click()
    usage = page.get_by_role("region", name="Tokens and cost").first
    expect(usage).to_contain_text("By turn")
    expect(usage).to_contain_text(re.compile(r"[1-9],?\d+"))
    expect(page.get_by_role("region", name="Live calls")).to_contain_text("attempt 1 answered")

    page.goto(f"{url}/runs/{session['run']}")
    page.get_by_role("button", name=re.compile("tokens$")).click()
    expect(page.get_by_role("dialog")).to_contain_text("Total")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Exported").click()
    expect(page.get_by_role("menuitem", name="Open the trace in Langfuse")).to_be_visible()

    page.goto(f"{url}/settings/hooks")
    expect(page.get_by_role("region", name="Configured hooks")).to_contain_text("always deny")
    target = page.get_by_role("row", name=re.compile("^file"))
    expect(target.get_by_role("cell").first).to_have_text(re.compile("^[1-9]"), timeout=patience_ms(SLOWEST_MS))
