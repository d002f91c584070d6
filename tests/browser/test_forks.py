"""The fork panel: changes belong to the fork that they were made in, and nothing that it shows is ignored."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo


def test_fork_from_a_later_step_starts_without_changes(open_cockpit: OpenCockpit, demo: Demo) -> None:
    fork = demo.session["fork_sequence_no"]
    cockpit = open_cockpit(f"/runs/{demo.failed_run}?step={fork}")
    page = cockpit.page
    panel = page.get_by_role("region", name="Fork")
    changes = panel.get_by_role("list", name="Overrides")
    expect(page.get_by_label("Content of the step")).to_be_visible()
    page.keyboard.press("f")
    page.get_by_role("textbox", name="System prompt").press("Control+End")
    page.keyboard.type(" Be brief.")
    expect(changes.get_by_role("listitem")).to_have_count(1)

    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    # The check at the end: no model step follows it, so the change of the prompt would be refused there.
    page.keyboard.press("e")
    page.keyboard.press("f")
    expect(panel.get_by_role("heading", name="Fork from step 10")).to_be_visible()
    expect(panel.get_by_role("status").filter(has_text="No changes yet.")).to_be_visible()
    expect(changes).to_have_count(0)
    expect(cockpit.button(re.compile("^Replay"))).to_have_attribute("aria-disabled", "false")

    panel.get_by_role("button", name=f"Fork from step {fork}").click()
    expect(changes.get_by_role("listitem")).to_have_count(1)
    expect(page.get_by_role("textbox", name="System prompt")).to_have_value(re.compile(r"Be brief\.$"))


def test_text_that_is_not_applied_blocks_the_replay(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(f"/runs/{demo.failed_run}?step=6&fork=6")
    replay = cockpit.button(re.compile("^Replay"))
    arguments = cockpit.page.get_by_label("Arguments of get_order")
    recorded = arguments.input_value()
    arguments.fill("{")
    expect(cockpit.page.get_by_text("A field has text that is not applied. See above.")).to_be_visible()
    expect(replay).to_have_attribute("aria-disabled", "true")
    arguments.fill(recorded)
    expect(replay).to_have_attribute("aria-disabled", "false")


def test_refused_launch_leaves_the_button_in_view(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(f"/runs/{demo.failed_run}?step=6&fork=6", console=re.compile("429"))
    problem = {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "code": "rate_limited",
        "detail": "too many requests",
        "where": "",
        "retryable": True,
        "request_id": "",
    }
    cockpit.page.route(
        "**/api/v1/replays",
        lambda route: route.fulfill(status=429, content_type="application/problem+json", json=problem),
    )
    replay = cockpit.button(re.compile("^Replay"))
    expect(replay).to_have_attribute("aria-disabled", "false")
    replay.click()
    alert = cockpit.page.get_by_role("region", name="Fork").get_by_role("alert")
    expect(alert).to_have_text("The replay did not start. Too many requests. Wait a moment, then try again.")
    # A click needs an element that nothing covers.
    replay.click(trial=True)
