"""What is refused at the door says what it is and the one option that mends it, in three lines."""

import pytest

import ssdlab

#: Columns of a terminal, of which a message takes three lines.
THREE_LINES = 3 * 110


@pytest.fixture
def refused(ssdlab):
    """The message of a command that is refused."""

    def refused(*words, **options):
        done = ssdlab(*words, **options)
        assert (done.returncode, done.stdout) == (2, ""), done
        assert "Traceback" not in done.stderr and done.stderr.count("\n") == 1
        return done.stderr

    return refused


@pytest.fixture
def file(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def disksim(rows):
    return "".join(f"{n}.5 0 {at} {size} 0\n" for n, (at, size) in enumerate(rows))


def test_bytes_that_were_taken_for_sectors_are_doubted(refused, ssdlab, file):
    pages = disksim([(4096 * n, 4096) for n in range(8)])
    far = disksim([(2**42, 8)])
    large = disksim([(8, 32769), (16, 40001)])
    for text, doubt in (
        (pages, "each address and each size is a multiple of 4096"),
        (far, "more than any drive has"),
        (large, "MiB in the mean"),
    ):
        path = file("some.trace", text)
        said = refused("run", "--trace", path)
        assert str(path) in said and doubt in said and "workload.format=disksim" in said, said
        assert "--columns" in said
        assert doubt in refused("trace", "info", path)
    named = ("--set", "workload.format=disksim", "--set", "device.blocks_per_plane=64")
    assert ssdlab("run", "--trace", file("a.trace", pages), *named).returncode == 0
    # What is asked of sectors, and large trims, are in no doubt.
    usual = disksim([(8 * n, 8) for n in range(8)])
    assert ssdlab("run", "--trace", file("b.trace", usual)).returncode == 0


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a,b;c 12\nd,e;f 13\n", ["the nearest are ", "--columns"]),
        ("1,2,3,4,5,6,7,8\n", ["the nearest are ", "workload.format"]),
        ('{"fio version" : "fio-3.36", "jobs": []}\n', ["results of fio", "ssdlab ask FILE"]),
        ('{"schema": 1, "experiment": {}}\n', ["results of ssdlab", "ssdlab run FILE"]),
        ('{"a": 1}\n', ["this is JSON"]),
        ("[global]\nrw=read\n", ["a job file of fio", "ssdlab run FILE"]),
        ("[device]\nkind = 'ssd'\n", ["an experiment", "ssdlab run FILE"]),
    ],
)
def test_a_file_that_is_no_trace_is_told_what_it_is(text, parts, refused, file):
    path = file("what.txt", text)
    said = refused("run", "--trace", path)
    assert str(path) in said and all(part in said for part in parts), said
    assert len(said) - len(str(path)) < THREE_LINES + 150, said


def test_the_nearest_formats_are_those_with_such_lines(refused, file):
    said = refused("run", "--trace", file("x.log", "12.5 0 88 8 write\n13.5 0 99 8 read\n"))
    assert "disksim (" in said and "oracle" not in said


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("samsung-pm9a4", "samsung-pm9a3"),
        ("pm9a3", "samsung-pm9a3"),
        ("7450", "micron-7450-max or micron-7450-pro"),
    ],
)
def test_an_unknown_name_leads_with_the_suggestion(name, meant, refused):
    said = refused("run", "--device", name)
    assert f"of that name (did you mean {meant}?); `ssdlab list devices` shows" in said
    assert len(said) < 200


def test_an_unknown_key_leads_with_the_suggestion(refused, file):
    said = refused("run", file("e.toml", "[device]\nchanels = 4\n"))
    assert said.endswith("e.toml:2: unknown key device.chanels (did you mean channels?)\n")


def test_fewer_channels_are_refused_with_the_blocks_that_keep_the_capacity(refused):
    for device in ("samsung-pm9a3", "samsung-990pro"):
        said = refused("run", "--device", device, "--set", "device.channels=4")
        assert "is not less than what the flash holds" in said
        assert "keeps the flash of the preset" in said
        blocks = said.partition("--set device.blocks_per_plane=")[2].split()[0]
        run = {"device.channels": 4, "device.blocks_per_plane": blocks, "workload.requests": 10}
        fewer = ssdlab.run(device=device, set=run)
        whole = ssdlab.run(device=device, set={"workload.requests": 10})
        assert fewer.capacity_bytes == whole.capacity_bytes
        assert fewer.flash.spare.nominal == pytest.approx(whole.flash.spare.nominal, abs=2e-3)
