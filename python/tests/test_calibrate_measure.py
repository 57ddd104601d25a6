"""Measuring files: what is measured, and what is refused so that nothing is destroyed."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

import ssdlab as package
from ssdlab.calibration import measure, safety

QUICK = ("--seconds", "0.01", "--block-sizes", "4KiB,8KiB,16KiB", "--outstanding", "1,2")


@pytest.fixture
def data(tmp_path):
    """A file that can be read with O_DIRECT, or a skip."""
    file = tmp_path / "data"
    file.write_bytes(os.urandom(4 << 20))
    os.sync()
    try:
        os.close(os.open(file, os.O_RDONLY | os.O_DIRECT))
    except OSError as error:
        pytest.skip(f"the file system of {tmp_path} has no O_DIRECT: {error.strerror}")
    return file


def test_reads_leave_the_file_as_it_is(data, ssdlab, tmp_path):
    before = data.read_bytes()
    out = tmp_path / "d.toml"
    ran = ssdlab("calibrate", data, *QUICK, "--zones", "3", "--out", out)
    assert ran.returncode == 0, ran.stderr
    assert data.read_bytes() == before
    text = out.read_text()
    assert 'size = "4MiB"' in text and "# Not measured: writes" in text and "zones: 3" in text
    results = package.run(device=out, workload={"kind": "closed", "requests": 100})
    assert results.host.read.requests == 100


def test_writes_are_measured_only_if_asked_for(data):
    before, size = data.read_bytes(), data.stat().st_size
    found = package.calibrate(
        data, write=True, seconds=0.01, block_sizes=[4096, 8192, 16384], outstanding=[1, 3]
    )
    assert set(found.patterns) == {"seq_read", "rand_read", "seq_write", "rand_write"}
    assert data.read_bytes() != before and data.stat().st_size == size
    assert {point.outstanding for point in found.points} == {1, 3}
    # A mean over 5 zones of at least 5 requests each.
    assert all(point.requests >= 25 for point in found.points)
    assert found.conditions.overhead_us > 0


@pytest.mark.parametrize("begins", [b"{\x00\x93", b" {\xff\x01"])
def test_data_that_begins_like_json_is_measured(data, begins):
    with data.open("r+b") as file:
        file.write(begins)
    found = package.calibrate(data, seconds=0.01, block_sizes=[4096, 8192, 16384])
    assert set(found.patterns) == {"seq_read", "rand_read"}


def test_zones_and_places_cover_the_target():
    class Recorded(measure.Loop):
        def run(self, seconds):
            offsets = [self.first + self.cell.bytes * next(self.places) for _ in range(500)]
            assert min(offsets) >= self.cell.zone * 65536
            assert max(offsets) + self.cell.bytes <= (self.cell.zone + 1) * 65536
            return offsets

    import random

    draw = random.Random(1)
    sequence = Recorded(0, measure.Cell("seq_read", 4096, 1, 2), 65536, draw).run(0)
    steps = {(b - a) % 65536 for a, b in zip(sequence, sequence[1:], strict=False)}
    assert steps == {4096}
    places = Recorded(0, measure.Cell("rand_read", 4096, 1, 2), 65536, draw).run(0)
    assert len(set(places)) == 16


def test_what_cannot_be_measured_is_refused(data, tmp_path, refused):
    assert "cannot be read: No such file" in refused("calibrate", "none")
    assert "no file in this directory" in refused("calibrate", tmp_path)
    assert "a directory" in refused("calibrate", tmp_path, "--as", "device")
    assert "an odd number" in refused("calibrate", data, "--zones", "4")
    assert "--seconds 0.0" in refused("calibrate", data, "--seconds", "0")
    message = refused("calibrate", data)  # blocks of 1 MiB
    assert "too few for 5 zones of 4 blocks of 1MiB; at least 20MiB" in message
    holes = tmp_path / "holes"
    with holes.open("wb") as file:
        file.truncate(64 << 20)
    assert "has holes, from byte 0 on" in refused("calibrate", holes)
    assert "neither a file nor a block device" in refused("calibrate", "/dev/null")
    empty = tmp_path / "empty"
    empty.touch()
    assert "has 0 bytes, too few" in refused("calibrate", empty)


@pytest.mark.parametrize(("name", "offset", "magic"), safety.SIGNATURES)
def test_targets_with_recognisable_contents_are_not_overwritten(data, name, offset, magic):
    with data.open("r+b") as file:
        file.truncate(1 << 20)
        file.write(bytes(1 << 20))
        file.seek(offset)
        file.write(magic)
    before = data.read_bytes()
    with pytest.raises(package.InputError, match="it holds .*; writing would destroy it"):
        package.calibrate(data, write=True, block_sizes=[4096, 8192, 16384])
    assert data.read_bytes() == before


def test_a_file_system_is_not_overwritten(data, refused):
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", data], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("mkfs.ext4 is not installed")
    before = data.read_bytes()
    assert "it holds an ext2, ext3 or ext4 file system" in refused(
        "calibrate", data, "--write", *QUICK
    )
    assert data.read_bytes() == before


def test_a_mounted_device_is_not_overwritten(refused):
    devices = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        device = f"/dev/block/{fields[2]}"
        source = fields[fields.index("-") + 2]
        for path in (device, source):
            if os.path.exists(path) and stat.S_ISBLK(os.stat(path).st_mode):
                devices[path] = fields[4]
    if not devices or os.geteuid() != 0:
        pytest.skip("no mounted block device can be opened here")
    message = refused("calibrate", next(iter(devices)), "--write", "--as", "device")
    assert "it is mounted on" in message or "cannot be" in message


def test_ctrl_c_ends_it(data, command, busy, interrupted):
    words = [*command, "calibrate", str(data), "--block-sizes", "4KiB,8KiB,16KiB"]
    process = subprocess.Popen(
        [*words, "--seconds", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    busy(process)
    out, error = interrupted(process)
    assert process.returncode == 130
    assert out == "" and error == "ssdlab: interrupted; nothing was written\n"
