"""A virtual machine for tests: a kernel of Debian, and the few programs that it needs.

Nothing is installed: the packages are downloaded and taken apart.
"""

import gzip
import os
import re
import shutil
import stat
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

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
#: How long a machine may take to its first own word, where the processor runs it itself.
START_SECONDS = 40
IS_UP = "the machine is up"


class More(NamedTuple):
    """What a machine has beside a kernel and busybox."""

    packages: tuple[str, ...] = ()
    """Packages that are downloaded."""
    modules: tuple[str, ...] = ()
    """Modules of the kernel."""
    found: tuple[str, ...] = ()
    """Programs of these packages."""
    programs: tuple[str, ...] = ()
    """Programs of this system."""


NO_MORE = More()


def downloaded(directory, more=NO_MORE):
    """The directory into which a kernel, busybox and more were taken apart."""
    need("apt-get", "apt-cache", "dpkg-deb")
    found = call("apt-cache", "depends", "linux-image-cloud-amd64", check=False)
    kernel = re.search(r"Depends: (linux-image-\S+-cloud-amd64)", found)
    if kernel is None:
        pytest.skip("the package linux-image-cloud-amd64 is not known here")
    wanted = (kernel[1], "busybox-static", *more.packages)
    call("apt-get", "download", *wanted, cwd=directory, check=False)
    packages = [*directory.glob("*.deb")]
    if len(packages) != len(wanted):
        pytest.skip(f"the packages {', '.join(wanted)} cannot be downloaded")
    for package in packages:
        call("dpkg-deb", "-x", package, directory)
        package.unlink()
    return directory


def libraries(program, beside=""):
    """The libraries that a program needs, some perhaps in a directory beside it."""
    said = call("env", f"LD_LIBRARY_PATH={beside}", "ldd", program)
    return re.findall(r"(/\S+) \(0x", said)


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


def initial_files(directory, script, more=NO_MORE):
    """The archive of a machine that runs `script` and then goes off."""
    archive = Archive()
    for name in ("dev", "proc", "sys", "mnt", "tmp", "etc"):
        archive.add(name, stat.S_IFDIR | 0o755)
    archive.place("bin/busybox", next(directory.glob("*/busybox")))
    for name in more.found:
        program = next(directory.glob(f"**/*bin/{name}"))
        archive.place(f"sbin/{name}", program)
        beside = [*directory.glob("**/lib/*-linux-gnu")]
        for library in libraries(program, ":".join(map(str, beside))):
            is_own = library.startswith(str(directory))
            archive.place(f"lib/{Path(library).name}" if is_own else library[1:], library)
    for name in (*PROGRAMS, *more.programs):
        program = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
        if program is None:
            pytest.skip(f"{name} is not installed")
        archive.place(f"sbin/{name}", program)
        for library in libraries(program):
            archive.place(library.lstrip("/"), library)
    for name in (*MODULES, *more.modules):
        module = next(directory.glob(f"lib/modules/**/{name}.ko*"), None)
        if module is not None:
            archive.place(f"modules/{name}.ko", module)
    lines = [
        "#!/bin/busybox sh",
        "/bin/busybox --install -s /bin",
        "export PATH=/sbin:/bin",
        "mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev",
        *(f"insmod /modules/{name}.ko" for name in (*MODULES, *more.modules)),
        "cd /tmp; export LD_LIBRARY_PATH=/lib",
        script,
        "poweroff -f",
    ]
    archive.add("init", stat.S_IFREG | 0o755, "\n".join(lines).encode() + b"\n")
    return archive.packed()


def run(directory, script, *drive, more=NO_MORE, watch=None):
    """What a machine with a drive says on its console, while it runs a script of its shell.

    Meanwhile `watch` gets what it has said so far.
    """
    need("qemu-system-x86_64", "ldd")
    files = downloaded(directory, more)
    initial = directory / "initial"
    initial.write_bytes(initial_files(files, f"echo {IS_UP}\n{script}", more))
    kernel = next(files.glob("boot/vmlinuz-*"))
    words = ["-m", "512", "-nographic", "-no-reboot"]
    words += ["-object", "memory-backend-memfd,id=memory,size=512M,share=on"]
    words += ["-machine", "q35,memory-backend=memory", "-net", "none", "-kernel", str(kernel)]
    words += ["-initrd", str(initial), "-append", "console=ttyS0 panic=-1 quiet", *drive]
    # Some systems have the device of KVM and no guest that starts with it.
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        said = console(directory, ["-accel", "kvm", "-cpu", "host", *words], START_SECONDS, watch)
        if said is not None:
            return said
    said = console(directory, ["-accel", "tcg", *words], BOOT_SECONDS, watch)
    assert said is not None, (directory / "console").read_text(errors="replace")
    return said


def console(directory, words, start_seconds, watch=None):
    """What the machine says until it is off; `None` if it does not start in that time."""
    path = directory / "console"
    with open(path, "wb") as out:
        process = subprocess.Popen(
            ["qemu-system-x86_64", *words], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        until, is_up = time.monotonic() + start_seconds, False
        while process.poll() is None:
            said = path.read_text(errors="replace").replace("\r", "")
            is_up = is_up or IS_UP in said
            if watch is not None:
                watch(said)
            if not is_up and time.monotonic() > until:
                return None
            assert time.monotonic() < until + BOOT_SECONDS, path.read_text(errors="replace")
            time.sleep(0.5)
    finally:
        process.kill()
        process.wait()
    said = path.read_text(errors="replace").replace("\r", "")
    return said if IS_UP in said else None
