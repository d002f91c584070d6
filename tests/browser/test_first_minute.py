"""The first minute: the tour that a first visit opens on, and the journey of the README however it is typed."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, Page, Route, ViewportSize, expect

from tests.browser.cockpit import DESK, PHONE, Cockpit
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.support.patience import patience_ms

TRANSCRIPT: Final = Path(__file__).resolve().parent.parent / "fixtures" / "importers" / "openai_messages.json"
CENTS: Final = "Order totals are in cents, refunds are in euros: convert before you refund."


# The size of the text and the width of the page, once the browser's text has twice its size.
_DOUBLED = """() => {
  document.documentElement.style.fontSize = "200%";
  const sizes = [parseFloat(getComputedStyle(document.body).fontSize), document.documentElement.scrollWidth];
  document.documentElement.style.fontSize = "";
  return sizes;
}"""


def _filled_buttons(page: Page) -> Locator:
    # Filled is the default, which no attribute states.
    buttons = page.locator("main .mantine-Button-root:not([data-variant]), main [data-variant=filled]")
    return buttons.filter(visible=True)


@pytest.mark.parametrize(("viewport", "scheme"), [(DESK, "light"), (PHONE, "dark")])
def test_first_visit_leads_to_the_proof(
    open_cockpit: OpenCockpit, demo: Demo, viewport: ViewportSize, scheme: str
) -> None:
    cockpit = open_cockpit("/", viewport=viewport, scheme=scheme, is_first_visit=True)
    page = cockpit.page
    expect(page).to_have_url(re.compile("/tour$"))
    expect(page.get_by_role("heading", name="Forkpoint replays a recorded agent run")).to_be_visible()
    story = page.get_by_role("region", name="The failed run and its fork")
    expect(story).to_contain_text("issue_refund(A-1042, 4200, damaged)")
    expect(page.get_by_label("System prompt")).to_have_value(re.compile(f"{re.escape(CENTS)}$"))
    expect(_filled_buttons(page)).to_have_text(["Replay from step 5"])
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]

    page.get_by_label("System prompt").press("Tab")
    expect(cockpit.button("Replay from step 5")).to_be_focused()
    page.keyboard.press("Enter")
    steps = page.get_by_role("list", name="Steps of the replay").get_by_role("listitem")
    expect(steps.filter(has_text=re.compile("exact|cached|simulated"))).to_have_count(11)
    expect(page).to_have_url(re.compile("/diffs/"))
    bar = page.get_by_role("region", name="Tour")
    expect(bar.locator("[aria-current=step]")).to_have_text("3Read")
    expect(page.get_by_label("Verdict")).to_contain_text("Passed")
    expect(_filled_buttons(page)).to_have_text([re.compile("^Prove it")])
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    # As for a reader who set the browser's text to twice its size.
    size, width = page.evaluate(_DOUBLED)
    assert size == 26
    assert width <= viewport["width"]
    bar.get_by_role("button", name="Close the tour").click()
    expect(bar).to_have_count(0)


def test_tour_is_closed_and_opened_again(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/", is_first_visit=True)
    page = cockpit.page
    hero = page.get_by_role("region", name="The failed run and its fork")
    expect(hero).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).hover()
    page.keyboard.press("Escape")
    expect(cockpit.run_links().first).to_be_visible()
    cockpit.go("/")
    expect(cockpit.run_links().first).to_be_visible()

    page.keyboard.press("?")
    cockpit.dialog().get_by_role("link", name="Take the tour").click()
    expect(hero).to_be_visible()
    cockpit.button("Close the tour").click()
    expect(cockpit.run_links().first).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("tour")
    expect(page.get_by_role("combobox", name="Search pages, actions and runs")).to_have_value("tour")
    page.get_by_role("option", name=re.compile("^Tour of the demo")).click()
    expect(hero).to_be_visible()


def test_own_file_can_be_dropped_on_the_tour(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/", is_first_visit=True)
    expect(cockpit.button("Replay from step 5")).to_be_visible()
    cockpit.drop(TRANSCRIPT)
    cockpit.button("Open the run").click()
    expect(cockpit.page.get_by_role("feed", name="Transcript")).to_contain_text("find_book(")


def test_page_says_that_it_loads(open_cockpit: OpenCockpit) -> None:
    cockpit = open_cockpit("/favicon.svg")
    scripts: list[Route] = []
    cockpit.page.route("**/assets/index-*.js", lambda script: scripts.append(script))
    cockpit.page.goto(cockpit.url, wait_until="commit")
    loading = cockpit.page.get_by_text("Loading Forkpoint…")
    expect(loading).to_be_visible()
    for script in scripts:
        script.continue_()
    expect(cockpit.run_links().first).to_be_visible()
    expect(loading).to_be_hidden()


def test_address_with_filter_opens_no_tour(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit("/?q=refund", is_first_visit=True)
    expect(cockpit.run_links().first).to_be_visible()


def _type_at_end(cockpit: Cockpit) -> None:
    cockpit.page.keyboard.press("Control+End")
    cockpit.type(f" {CENTS}")


def _type_at_start(cockpit: Cockpit) -> None:
    cockpit.page.keyboard.press("Control+Home")
    cockpit.type(f"{CENTS} ")


def _type_on_new_line(cockpit: Cockpit) -> None:
    cockpit.page.keyboard.press("Control+End")
    cockpit.page.keyboard.press("Enter")
    cockpit.type(CENTS)


def _paste(cockpit: Cockpit) -> None:
    page = cockpit.page
    page.evaluate("(text) => navigator.clipboard.writeText(text)", f"\n{CENTS}\n")
    page.keyboard.press("Control+End")
    page.keyboard.press("Control+v")


def test_sentence_fixes_the_run_however_it_is_typed(open_cockpit: OpenCockpit, demo: Demo) -> None:
    """Each way ends with the refund of 42 euros, and the agent's own check passes."""
    cockpit = open_cockpit(demo.path("run"))
    ways: tuple[Callable[[Cockpit], None], ...] = (_type_at_end, _type_at_start, _type_on_new_line, _paste)
    for way in ways:
        session = _replay_with(cockpit, demo, way)
        calls = [step["summary"] for step in demo.ask(f"/runs/{session['run']}/steps")["steps"]]
        assert "issue_refund(A-1042, 42, damaged)" in calls, f"{way.__name__}: {session['answer']}"
        assert (session["engine"], session["outcome"]) == ("agent", "passed"), way.__name__


def _replay_with(cockpit: Cockpit, demo: Demo, way: Callable[[Cockpit], None]) -> dict[str, Any]:
    """Fork the failed run from the keyboard as the README says, and return the ended replay."""
    page = cockpit.page
    # Before the page opens: it reads the draft of the last fork as soon as it renders.
    page.evaluate("sessionStorage.clear()")
    cockpit.go(demo.path("step"))
    expect(cockpit.button(re.compile("^Fork from step 5"))).to_be_visible()
    page.keyboard.press("f")
    expect(page.get_by_role("textbox", name="System prompt")).to_be_focused()
    way(cockpit)
    expect(page.get_by_role("region", name="Fork", exact=True)).to_contain_text("+1 sentence")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile("/replays/"), timeout=patience_ms(15_000))
    return demo.wait_for_end(page.url.rpartition("/")[2])
