"""What users of the cockpit wait for, measured in Chromium. Times are those of the clock: other work counts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Final, Literal

from playwright.sync_api import Page, expect

from tests.bench.browser.cockpit import long_run, open_browser, settle
from tests.bench.case import Case

View = Literal["transcript", "tree"]
_LOADS: Final = 5
_KEYS: Final = 60
_FRAMES: Final = 240
_TEXT: Final = " Order totals are in cents, refunds are in euros: convert before you refund."
_LISTS: Final[dict[View, str]] = {"tree": "[role=tree]", "transcript": "[role=feed]"}
_ROW: Final = ":is([role=treeitem], article)"
_SELECTED_ROW: Final = ":is([role=treeitem][aria-selected=true], article[aria-current=step])"
# Resolves with the time from the start of the navigation to the frame after the first row.
_FIRST_ROWS: Final = """(row) => new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector(row)) return requestAnimationFrame(look);
    requestAnimationFrame(() => resolve(performance.now()));
  };
  look();
})"""
# Collects the time from each key to the frame after another row is selected.
_WATCH_SELECTION: Final = """(row) => {
  window.keyTimes = [];
  let start = null;
  const selected = () => document.querySelector(row)?.innerText;
  let last = selected();
  addEventListener("keydown", (event) => { start = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (start === null || selected() === undefined || selected() === last) return;
    last = selected();
    const pressed = start;
    start = null;
    requestAnimationFrame(() => window.keyTimes.push(performance.now() - pressed));
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""
# Scrolls a list by the height of three rows per frame, and resolves with the times of the frames.
_SCROLL: Final = """([list, count]) => new Promise((resolve) => {
  const scroller = document.querySelector(list);
  const times = [];
  let last = null;
  const frame = (now) => {
    if (last !== null) times.push(now - last);
    last = now;
    if (times.length === count) return resolve(times);
    scroller.scrollTop += 84;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
})"""


def first_rows_s(steps: int, view: View) -> float:
    """Measure from the navigation to the first rows of a run, without a cache."""
    address, times = long_run(steps), []
    for _ in range(_LOADS):
        with open_browser() as cockpit:
            cockpit.go(f"{address}?view={view}")
            times.append(cockpit.page.evaluate(_FIRST_ROWS, _ROW))
    return float(median(times)) / 1000


def key_p95_ms(view: View) -> float:
    """Measure the time from `j` to the selection of the next step."""
    with _open_long_run(f"view={view}") as page:
        page.evaluate(_WATCH_SELECTION, _SELECTED_ROW)
        for number in range(_KEYS):
            page.keyboard.press("j")
            page.wait_for_function("(count) => window.keyTimes.length === count", arg=number + 1)
        return _p95(page.evaluate("window.keyTimes"))


def frame_p95_ms(view: View) -> float:
    """Measure the frames of a list that scrolls."""
    with _open_long_run(f"view={view}") as page:
        return _p95(page.evaluate(_SCROLL, [_LISTS[view], _FRAMES]))


def kilobytes_on_the_wire(*, is_first_visit: bool) -> float:
    """Return the compressed bytes of the first page until nothing is loaded any more."""
    with open_browser(is_first_visit=is_first_visit) as cockpit:
        session = cockpit.page.context.new_cdp_session(cockpit.page)
        session.send("Network.enable")
        sizes: list[float] = []
        session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
        cockpit.go("/")
        expect(cockpit.page.get_by_role("main")).to_be_visible()
        settle(cockpit.page)
        return sum(sizes) / 1000


def longest_task_while_typing_ms() -> float:
    """Type into a long prompt of a long run, and return the longest task of the page."""
    with _open_long_run("view=tree&step=1&fork=1") as page:
        expect(page.get_by_role("textbox", name="System prompt")).to_be_focused()
        page.keyboard.press("Control+End")
        browser = page.context.browser
        assert browser is not None
        browser.start_tracing(page=page, categories=["toplevel", "devtools.timeline"])
        page.keyboard.type(_TEXT, delay=60)
        expect(page.get_by_role("region", name="Fork", exact=True)).to_contain_text("+1 sentence")
        settle(page)
        return _longest_task_ms(browser.stop_tracing())


@contextmanager
def _open_long_run(search: str) -> Iterator[Page]:
    # Before the browser: its driver runs an event loop in this thread, in which Django refuses queries.
    address = long_run(10_000)
    with open_browser() as cockpit:
        cockpit.go(f"{address}?{search}")
        page = cockpit.page
        expect(page.locator(_ROW).first).to_be_visible()
        expect(page.get_by_text("Loading the other steps")).to_have_count(0)
        settle(page)
        yield page


def _longest_task_ms(trace: bytes) -> float:
    """Return the longest task on the main thread of the page, in milliseconds."""
    events = json.loads(trace)["traceEvents"]
    pages = {event["pid"] for event in events if event.get("name") == "thread_name" and _is_page(event)}
    threads = {(event["pid"], event["tid"]) for event in events if event["pid"] in pages and _is_page(event)}
    tasks = [
        event["dur"]
        for event in events
        if event["name"].endswith("RunTask") and (event["pid"], event["tid"]) in threads and "dur" in event
    ]
    return float(max(tasks)) / 1000


def _is_page(event: dict[str, object]) -> bool:
    return event.get("args") == {"name": "CrRendererMain"}


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


BROWSER_CASES: Final = (
    Case("browser: first rows of 10,000 steps", 1, "at_most", "s", lambda: first_rows_s(10_000, "tree")),
    Case("browser: first turns of 10,000 steps", 1, "at_most", "s", lambda: first_rows_s(10_000, "transcript")),
    Case("browser: first rows of 100,000 steps", 1, "at_most", "s", lambda: first_rows_s(100_000, "tree")),
    Case("browser: j in the tree, p95", 50, "at_most", "ms", lambda: key_p95_ms("tree")),
    Case("browser: j in the transcript, p95", 50, "at_most", "ms", lambda: key_p95_ms("transcript")),
    Case("browser: frames of the scrolling tree, p95", 20, "at_most", "ms", lambda: frame_p95_ms("tree")),
    Case("browser: frames of the scrolling transcript, p95", 20, "at_most", "ms", lambda: frame_p95_ms("transcript")),
    Case("browser: first visit, as sent", 300, "at_most", "kB", lambda: kilobytes_on_the_wire(is_first_visit=True)),
    Case("browser: runs list, as sent", 300, "at_most", "kB", lambda: kilobytes_on_the_wire(is_first_visit=False)),
    Case("browser: longest task while typing", 50, "at_most", "ms", longest_task_while_typing_ms),
)
