"""A real server and a real browser. These tests use no database and no settings."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, ViewportSize, sync_playwright

from tests.browser.cockpit import DESK, Cockpit, Scheme
from tests.browser.demo import Demo
from tests.services import chromium
from tests.services.processes import scratch_folder
from tests.services.server import Server


@pytest.fixture(scope="session")
def server(demo_server: Server) -> Server:
    """The server that a test opens; some modules have their own."""
    return demo_server


@pytest.fixture(scope="session")
def demo_server() -> Iterator[Server]:
    """A server with the demo and no API key, as on a first visit."""
    running = Server(scratch_folder("fp-browser-") / "home")
    running.start()
    yield running
    assert running.stop() == 0, "the server did not end cleanly"


@pytest.fixture(scope="session")
def spare_server() -> Iterator[Server]:
    """A server for tests that delete runs or change what applies to all runs."""
    running = Server(scratch_folder("fp-spare-") / "home")
    running.start()
    yield running
    assert running.stop() == 0, "the server did not end cleanly"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        instance = chromium.launch(playwright, chromium.path())
        yield instance
        instance.close()


@pytest.fixture(scope="session")
def profile(browser: Browser, demo_server: Server) -> Iterator[BrowserContext]:
    """A browser profile whose cache stays warm; what pages store in it is removed before each test.

    Its first page stays open, because all pages share the process of the first, which has compiled the scripts.
    """
    with _new_profile(browser) as context:
        context.new_page().goto(demo_server.url + "/favicon.svg")
        yield context


@contextmanager
def _new_profile(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(reduced_motion="reduce")
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield context
    context.close()


OpenCockpit = Callable[..., Cockpit]


@pytest.fixture
def open_cockpit(
    server: Server, browser: Browser, profile: BrowserContext, request: pytest.FixtureRequest
) -> Iterator[OpenCockpit]:
    """Open the cockpit in an empty profile, each further one in its own. Console errors and warnings fail the test.

    `console` matches those that the test provokes.
    """
    complaints: list[str] = []
    pages: list[Page] = []
    profiles = ExitStack()

    def new_page() -> Page:
        if pages:
            return profiles.enter_context(_new_profile(browser)).new_page()
        page = profile.new_page()
        storage = {"origin": server.url, "storageTypes": "cookies,local_storage"}
        profile.new_cdp_session(page).send("Storage.clearDataForOrigin", storage)
        return page

    def collect(message: ConsoleMessage, deleted_run: str, console: re.Pattern[str] | None) -> None:
        address = message.location.get("url", "")
        # A browser logs the answer 404, which the page of a deleted run expects for the run and its comments.
        is_expected = (bool(deleted_run) and deleted_run in address) or (
            console is not None and console.search(message.text)
        )
        if message.type in ("error", "warning") and not is_expected:
            complaints.append(f"{message.text} ({address})")

    def open_page(
        path: str = "/",
        *,
        viewport: ViewportSize = DESK,
        scheme: Scheme = "light",
        deleted_run: str = "",
        console: re.Pattern[str] | None = None,
        is_first_visit: bool = False,
    ) -> Cockpit:
        page = new_page()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.on("console", lambda message: collect(message, deleted_run, console))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        pages.append(page)
        cockpit = Cockpit(page, server.url, is_first_visit=is_first_visit)
        cockpit.go(path)
        return cockpit

    yield open_page
    if hasattr(request.node, "failed_call"):
        _save_screenshots(request.node.name, pages)
    profiles.close()
    _, *further = profile.pages
    for page in further:
        page.close()
    assert not complaints, "\n".join(complaints)


def _save_screenshots(name: str, pages: list[Page]) -> None:
    folder = Path(".make") / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for number, page in enumerate(pages):
        page.screenshot(path=folder / f"{name}-{number}.png")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call" and report.failed:
        item.failed_call = True  # type: ignore[attr-defined]  # read by open_cockpit
    return report


@pytest.fixture(scope="session")
def demo(server: Server) -> Demo:
    return Demo(server.url)
