"""Kills: what a disk may hold after the power has gone at an instant of its log.

A quarter of the kills only end the process, so that every call that was made is there. Others cut
the power: of what was not synced there is nothing, or any part, by sectors. The names of a
directory whose change was not synced are as before the change, or after it, in the order of the
changes. What was synced is there.

A kill is a number: with the seed and the log it gives the same image. The kills are made in the
order of the log, because that is quick, and counted in the order of their numbers.
"""

import random

SECTOR = 512
ROOT = 1


class File:
    """A file: what is safe, what programs see, and the changes in between."""

    def __init__(self):
        self.safe, self.now = bytearray(), bytearray()
        self.pending = []

    def change(self, change):
        self.pending.append(change)
        apply(self.now, change)

    def sync(self):
        for change in self.pending:
            apply(self.safe, change)
        self.pending.clear()

    def after(self, draw):
        """What is left of it, where a change is kept as a draw says."""
        data = bytearray(self.safe)
        for change in self.pending:
            if change[0] is None:
                if draw():
                    apply(data, change)
                continue
            offset, written = change
            for start in range(0, len(written), SECTOR):
                if draw():
                    apply(data, (offset + start, written[start : start + SECTOR]))
        return bytes(data)


def apply(data, change):
    """Applies a write (an offset and bytes) or a new length (None and the length)."""
    offset, written = change
    if offset is None:
        del data[written:]
        data.extend(bytes(written - len(data)))
        return
    data.extend(bytes(max(0, offset - len(data))))
    data[offset : offset + len(written)] = written


class Names:
    """A directory: the names that are safe, those that programs see, and the changes in between."""

    def __init__(self):
        self.safe, self.now = {}, {}
        self.pending = []

    def change(self, *changes):
        self.pending.append(changes)
        rename(self.now, changes)

    def sync(self):
        for changes in self.pending:
            rename(self.safe, changes)
        self.pending.clear()

    def after(self, count):
        names = dict(self.safe)
        for changes in self.pending[:count]:
            rename(names, changes)
        return names


def rename(names, changes):
    for name, node in changes:
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


class Disk:
    """The disk at an instant of its log."""

    def __init__(self):
        self.files, self.names = {}, {ROOT: Names()}

    def do(self, entry):
        """Makes one change; returns the name and the content that a rename gave to a file."""
        match entry:
            case ("create", directory, name, node, is_directory):
                if is_directory:
                    self.names[node] = Names()
                else:
                    self.files[node] = File()
                self.names[directory].change((name, node))
            case ("write", node, offset, data):
                self.files[node].change((offset, data))
            case ("size", node, size):
                self.files[node].change((None, size))
            case ("unlink", directory, name):
                self.names[directory].change((name, None))
            case ("rename", old, before, new, name, node):
                if old == new:
                    self.names[new].change((before, None), (name, node))
                else:
                    self.names[new].change((name, node))
                    self.names[old].change((before, None))
                return name, bytes(self.files[node].now)
            case ("sync", node):
                self.files[node].sync()
            case ("lost", node):
                self.files[node].pending.clear()
            case ("dirsync", node):
                self.names[node].sync()
        return None

    def after(self, rng):
        """What a kill leaves: the content of each file by its path."""
        chance = rng.choice((None, 0.0, 0.5, 0.9))
        if chance is None:
            return self._image(lambda: True, len)
        return self._image(
            lambda: rng.random() < chance,
            lambda changes: rng.randint(0, len(changes)) if chance else 0,
        )

    def _image(self, draw, count, directory=ROOT, before=""):
        image = {}
        names = self.names[directory]
        for name, node in sorted(names.after(count(names.pending)).items()):
            if node in self.names:
                image |= self._image(draw, count, node, f"{before}{name}/")
            else:
                image[before + name] = self.files[node].after(draw)
        return image


class Found(Exception):
    """A kill that broke a promise: which one, how, and after how many kills it was found."""

    def __init__(self, number, place, problem):
        super().__init__(f"kill {number}, at change {place} of the log: {problem}")
        self.number, self.place, self.problem = number, place, problem


def kill(log, promise, *, kills, seed=1):
    """Kills the disk this many times; the first by number that breaks a promise, or None.

    `promise` is asked `said(mark)` for each mark, `renamed(name, content)`, and `broken(image)`,
    which returns what is wrong with what is left, or None.
    """
    draws = [random.Random(f"{seed} {number}") for number in range(kills)]
    cuts = sorted((draw.randint(0, len(log)), number) for number, draw in enumerate(draws))
    found, disk, done = None, Disk(), 0
    for place, number in cuts:
        for entry in log[done:place]:
            if entry[0] == "mark":
                promise.said(*entry[1])
            elif entry[0] == "given":
                promise.renamed(*entry[1:])
            elif given := disk.do(entry):
                promise.renamed(*given)
        done = place
        if found is not None and number > found.number:
            continue
        problem = promise.broken(disk.after(draws[number]))
        if problem is not None:
            found = Found(number + 1, place, problem)
    return found
