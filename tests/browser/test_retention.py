"""Retention in the browser: policies and their plan, deletion with undo, pins, and what a deleted run leaves behind."""

import re
from collections.abc import Sequence

import httpx
import pytest
from playwright.sync_api import Locator, expect

from tests.browser.cockpit import LOOKS, Cockpit
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.services.server import Server
from tests.support.old_runs import age_runs
from tests.support.patience import patience_s


@pytest.fixture
def server(spare_server: Server) -> Server:
    """Not the server of the other tests: these delete runs."""
    return spare_server


def _record(server: Server, app: str, *parcels: int) -> list[str]:
    """Import a chat about each parcel; return the ids of the runs."""
    ids: list[str] = []
    for parcel in parcels:
        question, reply = f"Where is parcel {parcel}?", f"Parcel {parcel} is in Oslo."
        chat = [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]
        response = httpx.post(
            f"{server.url}/api/v1/runs/import",
            files={"files": ("chat.json", httpx.Response(200, json=chat).content)},
            data={"app": app},
            timeout=patience_s(30),
        )
        ids += [run["id"] for run in response.json()["runs"]]
    return ids


def _check_looks(cockpit: Cockpit, opener: Locator | None = None) -> None:
    """The page, or what `opener` opens on it, is accessible in both themes and sizes, and does not scroll sideways."""
    # The desk last, whose table the tests go on with.
    for viewport, scheme, rules in reversed(LOOKS):
        cockpit.show_in(viewport, scheme)
        if opener is None:
            assert cockpit.serious_accessibility_problems(rules) == []
        else:
            _check_menu(cockpit, opener, rules)
        assert cockpit.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def _check_menu(cockpit: Cockpit, opener: Locator, rules: Sequence[str]) -> None:
    """The menu is accessible. Opened here, because a change of the size replaces the table by cards, without menus."""
    menu = cockpit.page.get_by_role("menu")
    opener.click()
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    assert cockpit.serious_accessibility_problems(rules) == []
    cockpit.page.keyboard.press("Escape")
    expect(menu).to_have_count(0)


def test_policy_shows_its_plan_and_a_pin_keeps_a_run(open_cockpit: OpenCockpit, server: Server) -> None:
    _, pinned = _record(server, "parcels", 1, 2)
    age_runs(server.home, "parcels", days=40)
    cockpit = open_cockpit(f"/runs/{pinned}")
    page = cockpit.page
    cockpit.button("Actions of Where is parcel 2?").click()
    page.get_by_role("menuitem", name="Pin").click()
    expect(page.get_by_role("img", name="Pinned")).to_be_visible()

    cockpit.go("/settings")
    page.get_by_role("link", name="Edit retention").click()
    expect(page.get_by_text("No policies: all runs are kept forever.")).to_be_visible()
    cockpit.button("Add a policy").click()
    dialog = cockpit.dialog()
    dialog.get_by_label("App").fill("parcels")
    dialog.get_by_label("Days since the run arrived").fill("30")
    expect(dialog.get_by_role("status")).to_contain_text("a purge would delete 1 run")
    _check_looks(cockpit)
    cockpit.button("Save policy").click()
    expect(dialog).to_have_count(0)

    deletions = page.get_by_role("region", name="Would be deleted")
    expect(deletions.get_by_role("link")).to_have_text(["Where is parcel 1?"])
    expect(page.get_by_role("region", name="Due, but kept")).to_contain_text("pinned")
    expect(page.get_by_role("region", name="Audit log")).to_contain_text("Policy set: 30 days")
    _check_looks(cockpit)

    cockpit.button("Purge now").click()
    cockpit.button("Purge 1 run").click()
    expect(page.get_by_text(re.compile("^1 run deleted, .* freed"))).to_be_visible()
    expect(deletions).to_have_count(0)
    cockpit.button("Delete the policy for parcels").click()
    expect(page.get_by_text("No policies: all runs are kept forever.")).to_be_visible()
    cockpit.button("Undo").click()
    expect(page.get_by_role("row", name=re.compile("^parcels 30 days kept"))).to_be_visible()
    cockpit.go("/?app=parcels")
    expect(cockpit.run_links()).to_have_text(["Where is parcel 2?"])


def test_deletion_is_undone(open_cockpit: OpenCockpit, server: Server) -> None:
    run_id, *_ = _record(server, "letters", 3, 4, 5)
    cockpit = open_cockpit("/?app=letters", deleted_run=run_id)
    page = cockpit.page
    page.get_by_role("checkbox", name="Select Where is parcel 3?").check()
    bar = page.get_by_role("region", name="Selected runs")
    expect(bar.get_by_role("status")).to_have_text("1 selected")
    page.get_by_role("checkbox", name="Select all runs on this page").click()
    expect(bar.get_by_role("status")).to_have_text("3 selected")
    _check_looks(cockpit)
    bar.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("3 runs were deleted.")).to_be_visible()
    expect(cockpit.run_links()).to_have_count(0)
    expect(bar).to_have_count(0)
    cockpit.button("Undo").click()
    expect(cockpit.run_links()).to_have_count(3)

    cockpit.go(f"/runs/{run_id}")
    cockpit.button("Actions of Where is parcel 3?").click()
    page.get_by_role("menuitem", name="Name and note").click()
    dialog = cockpit.dialog()
    dialog.get_by_role("textbox", name="Name").fill("Parcel in Oslo")
    dialog.get_by_role("textbox", name="Note").fill("Ask the carrier.")
    cockpit.button("Save").click()
    expect(page.get_by_role("heading", name="Parcel in Oslo", exact=True)).to_be_visible()
    expect(page.get_by_text("Ask the carrier.")).to_be_visible()
    cockpit.button("Actions of Where is parcel 3?").click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.get_by_role("heading", name="“Parcel in Oslo” was deleted")).to_be_visible()
    _check_looks(cockpit)
    page.get_by_role("main").get_by_role("button", name="Restore").click()
    expect(page.get_by_role("heading", name="Parcel in Oslo", exact=True)).to_be_visible()


def test_held_run_cannot_be_deleted(open_cockpit: OpenCockpit, server: Server) -> None:
    _record(server, "claims", 6)
    cockpit = open_cockpit("/?app=claims")
    page = cockpit.page
    actions = cockpit.button("Actions of Where is parcel 6?")
    actions.click()
    page.get_by_role("menuitem", name="Put under legal hold").click()
    expect(page.get_by_role("img", name="Under legal hold")).to_be_visible()
    actions.click()
    expect(page.get_by_role("menuitem", name="Delete")).to_be_disabled()
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("Escape")
    _check_looks(cockpit, actions)
    page.get_by_role("checkbox", name="Select Where is parcel 6?").check()
    page.get_by_role("region", name="Selected runs").get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog", name="The run was not deleted")
    expect(dialog).to_contain_text("is under legal hold")
    expect(dialog.get_by_role("button", name=re.compile("cited"))).to_have_count(0)


def test_fork_states_that_its_source_was_deleted(open_cockpit: OpenCockpit, server: Server) -> None:
    session = Demo(server.url).session
    source, fork = session["source_run"], session["run"]
    cockpit = open_cockpit(f"/runs/{source}", deleted_run=source)
    page = cockpit.page
    actions = cockpit.button(re.compile("^Actions of"))
    actions.click()
    page.get_by_role("menuitem", name="Delete").click()
    dialog = page.get_by_role("dialog", name="The run was not deleted")
    expect(dialog).to_contain_text("Cited by 1 fork and 1 diff report.")
    expect(dialog).to_contain_text("Forks stay, but lose every payload that they share with the run.")
    _check_looks(cockpit)
    dialog.get_by_role("button", name="Delete the cited run").click()
    expect(page.get_by_role("button", name="Restore")).to_be_visible()

    for path, notice in ((f"/runs/{fork}", "Its source was deleted on"), (f"/diffs/{session['diff']}", "The base run")):
        cockpit.go(path)
        expect(page.get_by_text(notice)).to_be_visible()
        _check_looks(cockpit)
    page.get_by_role("link", name="Open the deleted run").click()
    page.get_by_role("main").get_by_role("button", name="Restore").click()
    expect(actions).to_be_visible()
    cockpit.go(f"/runs/{fork}")
    expect(actions).to_be_visible()
    expect(page.get_by_text("Its source was deleted")).to_have_count(0)
