"""What programs promise of their files, in a form that a kill can break."""

import struct

SECTOR = 512


class Whole:
    """A file that is replaced as a whole: it has a version, none older than the last promised.

    The mark `("kept", name)` promises the present version.
    """

    def __init__(self, name):
        self.name, self._leaf = name, name.rpartition("/")[2]
        self.versions = [None]
        self.oldest = 0

    def said(self, *mark):
        if mark == ("kept", self.name):
            self.oldest = len(self.versions) - 1

    def renamed(self, name, content):
        if name == self._leaf:
            self.versions.append(content)

    def version(self, image):
        """The number of the version that is left, or None if it is no allowed one."""
        found = image.get(self.name)
        allowed = range(self.oldest, len(self.versions))
        return next((number for number in allowed if self.versions[number] == found), None)

    def broken(self, image):
        if self.version(image) is not None:
            return None
        found = image.get(self.name)
        what = "gone" if found is None else f"of {len(found)} bytes"
        if found in self.versions:
            what = f"version {self.versions.index(found)}"
        return f"{self.name} is {what}; promised: {self.oldest} to {len(self.versions) - 1}"


class Blocks:
    """The data of a live device, by blocks whose words are the number of a write; and its saved
    drive.

    Marks: `("sent", block, number)`, with number 0 for a trim; `("safe", {block: count})`, so
    many of the writes sent to a block are durable; `("saving", {block: count})`, so many are at
    least as old as the drive that is saved next.
    """

    def __init__(self, name, block_bytes):
        self.name, self._bytes = name, block_bytes
        self.drive = Whole(f"{name}.drive")
        self._sent, self._safe = {}, {}
        self._next, self._ages = {}, {}

    def said(self, *mark):
        match mark:
            case ("sent", block, number):
                self._sent.setdefault(block, [0]).append(number)
            case ("safe", counts):
                self._safe |= counts
            case ("saving", counts):
                self._next = counts
        self.drive.said(*mark)

    def renamed(self, name, content):
        self.drive.renamed(name, content)
        self._ages[len(self.drive.versions) - 1] = self._next

    def broken(self, image):
        if problem := self.drive.broken(image):
            return problem
        ages = self._ages.get(self.drive.version(image), {})
        data = image.get(self.name)
        if data is None:
            return f"{self.name} is gone" if self._safe or ages else None
        for block, sent in self._sent.items():
            safe, age = self._safe.get(block, 0), ages.get(block, 0)
            part = data[block * self._bytes : (block + 1) * self._bytes].ljust(self._bytes, b"\0")
            for start in range(0, self._bytes, SECTOR):
                sector = part[start : start + SECTOR]
                number = struct.unpack_from("<Q", sector)[0]
                if sector != struct.pack("<Q", number) * (SECTOR // 8):
                    return f"block {block} is torn within a sector"
                if number not in sent[max(safe, age) :]:
                    what = (
                        f"flushed {sent[safe]}"
                        if number not in sent[safe:]
                        else "the drive is younger"
                    )
                    return f"block {block} holds write {number}; {what}, sent {sent[-1]}"
        return None


class All:
    """Several promises on one disk."""

    def __init__(self, *promises):
        self.promises = promises

    def said(self, *mark):
        for promise in self.promises:
            promise.said(*mark)

    def renamed(self, name, content):
        for promise in self.promises:
            promise.renamed(name, content)

    def broken(self, image):
        return next(filter(None, (promise.broken(image) for promise in self.promises)), None)
