"""What fio would have written of the recipes of `ssdlab calibrate`, of a simulated drive.

The drive is known, so what a fit should find is too.
"""

import json

import pyarrow.parquet

import ssdlab
from ssdlab.calibration import recipes

BLOCK = 128 * 1024


def requests_of(path):
    """Start, end, first byte and bytes of each request of a run, in the order of the ends."""
    table = pyarrow.parquet.read_table(path)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    names = ("arrival_ns", "end_ns", "offset_bytes", "size_bytes")
    rows = zip(*(columns[name] for name in names), strict=True)
    return sorted(rows, key=lambda it: it[1])


def write_stage(directory, name, op, rows, options, window_ms=None, time_scale=1.0, scaled=1.0):
    """The JSON of a job and its log: bandwidth in windows, or without a window each latency."""
    first, last = min(row[0] for row in rows), max(row[1] for row in rows)
    at = [round(scaled * time_scale * it / 1e6) for it in (first, last)]
    took = [(row[1] - row[0]) * time_scale for row in rows]
    mean = sum(took) / len(took)
    stats = {
        "io_bytes": sum(row[3] for row in rows),
        "total_ios": len(rows),
        "lat_ns": {
            "mean": mean,
            "stddev": (sum((it - mean) ** 2 for it in took) / len(took)) ** 0.5,
            "N": len(took),
        },
        "runtime": (last - first) * time_scale / 1e6,
    }
    job = {"jobname": name, "job options": options, op: stats, "job_runtime": at[1] - at[0]}
    result = {"fio version": "fio-3.33", "timestamp_ms": at[1], "jobs": [job]}
    (directory / f"{name}.json").write_text(json.dumps(result))
    lines = []
    if window_ms is None:
        for (_, end, _, size), took_ns in zip(rows, took, strict=True):
            at_ms = round(time_scale * (end - first) / 1e6)
            lines.append(f"{at_ms}, {round(took_ns)}, 0, {size}, 0")
        (directory / f"{name}_lat.1.log").write_text("\n".join(lines) + "\n")
        return
    amounts = {}
    for _, end, _, count in rows:
        window = int(scaled * time_scale * (end - first) / 1e6 / window_ms)
        amounts[window] = amounts.get(window, 0) + count
    for window in range(max(amounts) + 1):
        rate = amounts.get(window, 0) / 1024 / (window_ms / 1000)
        lines.append(f"{round((window + 1) * window_ms)}, {round(rate)}, 1, 0, 0")
    (directory / f"{name}_bw.1.log").write_text("\n".join(lines) + "\n")


def cliff(directory, device, keys, pauses, cache_bytes, window_ms=1, time_scale=1.0):
    """The stages of the recipe `cliff`, run on a simulated drive that is empty at first."""
    capacity = ssdlab.run(device=device, set=keys, workload={"kind": "closed", "requests": 1})
    blocks = capacity.capacity_bytes // BLOCK

    def run(name, sections):
        job = f"[global]\nrw=write\nbs={BLOCK}\niodepth=32\n" + sections
        file = directory / f"{name}.parquet"
        ssdlab.run(device=device, set=keys, workload={"kind": "fio", "job": job}, requests=file)
        rows = requests_of(file)
        file.unlink()
        return rows

    options = {"rw": "write", "bs": "128k", "iodepth": "32"}
    fill = run("fill", f"[fill]\nsize={blocks * BLOCK}\n")
    write_stage(directory, "fill", "write", fill, options, window_ms, time_scale)
    copy = int(1.1 * cache_bytes / BLOCK)
    for number, pause in enumerate(pauses, 1):
        sections = f"[copy]\nsize={copy * BLOCK}\n[again]\noffset={copy * BLOCK}\n"
        sections += f"size={copy * BLOCK}\nstonewall\nstartdelay={round(pause * 1e6)}us\n"
        rows = run("rests", sections)
        for name, is_own in (
            ("copy", lambda at: at < copy * BLOCK),
            ("again", lambda at: at >= copy * BLOCK),
        ):
            own = [row for row in rows if is_own(row[2])]
            write_stage(directory, f"{name}-{number}", "write", own, options, window_ms, time_scale)


def age(directory, device, keys, ages, reads=4000, time_scale=1.0):
    """The stages of the recipe `age`: a drive that is full, read at random after so many days."""
    load = {
        "kind": "closed",
        "read_share": 1.0,
        "random_share": 1.0,
        "block_size": "4KiB",
        "outstanding": 1,
        "requests": reads,
    }
    options = {"rw": "randread", "bs": "4k", "iodepth": "1"}
    for days in ages:
        file = directory / "reads.parquet"
        run = {} if days == 0 else {"run.age": f"{days}d at 30C"}
        ssdlab.run(device=device, set={**keys, **run}, workload=load, requests=file)
        rows = requests_of(file)
        file.unlink()
        write_stage(directory, f"age-{days}d", "read", rows, options, time_scale=time_scale)


#: Reads of a stage of the recipe `layout`, and writes.
READS, WRITES = 4000, 40_000


def layout(directory, device, keys, spare=0.25, burst=48, unit=4):
    """The stages of the recipe `layout`, run on a simulated drive that is empty.

    The sections are those of the recipe's job file with the numbers that its script puts in.
    `spare` is the share that is written over at random, `burst` MiB are written at once, `unit` KiB
    by each write in sequence.
    """
    keys = {**keys, "device.fill": "empty"}
    text = recipes.scripts("layout", 10**9)["layout.fio"]
    sections = {it.split("]")[0]: it.partition("]")[2] for it in text.split("\n[")[1:]}
    capacity = ssdlab.run(device=device, set=keys, workload={"kind": "closed", "requests": 1})
    blocks = capacity.capacity_bytes // (1 << 20)
    pages = {}
    for kib in (1, 2, 4, 8, 16, 32, 64):
        pages[f"within-{kib}k"] = (f"{kib}k", "512", 0)
        pages[f"across-{kib}k"] = (f"{kib}k", "1k", kib * 1024 - 512)
    stages = ["fill", "burst", *pages, "sizes", "again", "erase", "spare"]
    overwritten = int(spare * blocks) << 20
    job, counts = "[global]\n", {}
    for name in stages:
        spacing, size, offset = pages.get(name, ("", "", 0))
        lines = sections["page" if name in pages else name]
        values = {
            "${OFFSET}": offset, "${SPACING}": spacing, "${SIZE}": size, "${BURST}": f"{burst}m",
            "${UNIT}": f"{unit}k", "${READS}": READS, "${WRITES}": WRITES, "${SPARE}": overwritten,
            "size=100%": f"size={blocks}m",
        }  # fmt: skip
        for word, value in values.items():
            lines = lines.replace(word, f"{value}")
        kept = [it for it in lines.splitlines() if it and "log" not in it]
        delay = "startdelay=1\n" if name == "burst" else ""
        job += f"[{name}]\n" + "\n".join(kept) + f"\nstonewall\n{delay}"
        counts[name] = {
            "fill": blocks,
            "again": blocks,
            "spare": overwritten >> 16,
            "erase": WRITES,
            "burst": burst * 1024 // unit,
        }.get(name, READS)
    file = directory / "layout.parquet"
    ssdlab.run(device=device, set=keys, workload={"kind": "fio", "job": job}, requests=file)
    rows = sorted(requests_of(file))
    file.unlink()
    assert len(rows) == sum(counts.values()), (len(rows), counts)
    for name, count in counts.items():
        own, rows = sorted(rows[:count], key=lambda it: it[1]), rows[count:]
        op = "write" if name in ("fill", "spare", "again", "erase", "burst") else "read"
        write_stage(directory, name, op, own, {})


def found(word, directory, time_scale=1.0):
    """Quantities that a fit finds, by name, and its notes."""
    fit = recipes.fit(word, directory, time_scale)
    return fit["recipe"]["found"], fit["notes"], fit["recipe"]["keys"]
