"""What a layout does to people who enlarge pages, use the keyboard, or want no motion."""

from typing import Any, Final

from playwright.sync_api import Page, ViewportSize

# The desk at 200 %.
ZOOMED: Final[ViewportSize] = {"width": 720, "height": 450}
# A row of one line that moves by its height in a phone.
_VISIBLE_MOVE: Final = 0.02
_CONTROLS: Final = "a[href], button, input, select, textarea, [tabindex='0'], [role=tab]"
# The visible controls of the page in the order of the Tab key, with their boxes.
_VISIBLE: Final = """const visible = (controls) => [...document.querySelectorAll(controls)]
  .filter((element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((element) => element.closest("[inert], [aria-hidden=true], [disabled]") === null)
  .map((element) => ({ element, box: element.getBoundingClientRect() }))
  .filter(({ box }) => box.width > 1 && box.height > 1);
const nameOf = ({ element }) =>
  element.getAttribute("aria-label") || element.innerText?.trim().slice(0, 40) || element.tagName;"""
# Controls beside the page that no scrolling brings into view.
_LOST: Final = (
    "(controls) => {"
    + _VISIBLE
    + """
  const isScroller = (element) =>
    /auto|scroll/.test(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth;
  const scrolls = (element) =>
    element !== document.body && (isScroller(element) || scrolls(element.parentElement));
  return visible(controls)
    .filter(({ element, box }) => (box.right > innerWidth + 1 || box.left < -1) && !scrolls(element))
    .map(nameOf);
}"""
)
# Pairs of which the Tab key visits the right one, or the lower one, first.
_JUMPS: Final = (
    "(controls) => {"
    + _VISIBLE
    + """
  const isRow = (a, b) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > Math.min(a.height, b.height) / 2;
  const siblings = (a, b) => a.parentElement === b.parentElement;
  const all = visible(controls).filter(({ element }) => element.tabIndex >= 0);
  return all.slice(1).flatMap((next, index) => {
    const last = all[index];
    if (next.element.tabIndex > 0) return [`${nameOf(next)} has a place of its own`];
    if (!siblings(last.element, next.element)) return [];
    const goesLeft = isRow(last.box, next.box) && next.box.right <= last.box.left;
    const goesUp = next.box.bottom <= last.box.top && next.box.left < last.box.right;
    return goesLeft || goesUp ? [`${nameOf(next)} is read before ${nameOf(last)}`] : [];
  });
}"""
)
# Movement that lasts. A step of a millisecond is how style sheets switch movement off.
_MOTION: Final = """() => document.getAnimations()
  .filter((animation) => animation.playState === "running" && animation.effect.getComputedTiming().duration > 1)
  .map((animation) => `${animation.animationName ?? animation.transitionProperty} moves`)"""
# Parts that moved while the page loaded, with the share of the window that they moved in.
_MOVES: Final = """() => new Promise((resolve) => {
  const nameOf = ({ node }) => (node?.innerText ?? node?.textContent ?? "").trim().slice(0, 40);
  const observer = new PerformanceObserver((list) => resolve(list.getEntries().map(
    ({ value, sources }) => [value, sources.map(nameOf).join(", ")])));
  observer.observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve([]), 100);
})"""
# Parts of an open menu or dialog beside it, unless a box on the way cuts them off or scrolls.
_SPILLED: Final = """(overlays) => [...document.querySelectorAll(overlays)].flatMap((overlay) => {
  const edge = overlay.getBoundingClientRect().right + 1;
  const isClipped = (element) =>
    element !== overlay && (getComputedStyle(element).overflowX !== "visible" || isClipped(element.parentElement));
  return [...overlay.querySelectorAll("*")]
    .filter((element) => element.getBoundingClientRect().right > edge && !isClipped(element.parentElement))
    .map((element) => element.textContent.trim().slice(0, 40) || element.tagName);
})"""


def lost_controls(page: Page) -> list[str]:
    """Return the controls that nobody can reach, because they are beside the page."""
    names: list[str] = page.evaluate(_LOST, _CONTROLS)
    return [f"“{name}” is outside the page" for name in names]


def spilled_parts(page: Page, overlays: str) -> list[str]:
    """Return the parts of open menus and dialogs that run over their edge."""
    names: list[str] = page.evaluate(_SPILLED, overlays)
    return [f"“{name}” runs over the edge" for name in names]


def focus_jumps(page: Page) -> list[str]:
    """Return where neighbours get the focus against the reading order."""
    jumps: list[str] = page.evaluate(_JUMPS, _CONTROLS)
    return jumps


def motion(page: Page) -> list[str]:
    """Return what moves on the page."""
    animations: Any = page.evaluate(_MOTION)
    return [str(name) for name in animations]


def moves(page: Page) -> list[str]:
    """Return what moved visibly after it was drawn."""
    shifts: list[tuple[float, str]] = page.evaluate(_MOVES)
    return [f"“{names}” moves ({share:.2f})" for share, names in shifts if share > _VISIBLE_MOVE]


def window_scroll(page: Page) -> list[str]:
    """Return whether the window scrolls: only the parts of a page do."""
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    window = page.evaluate("[innerWidth, innerHeight]")
    is_larger = size[0] > window[0] or size[1] > window[1]
    return [f"the page has {size[0]} × {size[1]} pixels in a window of {window[0]} × {window[1]}"] if is_larger else []


def clipped_print(page: Page) -> list[str]:
    """Return whether paper shows only a part of the page, as much as fits the window."""
    page.emulate_media(media="print")
    is_clipped: bool = page.get_by_role("main").evaluate(
        "(main) => getComputedStyle(main).overflowY !== 'visible' && main.scrollHeight > main.clientHeight"
    )
    page.emulate_media(media="screen")
    return ["the end of the page is missing"] if is_clipped else []
