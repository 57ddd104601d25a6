"""A live device as the disk of a virtual machine."""

import os
import socket
import subprocess

import machine
import pytest
from other_programs import need

import ssdlab

SCRIPT = """
echo "disk of $(cat /sys/block/vda/size) sectors, $(cat /sys/block/vda/serial)"
echo "discards up to $(cat /sys/block/vda/queue/discard_max_bytes)"
/sbin/mke2fs -q -t ext4 /dev/vda && echo made
mount -t ext4 -o discard /dev/vda /mnt && echo mounted
dd if=/dev/urandom of=/mnt/data bs=64k count=64 2>/dev/null
md5sum < /mnt/data > /mnt/sum
dd if=/dev/zero of=/mnt/gone bs=64k count=64 2>/dev/null
sync; rm /mnt/gone; sync
echo 3 > /proc/sys/vm/drop_caches
test "$(md5sum < /mnt/data)" = "$(cat /mnt/sum)" && echo read back
umount /mnt && echo unmounted
/sbin/e2fsck -f -n /dev/vda && echo sound
"""


@pytest.mark.nightly
def test_a_machine_has_it_as_its_disk(tmp_path):
    need("qemu-system-x86_64")
    path = tmp_path / "vhost"
    with ssdlab.serve("null", vhost_user=path, size="64MiB") as live:
        drive = ["-chardev", f"socket,id=disk,path={path}"]
        drive += ["-device", "vhost-user-blk-pci,chardev=disk"]
        said = machine.run(tmp_path, SCRIPT, *drive)
    assert "disk of 131072 sectors, ssdlab" in said, said
    assert "discards up to 1073741824" in said, said
    for word in ("made", "mounted", "read back", "unmounted", "sound"):
        assert f"\n{word}\n" in said, said
    host = live.results.host
    assert host.write.bytes > 4 << 20 and host.read.requests > 0
    assert host.flush.requests > 0 and host.trim.requests > 0


def test_nothing_is_left_of_its_socket(tmp_path):
    path = tmp_path / "vhost"
    with ssdlab.serve("null", vhost_user=path, size="1MiB") as live:
        assert path.exists() and live.uri == ""
        # Who knocks and says nothing, or nonsense, does no harm.
        for words in (b"", b"nonsense" * 100):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(os.fspath(path))
                client.sendall(words)
    assert not path.exists()
    assert live.results.live.vhost_user == os.fspath(path)


def test_a_socket_in_use_is_refused(command, tmp_path):
    path = tmp_path / "vhost"
    with ssdlab.serve("null", vhost_user=path, size="1MiB"):
        words = [*command, "serve", "--device", "null", "--vhost-user", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"socket {path}: in use" in done.stderr
