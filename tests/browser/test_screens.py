"""Accessibility of every screen, in both themes, on desktop and phone, and enlarged."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, ViewportSize, expect

from tests.browser.cockpit import DESK, LOOKS, PHONE, Cockpit, Scheme
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.browser.layout import (
    ZOOMED,
    clipped_print,
    focus_jumps,
    lost_controls,
    motion,
    moves,
    spilled_parts,
    window_scroll,
)
from tests.support.patience import wait_until

SCREENS = (
    "runs",
    "run",
    "step",
    "tree view",
    "timeline",
    "graph",
    "fork",
    "activity",
    "replay",
    "diff",
    "compare",
    "tools",
    "connect",
    "runners",
    "hooks",
    "redaction",
    "settings",
    "matching",
    "share",
    "shared run",
    "shared replay",
    "shared tree",
    "new experiment",
    "experiment",
    "outcomes",
    "retention",
    "bisection",
    "tree",
    "tour",
    "login",
    "help",
    "palette",
)
LOOKS_OF_OVERLAYS: tuple[tuple[ViewportSize, Scheme], ...] = ((DESK, "light"), (PHONE, "dark"))
# Overlays of a screen, opened by the name of a button or by a key.
OVERLAYS: dict[str, tuple[str | re.Pattern[str], ...]] = {
    "runs": ("App", "Started", "More"),
    "run": (
        re.compile("^Actions of"),
        re.compile("forks?$"),
        "Filter by type",
        re.compile("tokens$"),
        "key b",
    ),
    "diff": ("Export", "key s", re.compile("^(Prove it|Run another proof)")),
    "tools": ("key j Enter",),
    "settings": ("New token",),
    "retention": ("Add a policy",),
}


@pytest.mark.parametrize("screen", SCREENS)
def test_screen_is_accessible(open_cockpit: OpenCockpit, demo: Demo, screen: str) -> None:
    cockpit = open_cockpit(demo.path(screen))
    page = cockpit.page
    expect(page.get_by_role("main")).to_be_visible()
    page.wait_for_load_state("networkidle")
    if screen in demo.KEYS:
        page.keyboard.press(demo.KEYS[screen])
        expect(page.get_by_role("dialog")).to_be_visible()
    problems: list[str] = []
    for viewport, scheme, rules in LOOKS:
        cockpit.show_in(viewport, scheme)
        results = [*cockpit.serious_accessibility_problems(rules), *window_scroll(page)]
        if (viewport, scheme) == (DESK, "light"):
            results += [*focus_jumps(page), *motion(page)]
        problems += [f"{scheme}, {viewport['width']} wide: {problem}" for problem in results]
    # The theme stays: it changes no layout.
    cockpit.show_in(ZOOMED, "dark")
    zoomed = [*window_scroll(page), *lost_controls(page), *focus_jumps(page), *motion(page)]
    problems += [f"enlarged: {problem}" for problem in zoomed]
    if screen == "diff":
        problems += [f"printed: {problem}" for problem in clipped_print(page)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(("view", "viewport"), [("run", ZOOMED), ("tree view", ZOOMED), ("fork", PHONE)])
def test_small_window_opens_a_run_on_its_head(
    open_cockpit: OpenCockpit, demo: Demo, view: str, viewport: ViewportSize
) -> None:
    cockpit = open_cockpit(demo.path(view), viewport=viewport)
    page = cockpit.page
    page.wait_for_load_state("networkidle")
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    assert moves(page) == []
    # Out of a field of the fork.
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="Filter the steps")).to_be_focused()


@pytest.mark.parametrize("screen", OVERLAYS)
def test_overlay_is_accessible(open_cockpit: OpenCockpit, demo: Demo, screen: str) -> None:
    cockpit = open_cockpit(demo.path(screen))
    page = cockpit.page
    page.wait_for_load_state("networkidle")
    overlays = "[role=menu], [role=dialog]"
    overlay = page.locator(overlays).filter(visible=True)
    problems: list[str] = []
    for viewport, scheme in LOOKS_OF_OVERLAYS:
        cockpit.show_in(viewport, scheme)
        if screen == "runs" and viewport is PHONE:
            cockpit.button("Filters and order").click()
        for opener in OVERLAYS[screen]:
            _open(cockpit, opener)
            expect(overlay.first).to_be_visible()
            # The screen below was read by itself.
            found = [*cockpit.serious_accessibility_problems(within=overlays), *spilled_parts(page, overlays)]
            problems += [f"{opener}, {scheme}: {problem}" for problem in found]
            page.keyboard.press("Escape")
            expect(overlay).to_have_count(0)
    assert not problems, "\n".join(problems)


def _open(cockpit: Cockpit, opener: str | re.Pattern[str]) -> None:
    if isinstance(opener, str) and opener.startswith("key "):
        for key in opener.split()[1:]:
            cockpit.page.keyboard.press(key)
    else:
        cockpit.button(opener).first.click()


def test_exported_report_is_accessible_offline(open_cockpit: OpenCockpit, demo: Demo, tmp_path: Path) -> None:
    # Its control replay is in the report.
    demo.path("bisection")
    cockpit = open_cockpit("/login")
    report = tmp_path / "report.html"
    report.write_text(cockpit.page.request.get(demo.url("report file")).text())
    page = cockpit.page.context.new_page()  # the first one may still ask for its icon
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for viewport, scheme, rules in LOOKS:
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.goto(report.as_uri())
        expect(page.get_by_role("main")).to_contain_text("Without the changes")
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        assert Cockpit(page, "").serious_accessibility_problems(rules) == []
    assert set(requests) == {report.as_uri()}


def test_compare_lists_the_family_first_and_takes_keys(open_cockpit: OpenCockpit, demo: Demo) -> None:
    page = open_cockpit(f"/compare?base={demo.failed_run}").page
    family = page.get_by_role("group", name="Same recorded run and its forks").get_by_role("option")
    expect(family.filter(has_text="+ “Order totals are in cents").first).to_contain_text("I have refunded")
    page.get_by_role("combobox", name="Search runs for the candidate").press("ArrowDown")
    expect(family.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("candidate="))


def test_four_places_and_one_activity_list(open_cockpit: OpenCockpit, demo: Demo) -> None:
    for screen in ("experiment", "bisection"):
        demo.path(screen)
    cockpit = open_cockpit(demo.path("activity"))
    page = cockpit.page
    places = page.get_by_role("navigation", name="Main").get_by_role("link")
    for viewport in (DESK, PHONE):
        page.set_viewport_size(viewport)
        for place in ("Runs", "Activity", "Tools", "Settings"):
            expect(places.get_by_text(place, exact=True)).to_be_visible()
    page.set_viewport_size(DESK)
    rows = page.get_by_role("row")
    expect(rows.filter(has_text="+ “Order totals are in cents").first).to_contain_text("Failed")
    # Of its kind, because the first page of all contains only the latest work of other tests.
    page.get_by_text("Experiments", exact=True).click()
    expect(page).to_have_url(re.compile("kind=experiment"))
    expect(rows.filter(has_text="Units").first).to_contain_text("4 of 4 replays done")
    page.get_by_text("Bisections", exact=True).click()
    expect(page).to_have_url(re.compile("kind=bisection"))
    expect(rows.filter(has_text="Units")).to_have_count(0)
    for former, kind in (("replays", "replay"), ("diffs", "diff"), ("experiments", "experiment")):
        cockpit.go(f"/{former}")
        expect(page).to_have_url(re.compile(f"/activity\\?kind={kind}"))
    cockpit.go(f"/runs/{demo.failed_run}/tree")
    expect(page).to_have_url(re.compile(f"/tree/{demo.failed_run}"))
    cockpit.go("/runs")
    expect(page).to_have_url(f"{cockpit.url}/")
    cockpit.go("/runs?app=order-desk")
    expect(page).to_have_url(f"{cockpit.url}/?app=order-desk")


def test_runs_are_sorted_and_forks_are_below_their_source(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(f"{demo.path('runs')}?app=order-desk")
    page = cockpit.page
    forks = page.locator("[data-fork=true]")
    toggle = cockpit.button(re.compile("^Forks of My order A-1042"))
    if toggle.get_attribute("aria-expanded") == "false":
        toggle.click()
    expect(forks.filter(has_text="+ “Order totals are in cents").first).to_contain_text("I have refunded 42.00 EUR")
    toggle.click()
    expect(forks).to_have_count(0)
    cockpit.button("Forks nested").click()
    expect(page).to_have_url(re.compile("forks=listed"))
    row = page.get_by_role("row").filter(has_text="+ “Order totals are in cents").first
    expect(row).to_contain_text("of My order A-1042")
    expect(row).to_contain_text(re.compile("I am sorry.*I have refunded 42.00 EUR"))
    head = page.get_by_role("columnheader", name="Duration")
    for direction, sort in (("descending", "-duration"), ("ascending", "duration")):
        head.get_by_role("button").click()
        expect(head).to_have_attribute("aria-sort", direction)
        expect(page).to_have_url(re.compile(f"sort={sort}"))
    cockpit.button("Columns").click()
    cockpit.dialog().get_by_label("Duration").uncheck()
    assert not cockpit.serious_accessibility_problems()
    expect(head).to_have_count(0)
    page.reload()
    expect(page.get_by_role("columnheader", name="Tokens")).to_be_visible()
    expect(head).to_have_count(0)
    page.set_viewport_size(PHONE)
    cockpit.button("Filters and order").click()
    page.get_by_role("combobox", name="Order").click()
    page.get_by_role("option", name="Most expensive first").click()
    expect(page).to_have_url(re.compile("sort=-cost"))


def test_list_keeps_long_names_and_tags_in_place(open_cockpit: OpenCockpit) -> None:
    name = "I would like to return the blue lamp and the two chairs, please"
    chat = {"messages": [{"role": "user", "content": name}], "tags": ["run:" + "-".join(["retail"] * 20)]}
    cockpit = open_cockpit("/")
    page = cockpit.page
    answer = page.request.post(
        cockpit.url + "/api/v1/runs/import?filename=long.json&app=order-desk",
        data=json.dumps(chat).encode(),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert answer.ok
    cockpit.go("/?app=order-desk")
    link = cockpit.run_links(name)
    table = page.locator("main [aria-label=Runs]")
    for width in (720, 768, 834, 1024, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        # The page renders the columns of a width after the browser has changed it.
        wait_until(lambda: _width(link) > 180, 5, lambda: f"the name has {_width(link)} px of {page.viewport_size}")
        wait_until(lambda: table.evaluate("(element) => element.scrollWidth === element.clientWidth"), 5)
    for viewport in (DESK, PHONE):
        page.set_viewport_size(viewport)
        if viewport is PHONE:
            cockpit.button("Filters and order").click()
        cockpit.button("Tag").click()
        expect(page.get_by_role("dialog").get_by_text(re.compile("^run:retail"))).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        page.keyboard.press("Escape")


def _width(link: Locator) -> float:
    box = link.bounding_box()
    return box["width"] if box else 0


def test_bundled_fonts_are_used(open_cockpit: OpenCockpit, demo: Demo) -> None:
    page = open_cockpit(demo.path("run")).page
    # Fonts are loaded when the first text needs them.
    page.wait_for_function(
        """(families) => families.every((family) => [...document.fonts].some(
             (face) => face.status === "loaded" && face.family.replaceAll('"', "") === family))""",
        arg=["Inter Variable", "JetBrains Mono Variable"],
    )
    assert "Inter Variable" in page.evaluate("getComputedStyle(document.querySelector('main')).fontFamily")


def test_unknown_address_shows_not_found(open_cockpit: OpenCockpit) -> None:
    cockpit = open_cockpit("/no/such/page")
    expect(cockpit.page.get_by_role("main")).to_contain_text("Page not found")
    assert cockpit.serious_accessibility_problems() == []
