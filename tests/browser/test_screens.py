"""Every screen, in both themes and on a desk and a phone: nothing keeps anybody out, nothing complains."""

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.browser.conftest import DESK, PHONE, OpenCockpit, Scheme
from tests.browser.demo import Demo

SCREENS = (
    "runs",
    "run",
    "step",
    "fork",
    "replays",
    "replay",
    "diffs",
    "diff",
    "compare",
    "share",
    "login",
    "help",
    "palette",
)


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", SCREENS)
def test_a_screen_keeps_nobody_out(
    open_cockpit: OpenCockpit, demo: Demo, screen: str, scheme: Scheme, viewport: ViewportSize
) -> None:
    cockpit = open_cockpit(demo.path(screen), viewport=viewport, scheme=scheme)
    expect(cockpit.page.get_by_role("main")).to_be_visible()
    cockpit.page.wait_for_load_state("networkidle")
    if screen in demo.KEYS:
        cockpit.page.keyboard.press(demo.KEYS[screen])
        expect(cockpit.page.get_by_role("dialog")).to_be_visible()
    assert cockpit.serious_accessibility_problems() == []
    width = cockpit.page.evaluate("document.documentElement.scrollWidth")
    assert width <= viewport["width"], "the page scrolls sideways"
