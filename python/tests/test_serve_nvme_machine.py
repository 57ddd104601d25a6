"""A live device as the NVMe drive of a virtual machine with unmodified nvme-cli and fio."""

import json
import re
from pathlib import Path

import machine
import pytest
from initiator import SUBSYSTEM
from other_programs import need

import ssdlab

HANDLES = {"device.fdp.handles": 3, "device.spare_factor": 0.3}
MORE = machine.More(
    packages=("nvme-cli", "libnvme1"),
    modules=("failover", "net_failover", "virtio_net", "libcrc32c", "nvme-fabrics", "nvme-tcp"),
    found=("nvme",),
    programs=("fio", "blkdiscard"),
)

SCRIPT = (Path(__file__).parent / "support/files/nvme_guest.sh").read_text()


def told(said):
    """What nvme-cli says of placement, by the name of its log."""
    found = re.findall(r"^BEGIN (\w+)$(.*?)^END$", said, re.MULTILINE | re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def numbers(value):
    """All whole numbers of a log, whatever the program calls them."""
    if isinstance(value, dict):
        return [number for it in value.values() for number in numbers(it)]
    if isinstance(value, list):
        return [number for it in value for number in numbers(it)]
    return [int(value)] if str(value).isdigit() else []


def compare(logs, fdp):
    """The logs of the drive as nvme-cli reads them, and the server's own words."""
    assert {*logs} == {"configs", "usage", "stats", "events", "status"}
    assert fdp["unit_bytes"] in numbers(logs["configs"])
    stats = {key: int(value) for key, value in logs["stats"].items()}
    assert stats["hbmw"] == fdp["host_bytes"] == 10 * 4096
    assert (stats["mbmw"], stats["mbe"]) == (fdp["media_bytes"], fdp["erased_bytes"])
    events = logs["events"]["events"]
    last = fdp["last_events"]["host"]
    assert len(events) == len(last) == 2
    assert [it["event"] for it in last] == ["invalid_handle", "unit_not_full"]
    left = [it["left_bytes"] // 512 for it in fdp["handles"]]
    assert [it["ruamw"] for it in logs["status"]["ruhss"]] == left


@pytest.mark.nightly
def test_a_kernel_and_its_programs_use_it(tmp_path):
    need("qemu-system-x86_64", "fio", "blkdiscard")
    drives = {
        "old": {"device": "agrawal2008", "size": "64MiB"},
        "fast": {"device": "null", "size": "64MiB"},
        "placed": {"device": "tlc-client", "size": "64MiB", "set": HANDLES},
    }
    (tmp_path / "machine").mkdir()
    with ssdlab.serve_exports(drives, socket=tmp_path / "nbd", nvme="tcp://127.0.0.1:0") as live:
        uri = live["old"].nvme
        script = SCRIPT.replace("PORT", uri.rsplit(":", 1)[1]).replace("SUBSYSTEM", SUBSYSTEM)
        network = ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="]
        said = machine.run(tmp_path / "machine", script, *network, more=MORE)
        health = live["old"].say("health")
        fdp = live["placed"].say("placement")
    print(said)
    words = ("connected", "written", "same", "verified", "zeroed", "trimmed", "flushed")
    words += ("fio is content", "discarded", "mounted", "read back", "sound")
    for word in words:
        assert re.search(rf"^.*{word}$", said, re.MULTILINE), (word, said)
    assert f"subnqn:  {SUBSYSTEM}" in said and "Compare Failure" in said
    assert re.search(r"NSID.*|\[ *1\]:0x2", said)
    # The log of health, as the program reads it, and the server's own words for it.
    for key, pattern in (
        ("percentage_used", r'"percent_used" ?: ?(\d+)'),
        ("available_spare", r'"avail_spare" ?: ?(\d+)'),
    ):
        assert int(re.search(pattern, said)[1]) == health[key], key
    assert said.count("placed\n") == 10 and "copied" in said and "marked" in said
    assert re.search("Unrecovered|read error", said, re.IGNORECASE)
    compare(told(said), fdp)
    old, fast = live.results["old"].host, live.results["fast"].host
    assert old.write.bytes >= (8 << 20) + 65536 and old.flush.requests > 0
    assert old.trim.requests >= 3 and fast.trim.requests > 0 and fast.write.bytes > 4 << 20
