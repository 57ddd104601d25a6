"""A file of command lines of fio runs as the job file with the same options."""

from pathlib import Path

import pytest

import ssdlab as package
from ssdlab._core import InputError
from ssdlab.asking import what
from ssdlab.foreign import fio_command

COMMANDS = """#!/bin/sh
# two runs
sudo fio --bs=4k --name=a --rw=randread --size=8m --iodepth 4 --output-format=json \\
    --number_ios=100 --name=b --rw=randwrite --size=8m --number_ios=50 > out.json
fio -name=c --rw=write --bs=128k --size=1m --time_based --group_reporting
"""
JOB = """[a]
bs=4k
rw=randread
size=8m
iodepth=4
number_ios=100
[b]
bs=4k
rw=randwrite
size=8m
number_ios=50
[c]
rw=write
bs=128k
size=1m
time_based
group_reporting
stonewall
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "load.txt").write_text(COMMANDS)
    (tmp_path / "load.fio").write_text(JOB)


def test_commands_are_the_job_with_their_options(here):
    lines = fio_command.job(Path("load.txt"), COMMANDS).splitlines()
    assert lines == JOB.splitlines()
    by_command, by_job = (
        package.run(name, device="agrawal2008", set={"device.blocks_per_plane": 64})
        for name in ("load.txt", "load.fio")
    )
    assert by_command.host.to_dict() == by_job.host.to_dict()
    assert by_command.host.all.requests == 158


def test_ask_takes_commands(here):
    asked = what.of("load.txt", None)
    assert asked.read == ["Load: load.txt, a job of fio, as ssdlab run takes it."]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fio job.fio --output=x\n", "it.txt:1: fio reads its jobs from job.fio; `ssdlab run job."),
        ("\nfio --name='a\n", "it.txt:2: a command of fio: No closing quotation"),
    ],
)
def test_commands_that_cannot_be_taken(text, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("it.txt").write_text(text)
    with pytest.raises(InputError) as refused:
        package.run("it.txt")
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["fiorina 1 2 3\n", "0.5 fio 12 R 8\n", "fio\n", "fio 3.36\n"])
def test_other_lines_are_no_commands(text):
    assert not fio_command.is_one(text)
