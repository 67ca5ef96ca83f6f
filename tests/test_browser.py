"""Which browser tests take: the one that is named, or none is a failure; without a name, none is a skip."""

import shutil

import pytest

from tests import browser


def test_a_browser_that_is_named_and_not_there_is_a_failure(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(AssertionError, match=r"CHROMIUM is set to '/nowhere/chromium', and no program is there"):
        browser.browser_path()


def test_a_named_browser_without_its_driver_is_a_failure(monkeypatch):
    monkeypatch.setenv("CHROMIUM", "sh")
    monkeypatch.setattr(browser.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(AssertionError, match="Playwright is not installed"):
        browser.browser_path()


def test_no_browser_is_a_skip_that_names_what_was_looked_for(monkeypatch):
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(pytest.skip.Exception, match="none of chromium, chromium-browser, google-chrome is on the PATH"):
        browser.browser_path()
