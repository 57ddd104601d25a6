"""A fleet: many drives of a few designs, each under the trace of its own host, on a Dask cluster.

    python examples/fleet.py                                            # 20 drives, here
    python examples/fleet.py --drives 1000 --directory fleet
    python examples/fleet.py --drives 10000 --directory /shared/fleet --dask tcp://HOST:8786

Each design is brought to its steady state once, and kept; its drives begin with that file. The
table of all drives is fleet.parquet in the directory, which every worker must see under the same
path.
Interrupted, the same line goes on. docs/cluster.md has what it cost.
"""

import argparse
import contextlib
import os
import random
import resource
import statistics
import time
from pathlib import Path

import ssdlab

#: Drives of 4 GiB: cleaning holds its unit, or lets requests go first.
DESIGNS = {
    "blocking": {"cleaning": {"time": "blocking"}},
    "yielding": {"cleaning": {"time": "interleaved"}},
}
DRIVE = {"device.blocks_per_plane": 256, "device.spare_factor": 0.15}
PRECONDITION = "random:2"


def steady_drive(directory, name, design):
    """The file of a drive of the design in its steady state, made unless it is there."""
    path = directory / f"{name}.drive"
    if not path.exists():
        part = path.with_suffix(".part")
        saved = {"run.precondition": PRECONDITION, "run.save_drive": str(part)}
        ssdlab.run(device=design, set=DRIVE | saved | {"workload.requests": 1})
        part.rename(path)
    return path


def host_trace(directory, number, requests):
    """The trace of a host: each has a rate, a share of reads and a hot place of its own."""
    path = directory / f"host{number:05}.parquet"
    if not path.exists():
        draw = random.Random(number)
        per_second, read_share = draw.uniform(500, 4000), draw.uniform(0.3, 0.95)
        hot = draw.randrange(0, 700_000)
        now, at_ns, op, sector = 0.0, [], [], []
        for _ in range(requests):
            now += draw.expovariate(per_second)
            at_ns.append(int(now * 1e9))
            op.append("read" if draw.random() < read_share else "write")
            page = hot + draw.randrange(50_000) if draw.random() < 0.8 else draw.randrange(750_000)
            sector.append(8 * page)
        ssdlab.trace.write(path, at_ns=at_ns, op=op, sector=sector, sectors=[8] * requests)
    return path


def peak_memory():
    """The most memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@contextlib.contextmanager
def cluster(address, workers, directory):
    """A client of the cluster: one that runs, or processes of this machine."""
    from dask.distributed import Client, LocalCluster

    if address is not None:
        with Client(address) as client:
            yield client
        return
    local = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        local_directory=str(directory),
    )
    with local, Client(local) as client:
        yield client


def main():
    """Prepare, run, and print the results and their cost."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--drives", type=int, default=20)
    parser.add_argument("--requests", type=int, default=2000, help="of each trace")
    parser.add_argument("--directory", type=Path, default=Path("fleet"))
    parser.add_argument("--workers", type=int, default=2, help="processes of this machine")
    parser.add_argument("--dask", metavar="ADDRESS", help="a scheduler, in place of processes")
    given = parser.parse_args()
    directory = given.directory.absolute()
    directory.mkdir(parents=True, exist_ok=True)

    began = time.process_time()
    designs = [
        {"device": design, "run": {"load_drive": str(steady_drive(directory, name, design))}}
        for name, design in DESIGNS.items()
    ]
    print(f"{len(designs)} designs prepared in {time.process_time() - began:.2f} s of CPU time")
    hosts = -(-given.drives // len(designs))
    traces = [str(host_trace(directory, number, given.requests)) for number in range(hosts)]

    with cluster(given.dask, given.workers, directory) as client:
        client.run(peak_memory)  # so that every worker has begun
        spent = sum(client.run(time.process_time).values())
        began, cpu = time.monotonic(), time.process_time()
        sweep = ssdlab.sweep(
            designs,
            set=DRIVE,
            vary={"trace": traces},
            executor=client,
            out=directory / "fleet.parquet",
        )
        wall, cpu = time.monotonic() - began, time.process_time() - cpu
        spent = sum(client.run(time.process_time).values()) - spent
        memory = client.run(peak_memory)

    columns = sweep.columns
    for place, name in enumerate(DESIGNS):
        rows = [row for row, it in enumerate(columns["experiment"]) if it == place]
        tails = sorted(columns["host.all.percentiles_us.99"][row] for row in rows)
        print(
            f"{name:9} {len(rows):5} drives: p99 {statistics.median(tails):7.0f} us in the median, "
            f"{tails[-1]:7.0f} us at worst"
        )
    points = len(columns["trace"])
    print(
        f"{points} drives in {wall:.1f} s on {len(memory)} workers; of CPU time each took "
        f"{1e3 * spent / points:.1f} ms of a worker and {1e3 * cpu / points:.1f} ms of this process"
    )
    print(
        f"most memory of a worker: {max(memory.values()) / 1e6:.0f} MB; "
        f"table and results: {sum(map(os.path.getsize, directory.glob('fleet.*'))) / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
