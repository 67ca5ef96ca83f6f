"""A real browser for tests with the mark `browser`: Debian's Chromium without a screen, driven by Playwright.

`CHROMIUM` names the browser; a test fails where it is set and no browser can start. Without it the usual names are
looked for, and the test is skipped where none is found.
"""

import importlib.util
import os
import shutil

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


def browser_path():
    """The browser, or the reason why there is none."""
    named, has_driver = os.environ.get("CHROMIUM"), importlib.util.find_spec("playwright") is not None
    if named is not None:
        found = shutil.which(named)
        assert found, f"CHROMIUM is set to {named!r}, and no program is there"
        assert has_driver, "CHROMIUM is set, and Playwright is not installed: pip install -e '.[browser]'"
        return found
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip(f"no Chromium: none of {', '.join(CHROMIUM)} is on the PATH (Debian: apt-get install chromium)")
    if not has_driver:
        pytest.skip("no Playwright: pip install -e '.[browser]'")
    return found


@pytest.fixture(scope="module")
def chromium():
    """A browser with nothing open."""
    path = browser_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium):
    """A new tab; `tab.complaints` holds errors of its programs and what its policy refused."""
    context = chromium.new_context(viewport={"width": 1300, "height": 900})
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda said: page.complaints.append(said.text) if said.type == "error" else None)
    yield page
    context.close()
