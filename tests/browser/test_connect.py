"""An agent that sends its steps while someone watches, and the tokens that agents use."""

import random
import re

from playwright.sync_api import expect

from tests.browser.cockpit import DESK, PHONE, Cockpit, Scheme
from tests.browser.conftest import OpenCockpit
from tests.support.arriving_spans import Span, model, request, root, tool
from tests.support.http import HTTP
from tests.support.patience import patience_ms, patience_s


def _send(cockpit: Cockpit, span: Span) -> None:
    headers = {"Content-Type": "application/json"}
    url, limit_s = f"{cockpit.url}/v1/traces", patience_s(10)
    HTTP.post(url, content=request(span), headers=headers, timeout=limit_s).raise_for_status()


def test_first_step_is_noticed_and_the_run_grows_in_view(open_cockpit: OpenCockpit) -> None:
    cockpit = open_cockpit("/connect")
    page, trace = cockpit.page, random.randbytes(16).hex()
    expect(page.get_by_text("Waiting for the first step…")).to_be_visible()
    page.get_by_role("tab", name="OpenTelemetry").click()
    expect(page.get_by_label("Lines for OpenTelemetry")).to_contain_text(f"OTEL_EXPORTER_OTLP_ENDPOINT={cockpit.url}")
    themes: tuple[Scheme, Scheme] = ("light", "dark")
    for viewport, scheme in zip((DESK, PHONE), themes, strict=True):
        cockpit.show_in(viewport, scheme)
        assert cockpit.serious_accessibility_problems() == []
    cockpit.show_in(DESK, "light")

    _send(cockpit, model(trace))
    expect(page.get_by_text("has arrived: 1 step so far.")).to_be_visible()
    page.get_by_role("link", name="Open the run").click()
    outcome = page.get_by_role("button", name="Outcome: ")
    expect(outcome).to_have_text("Recording")
    expect(page.get_by_role("heading", name="Step 1 · model chat")).to_be_visible()
    _send(cockpit, tool(trace))
    expect(page.get_by_role("feed").get_by_role("article")).to_have_count(2)
    page.get_by_role("tab", name="Tree").click()
    expect(page.get_by_role("treeitem")).to_have_count(2)
    expect(page.get_by_role("button", name="it can be forked when it is complete")).to_be_visible()
    assert cockpit.serious_accessibility_problems() == []

    # The root arrives last and becomes the first step; the step in view stays in view.
    _send(cockpit, root(trace))
    expect(page.get_by_role("treeitem")).to_have_count(3)
    expect(page.get_by_role("heading", name="Step 2 · model chat")).to_be_visible()
    expect(outcome).not_to_have_text("Recording", timeout=patience_ms(20_000))
    expect(page.get_by_role("button", name="Fork from this step", exact=True)).to_be_visible()


def test_token_is_shown_once_and_revoked(open_cockpit: OpenCockpit) -> None:
    cockpit = open_cockpit("/settings")
    page = cockpit.page
    cockpit.button("New token").click()
    cockpit.dialog().get_by_label("Name").fill("nightly")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Copy it now: it is not shown again")).to_have_value(re.compile("^fp_"))
    page.keyboard.press("Escape")
    row = page.get_by_role("row").filter(has_text="nightly")
    expect(row).to_contain_text("viewer")
    # Nobody can restore it: neither a click nor a double click revokes it.
    cockpit.button("Revoke nightly").dblclick()
    expect(row).to_be_visible()
    cockpit.button("Revoke nightly").click()
    page.get_by_role("menuitem", name="Revoke for good").click()
    expect(row).to_have_count(0)
