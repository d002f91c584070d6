"""Redaction in the browser: a draft is rejected with its place, tried on a sample, and saved."""

from playwright.sync_api import Browser, expect

from tests.browser.cockpit import Cockpit
from tests.services.server import Server


def test_policy_is_tried_and_saved(browser: Browser, spare_server: Server) -> None:
    # Not `open_cockpit`: the browser logs the answer 422 to a draft with a mistake.
    page = Cockpit(browser.new_context(reduced_motion="reduce").new_page(), spare_server.url).page
    page.goto(f"{spare_server.url}/settings")
    page.get_by_role("link", name="Edit policies").click()
    page.get_by_role("button", name="Add rule").click()
    page.get_by_label("Path").fill("input/x")
    page.get_by_role("button", name="Save as the next version").click()
    expect(page.get_by_role("alert")).to_contain_text("/rules/0/path")
    page.get_by_label("Path").fill("/**/email")
    page.get_by_label("Reason").fill("addresses stay with us")
    trial = page.get_by_role("region", name="Try it")
    trial.get_by_role("button", name="Try the draft").click()
    expect(trial).to_contain_text("/customer/email addresses stay with us")
    page.get_by_label("Reason").fill("addresses stay here")
    expect(trial).to_contain_text("The draft or the sample changed. Try it again.")
    page.get_by_role("button", name="Save as the next version").click()
    expect(page.get_by_role("region", name="Versions")).to_contain_text("Version 1: secrets by default, 1 field rule")
    page.context.close()
