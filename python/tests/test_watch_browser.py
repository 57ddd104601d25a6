"""The page of a live device in a browser: what it shows, by keyboard, and when all ends."""

import threading

import pytest
from browser import BROWSER, Browser
from short_client import READ, WRITE, Client

import ssdlab

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

SMALL = {"device.blocks_per_plane": 16, "run.precondition": "random:1"}
LIVE = "document.getElementById('link').dataset.is === 'live'"


@pytest.fixture
def watched(tmp_path):
    """A live drive under a client that goes on; the device, its page, and what opens a browser."""
    live = ssdlab.serve("agrawal2008", size="8MiB", socket=tmp_path / "s", set=SMALL)
    page = live.watch()
    client, ended, browsers = Client(tmp_path / "s"), threading.Event(), []

    def use():
        number = 0
        try:
            while not ended.wait(0.002):
                number += 1
                client.send(WRITE, number * 8192 % (4 << 20), 8192, data=bytes(8192))
                client.answer()
                client.send(READ, number * 4096 % (4 << 20), 4096)
                client.answer(4096)
        except (AssertionError, OSError):
            pass  # The device has ended.

    user = threading.Thread(target=use)
    user.start()

    def browse(address=page.url_with_key, **options):
        browsers.append(Browser(tmp_path / f"profile{len(browsers)}", **options))
        browsers[-1].open(address)
        return browsers[-1]

    try:
        yield live, page, browse
    finally:
        ended.set()
        user.join()
        for browser in browsers:
            browser.close()
        page.close()
        live.stop()


def text(browser, name):
    return browser.run(f"document.getElementById('{name}').textContent")


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_it_is_shown_and_asks_for_nothing_else(watched, width):
    _, page, browse = watched
    browser = browse(width=width, dark=width == 768)
    browser.until(f"{LIVE} && document.getElementById('say').textContent.includes('latency is')")
    browser.until("document.getElementById('mapsay').textContent.includes('erased')")
    assert text(browser, "device") == "agrawal2008, 8 MiB"
    root = "document.documentElement"
    assert browser.run(f"{root}.scrollWidth <= {root}.clientWidth")
    labels = browser.run(
        "[...document.querySelectorAll('canvas')].map(e => e.getAttribute('aria-label'))"
    )
    assert len(labels) == 7 and all(": " in it for it in labels), labels
    assert "NaN" not in browser.run("document.body.innerText")
    assert browser.said == []
    assert {url.split("/")[2] for url in browser.asked if not url.startswith("data:")} == {
        page.url.split("/")[2]
    }


@pytest.mark.nightly
def test_everything_goes_by_keyboard(watched):
    live, _, browse = watched
    browser = browse(calm=True)
    browser.until(LIVE)
    assert (
        browser.run("getComputedStyle(document.querySelector('.pill i')).animationName") == "none"
    )
    browser.key("2")
    assert browser.run("document.querySelector('#span [aria-pressed=true]').textContent") == "3 min"
    browser.key("e")
    browser.until("document.getElementById('mapkey').textContent.includes('erasures')")
    browser.key(" ", "Space")
    assert text(browser, "pause") == "Continue" and "paused" in text(browser, "link")
    browser.key(" ", "Space")
    browser.until(LIVE)
    browser.run("document.querySelector('.strip').focus()")
    browser.key("ArrowLeft")
    assert "ago: Requests" in text(browser, "live")
    browser.key("Escape")
    browser.run("document.getElementById('map').focus()")
    browser.key("ArrowRight")
    assert text(browser, "live").startswith("Block 1 of package 0: ")
    # An order: a field, and Enter.
    browser.run("document.querySelector('form[aria-label=Slow] input').focus()")
    browser.key("Enter")
    browser.until("document.getElementById('force').textContent === 'slow 5'")
    assert "slow 5: done" in text(browser, "log")
    # What cannot be taken back is asked for twice.
    browser.run("document.querySelector('form[aria-label=\"End of life\"] button').focus()")
    browser.key("Enter")
    assert "confirm" in text(browser, "live") and live.say("counts")["in_force"] == ["slow 5"]
    browser.key("Enter")
    browser.until("document.getElementById('force').textContent.includes('end-of-life')")
    browser.run("document.querySelector('form[aria-label=Fail] [name=range]').value = 'x'")
    browser.run("document.querySelector('form[aria-label=Fail] [name=range]').focus()")
    browser.key("Enter")
    browser.until("!!document.querySelector('#log .bad')")
    assert browser.said == []


def test_without_the_key_it_only_shows(watched):
    _, page, browse = watched
    browser = browse(page.url)
    browser.until(LIVE)
    assert browser.run("document.getElementById('forms').disabled")
    assert browser.run("!document.getElementById('nokey').hidden")


@pytest.mark.parametrize("how", ["device", "server"])
def test_it_says_when_the_server_has_ended(watched, how):
    live, page, browse = watched
    browser = browse()
    browser.until(LIVE)
    browser.until("document.querySelector('.figures b').textContent.length > 1")
    if how == "device":
        live.stop()
    else:
        page.close()
    browser.until(
        "document.getElementById('banner').textContent.startsWith('The server has ended')"
    )
    assert text(browser, "link") == "ended"
    assert browser.run("document.querySelector('.figures b').textContent.length > 1")
