"""How much may be written to a drive: the closed form, the lives, and what is refused."""

import doctest
import json

import pytest

import ssdlab
from ssdlab import layers, sources
from ssdlab.rating import CLASSES, FAILURES, closed_form, display, rate

#: A drive of four packages that ends within a second.
QUICK = {
    "device.channels": 4,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 16,
}
#: The same behind a write buffer, its blocks erased as superblocks.
BUFFERED = {
    "device.preset": "tlc-enterprise",
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 12,
    "device.scale": 1,
    "device.spare_factor": 0.2,
}


def load(name="jesd219"):
    return [sources.from_name("workload", name)]


def rated(erasures, workload="jesd219", **options):
    keys = options.pop("keys", {})
    more = layers.from_assignments(QUICK | keys | {"device.wear.rated_cycles": erasures})
    return rate("enterprise-ssd", "enterprise", load(workload), more, **options)


def words(table):
    return [word for key, value in table.items() for word in ("--set", f"{key}={value}")]


@pytest.mark.parametrize("workload", ["jesd219", "random-write", "zipf-mixed", "sequential-write"])
def test_the_simulated_lifetime_is_that_of_the_closed_form(workload):
    found = rated(60, workload)
    assert found.uneven is None, "no more is rated than is simulated"
    life = found.lives[0]
    assert life.closed_form_bytes == pytest.approx(life.host_bytes, rel=0.03)
    assert found.closed_form_bytes == pytest.approx(found.tbw_bytes, rel=0.03)
    # As the results of a run have it.
    results = ssdlab.run(
        device="enterprise-ssd",
        workload=workload,
        set=QUICK
        | {"device.wear.rated_cycles": 60, "workload.requests": 10**9, "run.timed": False},
        seed=life.seed,
    )
    assert results.wear.lifetime.status == "measured"
    assert results.wear.lifetime.host_bytes == pytest.approx(found.tbw_bytes, rel=0.03)
    end = results.wear.lifetime.spare_gone
    assert found.tbw_bytes == pytest.approx(end.host_bytes, rel=0.01)
    assert found.per_day(found.tbw_bytes) == pytest.approx(end.drive_writes_per_day, rel=0.01)


@pytest.mark.parametrize("reclaim", ["superblock", "block"])
def test_behind_a_write_buffer_too(reclaim):
    keys = BUFFERED | {"device.cleaning.reclaim": reclaim, "device.wear.rated_cycles": 60}
    del keys["device.preset"]
    more = layers.from_assignments(keys)
    found = rate("tlc-enterprise", "enterprise", load(), more)
    assert found.closed_form_bytes == pytest.approx(found.tbw_bytes, rel=0.03)


def test_a_run_to_a_smaller_tbw_is_the_beginning_of_the_run_to_the_end():
    """A run to a smaller TBW is the beginning of the run to the end."""
    life = rated(40).lives[0]

    def ends(requests):
        results = ssdlab.run(
            device="enterprise-ssd",
            workload="jesd219",
            set=QUICK
            | {"device.wear.rated_cycles": 40, "workload.requests": requests, "run.timed": False},
            seed=life.seed,
        )
        return results.wear.ended

    low, high = 0, 2 * life.requests
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if ends(middle) else (middle, high)
    # The loop has several requests under way when the drive ends.
    assert high == pytest.approx(life.requests, abs=64)


@pytest.mark.parametrize(
    ("workload", "keys"),
    [
        ("jesd219", {}),
        # Blocks of data that is never written over do not wear, whatever the rating.
        ("random-write", {"workload.footprint": 0.4}),
        ("hot-cold-write", {}),
        ("sequential-write", {}),
    ],
)
def test_what_is_extrapolated_is_what_more_erasures_give(workload, keys):
    whole = rated(400, workload, cycles=400, keys=keys)
    found = rated(400, workload, cycles=100, keys=keys)
    assert whole.uneven is None and found.uneven is not None
    assert found.tbw_bytes == pytest.approx(whole.tbw_bytes, rel=0.03), found.uneven


def test_what_the_keys_of_wear_do():
    base = rated(80).tbw_bytes
    assert rated(160, cycles=80).tbw_bytes > 1.9 * base
    assert rated(80, keys={"device.spare_factor": 0.5}).tbw_bytes > 1.2 * base
    assert rated(80, keys={"device.wear.spread": 0.2}).tbw_bytes < 0.99 * base
    years = rated(80, keys={"device.wear.service_years": 10})
    assert years.tbw_bytes == base
    assert years.per_day(base) == pytest.approx(rated(80).per_day(base) / 2)


def test_a_share_of_the_drives_may_fail():
    found = rated(40, drives=5, keys={"device.wear.spread": 0.1})
    ends = sorted(found.written(life) for life in found.lives)
    assert len(set(ends)) == 5, "one seed each"
    assert found.tbw_bytes == ends[0], "of five none may fail"
    assert found.passes(ends[0]) and not found.passes(ends[0] * 1.0001)
    assert found.failed(ends[-1] * 2) == 5
    import dataclasses

    many = dataclasses.replace(found, lives=[*found.lives] * 8)
    assert int(FAILURES * 40) == 1 and many.tbw_bytes == ends[0]
    assert [life.seed for life in found.lives] == [42, 43, 44, 45, 46]


def test_an_array_is_rated_by_the_member_that_ends_first():
    member = {key.replace("device.", "device.member."): value for key, value in QUICK.items()}
    keys = member | {"device.member.wear.rated_cycles": 60, "device.members": 2}
    found = rate("agrawal2008-array-6", "enterprise", load(), layers.from_assignments(keys))
    assert found.subject.section == ("device", "member")
    assert found.closed_form_bytes == pytest.approx(found.tbw_bytes, rel=0.03)


def test_a_trace_is_replayed_until_the_drive_ends(tmp_path):
    trace = tmp_path / "t.csv"
    lines = [f"{n * 1000},write,{n * 7 % 4000 * 4096},4096\n" for n in range(5000)]
    trace.write_text("".join(lines))
    stack = layers.from_trace("a trace", trace)
    columns = {"workload.columns": "time=1:us,op=2,offset=3:bytes,size=4:bytes"}
    keys = QUICK | {"device.wear.rated_cycles": 40} | columns
    found = rate("enterprise-ssd", "client", stack, layers.from_assignments(keys))
    assert found.lives[0].requests > 20_000
    assert found.closed_form_bytes == pytest.approx(found.tbw_bytes, rel=0.03)


def test_the_command(ssdlab, tmp_path):
    options = ["enterprise-ssd", "--class", "enterprise", *words(QUICK)]
    options += ["--set", "wear.rated_cycles=50"]
    done = ssdlab("endurance", *options)
    assert done.returncode == 0, done.stderr
    for said in ("TBW, simulated", "TBW, closed form", "x evenness", "UBER <= 1e-16", "3 months"):
        assert said in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    done = ssdlab("endurance", *options, "--json", "-", "--tbw", "1MB")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["tried"] == {
        "tbw_bytes": 1e6,
        "drive_writes_per_day": pytest.approx(1e6 / found["capacity_bytes"] / 1825),
        "failed": 0,
        "passed": True,
    }
    assert found["closed_form"]["tbw_bytes"] == pytest.approx(found["tbw_bytes"], rel=0.03)
    assert [it["seed"] for it in found["lives"]] == [42]
    done = ssdlab("endurance", *options, "--tbw", "900TB", "--json", "out.json", "--drives", 2)
    assert (done.returncode, done.stderr) == (1, "")
    assert "900 TB fails: 2 of 2 drives failed before that" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["tried"]["failed"] == 2


def test_the_help_shows_examples_first(ssdlab):
    said = ssdlab("endurance", "--help").stdout
    assert 0 < said.index("Examples") < said.index("Options")


ENTERPRISE = ("--class", "enterprise")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("samsung-pm9a4", *ENTERPRISE), "did you mean samsung-pm9a3?"),
        (("no.toml", *ENTERPRISE), "no.toml: cannot be read"),
        (("tlc-client", "--class", "clent"), "'clent'"),
        (("tlc-client",), "--class"),
        (("tlc-client", "--class", "client"), "give one with --trace FILE"),
        (("tlc-client", *ENTERPRISE, "--drives", 0), "--drives 0: from 1 to 1000 drives"),
        (("tlc-client", *ENTERPRISE, "--cycles", 3), "--cycles 3: at least 40 erasures"),
        (("tlc-client", *ENTERPRISE, "--tbw", "600"), "--tbw"),
        (("tlc-client", *ENTERPRISE, "--tbw", "0TB"), "above 0"),
        (("tlc-client", *ENTERPRISE, "--trace", "a", "--workload", "b"), "exclude each other"),
        (("tlc-client", *ENTERPRISE, "--trace", "none.csv"), "none.csv"),
        (("tlc-client", *ENTERPRISE, "--workload", "jesd220"), "jesd219"),
        (("zeus-linear", *ENTERPRISE), 'kind "law" has no flash that could wear out'),
        (("null", *ENTERPRISE), "has no flash that could wear out"),
        (("enterprise-ssd", *ENTERPRISE, "--workload", "random-read"), "none of its first"),
        (("enterprise-ssd", *ENTERPRISE, "--set", "workload.requests=9"), "ended after"),
        (("enterprise-ssd", *ENTERPRISE, "--set", "run.precondition=random:1"), "with a new drive"),
        (("enterprise-ssd", *ENTERPRISE, "--json", "no/such.json"), "does not exist"),
    ],
)
def test_wrong_input_is_refused(refused, arguments, message):
    assert message in refused("endurance", *arguments)


def test_the_classes_are_those_of_the_standard():
    asked = {name: (it.uber, it.retention) for name, it in CLASSES.items()}
    assert asked == {
        "client": ("1e-15", "1 year at 30 °C"),
        "enterprise": ("1e-16", "3 months at 40 °C"),
    }


def test_wear_that_is_even_loses_nothing():
    assert closed_form.uneven((25, 25.0), (100, 100.5)) == (0.0, 0.0)
    assert closed_form.Uneven(0.0, 0.0).mean_erasures(3000) == pytest.approx(3000)
    for share, by_chance in [(0.0, 1.3), (0.4, 0.0), (0.2, 0.7)]:
        true = closed_form.Uneven(share, by_chance)
        short, long = ((rated, true.mean_erasures(rated)) for rated in (25, 100))
        assert closed_form.uneven(short, long) == pytest.approx(true, abs=1e-9)
        mean = true.mean_erasures(3000)
        assert mean + true.lost(mean) == pytest.approx(3000)


@pytest.mark.parametrize("module", [closed_form, display])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0
