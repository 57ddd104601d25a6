"""An experiment file is data: nothing that a file says is run, unless the caller permits it."""

import itertools
import json
import random
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ssdlab
from ssdlab import cleaners, layers

pytestmark = pytest.mark.usefixtures("processes")

TINY = {
    "device.channels": 1,
    "device.dies_per_package": 1,
    "device.planes_per_die": 1,
    "device.blocks_per_plane": 128,
    "device.pages_per_block": 17,
    "workload.requests": 300,
    "workload.read_share": 0.3,
    "run.precondition": "random:1",
}
TINY_OPTIONS = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]

MINE = """
    from ssdlab import Clean
    from pathlib import Path

    Path("imported").touch()

    class Greedy:
        def step(self, view):
            blocks = view.candidates
            return Clean(blocks[view.valid[blocks].argmin()])

    class Stepless:
        def __init__(self):
            Path("called").touch()

    def function():
        Path("called").touch()
        return Greedy()

    greedy = Greedy()
"""

ATTACK = "subprocess:Popen(args='touch called', shell=True)"
#: A class that anyone may write into a file, and the attack that began it.
NAMES = [ATTACK, "mine:Greedy"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The current directory, with a module and files that name what they may not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    (tmp_path / "mine.py").write_text(textwrap.dedent(MINE))
    yield tmp_path
    sys.modules.pop("mine", None)


def write(path, name, tables="[device.cleaning]"):
    path.write_text(f"{tables}\npolicy = {json.dumps(name)}\n")
    return path


def untouched(place):
    return not (place / "imported").exists() and not (place / "called").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "evil.toml"],
        ["run", "--device", "evil.toml"],
        ["run", "--device", "./evil.toml", "--set", "device.timing.read=30us"],
        ["sweep", "evil.toml", "--vary", "device.timing.read=20us,30us"],
        ["sweep", "--device", "evil.toml", "--vary", "device.timing.read=20us,30us"],
        ["sweep", "--vary", "device=evil.toml,./evil.toml"],
        ["sweep", "evil.toml", "--vary", "run.seed=1,2", "--minimize", "p99"],
        ["compare", "evil.toml", "evil.toml"],
        ["compare", "evil.toml", "evil.toml", "--repeat", "2"],
        ["serve", "--device", "evil.toml", "--socket", "s"],
    ],
    ids=" ".join,
)
def test_no_command_loads_what_a_file_names(refused, place, name, words):
    write(place / "evil.toml", name)
    options = [] if words[0] == "compare" else TINY_OPTIONS
    complaint = refused(*words, *options)
    assert "evil.toml:2: device.cleaning.policy = " in complaint
    assert name.partition("(")[0] in complaint
    assert "--allow-code" in complaint
    assert untouched(place)


def test_the_policy_of_a_member_is_code_too(refused, place):
    tables = "[device]\nkind = 'array'\nmembers = 2\n[device.member.cleaning]"
    write(place / "evil.toml", ATTACK, tables)
    assert "evil.toml:5: device.member.cleaning.policy = " in refused("run", "evil.toml")
    assert untouched(place)


def test_what_a_run_has_written_is_data(ssdlab, refused, place):
    written = ["run", *TINY_OPTIONS, "--set", "cleaning.policy=mine:Greedy", "--out"]
    for out in "a", "b":
        done = ssdlab(*written, out, "--seed", ord(out))
        assert done.returncode == 0, done.stderr
    (place / "imported").unlink()
    assert "a/experiment.toml:" in refused("run", "a/experiment.toml")
    # Results that were kept are compared and shown without running anything ...
    assert ssdlab("compare", "a", "b").returncode == 0
    done = ssdlab("report", "a", "--out", "report.html")
    assert done.returncode == 0, done.stderr
    # ... and to run them again is to run what they name.
    complaint = refused("compare", "a", "b", "--repeat", "2")
    assert "the experiment of A: device.cleaning.policy = " in complaint
    assert untouched(place)
    done = ssdlab("compare", "a", "b", "--repeat", "2", "--allow-code", "--workers", "1")
    assert done.returncode == 0, done.stderr
    again = ssdlab("run", "a/experiment.toml", "--allow-code", "--json", "-")
    assert again.returncode == 0, again.stderr
    kept = json.loads((place / "a" / "results.json").read_text())
    assert json.loads(again.stdout)["flash"] == kept["flash"]


def test_a_sweep_that_is_kept_is_data(ssdlab, refused, place):
    words = ["sweep", *TINY_OPTIONS, "--vary", "run.seed=1,2", "--out", "s.csv", "--workers", "2"]
    done = ssdlab(*words, "--set", "cleaning.policy=mine:Greedy")
    assert done.returncode == 0, done.stderr
    (place / "imported").unlink()
    write(place / "evil.toml", "mine:Greedy")
    # The same points, of which the journal has the results: a file is refused all the same.
    assert "evil.toml:2" in refused(*words, "evil.toml")
    assert len(ssdlab_module_load(place / "s.csv")) == 2
    assert ssdlab("report", "s.jsonl", "--out", "report.html").returncode == 0
    assert untouched(place)


def ssdlab_module_load(path):
    return ssdlab.Sweep.load(path)


def test_permission_is_given_by_a_word(ssdlab, place):
    write(place / "mine.toml", "mine:Greedy")
    plain = ssdlab("run", *TINY_OPTIONS, "--set", "cleaning.tie_break=lowest", "--json", "-")
    for words in [
        ["run", "mine.toml", *TINY_OPTIONS, "--allow-code", "--json", "-"],
        ["run", *TINY_OPTIONS, "--set", "cleaning.policy=mine:Greedy", "--json", "-"],
        # The upper layer's name counts: it is the caller's.
        ["run", "mine.toml", *TINY_OPTIONS, "--set", "cleaning.policy=mine:Greedy", "--json", "-"],
    ]:
        done = ssdlab(*words)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["flash"] == json.loads(plain.stdout)["flash"]
    sweep = ["sweep", "mine.toml", *TINY_OPTIONS, "--vary", "run.seed=1,2", "--workers", "2"]
    done = ssdlab(*sweep, "--allow-code", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert [point.get("error") for point in json.loads(done.stdout)["points"]] == [None, None]


@pytest.mark.parametrize("name", NAMES)
def test_python_refuses_what_a_path_or_a_dict_says(place, name):
    evil = write(place / "evil.toml", name)
    section = {"cleaning": {"policy": name}}
    for arguments in [
        {"experiment": evil},
        {"experiment": {"device": section}},
        {"device": evil},
        {"device": section},
    ]:
        with pytest.raises(ssdlab.InputError, match="allow_code=True"):
            ssdlab.run(**arguments, set=TINY)
        experiment = ssdlab.Experiment(**arguments, set=TINY)
        with pytest.raises(ssdlab.InputError, match="allow_code=True"):
            experiment.run()
        with pytest.raises(ssdlab.InputError, match="allow_code=True"):
            experiment.sweep(vary={"run.seed": [1, 2]}, workers=1)
        with pytest.raises(ssdlab.InputError, match="allow_code=True"):
            ssdlab.compare(experiment, experiment)
    with pytest.raises(ssdlab.InputError, match="allow_code=True"):
        ssdlab.serve(evil, socket=place / "socket")
    with pytest.raises(ssdlab.InputError, match="allow_code=True"):
        ssdlab.sweep(vary={"device": [evil]}, set=TINY, workers=1)
    assert untouched(place)


def test_python_permits_by_set_and_by_allow_code(place):
    mine = write(place / "mine.toml", "mine:Greedy")
    named = ssdlab.run(set=TINY | {"cleaning.policy": "mine:Greedy"})
    allowed = ssdlab.run(mine, set=TINY, allow_code=True)
    assert allowed.flash.to_dict() == named.flash.to_dict()
    experiment = ssdlab.Experiment(mine, set=TINY, allow_code=True)
    assert experiment.run().flash.to_dict() == named.flash.to_dict()
    again = ssdlab.Experiment(ssdlab.Experiment(mine, set=TINY), allow_code=True)
    assert again.run().flash.to_dict() == named.flash.to_dict()
    for varied in {"run.seed": [1, 2]}, {"device": ["mine.toml", "./mine.toml"]}:
        points = ssdlab.sweep(mine, vary=varied, set=TINY, allow_code=True, workers=1)
        assert points.errors == []


def test_a_message_to_a_worker_names_code_only_by_permission(place):
    from ssdlab.sweeps import work

    evil = layers.Layer("evil.toml", f'device.cleaning.policy = "{ATTACK}"')
    for stack in ([evil], [tuple(evil)[:2]], layers.from_assignments(TINY)[:0] + [evil]):
        results, error = work.run_point(stack, False)
        assert results is None
        assert "--allow-code permits" in error
    assert untouched(place)
    stack = [evil, *layers.from_assignments(TINY | {"cleaning.policy": "mine:Greedy"})]
    results, error = work.run_point(stack, False)
    assert error is None
    with ThreadPoolExecutor(1) as executor:
        named = ssdlab.sweep(
            vary={"cleaning.policy": ["mine:Greedy", "fifo"]}, set=TINY, executor=executor
        )
    assert named.errors == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (ATTACK, "Popen: a cleaning policy is a class with a method step"),
        ("mine:Stepless", "Stepless: a cleaning policy is a class with a method step"),
        ("mine:function", "function: a cleaning policy is a class with a method step"),
        ("mine:greedy", "greedy: a cleaning policy is a class with a method step"),
        ("mine:Greedy(a=__import__('os').system('touch called'))", "with literal values"),
        ("mine:Greedy(**{'a': open('called', 'w')})", "each with its name"),
        ("mine:Greedy()()", "expected module:Class"),
        ("mine;x:Greedy", "expected module:Class"),
    ],
)
def test_nothing_but_a_class_with_step_is_called(place, name, message):
    with pytest.raises(ssdlab.InputError, match="(?s)" + message.replace("(", r"\(")):
        cleaners.load(name)
    assert not (place / "called").exists()


def test_calibration_takes_no_code_from_a_device_file(place):
    from ssdlab.calibration.search import Search, parameter

    evil = write(place / "evil.toml", ATTACK)
    searched = [parameter("timing.read=10us..50us")]
    with pytest.raises(ssdlab.InputError, match=r"evil.toml:2: device.cleaning.policy = "):
        Search(evil, searched, [], None)
    assert untouched(place)
    Search(write(place / "mine.toml", "mine:Greedy"), searched, [], None, allow_code=True)


# ---- overrides are peers ---------------------------------------------------------------------

ASSIGNMENTS = {
    "workload.requests": 3000,
    "workload.read_share": 0.0,
    "workload.kind": "closed",
    "device.member.channels": 2,
    "device.kind": "array",
    "device.member.kind": "ssd",
}


def test_the_order_of_set_says_nothing_to_the_command_line(ssdlab):
    def outcome(items):
        words = [word for key, value in items for word in ("--set", f"{key}={value}")]
        done = ssdlab("run", *words, "--set", "run.until=1us", "--json", "-")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["experiment"]

    items = list(ASSIGNMENTS.items())
    first = outcome(items)
    assert first["workload"]["requests"] == 3000
    assert first["workload"]["read_share"] == 0.0
    assert first["device"]["member"]["channels"] == 2
    assert outcome(items[::-1]) == first


def test_the_order_of_a_dict_says_nothing():
    draw = random.Random(1)
    pool = ASSIGNMENTS | {"device.channels": 2, "device.spare_factor": 0.2, "channels": 3}
    pool |= {"device.over_provisioning": 0.3, "workload.outstanding": 2, "workload.no": 1}

    def outcome(items):
        try:
            return ssdlab.Experiment(set=dict(items)).to_dict()
        except ssdlab.InputError as error:
            return str(error)

    refused = 0
    for _ in range(30):
        items = draw.sample(list(pool.items()), 4)
        found = [outcome(order) for order in itertools.permutations(items)]
        assert all(it == found[0] for it in found), items
        refused += isinstance(found[0], str)
    assert 0 < refused < 30


def test_what_varies_is_a_peer_of_what_is_set():
    def resolved(**arguments):
        sweep = ssdlab.sweep(workers=1, **arguments)
        assert sweep.errors == []
        return [point.results.experiment for point in sweep]

    few = {"run.until": "1us"}
    by_kind = resolved(
        vary={"workload.kind": ["closed", "open"]}, set=few | {"workload.requests": 77}
    )
    assert [it.workload.requests for it in by_kind] == [77, 77]
    # What varies does not drop what is set, whichever names the kind ...
    member = {"device.kind": "array", "device.member.channels": 2}
    by_member = resolved(vary={"device.member.kind": ["ssd"]}, set=few | member)
    assert by_member[0].device.member.channels == 2
    by_key = resolved(vary={"workload.outstanding": [3]}, set=few | {"workload.kind": "closed"})
    assert by_key[0].workload.outstanding == 3
    # ... and a key cannot be both.
    with pytest.raises(ssdlab.InputError, match=r"vary device.channels=2: device.channels is set"):
        resolved(vary={"device.channels": [2]}, set={"channels": 4})


def test_a_device_that_no_point_can_use_is_wrong_input(refused):
    complaint = refused("sweep", "--vary", "device=missing.toml,usb-stik")
    assert complaint.startswith("ssdlab: missing.toml: cannot be read: ")


def test_a_key_with_two_values_is_wrong_input(refused):
    complaint = refused("run", "--set", "device.channels=4", "--set", "channels=8")
    assert "--set channels=8 and --set device.channels=4: device.channels is set twice" in complaint
    complaint = refused("run", "--set", "workload.outstanding=8", "--set", "workload.kind=open")
    assert "a workload of kind open has none, kind" in complaint


def test_pages_say_what_is_trusted():
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "security.md").read_text()
    words = ["--allow-code", "allow_code=True", "Dask", "save_drive", "PYTHONPATH"]
    for word in [*words, "Unix socket"]:
        assert word in page, word


def test_the_help_tells_of_the_permission():
    done = subprocess.run(
        [sys.executable, "-m", "ssdlab", "run", "--help-all"], capture_output=True
    )
    assert b"--allow-code" in done.stdout
