"""Nothing of a file that another file names is shown: only where it is wrong."""

import re
from pathlib import Path

import pytest
from house import ROOT, key_reference

import ssdlab

SECRET = "zebra:x:0:0:giraffe:/zebra:/bin/zsh"
PRESET = '[device]\npreset = "agrawal2008"\nblocks_per_plane = 64\n'
#: Keys whose values are texts, and no paths: what they are is in the reference of keys.
WORDS = {
    *("workload.format", "workload.columns", "workload.layout", "workload.job", "workload.command"),
    "workload.pattern",
    *("workload.passes", "workload.objects", "workload.fan_out", "run.namespaces"),
}


def paths_of_the_reference():
    """The keys that take a text in the reference, which is made of the tables of keys."""
    rows = re.findall(r"^- `([a-z_.]+)` \(text[);]", key_reference(), re.M)
    texts = set(rows)
    assert len(texts) > len(WORDS)
    assert texts >= WORDS, f"no such keys: {WORDS - texts}"
    return texts - WORDS


def test_the_page_on_trust_lists_every_key_with_a_path():
    """A key that takes a text and is new is one of `WORDS`, or a row of the page."""
    text = ROOT.joinpath("docs/security.md").read_text()
    table = text.partition("These keys have the paths of files:")[2].partition("\n\nOf a file")[0]
    assert set(re.findall(r"^\| `([a-z_.]+)` \|", table, re.M)) == paths_of_the_reference()
    (found,) = re.findall(r"grep -E '([^']*)' it.toml", text)
    for key in paths_of_the_reference():
        assert re.search(found, key), f"{key} is not found by the command of the page"


@pytest.fixture
def secret(tmp_path):
    """A file that has one line, many times: whatever looks for a table finds words."""
    path = tmp_path / "shadow"
    path.write_text(f"{SECRET}\n" * 3)
    return path


def hidden(message):
    assert not any(word in message for word in ("zebra", "giraffe", "zsh")), message
    return message


@pytest.mark.parametrize("key", sorted(paths_of_the_reference() - {"run.save_drive"}))
def test_no_words_of_a_file_that_a_file_names_are_shown(ssdlab, tmp_path, secret, key):
    section, _, name = key.rpartition(".")
    kinds = ["trace", "fio", "diskspd"] if section == "workload" else [None]
    for kind in kinds:
        of_kind = f'kind = "{kind}"\n' if kind else ""
        formats = ["csv", "msr", "spc", "disksim", "blkparse", "fio"] if kind == "trace" else [None]
        for form in [None, *formats]:
            stated = f'format = "{form}"\n' if form else ""
            stated += (
                'columns = "time=1:us,op=2,offset=3:bytes,size=4:bytes"\n' if form == "csv" else ""
            )
            text = f"{PRESET}[{section}]\n{of_kind}{stated}{name} = '{secret}'\n"
            (tmp_path / "it.toml").write_text(text)
            done = ssdlab("run", tmp_path / "it.toml")
            hidden(done.stderr + done.stdout)
            # Some formats leave out lines that are none of theirs, and say how many.
            assert "shadow" in done.stderr if done.returncode else "text_lines" in done.stdout, done


def test_what_the_user_names_is_quoted(refused, tmp_path, secret):
    (tmp_path / "shadow.fio").write_text(f"[a]\n{SECRET}\n")
    for words in (
        ["--set", f"run.faults={secret}"],
        ["--trace", secret, "--set", "workload.format=msr"],
        [tmp_path / "shadow.fio"],
    ):
        assert "zebra" in refused("run", *words, "--device", "agrawal2008"), words


def test_scripts_that_go_wrong_late_are_not_shown_either(refused, tmp_path):
    good = "128166372003061629,host,0,Read,0,4096,0\n"
    (tmp_path / "t.csv").write_text(good * 3 + SECRET + "\n")
    (tmp_path / "it.toml").write_text(
        f"{PRESET}[workload]\nkind = 'trace'\nformat = 'msr'\npath = 't.csv'\n"
    )
    message = hidden(refused("run", tmp_path / "it.toml"))
    assert "t.csv, line 4: " in message and "its words are shown where --trace" in message
    faults = tmp_path / "f.txt"
    faults.write_text(f"1ms slow 2\n{SECRET}\n")
    (tmp_path / "it.toml").write_text(f"{PRESET}[run]\nfaults = '{faults}'\n")
    assert "line 2: " in hidden(refused("run", tmp_path / "it.toml"))


def test_a_log_that_a_job_file_names_is_not_shown(refused, tmp_path, secret):
    (tmp_path / "j.fio").write_text(f"[a]\nsize=1m\nread_iolog={secret}\n")
    hidden(refused("run", tmp_path / "j.fio", "--device", "agrawal2008"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "disksim_iodriver X {\n type = 1,\n",
        "ssdmodel_ssd SSD {\n  Max queue length = zebragiraffe\n}\n",
        "ssdmodel_ssd SSD {\n  Block count = 1000,\n  zebragiraffe = 5\n}\n",
    ],
)
def test_a_file_that_parameters_of_disksim_name_is_not_shown(ssdlab, tmp_path, secret, text):
    secret.write_text(text or f"{SECRET}\n")
    (tmp_path / "a.parv").write_text(f"source {secret}\ndisksim_iodriver D {{\n  type = 1\n}}\n")
    done = ssdlab("run", tmp_path / "a.parv", "--show")
    hidden(done.stderr + done.stdout)
    assert "Traceback" not in done.stderr


def test_a_file_that_a_scenario_of_mqsim_names_is_not_shown(ssdlab, tmp_path, secret):
    kind = "IO_Flow_Parameter_Set_Trace_Based"
    flow = f"<{kind}><File_Path>{secret}</File_Path></{kind}>"
    text = f"<MQSim_IO_Scenarios><IO_Scenario>{flow}</IO_Scenario></MQSim_IO_Scenarios>"
    (tmp_path / "w.xml").write_text(text)
    done = ssdlab("run", tmp_path / "w.xml", "--device", "agrawal2008")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done
    hidden(done.stderr + done.stdout)
    assert Path(secret).name in done.stderr


def test_a_dict_may_come_from_a_file_and_what_is_set_is_the_users(secret):
    keys = {"kind": "trace", "path": str(secret), "format": "csv"}
    keys["columns"] = "time=1:us,offset=2:sectors,size=3,op=4"
    with pytest.raises(ssdlab.InputError) as refused:
        ssdlab.run(workload=keys)
    hidden(str(refused.value))
    with pytest.raises(ssdlab.InputError, match="zebra"):
        ssdlab.run(set={f"workload.{key}": value for key, value in keys.items()})
