"""A live device as the NVMe drive of a virtual machine with unmodified nvme-cli and fio."""

import json
import re

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

SCRIPT = """
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
to="-t tcp -a 10.0.2.2 -s PORT -q nqn.2024-07.internal.ssdlab:guest"
nvme discover $to
nvme connect $to -n SUBSYSTEM --hdr-digest --data-digest --nr-io-queues=4 && echo connected
for n in 1 2 3 4 5 6 7 8 9 10; do test -b /dev/nvme0n2 && break; sleep 1; done
nvme id-ctrl /dev/nvme0 | grep -E "^(mn|mdts|oncs|subnqn)"
nvme list-ns /dev/nvme0
nvme id-ns /dev/nvme0n1 | grep -E "^(nsze|nguid)"
nvme get-feature /dev/nvme0 -f 7
dd if=/dev/urandom of=data bs=64k count=1 2>/dev/null
nvme write /dev/nvme0n1 -s 8 -c 127 -z 65536 -d data && echo written
nvme compare /dev/nvme0n1 -s 8 -c 127 -z 65536 -d data && echo same
nvme compare /dev/nvme0n1 -s 9 -c 127 -z 65536 -d data
nvme verify /dev/nvme0n1 -s 0 -c 1000 && echo verified
nvme write-zeroes /dev/nvme0n1 -s 8 -c 0 && echo zeroed
nvme dsm /dev/nvme0n1 -d -s 16,32 -b 1,2 && echo trimmed
nvme flush /dev/nvme0n1 && echo flushed
nvme smart-log /dev/nvme0 -n 1 -o json
nvme error-log /dev/nvme0 -e 2 | grep -E "error_count|status_field" | head -2
fio --name=x --filename=/dev/nvme0n1 --rw=randwrite --bs=4k --size=8M --verify=crc32c \\
  --ioengine=libaio --direct=1 --iodepth=16 --fsync=64 > out 2>&1 && echo "fio is content"
grep -E "err=|IOPS" out
/sbin/blkdiscard /dev/nvme0n2 && echo discarded
/sbin/mke2fs -q -t ext4 /dev/nvme0n2 && mount -t ext4 -o discard /dev/nvme0n2 /mnt && echo mounted
dd if=/dev/urandom of=/mnt/data bs=64k count=64 2>/dev/null; md5sum < /mnt/data > sum; sync
echo 3 > /proc/sys/vm/drop_caches
test "$(md5sum < /mnt/data)" = "$(cat sum)" && echo read back
umount /mnt && /sbin/e2fsck -f -n /dev/nvme0n2 && echo sound
nvme copy /dev/nvme0n1 --sdlba=4096 --slbs=8,64 --blocks=7,15 && echo copied
nvme write-uncor /dev/nvme0n1 -s 5000 -c 7 && echo marked
nvme read /dev/nvme0n1 -s 5000 -c 7 -z 4096 > /dev/null
nvme write-zeroes /dev/nvme0n1 -s 5000 -c 7
for handle in 0 1 2 1 2 2 1 0 2 7; do
  at=$((handle * 256 + 20000))
  nvme write /dev/nvme0n3 -s $at -c 7 -z 4096 -d data --dir-type=2 --dir-spec=$handle && echo placed
done
nvme fdp update /dev/nvme0n3 --pids=1 && echo updated
echo BEGIN configs; nvme fdp configs /dev/nvme0 -e 3 -o json; echo END
echo BEGIN usage; nvme fdp usage /dev/nvme0 -e 3 -o json; echo END
echo BEGIN stats; nvme fdp stats /dev/nvme0 -e 3 -o json; echo END
echo BEGIN events; nvme fdp events /dev/nvme0 -e 3 --host-events -o json; echo END
echo BEGIN status; nvme fdp status /dev/nvme0n3 -o json; echo END
nvme disconnect -n SUBSYSTEM
dmesg | grep nvme
"""


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
