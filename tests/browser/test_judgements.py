"""Judging a run in the browser."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import OpenCockpit


def test_failed_verdict_reaches_the_list(open_cockpit: OpenCockpit) -> None:
    cockpit = open_cockpit("/?q=A-1044")
    page = cockpit.page
    cockpit.run_links().first.click()
    outcome = page.get_by_role("button", name=re.compile("^Outcome: "))
    expect(outcome).to_be_visible()
    page.keyboard.press("x")
    expect(outcome).to_have_accessible_name("Outcome: Failed: verdict")
    outcome.click()
    cockpit.dialog().get_by_role("textbox", name="Comment").fill("It never named the carrier.")
    page.get_by_role("button", name="Fail", exact=True).click()
    # The field still holds the text for a moment.
    expect(page.get_by_role("paragraph").filter(has_text=re.compile("^It never named"))).to_be_visible()
    expect(page.get_by_role("button", name="Delete your judgement verdict")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    cockpit.go("/?q=A-1044&outcome=failed")
    row = page.get_by_role("img", name="Failed: verdict: It never named the carrier.")
    expect(row).to_be_visible()
    cockpit.run_links().first.click()
    outcome.click()
    page.get_by_role("button", name="Delete your judgement verdict").click()
    expect(page.get_by_text("It never named the carrier.")).to_have_count(0)


def test_list_filters_by_a_judgement(open_cockpit: OpenCockpit) -> None:
    """Judge a run, find it in the list by its outcome and by the judgement, and see it as failed."""
    cockpit = open_cockpit("/?q=A-1044")
    page = cockpit.page
    cockpit.run_links().first.click()
    expect(page.get_by_role("button", name="Judge this step")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Outcome: ")).click()
    cockpit.dialog().get_by_role("textbox", name="Name of the score").fill("helpful")
    page.get_by_role("textbox", name="Value of the score").fill("0.2")
    page.get_by_role("button", name="Add score").click()
    expect(page.get_by_text("helpful", exact=True)).to_be_visible()
    cockpit.go("/")
    page.get_by_role("button", name="More", exact=True).click()
    page.get_by_role("menuitem", name="Judgement").click()
    cockpit.dialog().get_by_label("Name", exact=True).first.click()
    page.get_by_role("option", name="helpful").click()
    page.get_by_label("to", exact=True).fill("0.5")
    expect(page).to_have_url(re.compile("judgement=helpful.*max_score=0.5"))
    expect(cockpit.run_links()).to_have_count(1)
    expect(page.get_by_role("button", name="Judgement helpful ≤ 0.5")).to_be_visible()


def test_rule_of_an_app_decides(open_cockpit: OpenCockpit) -> None:
    """A bound for a score fails the runs below it, and removing the rule restores them."""
    cockpit = open_cockpit("/?q=A-1044")
    page = cockpit.page
    cockpit.run_links().first.click()
    expect(page.get_by_role("button", name="Judge this step")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Outcome: ")).click()
    cockpit.dialog().get_by_role("textbox", name="Name of the score").fill("tone")
    page.get_by_role("textbox", name="Value of the score").fill("0.2")
    page.get_by_role("button", name="Add score").click()
    expect(page.get_by_text("tone", exact=True)).to_be_visible()
    page.get_by_role("link", name=re.compile("^What decides in")).click()
    expect(page.get_by_role("heading", name="Outcomes")).to_be_visible()
    page.get_by_role("button", name="Add a bound").click()
    bound = page.get_by_role("listitem", name=re.compile("^Bound")).last
    bound.get_by_label("Score", exact=True).fill("tone")
    bound.get_by_label("Bound", exact=True).fill("0.5")
    page.get_by_role("button", name="Save rule").click()
    expect(page.get_by_text(re.compile("^Saved by"))).to_be_visible()
    cockpit.go("/?q=A-1044&judgement=tone")
    expect(page.get_by_role("img", name="Failed: tone 0.2")).to_be_visible()
    page.go_back()
    page.get_by_role("button", name="Use the default").click()
    # The page shows the draft, whether it is stored or not.
    with page.expect_response(lambda response: response.request.method == "PUT") as response_info:
        page.get_by_role("button", name="Save rule").click()
    assert response_info.value.ok
    expect(page.get_by_role("listitem", name=re.compile("^Bound"))).to_have_count(0)
