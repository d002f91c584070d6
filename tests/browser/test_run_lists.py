"""Tags of ticked runs and saved views, on a phone and on a desk."""

import re

from playwright.sync_api import Locator, expect

from tests.browser.cockpit import DESK, PHONE, Cockpit
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo


def test_runs_are_tagged_and_a_view_of_them_is_kept(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/", viewport=PHONE)
    page = cockpit.page
    _tag_two_runs(cockpit, "ticked")
    expect(page.locator("main").get_by_text("ticked", exact=True)).to_have_count(2)
    toast = page.get_by_role("alert").filter(has_text="The tags of 2 runs were changed.")
    # It stays while the pointer is over it.
    toast.hover()
    for control in (page.get_by_role("navigation"), page.get_by_role("region", name="Selected runs")):
        assert _bottom(toast) <= _top(control)
    toast.get_by_role("button", name="Undo").click()
    expect(page.locator("main").get_by_text("ticked", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Clear the selection").click()

    cockpit.show_in(DESK, "light")
    _choose_outcome(cockpit, "Failed")
    _open_views(cockpit, "Views", "Save this view")
    cockpit.dialog().get_by_role("textbox", name="Name").fill("Broken")
    cockpit.button("Save").click()
    cockpit.button("Clear the filter Outcome").click()
    _open_views(cockpit, "Views", re.compile("^Broken$"))
    expect(page).to_have_url(re.compile("outcome=failed"))
    page.get_by_role("columnheader", name="Duration").get_by_role("button").click()
    _open_views(cockpit, "Views", re.compile("^Update “Broken”"))
    expect(cockpit.button("View: Broken")).to_be_visible()
    page.reload()
    _open_views(cockpit, "View: Broken", "Delete")
    toast = page.get_by_role("alert").filter(has_text="The view “Broken” was deleted.")
    toast.get_by_role("button", name="Undo").click()
    expect(cockpit.button("View: Broken")).to_be_visible()
    [view] = demo.ask("/run-views")["views"]
    assert (view["name"], "sort=" in view["query"]) == ("Broken", True)
    page.locator("main").get_by_role("checkbox").nth(1).check()
    for viewport in (DESK, PHONE):
        cockpit.show_in(viewport, "dark")
        assert cockpit.serious_accessibility_problems() == []


def _tag_two_runs(cockpit: Cockpit, tag: str) -> None:
    page = cockpit.page
    for number in (0, 1):
        page.locator("main").get_by_role("checkbox").nth(number).check()
    page.get_by_role("region", name="Selected runs").get_by_role("button", name="Tag").click()
    field = cockpit.dialog().get_by_role("combobox", name="Add")
    field.fill(tag)
    field.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()


def _choose_outcome(cockpit: Cockpit, outcome: str) -> None:
    # A column has the same name.
    cockpit.page.get_by_role("button", name="Outcome", expanded=False).click()
    cockpit.dialog().get_by_role("checkbox", name=re.compile(f"^{outcome}")).check()
    cockpit.page.keyboard.press("Escape")


def _open_views(cockpit: Cockpit, button: str, item: str | re.Pattern[str]) -> None:
    cockpit.button(button).click()
    cockpit.page.get_by_role("menu").get_by_role("menuitem", name=item).click()


def _bottom(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["y"] + box["height"]


def _top(locator: Locator) -> float:
    box = locator.bounding_box()
    assert box
    return box["y"]
