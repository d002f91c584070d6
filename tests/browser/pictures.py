"""Take the pictures of README.md from the demo: `python -m tests.browser.pictures`."""

import re
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.cockpit import DESK, Cockpit
from tests.browser.demo import Demo
from tests.services import chromium
from tests.services.processes import scratch_folder
from tests.services.server import Server
from tests.support.patience import patience_ms

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "images"
CENTS: Final = "Order totals are in cents, refunds are in euros: convert before you refund."


def take_all(page: Page, server_url: str) -> None:
    """Take each picture, in the order of the README's five minutes."""
    cockpit = Cockpit(page, server_url)
    demo = Demo(server_url)
    cockpit.go(demo.path("fork"))
    prompt = page.get_by_role("textbox", name="System prompt")
    prompt.fill(prompt.input_value().replace("\n\n", f"\n{CENTS}\n\n", 1))
    expect(page.get_by_role("region", name="Plan")).to_contain_text("simulated")
    _take(cockpit, "fork")
    cockpit.go(demo.path("diff"))
    cockpit.button("Prove it").click()
    cockpit.dialog().get_by_role("button", name="Prove it").click()
    proven = page.get_by_role("heading", name="One change is the cause", exact=True)
    expect(proven).to_be_visible(timeout=patience_ms(60_000))
    _take(cockpit, "diff")


def _take(cockpit: Cockpit, name: str) -> None:
    cockpit.show_in(DESK, "light")
    # A toast would hide a part of the page.
    expect(cockpit.page.get_by_role("alert").filter(has_text=re.compile("."))).to_have_count(0)
    cockpit.page.screenshot(path=FOLDER / f"{name}.png")


def main() -> None:
    server = Server(scratch_folder("fp-pictures-") / "home")
    server.start()
    with sync_playwright() as playwright:
        browser = chromium.launch(playwright, chromium.path())
        page = browser.new_page(viewport=DESK, reduced_motion="reduce")
        page.goto(server.url)
        take_all(page, server.url)
        browser.close()
    server.stop()


if __name__ == "__main__":
    main()
