"""A drive of zones as the NVMe drive of a virtual machine with unmodified nvme-cli, blkzone, fio
and mkfs.f2fs."""

import json
import re
from pathlib import Path

import machine
import pytest
from initiator import SUBSYSTEM
from other_programs import need

import ssdlab

COUNT, MIB = 64, 1 << 20
ZONES = {
    "device.kind": "zoned",
    "device.zones.count": COUNT,
    "device.zones.size": "16MiB",
    "device.zones.capacity": "12MiB",
    "device.zones.open": 8,
    "device.zones.active": 10,
    "device.zones.append_limit": "256KiB",
    "device.zones.zrwa.resources": 2,
    "device.zones.zrwa.size": "256KiB",
    "device.zones.zrwa.granularity": "64KiB",
}
MORE = machine.More(
    packages=("nvme-cli", "libnvme1", "f2fs-tools"),
    modules=("failover", "net_failover", "virtio_net", "libcrc32c", "nvme-fabrics", "nvme-tcp"),
    found=("nvme", "mkfs.f2fs"),
    programs=("fio", "blkzone"),
)
#: Zones begin every 32768 blocks of 512 bytes.
SCRIPT = (Path(__file__).parent / "support/files/zones_guest.sh").read_text()
STATES = {
    "implicitly_open": ("IMP_OPENED", 2),
    "explicitly_open": ("EXP_OPENED", 3),
    "closed": ("CLOSED", 4),
    "full": ("FULL", 14),
}


def told(said):
    """What nvme-cli says, by the name of its page."""
    found = re.findall(r"^BEGIN (\w+)$(.*?)^END$", said, re.MULTILINE | re.DOTALL)
    return {name: json.loads(text) for name, text in found}


@pytest.mark.nightly
def test_a_kernel_and_its_programs_use_zones(tmp_path):
    need("qemu-system-x86_64", "fio", "blkzone")
    drives = {"plain": {"device": "null", "size": "256MiB"}, "zones": {"set": ZONES}}
    (tmp_path / "machine").mkdir()
    seen = []
    with ssdlab.serve_exports(drives, nvme="tcp://127.0.0.1:0") as live:
        port = live["zones"].nvme.rsplit(":", 1)[1]
        script = SCRIPT.replace("PORT", port).replace("SUBSYSTEM", SUBSYSTEM)
        network = ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="]

        def look(said):
            if "MARK" in said and not seen:
                seen.append(live["zones"].say("zones"))

        said = machine.run(tmp_path / "machine", script, *network, more=MORE, watch=look)
    print(said)
    words = ("connected", "fio is content", "emptied", "closed", "finished", "flushed")
    for word in words:
        assert re.search(rf"^.*{word}$", said, re.MULTILINE), (word, said)
    assert said.count("appended\n") == said.count("opened\n") == said.count("written\n") == 2
    for line in (
        "zoned = host-managed",
        f"nr_zones = {COUNT}",
        "max_open_zones = 8",
        "max_active_zones = 10",
        "chunk_sectors = 32768",
        "zone_append_max_bytes = 262144",
        "mkfs.f2fs ended 0",
    ):
        assert line in said, line
    # What a zone refuses, as the program says it.
    for why in ("Zone Is Full", "Zone Invalid Write", "Invalid Zone State Transition"):
        assert why.lower() in said.lower().replace("_", " "), why
    pages = told(said)
    assert pages["controller"]["zasl"] == 6
    own = pages["namespace"]
    assert (own["mar"], own["mor"]) in ((9, 7), ("9", "7"))
    # The report is the server's own words.
    (zones,) = seen
    assert (zones["open"], zones["active"], zones["with_window"]) == (2, 3, 1)
    reported = pages["report"]["zone_list"]
    assert pages["report"]["nr_zones"] == COUNT == len(reported)
    used = {it["zone"]: it for it in zones["not_empty"]}
    assert {*used} == {1, 2, 3, 4}
    for number, it in enumerate(reported):
        assert it["slba"] == number * 32768 and it["cap"] == 12 * MIB // 512
        if number in used:
            own = used[number]
            assert it["state"] in (STATES[own["state"]], *STATES[own["state"]]), it
            if own["state"] != "full":
                assert it["wp"] == it["slba"] + own["written_bytes"] // 512
        else:
            assert it["state"] in ("EMPTY", 1) and it["wp"] == it["slba"]
    assert [it["slba"] for it in pages["full"]["zone_list"]] == [4 * 32768]
    assert live.results["zones"].zones.resets > 4
