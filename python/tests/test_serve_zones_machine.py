"""A drive of zones as the NVMe drive of a virtual machine with unmodified nvme-cli, blkzone, fio
and mkfs.f2fs."""

import json
import re

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
SCRIPT = """
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
to="-t tcp -a 10.0.2.2 -s PORT -q nqn.2024-07.internal.ssdlab:guest"
nvme connect $to -n SUBSYSTEM --nr-io-queues=4 && echo connected
for n in 1 2 3 4 5 6 7 8 9 10; do test -b /dev/nvme0n2 && break; sleep 1; done
d=/dev/nvme0n2
q=/sys/block/nvme0n2/queue
for key in zoned nr_zones max_open_zones max_active_zones chunk_sectors zone_append_max_bytes; do
  echo "$key = $(cat $q/$key)"
done
echo BEGIN controller; nvme zns id-ctrl /dev/nvme0 -o json; echo END
echo BEGIN namespace; nvme zns id-ns $d -o json; echo END
/sbin/blkzone report -c 3 $d
fio --name=x --filename=$d --zonemode=zbd --rw=randwrite --bs=64k --size=64M --io_size=96M \\
  --max_open_zones=6 --ioengine=libaio --direct=1 --iodepth=4 --verify=crc32c > out 2>&1 \\
  && echo "fio is content"
grep -E "err=|IOPS" out
/sbin/blkzone reset $d && echo emptied
dd if=/dev/urandom of=data bs=64k count=2 2>/dev/null
nvme zns zone-append $d -s 0x8000 -z 65536 -d data && echo appended
nvme zns zone-append $d -s 0x8000 -z 65536 -d data && echo appended
nvme zns open-zone $d -s 0x10000 && echo opened
nvme zns open-zone $d -s 0x18000 -r && echo opened
nvme write $d -s 0x18080 -c 127 -z 65536 -d data && echo written
nvme write $d -s 0x18000 -c 127 -z 65536 -d data && echo written
nvme zns zrwa-flush-zone $d -l 0x1807f && echo flushed
nvme zns close-zone $d -s 0x8000 && echo closed
nvme zns finish-zone $d -s 0x20000 && echo finished
nvme write $d -s 0x20000 -c 7 -z 4096 -d data
nvme write $d -s 0x28008 -c 7 -z 4096 -d data
nvme zns close-zone $d -s 0x30000
echo BEGIN report; nvme zns report-zones $d -o json; echo END
echo BEGIN full; nvme zns report-zones $d -S 5 -o json; echo END
echo MARK; sleep 8
nvme zns reset-zone $d -a && echo emptied
/sbin/mkfs.f2fs -f -m -c $d /dev/nvme0n1 > out 2>&1; echo "mkfs.f2fs ended $?"; tail -n 5 out
/sbin/blkzone report $d | grep -cv "(em)"
nvme disconnect -n SUBSYSTEM
dmesg | grep -E "nvme|zone" | tail -n 30
"""
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
