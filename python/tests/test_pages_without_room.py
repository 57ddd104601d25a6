"""Pages in a window of a pixel, of a telephone, and in a frame that is hidden: no script fails."""

import pytest
from browser import BROWSER, Browser

import ssdlab

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

#: What a reader does: points at every figure, presses its keys, turns the telephone.
USED = """(() => {
  for (const it of document.querySelectorAll('[data-curves], .pa, canvas, [tabindex]')) {
    for (const type of ['pointermove', 'pointerleave'])
      it.dispatchEvent(new PointerEvent(type, { clientX: 5, clientY: 5, bubbles: true }));
    it.focus();
    for (const key of ['ArrowRight', 'ArrowDown', '+', 'Home', 'End', 'Escape'])
      it.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })) }
  dispatchEvent(new Event('resize')) })()"""
HIDDEN = """addEventListener('DOMContentLoaded', () => { document.body.style.display = 'none' })"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of every kind, by what it shows."""
    directory = tmp_path_factory.mktemp("pages")
    drive = {"device.blocks_per_plane": 64, "workload.requests": 400}
    aged = drive | {"run.precondition": "random:1", "workload.read_share": 0.5}
    one = ssdlab.run(set=aged | {"run.timeline": "1ms..2ms"})
    other = ssdlab.run(set=drive)
    sweep = ssdlab.sweep(set=drive, vary={"device.channels": [2, 4, 8]}, workers=1)
    sources = {"run": one, "runs": [one, other], "sweep": sweep}
    for name, source in sources.items():
        ssdlab.report(source, directory / f"{name}.html")
    from ssdlab.cli import main

    assert main(["paper", "gray", "--quick", "--report", str(directory / "paper.html")]) in (0, 1)
    return directory


def used(browser, address, ready):
    browser.open(address)
    browser.until(ready)
    browser.run(USED)
    browser.run("document.body.style.display = '', dispatchEvent(new Event('resize')), undefined")
    browser.run(USED)
    assert browser.said == []


@pytest.mark.parametrize("kind", ["run", "runs", "sweep", "paper"])
@pytest.mark.parametrize("width", [0, 1, 390])
def test_a_report(pages, tmp_path, kind, width):
    with Browser(tmp_path / "profile", width=width or 800) as browser:
        if width == 0:
            browser.call("Page.addScriptToEvaluateOnNewDocument", source=HIDDEN)
        page = (pages / f"{kind}.html").as_uri()
        used(browser, page, "document.readyState === 'complete' && !!document.querySelector('h1')")
        assert browser.run("document.querySelectorAll('svg, table').length") > 0


@pytest.mark.parametrize("width", [0, 1, 40, 390])
def test_the_page_of_a_live_device(tmp_path, width):
    small = {"device.blocks_per_plane": 16, "run.precondition": "random:1"}
    live = ssdlab.serve("agrawal2008", size="8MiB", socket=tmp_path / "s", set=small)
    with Browser(tmp_path / "profile", width=width or 800) as browser:
        page = live.watch()
        try:
            if width == 0:
                browser.call("Page.addScriptToEvaluateOnNewDocument", source=HIDDEN)
            used(browser, page.url_with_key, "window.watching?.points.length > 1")
        finally:
            page.close()
            live.stop()
