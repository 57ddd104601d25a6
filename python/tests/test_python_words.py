"""Python as one language: errors name arguments, and one argument has one name everywhere."""

import ast
import inspect
import pickle
import re

import pytest
from house import ROOT

import ssdlab
from ssdlab import _core, delivery
from ssdlab.cli import main

# Errors


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ssdlab.run(set={"channels": 0}), 'set={"channels": "0"}: device.channels = 0: '),
        (lambda: ssdlab.Experiment(set={"workload.pattern": "zipf(9, x)"}),
         'set={"workload.pattern": "zipf(9, x)"}: '),
        (lambda: ssdlab.Drive(set={"device.channels": 0}), 'set={"device.channels": "0"}: 0 '),
        (lambda: ssdlab.sweep(vary={"device.channels": "2-16"}), "vary device.channels=2-16: "),
        (lambda: ssdlab.size("t", p99="2"), 'p99 = "2": a time has a unit, as in "80us"'),
        (lambda: ssdlab.size("t", p99="2ms", drives=65), "drives=65: from 1 to 64"),
        (lambda: ssdlab.size("t", p99="2ms", device="no"), 'device="no": there is no device'),
        (lambda: ssdlab.choose("t", prices={"no": 1}), 'prices="no": no drive of this choice'),
        (lambda: ssdlab.choose("t", need="iops=5"), 'need="iops": the trace says'),
        (lambda: ssdlab.cost([], need="p99=20"), 'need p99 = "20": a time has a unit'),
        (lambda: ssdlab.cost([], memory_dollars_per_gib=0), "memory_dollars_per_gib=0: a price"),
        (lambda: ssdlab.retention("tlc-client", "1y", worn=0.1, written="1TB"),
         "worn and written both state the wear"),
        (lambda: ssdlab.retention("tlc-client", "1y", worn=11), "worn=11: a share from 0% to"),
        (lambda: ssdlab.cliff("samsung-980pro", copy=5e9), "copy = 5000000000.0: a size"),
        (lambda: ssdlab.cliff("samsung-980pro", fill="all"), 'fill="all": a share from 0% to 100%'),
        (lambda: ssdlab.endurance("tlc-client", "enterprise", drives=0), "drives=0: from 1 to"),
        (lambda: ssdlab.calibrate("t", write=True, source="fio"), "write=True: t is read as fio"),
        (lambda: ssdlab.calibrate("t", device="null"), "device is what fit changes"),
        (lambda: ssdlab.why(own=["nothing"]), 'own="nothing": neither KEY=VALUE'),
        (lambda: ssdlab.why(own=["device.channels=0"]), 'own="device.channels=0": 0 is not'),
        (lambda: ssdlab.compare("null", "null", repeat=1), "repeat 1: from 2 to"),
        (lambda: ssdlab.ask(load="lots"), 'load: "lots" is not understood'),
        (lambda: ssdlab.ask("t", rated="600"), "rated"),
        (lambda: ssdlab.view(beside={"device.channels": "x"}), 'beside="device.channels=x": '),
        (lambda: ssdlab.trace.info("t", columns="time"), 'workload.columns: "time" is no column'),
    ],
)  # fmt: skip
def test_an_error_names_the_argument(call, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t").write_text("0.5 0 0 8 1\n1.5 0 8 8 1\n")
    with pytest.raises(ssdlab.InputError) as error:
        call()
    assert said in str(error.value)
    assert "--" not in re.sub("`[^`]*`", "", str(error.value))


def test_the_command_line_names_the_option(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["size", "--trace", "t", "--p99", "2ms", "--drives", "65"]) == 2
    assert "--drives" in capsys.readouterr().err
    with delivery.command(), pytest.raises(ssdlab.InputError, match="^--drives 65: "):
        ssdlab.size("t", p99="2ms", drives=65)
    with pytest.raises(ssdlab.InputError, match="^drives=65: "):
        ssdlab.size("t", p99="2ms", drives=65)


def test_public_functions_are_pickled_and_documented():
    assert pickle.loads(pickle.dumps(ssdlab.run)) is ssdlab.run
    assert "device" in inspect.signature(ssdlab.run).parameters and "Simulate" in ssdlab.run.__doc__


def test_answers_show_their_values():
    small = {"device.blocks_per_plane": 64, "workload.requests": 500}
    results = ssdlab.run(workload="random-read", set=small)
    why = ssdlab.why(results, own=["device.channels=1"], among=[], workers=1)
    assert repr(why).startswith("<Why: ") and repr(why).endswith(" 1 change, nothing helps>")
    assert repr(ssdlab.cost(results, device_dollars=400)).endswith("cheapest results 1 $400>")


# Names


def functions():
    """Every public function and method, by its name."""
    for name in ssdlab.__all__:
        of = getattr(ssdlab, name)
        if inspect.isfunction(of):
            yield name, of
        elif inspect.isclass(of) or inspect.ismodule(of):
            place = of.__module__ if inspect.isclass(of) else of.__name__
            for word, it in vars(of).items():
                it = getattr(it, "__func__", it)
                is_own = inspect.isfunction(it) and it.__module__ == place
                is_made = word == "__init__" and name in ("Experiment", "Drive")
                if is_own and (word[0] != "_" or is_made):
                    yield f"{name}.{word}", it


PARAMETERS = [
    (parameter.name, str(parameter.annotation), name)
    for name, it in functions()
    for parameter in inspect.signature(it).parameters.values()
    if parameter.name not in ("self", "cls") and parameter.kind is not parameter.VAR_KEYWORD
]
#: Words for one thing: an argument has the first of its row.
ONE_NAME = """
    device drive target_device drive_name preset; trace trace_file trace_path; workload load_name
    set assignments overrides changes settings; path file filename out_path destination output
    results sources runs reports; requests request_count num_requests; seed random_seed rng
    progress told report callback on_progress; workers jobs processes parallel pool
    threads thread_count cores; repeat repeats repetitions seeds; force overwrite replace
    capacity capacity_bytes capacity_gb; p99 p99_us p99_ms; p999 p999_us; pause pause_seconds
    timeout timeout_seconds; years lifetime lifetime_years
"""
#: Arguments that take several types of value: `check` is a flag, or a command of crash; `device`
#: one or several, or a column; `need` a text, or amounts by name; `prices` dollars by drive, or
#: keys of [cost]; `requests` a file of run, or the number of why; `view` is a policy's, `row` a
#: sweep's number or a placement, `to` a time or a format; `zones` a number or a flag.
SEVERAL_MEANINGS = {
    "check", "device", "need", "prices", "requests", "row", "seed", "to", "view", "zones",
}  # fmt: skip


def test_one_thing_has_one_name():
    names = {name for name, _, _ in PARAMETERS}
    assert len(names) > 80 and {"device", "set", "p99", "progress"} <= names
    for row in map(str.split, ONE_NAME.replace("\n", ";").split(";")):
        assert not names & {*row[1:]}, row


def test_one_name_takes_one_kind_of_value():
    kinds = {}
    for name, annotation, function in PARAMETERS:
        words = {*re.findall(r"\w+", annotation)} & {"bool", "int", "float"}
        if not annotation.startswith(("Any", "Iterable")) and "Callable" not in annotation:
            kinds.setdefault(name, {}).setdefault(frozenset(words), []).append(function)
    several = {name: found for name, found in kinds.items() if len(found) > 1}
    assert {*several} <= SEVERAL_MEANINGS, several


def test_quantities_have_their_unit_in_the_name_or_the_text():
    floats = {name for name, kind, _ in PARAMETERS if "float" in kind and "str" not in kind}
    units = re.compile(r"_(us|ns|bytes|seconds|per_\w+)$|^(seconds|years|at|to)$")
    assert {it for it in floats if not units.search(it)} <= {
        "need", "prices", "spare", "time_scale", "tried", "utilisation", "within"
    }  # fmt: skip


# Stubs


def test_the_stub_has_the_signatures_of_the_engine():
    tree = ast.parse((ROOT / "python/ssdlab/_core.pyi").read_text())
    stated = {it.name: it.args for it in tree.body if isinstance(it, ast.FunctionDef)}
    real = {name: it for name, it in vars(_core).items() if inspect.isbuiltin(it)}
    assert {*stated} == {*real} and len(real) > 40
    for name, function in real.items():
        args = stated[name]
        names = [it.arg for it in args.posonlyargs + args.args + args.kwonlyargs]
        assert [*inspect.signature(function).parameters] == names, name
        left_out = sum(it is not None for it in (*args.defaults, *args.kw_defaults))
        given = inspect.signature(function).parameters.values()
        assert sum(it.default is not it.empty for it in given) == left_out, name
