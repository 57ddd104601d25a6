"""Safety checks before writing to a target: file systems, swap, mounts.

With `--write` the user takes responsibility for other content.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

from ssdlab._core import InputError

#: Position of each signature: name, byte offset, bytes; from the documentation of each format, as
#: libblkid probes them.
SIGNATURES = [
    ("an ext2, ext3 or ext4 file system", 1080, b"\x53\xef"),
    ("an XFS file system", 0, b"XFSB"),
    ("a Btrfs file system", 65600, b"_BHRfS_M"),
    ("an F2FS file system", 1024, b"\x10\x20\xf5\xf2"),
    ("an EROFS file system", 1024, b"\xe2\xe1\xf5\xe0"),
    ("a SquashFS file system", 0, b"hsqs"),
    ("a bcache device or bcachefs", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    ("an NTFS file system", 3, b"NTFS    "),
    ("an exFAT file system", 3, b"EXFAT   "),
    ("a FAT file system", 54, b"FAT1"),
    ("a FAT file system", 82, b"FAT32"),
    ("an ISO 9660 file system", 32769, b"CD001"),
    ("an APFS container", 32, b"NXSB"),
    ("a JFS file system", 32768, b"JFS1"),
    ("a ReiserFS file system", 65588, b"ReIsEr"),
    ("a LUKS container", 0, b"LUKS\xba\xbe"),
    ("a BlueStore device", 0, b"bluestore block device"),
    ("a QCOW2 disk image", 0, b"QFI\xfb"),
    ("a ZFS pool", 131072 + 1024, b"\x0c\xb1\xba\x00"),
    *(("an LVM volume", sector * 512, b"LABELONE") for sector in range(4)),
    *(("swap space", page - 10, b"SWAPSPACE2") for page in (4096, 8192, 16384, 65536)),
    *(("hibernated memory", page - 10, b"S1SUSPEND") for page in (4096, 65536)),
    *(("a RAID member", offset, b"\xfc\x4e\x2b\xa9") for offset in (0, 4096)),
    *(("a partition table", offset, b"EFI PART") for offset in (512, 4096)),
    ("a partition table", 510, b"\x55\xaa"),
]
#: RAID metadata of versions 1.0 and 0.90 lies before the end.
AT_END = [(back, b"\xfc\x4e\x2b\xa9") for back in (8192, 65536)]


def refuse_to_write(path: Path) -> None:
    """Raise `InputError` if `path` is in use or has a known signature."""
    for used in _uses(path):
        raise InputError(f"--write {path}: {used}; writing would destroy it")
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        positions = [*SIGNATURES, *(("a RAID member", end - back, magic) for back, magic in AT_END)]
        for name, offset, magic in positions:
            if 0 <= offset < end:
                file.seek(offset)
                if file.read(len(magic)) == magic:
                    raise InputError(f"--write {path}: it holds {name}; writing would destroy it")
    blkid = shutil.which("blkid")
    if blkid is not None:  # blkid knows more signatures than the table
        probe = subprocess.run([blkid, "-p", str(path)], capture_output=True, text=True)
        if probe.returncode == 0 and probe.stdout.strip():
            what = probe.stdout.strip().partition(": ")[2]
            raise InputError(f"--write {path}: blkid sees {what}; writing would destroy it")


def _uses(path: Path) -> list[str]:
    """Uses of the target by the system."""
    real = os.path.realpath(path)
    status = os.stat(real)
    found = []
    swaps = _lines("/proc/swaps")[1:]
    if any(line.split()[0] == real for line in swaps if line.strip()):
        found.append("the system swaps to it")
    for file in Path("/sys/block").glob("loop*/loop/backing_file"):
        if _text(file).strip() == real:
            found.append(f"/dev/{file.parts[3]} is made of it")
    if stat.S_ISBLK(status.st_mode):
        numbers = {f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"}
        here = Path("/sys/dev/block") / next(iter(numbers))
        for partition in here.glob("*/partition"):
            numbers.add(_text(partition.parent / "dev").strip())
        for line in _lines("/proc/self/mountinfo"):
            fields = line.split()
            if len(fields) > 4 and fields[2] in numbers:
                found.append(f"it is mounted on {fields[4]}")
        for number in sorted(numbers):
            for holder in (Path("/sys/dev/block") / number / "holders").glob("*"):
                found.append(f"{holder.name} is made of it")
    return found


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def _lines(path: str) -> list[str]:
    return _text(path).splitlines()
