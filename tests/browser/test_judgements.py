"""Judging a run in the browser."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import OpenCockpit


def test_failed_verdict_reaches_the_list(open_cockpit: OpenCockpit) -> None:
    cockpit = open_cockpit("/?q=carrier")
    page = cockpit.page
    cockpit.run_links().first.click()
    outcome = page.get_by_role("button", name=re.compile("^Outcome: "))
    expect(outcome).to_be_visible()
    page.keyboard.press("x")
    expect(outcome).to_have_accessible_name("Outcome: failed: verdict")
    outcome.click()
    page.get_by_role("textbox", name="Comment").fill("It never named the carrier.")
    page.get_by_role("button", name="Fail", exact=True).click()
    expect(page.get_by_text("It never named the carrier.", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Delete your judgement verdict")).to_have_count(1)
    page.keyboard.press("Escape")
    cockpit.go("/?q=carrier&outcome=failed")
    row = page.get_by_role("img", name="failed: verdict: It never named the carrier.")
    expect(row).to_be_visible()
    cockpit.run_links().first.click()
    outcome.click()
    page.get_by_role("button", name="Delete your judgement verdict").click()
    expect(page.get_by_text("It never named the carrier.")).to_have_count(0)
