"""Revisions of a run in the browser: a session file that grew, and one that contradicts it."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.cockpit import DESK, PHONE, Cockpit, Scheme
from tests.browser.conftest import OpenCockpit
from tests.support.growing_session import write_states


def _import(cockpit: Cockpit, file: Path, summary: str) -> None:
    cockpit.go("/")
    expect(cockpit.page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    cockpit.drop(file)
    expect(cockpit.page.get_by_role("dialog").get_by_role("status")).to_have_text(summary)


def test_grown_session_file_is_a_revision(open_cockpit: OpenCockpit, tmp_path: Path) -> None:
    cockpit = open_cockpit()
    page, states = cockpit.page, write_states(tmp_path)
    dialog = page.get_by_role("dialog")
    _import(cockpit, states.short, "1 run imported")
    _import(cockpit, states.grown, "1 run imported, 1 as a new revision")
    expect(dialog.get_by_text("revision 2 of cx-1")).to_be_visible()
    _import(cockpit, states.conflicting, "1 run imported, 1 conflicting recording")
    expect(dialog.get_by_text("kept beside the stored run with the same id")).to_be_visible()
    assert cockpit.serious_accessibility_problems() == []

    cockpit.go("/?app=codex")
    expect(page.get_by_text("rev 3", exact=True)).to_be_visible()
    page.get_by_role("row").filter(has_text="rev 2").get_by_role("link").click()
    page.get_by_role("tab", name="Tree").click()
    expect(page.get_by_role("treeitem")).to_have_count(6)
    page.get_by_role("treeitem").nth(2).click()
    cockpit.button("Revision 2 of 3").focus()
    page.keyboard.press("Enter")
    menu = page.get_by_role("menu")
    expect(menu.get_by_role("menuitem", name=re.compile("^Revision 3.*conflicting recording"))).to_be_visible()
    themes: tuple[Scheme, Scheme] = ("light", "dark")
    for viewport, scheme in zip((DESK, PHONE), themes, strict=True):
        cockpit.show_in(viewport, scheme)
        assert cockpit.serious_accessibility_problems() == []
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    banner = page.get_by_text("A newer revision of this run exists (2 more steps).")
    expect(banner).to_be_visible()
    expect(page).to_have_url(re.compile(r"step=3&view=tree$"))
    page.get_by_role("link", name="Open revision 2").click()
    expect(cockpit.button("Revision 2 of 3")).to_be_visible()
    expect(banner).to_have_count(0)
