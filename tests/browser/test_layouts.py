"""Enlarged pages, focus order, and reduced motion."""

import pytest

from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.browser.layout import ZOOMED, focus_jumps, lost_controls, motion, sideways_scroll

MAIN_SCREENS = (
    "runs",
    "run",
    "timeline",
    "fork",
    "activity",
    "diff",
    "tools",
    "settings",
    "experiment",
    "share",
    "tour",
)


@pytest.mark.parametrize("screen", MAIN_SCREENS)
def test_screen_at_200_percent_loses_nothing(open_cockpit: OpenCockpit, demo: Demo, screen: str) -> None:
    cockpit = open_cockpit(demo.path(screen))
    page = cockpit.page
    page.wait_for_load_state("networkidle")
    problems = [f"wide: {problem}" for problem in [*focus_jumps(page), *motion(page)]]
    cockpit.show_in(ZOOMED, "light")
    zoomed = [*sideways_scroll(page), *lost_controls(page), *focus_jumps(page), *motion(page)]
    problems += [f"enlarged: {problem}" for problem in zoomed]
    assert not problems, "\n".join(problems)
