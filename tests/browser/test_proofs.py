"""Proving a cause in the browser: the estimate, the evidence, and the shared report."""

import re

from playwright.sync_api import ViewportSize, expect

from tests.browser.cockpit import DESK, PHONE, Cockpit, Scheme
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.support.patience import patience_ms

PROOF_LIMIT_MS = 60_000
HEADLINE = (
    "One added sentence in the system prompt changed issue_refund's amount from 4200 to 42, so its status was refunded "
    "instead of refused."
)


def _check_accessibility(cockpit: Cockpit) -> None:
    schemes: tuple[tuple[ViewportSize, Scheme], ...] = ((DESK, "light"), (PHONE, "dark"))
    for viewport, scheme in schemes:
        cockpit.show_in(viewport, scheme)
        assert cockpit.serious_accessibility_problems() == []
    cockpit.page.set_viewport_size(DESK)


def test_proof_is_started_and_shared(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(demo.path("diff"))
    page = cockpit.page
    verdict = page.get_by_label("Verdict")
    expect(verdict.get_by_role("heading", level=2)).to_have_text(HEADLINE)
    expect(verdict).to_contain_text("medium confidence")
    expect(verdict.get_by_label("Answer of the base")).to_contain_text("Failed")
    expect(verdict.get_by_label("Answer of the candidate")).to_contain_text("42.00 EUR")
    _check_phone_shows_answers(cockpit)
    _check_one_scroll(cockpit)
    page.keyboard.press("p")
    dialog = page.get_by_role("dialog", name="Prove it")
    expect(dialog.get_by_role("button", name="Prove it")).to_be_focused()
    engine = dialog.get_by_role("region", name="Engine")
    assert engine.evaluate("(choice) => choice.scrollHeight <= choice.clientHeight"), "the choice is cut off"
    expect(dialog).to_contain_text(re.compile(r"about \d+ replays · up to \d+ live calls"))
    expect(dialog.get_by_label("Max replays")).to_have_count(0)
    dialog.get_by_text("Advanced").click()
    for label in ("Max replays", "Max live calls", "Budget (USD)"):
        expect(dialog.get_by_label(label)).to_be_visible()
    expect(dialog).to_contain_text("Changes to test1")
    expect(dialog).to_contain_text("repeats to rule out chance")
    _check_accessibility(cockpit)
    dialog.get_by_role("button", name="Prove it").click()

    proof = verdict.get_by_role("region", name="Proof by replaying")
    expect(proof.get_by_role("progressbar", name="Replays")).to_be_visible()
    expect(cockpit.button("Stop")).to_be_visible()
    expect(proof.get_by_role("heading", name="One change is the cause", exact=True)).to_be_visible(
        timeout=patience_ms(PROOF_LIMIT_MS)
    )
    tests = proof.get_by_role("list", name="Tests")
    expect(tests.get_by_role("listitem").filter(has_text="Only this change applied")).to_contain_text("new answer, ")
    expect(tests.get_by_role("listitem").filter(has_text="Base unchanged")).to_contain_text("recorded answer, ")
    expect(verdict).to_contain_text("high confidence")
    expect(verdict.get_by_role("heading", level=2)).to_have_text(HEADLINE)
    proof.get_by_text("Changes, replays and assumptions").click()
    changes = proof.get_by_role("group", name="Tested changes")
    expect(changes.get_by_role("row", name=re.compile("system prompt"))).to_contain_text("yes")
    expect(proof.get_by_role("group", name="Replays of the proof")).to_contain_text("The base with only:")
    _check_accessibility(cockpit)

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cockpit.button("Share").click()
    cockpit.button("Create and copy link").click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    link = page.get_by_label("Copy it now: it is not shown again").input_value()
    assert page.evaluate("navigator.clipboard.readText()") == link
    stranger = open_cockpit(link.removeprefix(cockpit.url))
    expect(stranger.page.get_by_role("region", name="Proof by replaying")).to_contain_text("One change is the cause")
    expect(stranger.page.get_by_role("button", name=re.compile("Prove it|Run another proof"))).to_have_count(0)
    expect(stranger.page.locator("a[href*='/runs/']")).to_have_count(0)


def _check_phone_shows_answers(cockpit: Cockpit) -> None:
    """Both answers begin on the first screen of a phone."""
    cockpit.show_in(PHONE, "light")
    box = cockpit.page.get_by_label("Answer of the candidate").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] < PHONE["height"]
    cockpit.show_in(DESK, "light")


def _check_one_scroll(cockpit: Cockpit) -> None:
    """Only the page scrolls down, and its index leads to a section."""
    inner_scrollers = cockpit.page.evaluate(
        """() => [...document.querySelectorAll("#main *")].filter((element) =>
             ["auto", "scroll"].includes(getComputedStyle(element).overflowY)
             && element.scrollHeight > element.clientHeight + 1).length"""
    )
    assert inner_scrollers == 0
    index = cockpit.page.get_by_role("navigation", name="Sections")
    index.get_by_role("button", name=re.compile("^Output")).click()
    expect(cockpit.page.get_by_role("region", name="Output")).to_be_in_viewport()
    expect(index).to_be_in_viewport()
    index.get_by_role("button", name=re.compile("^Steps")).click()
