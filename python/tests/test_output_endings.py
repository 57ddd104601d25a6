"""The ending of a file's name promises what is in it: another one is refused before a run."""

import pytest
from commands import EVERY

import ssdlab as package
from ssdlab import portable
from ssdlab._core import InputError

PAGE = "a web page is written, so the name must end in .html or .htm; for a PDF or a picture, open"
TOML = "TOML is written, so the name must end in .toml"
TRACE = "no trace format has this extension"
PICTURE = "the extension must be one of"

#: What else a command needs, and what it says of a file whose name ends in .doc; by its option.
ENDINGS = {
    ("calibrate", "--out"): (["it"], TOML),
    ("calibrate", "--plot"): (["it"], PICTURE),
    ("cliff", "--plot"): (["samsung-980pro"], PICTURE),
    ("compare", "--plot"): (["a", "b"], PICTURE),
    ("consolidate", "--out"): (["--tenant", "t", "--tenant", "u"], PAGE),
    ("cost", "--plot"): (["out"], PICTURE),
    ("device from-datasheet", "--out"): (["sheet.toml"], TOML),
    ("retention", "--plot"): (["tlc-client", "--for", "1y"], PICTURE),
    ("paper", "--plot"): (["gray"], PICTURE),
    ("placement", "--plot"): (["--trace", "t"], PICTURE),
    ("plan", "--out"): (["--trace", "t"], PAGE),
    ("protect", "--out"): (["--trace", "t"], PAGE),
    ("paper", "--report"): (["gray"], PAGE),
    ("pts", "--out"): (["samsung-pm9a3"], PAGE),
    ("report", "--out"): (["out"], PAGE),
    ("run", "--requests"): ([], "must end in .parquet"),
    ("serve", "--record"): (["--socket", "s"], TRACE),
    ("size", "--out"): (["--trace", "t", "--p99", "2ms"], TOML),
    ("size", "--plot"): (["--trace", "t", "--p99", "2ms"], PICTURE),
    ("sweep", "--out"): (["--vary", "device.channels=2,4"], ".parquet or .csv"),
    ("trace info", "--plot"): (["t"], PICTURE),
    ("view", "--record"): (["cleaning"], PAGE),
}
#: Options whose file is JSON whatever it is called, and those of directories.
FREE = {"--json", "--keep", "--jobs"}


def test_every_option_that_writes_a_file_is_looked_at():
    """Their help begins with what they do."""
    found = {
        (" ".join(words), param.opts[-1])
        for words, command in EVERY
        for param in command.params
        if (getattr(param, "help", None) or "").split(" ")[0] in ("Write", "Draw", "Plot", "Keep")
        or ".html" in (param.metavar or "")
    }
    found = {(words, option) for words, option in found if option.startswith("--")}
    assert {it for it in found if it[1] not in FREE} == {*ENDINGS, ("run", "--out")}


@pytest.mark.parametrize(("words", "option"), ENDINGS)
def test_another_ending_is_refused(refused, tmp_path, words, option):
    more, said = ENDINGS[words, option]
    if words == "serve" and not portable.HAS_LIVE_DEVICE:
        pytest.skip("this build has no live device")
    (tmp_path / "t").write_text("0 0 0 8 1\n")
    message = refused(*words.split(), *more, option, "x.doc")
    assert "x.doc" in message and said in message
    assert [it.name for it in tmp_path.iterdir()] == ["t"]


def test_the_ending_of_a_converted_trace_is_refused_too(refused, tmp_path):
    (tmp_path / "t").write_text("0 0 0 8 1\n")
    assert TRACE in refused("trace", "convert", "t", "x.doc", "--format", "disksim")


def test_a_directory_is_not_called_as_a_file(refused, ssdlab, small_options, tmp_path):
    message = refused("run", "--out", "results.json")
    assert "results.json: a directory is written" in message and "--json FILE" in message
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.json").mkdir()
    for name in ("old.json", "seed.1"):
        assert ssdlab("run", *small_options, "--quiet", "--out", name).returncode == 0


def test_capitals_and_devices_are_accepted(ssdlab, small_options, tmp_path):
    assert ssdlab("run", *small_options, "--quiet", "--out", "out").returncode == 0
    for name in ("A.HTML", "b.htm", "/dev/null"):
        done = ssdlab("report", "out", "--out", name)
        assert (done.returncode, done.stderr) == (0, "")
    with pytest.raises(InputError, match=r"x\.pdf: a web page is written"):
        package.report(tmp_path / "out", tmp_path / "x.pdf")
