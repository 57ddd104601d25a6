"""The study of the linear model: what is reckoned of measured times, and the served device."""

import contextlib
from types import SimpleNamespace

import pytest

import ssdlab
from ssdlab.paper import Study, maghraoui

#: Times of each pattern by its published line.
LINES = {
    pattern: [a + b * size / 1024 for size in maghraoui.SIZES]
    for pattern, (_, (a, b, _), _) in maghraoui.PATTERNS.items()
}


def found(a, b):
    return SimpleNamespace(a_us=maghraoui.LIVE_SCALE * a, b_us_per_kib=maghraoui.LIVE_SCALE * b)


@pytest.fixture
def served(monkeypatch):
    """What was served and measured, instead of serving for a minute; the timing can be changed."""
    asked = SimpleNamespace(timing="valid", device=None, uri=None)

    @contextlib.contextmanager
    def serve(device, **settings):
        asked.device = device
        assert settings["time_scale"] == maghraoui.LIVE_SCALE
        live = SimpleNamespace(live=SimpleNamespace(timing=asked.timing))
        yield SimpleNamespace(uri="nbd://here", results=live)

    def calibrate(uri, **settings):
        asked.uri = uri
        patterns = {"seq_read": found(127.5, 4.1), "rand_read": found(500, 3.987)}
        return SimpleNamespace(patterns=patterns)

    monkeypatch.setattr(ssdlab, "serve", serve)
    monkeypatch.setattr(ssdlab, "calibrate", calibrate)
    monkeypatch.setattr(maghraoui, "_measure", lambda study, device: LINES)
    return asked


def test_the_device_is_served_only_if_asked(served):
    rows = maghraoui.run(Study()).rows
    assert served.device is None
    more = maghraoui.run(Study(live=True)).rows[len(rows) :]
    assert (served.device, served.uri) == ("zeus-linear", "nbd://here")
    assert [row.verdict for row in more] == ["pass", "pass", "fail", "pass"]
    assert more[0].simulated == pytest.approx(127.5)


def test_a_late_server_proves_nothing(served):
    served.timing = "invalid"
    more = [row for row in maghraoui.run(Study(live=True)).rows if row.name.startswith("live")]
    assert [row.verdict for row in more] == ["info"] * 4


def test_a_drive_that_follows_the_linear_model_is_predicted(served):
    rows = maghraoui.run(Study()).rows
    errors = [row for row in rows if "mean error" in row.name]
    assert len(errors) == 8
    assert all(row.simulated < 0.01 for row in errors)
    # The claim is about their method, least squares; ours is shown for comparison.
    assert [row.verdict for row in errors] == ["pass"] * 4 + ["info"] * 4
    device = maghraoui._linear(LINES, "equal")
    assert device["random_write"] == {"fixed": "770000ns", "per_kib": "5382ns"}
