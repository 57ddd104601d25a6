"""A live device as the NVMe drive of a virtual machine with unmodified nvme-cli and fio."""

import re

import machine
import pytest
from initiator import SUBSYSTEM
from other_programs import need

import ssdlab

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
nvme disconnect -n SUBSYSTEM
dmesg | grep nvme
"""


@pytest.mark.nightly
def test_a_kernel_and_its_programs_use_it(tmp_path):
    need("qemu-system-x86_64", "fio", "blkdiscard")
    drives = {
        "old": {"device": "agrawal2008", "size": "64MiB"},
        "fast": {"device": "null", "size": "64MiB"},
    }
    (tmp_path / "machine").mkdir()
    with ssdlab.serve_exports(drives, socket=tmp_path / "nbd", nvme="tcp://127.0.0.1:0") as live:
        uri = live["old"].nvme
        script = SCRIPT.replace("PORT", uri.rsplit(":", 1)[1]).replace("SUBSYSTEM", SUBSYSTEM)
        network = ["-netdev", "user,id=net", "-device", "virtio-net-pci,netdev=net,romfile="]
        said = machine.run(tmp_path / "machine", script, *network, more=MORE)
        health = live["old"].say("health")
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
    old, fast = live.results["old"].host, live.results["fast"].host
    assert old.write.bytes >= (8 << 20) + 65536 and old.flush.requests > 0
    assert old.trim.requests >= 3 and fast.trim.requests > 0 and fast.write.bytes > 4 << 20
