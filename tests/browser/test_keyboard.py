"""The whole journey with the keyboard alone."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.cockpit import Cockpit
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.support.patience import patience_ms

CENTS = "Order totals are in cents, refunds are in euros: convert before you refund."
# More than any screen of the journey has controls before its main action.
MOST_TABS = 80


def _tab_to(cockpit: Cockpit, target: Locator) -> None:
    """Press Tab until the target has the focus. It must be ready for a key: a price may still load."""
    expect(target).to_be_enabled()
    for _ in range(MOST_TABS):
        if target.evaluate("(element) => element === document.activeElement"):
            return
        cockpit.page.keyboard.press("Tab")
    raise AssertionError(f"{target} is not reached within {MOST_TABS} presses of Tab")


def test_failed_run_is_fixed_proved_and_shared_by_keyboard(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/?app=order-desk")
    page, press = cockpit.page, cockpit.page.keyboard.press
    _tab_to(cockpit, page.locator(f'main a[href="/runs/{demo.failed_run}"]').first)
    press("Enter")
    expect(page.get_by_role("feed", name="Transcript").get_by_role("article").first).to_be_visible()
    fork = cockpit.button(f"Fork from step {demo.session['fork_sequence_no']}")
    expect(fork).to_be_visible()
    press("j")
    expect(fork).to_have_count(0)
    press("k")
    expect(fork).to_be_visible()
    press("f")
    expect(page.get_by_role("textbox", name="System prompt")).to_be_focused()
    press("Control+End")
    cockpit.type(f" {CENTS} Thank the customer.")
    expect(page.get_by_role("region", name="Fork", exact=True)).to_contain_text("+2 sentences")
    press("Control+Enter")
    page.wait_for_url(re.compile("/replays/"), timeout=patience_ms(15_000))
    _tab_to(cockpit, page.get_by_role("link", name="What changed?"))
    press("Enter")
    expect(page.get_by_label("Verdict")).to_be_visible()
    press("p")
    _tab_to(cockpit, cockpit.dialog().get_by_role("button", name="Prove it"))
    press("Enter")
    proved = page.get_by_role("heading", name="One change is the cause", exact=True)
    expect(proved).to_be_visible(timeout=patience_ms(60_000))
    press("s")
    _tab_to(cockpit, cockpit.dialog().get_by_role("button", name="Create and copy link"))
    press("Enter")
    expect(page.get_by_label("Copy it now: it is not shown again")).to_have_value(re.compile("/share/"))
