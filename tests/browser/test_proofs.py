"""Proving a cause in the browser: the estimate, the evidence, and the shared report."""

import re

from playwright.sync_api import ViewportSize, expect

from tests.browser.cockpit import DESK, PHONE, Cockpit, Scheme
from tests.browser.conftest import OpenCockpit
from tests.browser.demo import Demo
from tests.support.patience import patience_ms

PROOF_LIMIT_MS = 60_000


def _check_accessibility(cockpit: Cockpit) -> None:
    schemes: tuple[tuple[ViewportSize, Scheme], ...] = ((DESK, "light"), (PHONE, "dark"))
    for viewport, scheme in schemes:
        cockpit.show_in(viewport, scheme)
        assert cockpit.serious_accessibility_problems() == []
    cockpit.page.set_viewport_size(DESK)


def test_proof_is_started_and_shared(open_cockpit: OpenCockpit, demo: Demo) -> None:
    cockpit = open_cockpit(demo.path("diff"))
    page = cockpit.page
    expect(page.get_by_label("Verdict")).to_contain_text("medium confidence")
    page.keyboard.press("p")
    dialog = page.get_by_role("dialog", name="Prove it")
    expect(dialog).to_contain_text("Changes to test1")
    expect(dialog).to_contain_text("repeats to rule out chance")
    _check_accessibility(cockpit)
    dialog.get_by_role("button", name="Prove it").click()

    proof = page.get_by_role("region", name="Proof by replaying")
    expect(proof.get_by_role("heading", name="One change is the cause", exact=True)).to_be_visible(
        timeout=patience_ms(PROOF_LIMIT_MS)
    )
    changes = proof.get_by_role("group", name="Tested changes")
    expect(changes.get_by_role("row", name=re.compile("system prompt"))).to_contain_text("yes")
    expect(page.get_by_label("Verdict")).to_contain_text("Replays show it both ways")
    expect(page.get_by_label("Verdict")).to_contain_text("high confidence")
    proof.get_by_text("All replays").click()
    expect(proof.get_by_role("group", name="Replays of the proof")).to_contain_text("The base with only:")
    _check_accessibility(cockpit)

    cockpit.button("Share").click()
    cockpit.button("Create link").click()
    link = page.get_by_label("Copy it now: it is not shown again").input_value()
    stranger = open_cockpit(link.removeprefix(cockpit.url))
    expect(stranger.page.get_by_role("region", name="Proof by replaying")).to_contain_text("One change is the cause")
    expect(stranger.page.get_by_role("button", name=re.compile("Prove it|Run another proof"))).to_have_count(0)
    expect(stranger.page.locator("a[href*='/runs/']")).to_have_count(0)
