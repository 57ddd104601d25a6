"""`ssdlab schema`: does an editor that has it accept and refuse what ssdlab does?"""

import copy
import json
import random
import re
from pathlib import Path

import pytest

from ssdlab import _core

jsonschema = pytest.importorskip("jsonschema")
tomllib = pytest.importorskip("tomllib", reason="in the standard library from Python 3.11 on")

ROOT = Path(__file__).resolve().parents[2]
PRESETS = sorted((ROOT / "crates/lab/presets").glob("*/*.toml"))
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
# The random experiments whose results are kept: the last column of the table.
RANDOM = [
    line.rsplit("\t", 1)[1]
    for line in (ROOT / "crates/lab/tests/digests/random.tsv").read_text().splitlines()[1:]
]

# What only ssdlab can refuse, a rule within a value or between keys: its words, and a file that it
# refuses so.
ONLY_SSDLAB = {
    "a whole number written with a point": (
        r"invalid type: floating point `-?\d+\.0`",
        "device.channels = 4.0",
    ),
    "a number too fine for its unit": (
        r"is not a whole number of",
        "device.timing.read = '0.5ns'",
    ),
    "a number too large": (
        r"is too (long|large|high) a|it has too many digits|is too long; at most",
        "device.page_size = '99999999999TiB'",
    ),
    "a rate of zero": (r"a rate of zero never finishes", "device.host_link.bandwidth = '0MB/s'"),
    "a window that ends before it begins": (
        r"a window ends after it begins",
        "run.timeline = '2ms..1ms'",
    ),
    "overwrites out of range": (
        r'is not "none", "sequential", "steady" or "random:N"',
        "run.precondition = 'random:0'",
    ),
    "the order within a list": (
        r"(sizes|numbers outstanding) must rise|the first line is for 1",
        "device = { kind = 'piecewise', random_read = '4KiB: 1us, 4KiB: 2us' }",
    ),
    "a distribution's parameters": (
        r"is not a distribution|low is above high",
        "workload.interarrival = 'uniform(1, 0)'",
    ),
    "a locality's parameters": (
        r"add up to|the exponent is above|must lie between|no number from 0 up",
        "workload = { kind = 'closed', locality = 'zipf(11)' }",
    ),
    "a footprint written as text": (
        r"a share of the device above 0 and up to 1",
        "workload.footprint = '1.5'",
    ),
    "numbers of devices": (
        r"is not all, first, or device numbers",
        "workload = { kind = 'trace', devices = '5000000000' }",
    ),
    "what a device without flash, or a run without time, cannot do": (
        r"run\.(timed|timeline) =",
        "device.kind = 'linear'\nrun.timed = false",
    ),
    "steady state": (r"run\.steady\.\w+( =|:)", "run.steady.window = 1"),
    "keys without an effect": (
        r"this has no effect here, the key applies",
        "device.cleaning.hot_cold.detector = 'address'",
    ),
}


@pytest.fixture(scope="module")
def schema():
    return json.loads(_core.experiment_schema())


@pytest.fixture(scope="module")
def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def refusal(text):
    """What ssdlab says of a file, or None."""
    try:
        _core.resolve_json([("e.toml", text)])
    except _core.InputError as error:
        return str(error)
    return None


def said(validator, text):
    """What the schema says of a file: every message, on one line."""
    errors = validator.iter_errors(tomllib.loads(text))
    return " | ".join(f"{error.json_path}: {error.message}" for error in errors)


def lines(experiment):
    """An experiment of the table as a file."""
    return "".join(f"{key} = {value}\n" for key, value in pairs(experiment))


def in_force(experiment):
    """Without the keys that have no effect beside the others, of which a schema does not know."""
    while "has no effect here" in (problem := refusal(lines(experiment)) or ""):
        named = re.findall(r"([\w.]+) = [^\n]*?: this has no effect", problem)
        if more := re.search(r"; nor have (.*) an effect", problem):
            named += more[1].split(", ")
        assert named, problem
        kept = [f"{key}={value}" for key, value in pairs(experiment) if key not in named]
        experiment = "; ".join(kept)
    return experiment


def pairs(experiment):
    return [tuple(pair.split("=", 1)) for pair in experiment.split("; ")]


def test_the_command_prints_the_schema(ssdlab, schema):
    done = ssdlab("schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == schema
    assert done.stdout.endswith("}\n")
    assert "Examples" in ssdlab("schema", "--help").stdout


@pytest.mark.parametrize("path", PRESETS + EXAMPLES, ids=lambda path: path.stem)
def test_presets_and_examples_are_valid(validator, path):
    assert said(validator, path.read_text()) == ""


def test_an_experiment_that_ssdlab_writes_is_valid(validator, ssdlab, small_options, tmp_path):
    done = ssdlab("run", *small_options, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert said(validator, (tmp_path / "experiment.toml").read_text()) == ""


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("[device]\nchanels = 4", "$.device", "'chanels' was unexpected"),
        ("[device.timing]\nraed = '25us'", "$.device.timing", "'raed' was unexpected"),
        ("[device]\nkind = 'linear'\nchannels = 4", "$.device", "'channels' was unexpected"),
        ("[device]\npreset = 'zeus-linear'\nchannels = 4", "$.device", "'channels' was unexpected"),
        ("[device.member]\nchannels = 4", "$.device", "'member' was unexpected"),
        (
            "[device]\nkind = 'array'\nmember.chanels = 4",
            "$.device.member",
            "'chanels' was unexpected",
        ),
        ("[device]\ntiming.read = 25", "$.device.timing.read", "is not of type 'string'"),
        ("[device]\ntiming.read = '25'", "$.device.timing.read", "does not match"),
        ("[device]\ntiming.read = '25KiB'", "$.device.timing.read", "does not match"),
        ("[device]\npage_size = '4 pages'", "$.device.page_size", "does not match"),
        ("[device]\ncleaning.policy = 'gredy'", "$.device.cleaning.policy", "is not valid under"),
        ("[device]\npool = 'dice'", "$.device.pool", "'dice' is not one of ['plane', 'die'"),
        ("[device]\nchannels = -1", "$.device.channels", "less than the minimum of 0"),
        ("[device]\nchannels = true", "$.device.channels", "True is not of type 'integer'"),
        ("[device]\nkind = 'ssdd'", "$.device.kind", "'ssdd' is not one of ['ssd', 'law'"),
        ("[workload]\nkind = 'closed'\nlocality = 'ziph(1)'", "$.workload.locality", "not valid"),
        (
            "[[workload.streams]]\nkind = 'closed'\nreqests = 4",
            "$.workload",
            "'streams' was unexpected",
        ),
        (
            "[workload]\nkind = 'mix'\nstreams = [{kind = 'closed', reqests = 4}]",
            "$.workload.streams[0]",
            "'reqests' was unexpected",
        ),
        (
            "[workload]\nkind = 'threads'\nclasses.log.dept = 4",
            "$.workload.classes.log",
            "'dept' was unexpected",
        ),
        ("[run]\nuntil = '60'", "$.run.until", "is not valid under any"),
        ("[rnu]\nuntil = '60s'", "$", "'rnu' was unexpected"),
        ("version = 2", "$.version", "1 was expected"),
        ("[device]\nkind = 'ssd'\npreset = 'laptop-ssd'", "$.device", "should not be valid"),
    ],
)
def test_a_mistake_is_shown_where_it_is(validator, text, place, message):
    assert f"{place}: " in said(validator, text) and message in said(validator, text)
    assert refusal(text) is not None


def test_random_experiments_are_valid(validator):
    accepted = 0
    for experiment in map(in_force, RANDOM):
        text = lines(experiment)
        accepted += refusal(text) is None
        assert said(validator, text) == "", text
    # The others contradict themselves.
    assert len(RANDOM) == 730 and accepted > 630


def test_defaults_are_values_that_keys_take(schema):
    validator = jsonschema.Draft202012Validator
    seen = 0

    def walk(part):
        nonlocal seen
        if isinstance(part, dict):
            if "default" in part and "description" in part:
                seen += 1
                assert validator(part).is_valid(part["default"]), part
            for inner in part.values():
                walk(inner)
        elif isinstance(part, list):
            for inner in part:
                walk(inner)

    walk(schema)
    assert seen > 150


@pytest.mark.parametrize("rule", ONLY_SSDLAB)
def test_rules_that_a_schema_cannot_state_are_ssdlabs(validator, rule):
    words, text = ONLY_SSDLAB[rule]
    assert re.search(words, refusal(text) or "it is accepted")
    assert said(validator, text) == ""


def typo(draw, key):
    at = draw.randrange(len(key))
    return draw.choice([key[:at] + key[at + 1 :], key[:at] + key[at] + key[at:], key + "s"])


def mistaken(draw, value):
    """A value, changed as people do by mistake."""
    text = value.strip('"')
    return draw.choice(
        [
            f'"{text}x"',
            f'"{text[:-1]}"',
            f'"{text}"',
            f'" {text} "',
            text if text.replace(".", "").isdigit() else f"[{value}]",
            re.sub(r"[A-Za-z/]+", "us", value),
            re.sub(r"[A-Za-z/]+", "KiB", value),
            re.sub(r"(?<=\d)[A-Za-z/]+", "", value),
            re.sub(r"\d+", "0", value),
            re.sub(r"\d+", "99999999999", value),
            re.sub(r"\d+", "-1", value, count=1),
            re.sub(r"\d+", "0.5", value, count=1),
            re.sub(r"(?<![\d.])(\d+)(?![\d.])", r"\1.0", value),
            "true",
            "0.3",
            "7",
            '"none"',
            "{ a = 1 }",
        ]
    )


def mutated(draw, experiment):
    """An experiment with one change, which often is a mistake."""
    keys = pairs(experiment)
    at = draw.randrange(len(keys))
    key, value = keys[at]
    section, _, rest = key.partition(".")
    match draw.randrange(6):
        case 0:
            keys[at] = (f"{section}.{typo(draw, rest)}", value)
        case 1:
            keys[at] = (key, draw.choice(keys)[1])
        case 2:
            of_kind = [place for place, (name, _) in enumerate(keys) if name.endswith(".kind")]
            at = draw.choice(of_kind)
            section = keys[at][0].rpartition(".")[0]
            words = ["kind linear", "kind open", "preset agrawal2008", "kind "]
            name, _, word = draw.choice(words).partition(" ")
            keys[at] = (f"{section}.{name}", f'"{word}"')
        case _:
            keys[at] = (key, mistaken(draw, value))
    return "".join(f"{key} = {value}\n" for key, value in keys)


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_schema_and_ssdlab_agree_on_changed_experiments(validator, every):
    """What ssdlab accepts the schema accepts; what ssdlab refuses the schema refuses, but for rules
    that a schema cannot state, which are listed."""
    draw = random.Random(7)
    agreed = {True: 0, False: 0}
    only_ssdlab = dict.fromkeys(ONLY_SSDLAB, 0)
    surprises = []
    for experiment in map(in_force, RANDOM[::every]):
        for _ in range(4):
            text = mutated(draw, experiment)
            try:
                tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                continue
            problem, valid = refusal(text), validator.is_valid(tomllib.loads(text))
            if (problem is None) == valid:
                agreed[valid] += 1
                continue
            if problem is None:
                surprises.append(f"only the schema refuses: {said(validator, text)}\n{text}")
                continue
            rules = [rule for rule, (words, _) in ONLY_SSDLAB.items() if re.search(words, problem)]
            if rules:
                only_ssdlab[rules[0]] += 1
            else:
                surprises.append(f"only ssdlab refuses: {problem}\n{text}")
    assert not surprises, f"{len(surprises)}: " + "\n".join(surprises[:5])
    assert agreed[True] > 200 / every and agreed[False] > 800 / every
    assert sum(only_ssdlab.values()) < 15 + 150 / every, only_ssdlab


def test_an_editor_finds_every_key_without_knowing_the_kind(schema):
    """Editors that look into `properties`, and not into `if` and `then`, complete from these."""
    for section in ("device", "workload"):
        every = schema["$defs"][section]["allOf"][0]["properties"]
        listed = {
            key.split(".")[1] for key in dict(_core.list("keys")) if key.startswith(f"{section}.")
        }
        assert set(every) == listed
        assert all({"description", "anyOf", "$ref"} & set(key) for key in every.values())


def test_the_documented_keys_and_those_of_the_schema_are_the_same(schema):
    def paths(part, at):
        if "$ref" in part:
            return {at}
        inner = copy.copy(part.get("properties", {}))
        inner.update(part.get("allOf", [{}])[0].get("properties", {}))
        if isinstance(named := part.get("additionalProperties"), dict):
            inner["*"] = named
        if any("properties" in one for one in part.get("anyOf", [])):
            return set().union(*(paths(one, at) for one in part["anyOf"]))
        below = (paths(value, f"{at}.{name}") for name, value in inner.items())
        return set().union(*below) or {at}

    found = paths(schema["properties"]["run"], "run")
    found |= paths(schema["properties"]["cost"], "cost")
    for section in ("device", "workload"):
        found |= paths(schema["$defs"][section], section)
    assert found == set(dict(_core.list("keys")))
