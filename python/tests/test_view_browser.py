"""The page of `ssdlab view` in a browser: it plays, goes back, jumps, and is steered by keys."""

import pytest
from browser import BROWSER, Browser

from ssdlab import layers
from ssdlab.loopback import Loopback
from ssdlab.viewing import recording, serving
from ssdlab.viewing.scenes import Scene
from ssdlab.viewing.sessions import Sessions

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
AT = "(globalThis.ssdlabView?.history?.at ?? -1)"
FACE = "[...app.history.flash.map(it => [...it.head, ...it.valid, ...it.erases].join())].join()"


@pytest.fixture
def scene(tiny):
    return Scene(layers.from_assignments(tiny | {"workload.requests": 100_000}))


@pytest.fixture
def served(scene):
    sessions = Sessions(scene)
    with Loopback(serving.routes(sessions)) as it:
        yield it
    sessions.close_all()


def test_it_plays_pauses_steps_and_goes_back(served, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} > 30")
        browser.key(" ")
        assert browser.run("app.playing") is False
        assert "Pause" not in browser.run("byId('play').textContent")
        at, face, clock = browser.run(f"[{AT}, {FACE}, byId('clock').textContent]")
        for _ in range(5):
            browser.key(",")
        assert browser.run(AT) == at - 5
        for _ in range(5):
            browser.key(".")
        browser.until(f"{AT} === {at}")
        assert browser.run(f"[{FACE}, byId('clock').textContent]") == [face, clock]
        browser.run(
            "byId('scrub').value = 0, byId('scrub').dispatchEvent(new Event('input')), undefined"
        )
        assert browser.run("[app.history.at, app.history.time(0)]") == [0, 0]
        assert browser.run("byId('clock').textContent").startswith("0")
        assert browser.run(FACE) != face
        browser.key(" ")
        browser.until(f"{AT} > {at}")
        assert browser.said == []
        assert all(it.startswith((served.url, "data:")) for it in browser.asked)


@pytest.mark.nightly
def test_it_jumps_to_the_next_slow_request(served, tmp_path):
    with Browser(tmp_path / "profile", calm=True) as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0")
        assert browser.run("app.playing") is False, "the reader asked for no motion"
        browser.key("3")
        browser.until("app.history.now[0].head.p[0] || (step(true), false)")
        at, limit = browser.run(f"[{AT}, 10 * app.history.now[0].head.p[0]]")
        browser.key("j")
        message = browser.until(
            "!app.asking && / took /.test(byId('message').textContent)"
            " && byId('message').textContent"
        )
        now, slowest = browser.run(f"[{AT}, app.history.now[0].head.max]")
        found = "a read took" in message or "a write took" in message
        assert found == (slowest >= limit)
        assert now > at
        assert browser.run("byId('live').textContent || '-'") == (message if found else "-")
        assert browser.said == []


def test_blocks_are_reached_by_keys_and_told(served, tmp_path):
    with Browser(tmp_path / "profile", calm=True) as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0 && app.views[0].map.shown")
        browser.run("app.views[0].map.canvas.focus(), undefined")
        told = browser.run("byId('live').textContent")
        assert told.startswith("Block 0 of package 0: ")
        browser.key("ArrowRight")
        browser.key("ArrowDown")
        columns = browser.run("app.views[0].map.grid.columns")
        told = browser.run("byId('live').textContent")
        assert told.startswith(f"Block {columns + 1} of package 0: ")
        assert "erased" in told
        valid = browser.run(f"app.history.flash[0].valid[{columns + 1}]")
        assert f" {valid} of 16 pages valid" in told
        assert browser.run("document.querySelector('.read').textContent") == told
        browser.key("End")
        assert browser.run("byId('live').textContent").startswith("Block 127 ")
        # Keys of the page work everywhere, and a colour is chosen by its letter.
        browser.key("e")
        browser.until("/erasures/.test(document.querySelector('.key').textContent)")
        browser.key("s")
        assert browser.run("document.querySelector('[data-by=stream]').ariaPressed") == "true"
        assert browser.said == []


@pytest.mark.nightly
def test_a_slider_runs_the_engine_anew_with_the_same_seed(served, tmp_path):
    turn = (
        "(() => {{ const it = document.querySelector('[data-knob={0}]'); it.value = {1};"
        " it.dispatchEvent(new Event('input')); it.dispatchEvent(new Event('change')) }})()"
    )
    with Browser(tmp_path / "profile", calm=True) as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0 && app.history.frames.length > 5")
        first = browser.run(FACE)
        browser.run(turn.format("spare", "0.3"))
        browser.until(f"app.said.drives[0].knobs[0].value === 0.3 && {AT} === 0")
        assert browser.run(FACE) != first
        assert "30" in browser.run("document.querySelector('.what').textContent")
        browser.run(turn.format("spare", "0.15"))
        browser.until(f"app.said.drives[0].knobs[0].value === 0.15 && {AT} === 0")
        assert browser.run(FACE) == first
        # What the engine refuses is told, and what was shown goes on.
        browser.run("app.turned[0] = { spare: 3 }, begin(), undefined")
        assert "0.06 and 0.4" in browser.until("globalThis.ssdlabView?.error")
        assert browser.run(FACE) == first
        assert [it for it in browser.said if "400" not in it] == []


@pytest.mark.nightly
def test_while_a_run_is_exchanged_nobody_asks_for_the_old_one(served, tmp_path):
    with Browser(tmp_path / "profile", calm=True) as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0 && !app.asking")
        # A frame is due when the new run is there and the page does not know its name yet.
        browser.run(
            "(() => { const post = source.post.bind(source); source.post = async (path, body) => {"
            " const found = await post(path, body); if (path === '/open') fill();"
            " return found }; app.history.to(app.history.frames.length - 1);"
            " app.turned[0] = { spare: 0.3 }; begin() })(), undefined"
        )
        browser.until("app.said.drives[0].knobs[0].value === 0.3 && !app.asking && app.history.now")
        assert browser.run("byId('message').textContent") == ""
        assert browser.run("app.history.frames[0][0].head.t") == 0
        assert browser.said == []


@pytest.mark.nightly
def test_two_drives_stand_beside_each_other(served, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} > 3")
        browser.key("c")
        browser.until(f"app.views.length === 2 && {AT} > 3")
        names = browser.run("[...document.querySelectorAll('h2')].map(it => it.textContent)")
        assert names == ["Drive A", "Drive B"]
        browser.run(
            "(() => { const it = document.querySelector('[data-knob=Bpolicy]');"
            " it.value = 'fifo'; it.dispatchEvent(new Event('change')) })()"
        )
        browser.until(f"{AT} > 3 && /fifo/.test(document.querySelectorAll('.what')[1].textContent)")
        assert "greedy" in browser.run("document.querySelectorAll('.what')[0].textContent")
        browser.key("c")
        browser.until(f"app.views.length === 1 && {AT} > 3")
        assert browser.said == []


@pytest.mark.parametrize("width", [390, 768, 1400])
def test_nothing_scrolls_sideways(served, tmp_path, width):
    with Browser(tmp_path / "profile", width=width, dark=width == 768, calm=True) as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0")
        browser.key("c")
        browser.until(f"app.views.length === 2 && {AT} === 0")
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert browser.said == []


HIDDEN = """addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style'); style.id = 'hidden';
  style.textContent = '%s'; document.head.append(style) })"""


@pytest.mark.parametrize("width", [0, 1, 8, 10, 60, 390])
def test_a_page_without_room_is_drawn_when_there_is_some(served, tmp_path, width):
    """A hidden frame has no width, and a narrow one less than the room around the cells."""
    rule = "body { display: none }" if width == 0 else f".map {{ width: {width}px }}"
    with Browser(tmp_path / "profile", calm=True) as browser:
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=HIDDEN % rule)
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0 && app.views[0].map.shown && byId('clock').textContent !== '–'")
        assert browser.run("app.views[0].map.box.clientWidth") == width
        grid = browser.run("app.views[0].map.grid")
        assert grid["wide"] >= 1.5 and grid["columns"] >= 1 and grid["height"] > 0
        for key in (".", ",", "e", "s", "v"):
            browser.key(key)
        browser.run("dispatchEvent(new Event('resize')), undefined")
        browser.until("!app.isDirty || undefined")
        browser.run("byId('hidden').remove(), dispatchEvent(new Event('resize')), undefined")
        browser.until("app.views[0].map.width > 500 && app.views[0].map.grid.wide > 4")
        assert browser.said == []


@pytest.mark.parametrize("width", [1, 390])
def test_a_narrow_window_is_drawn(served, tmp_path, width):
    with Browser(tmp_path / "profile", width=width, calm=True) as browser:
        browser.open(served.url_with_key)
        browser.until(f"{AT} === 0 && app.views[0].map.shown")
        browser.key("c")
        browser.until(f"app.views.length === 2 && {AT} === 0")
        assert browser.said == []


def test_a_recording_plays_without_anything_else(scene, tmp_path):
    path = tmp_path / "r.html"
    beside = scene._replace(beside={"device.spare_factor": 0.3})
    recording.write(beside, path, start=None, last="80ms", frames=60)
    with Browser(tmp_path / "profile") as browser:
        browser.call("Network.emulateNetworkConditions", offline=True, latency=0,
                     downloadThroughput=-1, uploadThroughput=-1)  # fmt: skip
        browser.open(path.as_uri())
        browser.until(f"{AT} === 59")
        browser.until("app.playing === false")
        assert browser.run("app.history.flash.length") == 2
        last = browser.run(FACE)
        browser.key("r")
        assert browser.run(AT) == 0
        assert browser.run(FACE) != last
        for _ in range(3):
            browser.key(".")
        assert browser.run(AT) == 3
        browser.run("app.history.to(59), undefined")
        assert browser.run(FACE) == last
        assert browser.run("getComputedStyle(byId('two')).display") == "none"
        assert "A recording of 60 frames" in browser.run("byId('about').textContent")
        assert browser.said == []
        assert [it for it in browser.asked if not it.startswith(("file:", "data:"))] == []


def test_without_the_key_the_page_says_what_is_missing(served, tmp_path):
    with Browser(tmp_path / "profile") as browser:
        browser.open(served.url)
        assert "key is missing" in browser.until("globalThis.ssdlabView?.error")
        assert browser.said == []
