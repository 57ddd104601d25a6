"""Mistakes of a program, made in its log: what is left out or moved there was never asked.

Each takes a log and returns that of the program with the mistake. `MISTAKES` has those of the
programs that replace a file as a whole or write it in place; `each` leaves out one sync alone.
"""


def no_sync(log):
    """Nothing is synced."""
    return [entry for entry in log if entry[0] != "sync"]


def no_folder(log):
    """A file gets its name, and the folder is not synced."""
    return [entry for entry in log if entry[0] != "dirsync"]


def wrong_file(log):
    """Another file is synced."""
    out, files = [], []
    for entry in log:
        if entry[0] == "create" and not entry[4]:
            files.append(entry[3])
        if entry[0] == "sync":
            others = [node for node in files if node != entry[1]]
            out += [("sync", others[-1])] if others else []
        else:
            out.append(entry)
    return out


def too_early(log):
    """The last write before a sync comes after it."""
    out = list(log)
    for place, entry in enumerate(log):
        if entry[0] == "sync":
            for before in range(place - 1, -1, -1):
                if log[before] == entry:
                    break
                if log[before][0] == "write" and log[before][1] == entry[1]:
                    out[before : place + 1] = [*out[before + 1 : place], entry, log[before]]
                    break
    return out


def named_first(log):
    """A file gets its name before it is synced."""
    out = list(log)
    for place, entry in enumerate(log):
        if entry[0] == "rename":
            sync = ("sync", entry[5])
            if sync in log[:place]:
                before = place - 1 - log[:place][::-1].index(sync)
                out[before : place + 1] = [*log[before + 1 : place + 1], sync]
    return out


def in_place(log):
    """A file is written over, and not replaced."""
    out, target, named = [], {}, {}
    news = {entry[5]: (entry[3], entry[4]) for entry in log if entry[0] == "rename"}
    content = {}
    for entry in log:
        kind, node = entry[0], entry[3] if entry[0] == "create" else entry[1]
        if kind == "create" and node in news and news[node] in named:
            target[node] = named[news[node]]
            content[node] = bytearray()
            out.append(("size", target[node], 0))
        elif kind == "rename":
            node = entry[5]
            if node in target:
                out.append(("given", entry[4], bytes(content[node])))
            else:
                named[news[node]] = node
                out.append(entry)
        elif kind in ("write", "size", "sync") and node in target:
            out.append((kind, target[node], *entry[2:]))
            if kind == "write":
                content[node][entry[2] :] = entry[3]
        else:
            out.append(entry)
    return out


def answered_first(log):
    """What is promised is promised before it is synced."""
    out = list(log)
    for place, entry in enumerate(log):
        if entry[0] == "mark" and entry[1][0] in ("safe", "kept"):
            for before in range(place - 1, -1, -1):
                if out[before][0] in ("sync", "dirsync"):
                    out[before : place + 1] = [entry, *out[before:place]]
                if out[before][0] == "mark":
                    break
    return out


def age_first(log):
    """The drive is saved, and the data that it knows of are not synced before."""
    out, saving, data = [], False, None
    for entry in log:
        if entry[0] == "create" and entry[2] == "data":
            data = entry[3]
        if entry[0] == "mark" and entry[1][0] == "saving":
            saving = True
        if entry[0] == "rename":
            saving = False
        if not (saving and entry == ("sync", data)):
            out.append(entry)
    return out


MISTAKES = (no_sync, no_folder, wrong_file, too_early, named_first, in_place, answered_first)


def each(log):
    """For each sync that makes something durable: its place, and the log without it."""
    dirty = set()
    for place, entry in enumerate(log):
        match entry:
            case ("write" | "size", node, *_):
                dirty.add(node)
            case ("create" | "unlink", directory, *_):
                dirty.add(directory)
            case ("rename", old, _, new, *_):
                dirty |= {old, new}
            case ("sync" | "dirsync", node):
                later = log[place + 1 :]
                until = next((at for at, it in enumerate(later) if it[0] == "mark"), len(later))
                # Another may make up for it before anything is promised.
                if node in dirty and entry not in later[:until]:
                    yield place, [*log[:place], *log[place + 1 :]]
                dirty.discard(node)
