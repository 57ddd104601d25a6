"""A virtual machine for tests: a kernel of Debian, and the few programs that it needs.

Nothing is installed: the packages are downloaded and taken apart.
"""

import gzip
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from other_programs import call, need

#: In which order the kernel's modules need each other.
MODULES = (
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
)
PROGRAMS = ("mke2fs", "e2fsck")
BOOT_SECONDS = 420


def downloaded(directory):
    """The directory into which a kernel and busybox were taken apart."""
    need("apt-get", "apt-cache", "dpkg-deb")
    found = call("apt-cache", "depends", "linux-image-cloud-amd64", check=False)
    kernel = re.search(r"Depends: (linux-image-\S+-cloud-amd64)", found)
    if kernel is None:
        pytest.skip("the package linux-image-cloud-amd64 is not known here")
    call("apt-get", "download", kernel[1], "busybox-static", cwd=directory, check=False)
    packages = [*directory.glob("*.deb")]
    if len(packages) != 2:
        pytest.skip("the packages of a kernel and of busybox cannot be downloaded")
    for package in packages:
        call("dpkg-deb", "-x", package, directory)
        package.unlink()
    return directory


def libraries(program):
    """The libraries that a program needs."""
    return re.findall(r"(/\S+) \(0x", call("ldd", program))


class Archive:
    """What a kernel unpacks before it starts the first process (the format `newc` of cpio)."""

    def __init__(self):
        self.bytes = bytearray()
        self.known = set()

    def add(self, name, mode, data=b""):
        """Add a file or directory."""
        if name in self.known:
            return
        self.known.add(name)
        words = name.encode() + b"\0"
        fields = [len(self.known), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(words), 0]
        self.bytes += b"070701" + b"".join(b"%08X" % field for field in fields) + words
        self.bytes += bytes(-len(self.bytes) % 4) + data
        self.bytes += bytes(-len(self.bytes) % 4)

    def place(self, name, source, mode=0o755):
        """Add a file as it is, with the directories above it."""
        for above in reversed(Path(name).parents[:-1]):
            self.add(above.as_posix(), stat.S_IFDIR | 0o755)
        self.add(name, stat.S_IFREG | mode, Path(source).read_bytes())

    def packed(self):
        """All of it."""
        self.add("TRAILER!!!", 0)
        return gzip.compress(bytes(self.bytes), 1)


def initial_files(directory, script):
    """The archive of a machine that runs `script` and then goes off."""
    archive = Archive()
    for name in ("dev", "proc", "sys", "mnt", "tmp", "etc"):
        archive.add(name, stat.S_IFDIR | 0o755)
    archive.place("bin/busybox", next(directory.glob("*/busybox")))
    for name in PROGRAMS:
        program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if program is None:
            pytest.skip(f"{name} is not installed")
        archive.place(f"sbin/{name}", program)
        for library in libraries(program):
            archive.place(library.lstrip("/"), library)
    for name in MODULES:
        module = next(directory.glob(f"lib/modules/**/{name}.ko*"), None)
        if module is not None:
            archive.place(f"modules/{name}.ko", module)
    lines = [
        "#!/bin/busybox sh",
        "/bin/busybox --install -s /bin",
        "export PATH=/sbin:/bin",
        "mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev",
        *(f"insmod /modules/{name}.ko" for name in MODULES),
        "cd /tmp",
        script,
        "poweroff -f",
    ]
    archive.add("init", stat.S_IFREG | 0o755, "\n".join(lines).encode() + b"\n")
    return archive.packed()


def run(directory, script, *drive):
    """What a machine with a drive says on its console, while it runs a script of its shell."""
    need("qemu-system-x86_64", "ldd")
    files = downloaded(directory)
    initial = directory / "initial"
    initial.write_bytes(initial_files(files, script))
    kernel = next(files.glob("boot/vmlinuz-*"))
    words = ["qemu-system-x86_64", "-accel", "tcg", "-m", "256", "-nographic", "-no-reboot"]
    words += ["-object", "memory-backend-memfd,id=memory,size=256M,share=on"]
    words += ["-machine", "q35,memory-backend=memory", "-net", "none", "-kernel", str(kernel)]
    words += ["-initrd", str(initial), "-append", "console=ttyS0 panic=-1 quiet", *drive]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BOOT_SECONDS
    )
    return done.stdout.replace("\r", "") + done.stderr
