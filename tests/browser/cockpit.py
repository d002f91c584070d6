"""Page object of the cockpit, addressed by roles, labels and texts."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.support.patience import patience_ms

ROOT = Path(__file__).resolve().parent.parent.parent
AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
# The rules of WCAG 2.2 AA. Only violations are reported: listing passes takes longer than all rules.
ALL_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
# All that a theme changes about a page whose other theme was checked by every rule.
COLOR_RULES = ("color-contrast", "link-in-text-block")
SLOW_MS = 15_000
DESK: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
Scheme = Literal["light", "dark"]
# Each layout by every rule, and each colour in both themes: a phone shows the colours of the desktop.
LOOKS: tuple[tuple[ViewportSize, Scheme, Sequence[str]], ...] = (
    (DESK, "light", ALL_RULES),
    (DESK, "dark", COLOR_RULES),
    (PHONE, "dark", ALL_RULES),
)
# A script applies the theme after the media query changes, and colours in a transition belong to neither theme.
_STABLE = """(scheme) => document.documentElement.dataset.mantineColorScheme === scheme
  && document.fonts.status === "loaded"
  && !document.getAnimations().some((animation) => animation instanceof CSSTransition)"""
# A list that fits its columns to its width measures itself in one frame, and is drawn again in the next.
_DRAWN = """async () => {
  for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  await new Promise((resolve) => setTimeout(resolve));
}"""
# Mantine moves the focus into an open menu in a timer, and warns if a resize has hidden or removed the menu before.
_MENU_FOCUS = """() => {
  const menu = document.querySelector("[role=menu]");
  return menu === null || menu.contains(document.activeElement);
}"""


# Runs before the scripts of each page, also of pages without a storage.
_CLOSE_TOUR = "try { localStorage.setItem('first-visit-closed', 'true') } catch {}"


class Cockpit:
    """A page of the cockpit in its own browser profile; `is_first_visit`: it opens on the tour."""

    def __init__(self, page: Page, url: str, *, is_first_visit: bool = False) -> None:
        self.page = page
        self.url = url
        if not is_first_visit:
            page.add_init_script(_CLOSE_TOUR)
        page.set_default_timeout(patience_ms(SLOW_MS))
        expect.set_options(timeout=patience_ms(SLOW_MS))

    def go(self, path: str) -> None:
        self.page.goto(self.url + path)

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name)

    def run_links(self, name: str | re.Pattern[str] = re.compile(".")) -> Locator:
        """Return the links of the runs list, in a table or in cards."""
        return self.page.locator('main :is([role=rowgroup], [role=list]) a[href*="/runs/"]').filter(has_text=name)

    def dialog(self) -> Locator:
        """Return the open dialog or popover once its focus is settled.

        Mantine moves the focus in timers. Until then, it may take it from a field while a test fills that field.
        """
        dialog = self.page.get_by_role("dialog")
        expect(dialog.locator(":focus")).to_have_count(1)
        self.page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))")
        return dialog

    def type(self, text: str) -> None:
        """Enter a text at once, except for its last keys: after each, the form of the fork asks for its plan."""
        self.page.keyboard.insert_text(text[:-8])
        self.page.keyboard.type(text[-8:])

    def drop(self, *files: Path) -> None:
        """Drop files on the page."""
        contents = [{"name": file.name, "text": file.read_text()} for file in files]
        transfer = self.page.evaluate_handle(
            """(files) => {
                 const transfer = new DataTransfer();
                 for (const { name, text } of files) transfer.items.add(new File([text], name));
                 return transfer;
               }""",
            contents,
        )
        for event in ("dragenter", "dragover", "drop"):
            self.page.dispatch_event("main", event, {"dataTransfer": transfer})

    def show_in(self, viewport: ViewportSize, scheme: Scheme) -> None:
        """Change viewport and theme, and wait until the page is stable."""
        self.page.wait_for_function(_MENU_FOCUS)
        self.page.set_viewport_size(viewport)
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        self.page.wait_for_function(_STABLE, arg=scheme)
        self.page.evaluate(_DRAWN)

    def serious_accessibility_problems(self, rules: Sequence[str] = ALL_RULES, *, within: str = "html") -> list[str]:
        """Serious and critical violations of rules, or of the rules with tags, that axe finds, with their elements.

        `within` selects the elements that are read; at least one must exist.
        """
        # What is loaded again is pale until it arrives.
        expect(self.page.locator("[aria-busy=true]")).to_have_count(0)
        # The content security policy blocks added scripts, but the debugger may evaluate one.
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        options = {"runOnly": list(rules), "resultTypes": ["violations"]}
        results: dict[str, Any] = self.page.evaluate(
            "([within, options]) => axe.run(within, options)", [within, options]
        )
        return [
            f"{violation['impact']}: {violation['id']} {node['target']} {node['failureSummary']}"
            for violation in results["violations"]
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]
