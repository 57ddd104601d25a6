"""The doors by which files come in: a sample of each kind, and the commands that read it.

`python python/tests/support/doors.py COUNT SEED` changes each COUNT times, in ways that leave a
file of its kind (`mutated`), and counts how many are accepted: `make nightly-doors`.
`test_damaged_inputs.py` does the same for a few, and damages bytes.
"""

import gzip
import json
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

import inside
import mutated

import ssdlab

#: Requests of all traces: time in us, operation, offset and size in bytes.
ROWS = [(10 * n, "WRRR"[n % 4], 4096 * (7 * n % 50), 4096) for n in range(60)]
TABLE = "time_us,op,offset,size\n" + "".join(
    f"{t},{'read' if op == 'R' else 'write'},{at},{size}\n" for t, op, at, size in ROWS
)
MQSIM = (
    "<Execution_Parameter_Set>\n<Host_Parameter_Set>\n<PCIe_Lane_Count>4</PCIe_Lane_Count>\n"
    "</Host_Parameter_Set>\n<Device_Parameter_Set>\n<Flash_Channel_Count>4</Flash_Channel_Count>\n"
    "<Flash_Parameter_Set>\n<Block_No_Per_Plane>64</Block_No_Per_Plane>\n"
    "<Page_Capacity>8192</Page_Capacity>\n</Flash_Parameter_Set>\n"
    "</Device_Parameter_Set>\n</Execution_Parameter_Set>\n"
)
PARV = """disksim_global Global {
  Init Seed = 42
}
ssdmodel_ssd SSD {
  Max queue length = 20,
  Page read latency = 0.025,
  Page write latency = 0.200,
  Blocks per element = 256
}
instantiate [ ssd0 ] as SSD
disksim_synthio Synthio {
  Number of I/O requests to generate = 50,
  Generators = [ disksim_synthgen {
    Storage capacity per device = 20000,
    devices = [ ssd0 ],
    Blocking factor = 8,
    Probability of sequential access = 0.25,
    Probability of read access = 0.5,
    General inter-arrival times = [ uniform, 0.0, 1.0 ],
    Sizes = [ exponential, 0.0, 8.0 ]
  } ]
}
"""
EXPERIMENT = """[device]
preset = "agrawal2008"
blocks_per_plane = 64
[workload]
requests = 50
[run]
precondition = "none"
"""
FIO = "[global]\nsize=1m\n[a]\nrw=randread\nbs=4k\nnumber_ios=20\n"
DISKSPD = "diskspd.exe -b4K -d1 -o4 -t1 -r -w30 -c16M a.dat\n"
FAULTS = "0ms slow 2\n1ms fail read all 3\n2ms reset\n"
NVMEVIRT = """#define SSD_TYPE_CONV 1
#define NS_SSD_TYPE_0 SSD_TYPE_CONV
#define CELL_MODE (CELL_MODE_MLC)
#define NAND_CHANNELS (4)
#define LUNS_PER_NAND_CH (2)
#define PLNS_PER_LUN (1)
#define FLASH_PAGE_SIZE KB(16)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 2)
#define BLKS_PER_PLN (64)
#define BLK_SIZE (FLASH_PAGE_SIZE << 6)
#define NAND_CHANNEL_BANDWIDTH (600ull)
#define PCIE_BANDWIDTH (3000ull)
#define NAND_READ_LATENCY_LSB (50000 - 9000)
#define NAND_READ_LATENCY_MSB (50000 + 9000)
#define NAND_PROG_LATENCY (700000)
#define NAND_ERASE_LATENCY (3000000)
#define OP_AREA_PERCENT (0.25)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 4)
"""
FEMU = """#!/bin/bash
ssd_size=4096
num_channels=8
num_chips_per_channel=8
num_pages_per_block=256
num_blocks_per_plane=64
qemu-system-x86_64 -device femu,devsz_mb=${ssd_size},namespaces=1,femu_mode=1,secsz=512,\
secs_per_pg=8,pgs_per_blk=256,blks_per_pl=64,pls_per_lun=1,luns_per_ch=8,nchs=8,pg_rd_lat=40000,\
pg_wr_lat=200000,blk_er_lat=2000000,ch_xfer_lat=0,gc_thres_pcent=75,gc_thres_pcent_high=95
"""
FIO_JSON = {
    "fio version": "fio-3.36",
    "jobs": [
        {
            "jobname": "a",
            "job options": {"rw": "randrw", "bs": "4k", "iodepth": "8", "size": "1g"},
            "job_runtime": 10_000,
            "read": {
                "iops": 700.0,
                "bw_bytes": 700 * 4096,
                "total_ios": 7000,
                "io_bytes": 7000 * 4096,
                "clat_ns": {"percentile": {"99.000000": 900_000}},
            },
            "write": {"iops": 300.0, "bw_bytes": 300 * 4096, "total_ios": 3000},
        }
    ],
}
IOSTAT = """Linux 6.1.0 (host)

Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util
sda 300.00 2400.00 0.00 0.00 0.20 8.00 100.00 1600.00 0.00 0.00 0.50 16.00 0.11 9.00
sdb 10.00 40.00 0.00 0.00 0.20 4.00 0.00 0.00 0.00 0.00 0.00 0.00 0.00 0.50

"""
NVME = {
    "critical_warning": 0,
    "temperature": 310,
    "avail_spare": 100,
    "percent_used": 12,
    "data_units_read": 1_000_000,
    "data_units_written": 4_000_000,
    "host_write_commands": 9_000_000,
    "power_on_hours": 8_000,
}


def _lines(form, head=""):
    """A trace of `ROWS` in text: a form with the names of a request's parts."""
    made = []
    for t, op, at, size in ROWS:
        word = "Read" if op == "R" else "Write"
        places = {
            **{"us": t, "s": t / 1e6, "ms": t / 1e3, "ns": t * 1000, "unix": 1538323200 + t // 100},
            "filetime": 128166372003061629 + 10 * t,
            **{"op": op, "word": word, "low": word.lower(), "bit": int(op == "W")},
            **{"at": at, "sector": at // 512, "size": size, "sectors": size // 512},
            **{"read": int(op == "R"), "scsi": "28" if op == "R" else "2a"},
        }
        made.append(form.format(**places))
    return (head + "".join(it + "\n" for it in made)).encode()


#: Text formats that `ssdlab run --trace` detects; the others are binary, or named by the user.
FORMATS = {
    "disksim": ("t.trace", _lines("{ms:.3f} 0 {sector} {sectors} {read}")),
    "spc": ("t.spc", _lines("0,{sector},{size},{op},{s:.6f}")),
    "msr": ("t.csv", _lines("{filetime},host,0,{word},{at},{size},1331")),
    "blkparse": (
        "t.txt",
        _lines("  8,0    1  1 {s:15.9f}  4162  Q   {op} {sector} + {sectors} [fio]"),
    ),
    "fio": (
        "t.log",
        _lines("{us} a {low} {at} {size}", "fio version 3 iolog\n0 a add\n0 a open\n"),
    ),
    "systor17": (
        "t.csv",
        _lines("{s:.6f},0.0001,{op},0,{at},{size}", "Timestamp,Response,IOType,LUN,Offset,Size\n"),
    ),
    "alibaba": ("t.csv", _lines("64,{op},{at},{size},{us}")),
    "tencent": ("t.csv", _lines("{unix},{sector},{sectors},{bit},1283")),
    "fiu": ("t.blkparse", _lines("{ns} 4892 httpd {sector} {sectors} {op} 6 0 " + "0" * 32)),
    "libcachesim": (
        "t.csv",
        _lines("1,{s:.0f},{scsi},{size},{sector}", "version,time,op,size,lbn\n"),
    ),
    "biosnoop": (
        "t.txt",
        _lines(
            "{s:<11.6f} jbd2/sda1-8 298 sda {op} {sector:<10} {size:<7} 0.50",
            "TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)\n",
        ),
    ),
    "ftrace": (
        "t.txt",
        _lines(
            "f-1 [000] .... {s:.6f}: block_rq_issue: 8,0 {op} {size} () {sector} + {sectors} [f]"
        ),
    ),
}


def of_run(**changed):
    """Results of a short run."""
    keys = {"device.blocks_per_plane": 64, "workload.requests": 50, "run.precondition": "none"}
    return ssdlab.run(device="agrawal2008", set=keys | changed)


def drive(folder):
    """A saved drive."""
    path = folder / "made.drive"
    of_run(**{"run.save_drive": str(path)})
    return path.read_bytes()


def journal(folder):
    """The journal of a sweep of three points."""
    out = folder / "made.csv"
    ssdlab.sweep(
        device="agrawal2008",
        set={"device.blocks_per_plane": 64, "workload.requests": 50, "run.precondition": "none"},
        vary={"run.seed": "1..3"},
        out=out,
        workers=1,
    )
    return out.with_suffix(".jsonl").read_bytes()


SMALL = ("--set", "device.blocks_per_plane=64", "--set", "workload.requests=50", "--quiet")
PLAIN = ("--device", "agrawal2008", "--set", "device.blocks_per_plane=64", "--quiet")
SWEEP = (
    *("sweep", "--device", "agrawal2008", "--set", "device.blocks_per_plane=64"),
    *("--set", "workload.requests=50", "--set", "run.precondition=none"),
    *("--vary", "run.seed=1..3", "--workers", "1", "--quiet"),
)
TRACE = ("run", *PLAIN, "--trace")
RUN = ("run", *PLAIN, *SMALL[2:4])
ASK = ("ask", "FILE", "--device", "agrawal2008", *SMALL)
#: A file of each kind: its name, its content (or what makes it), and the commands that read it.
KINDS = {
    "csv": ("t.csv", TABLE.encode(), [TRACE, ("trace", "info")]),
    "gzip": ("t.csv.gz", gzip.compress(TABLE.encode()), [TRACE]),
    "xz": ("t.csv.xz", lzma.compress(TABLE.encode()), [TRACE]),
    **{name: (*it, [TRACE]) for name, it in FORMATS.items()},
    "experiment": ("e.toml", EXPERIMENT.encode(), [("run", "--quiet")]),
    "results": (
        *("r.json", lambda _: of_run().to_json().encode()),
        [("compare", "r.json"), ("report", "--out", "p.html"), ("run", "--quiet")],
    ),
    "journal": ("s.jsonl", journal, [("report", "--out", "p.html"), (*SWEEP, "--out")]),
    "drive": ("a.drive", drive, [(*RUN, "--set", "run.load_drive=FILE")]),
    "faults": ("f.txt", FAULTS.encode(), [(*RUN, "--set", "run.faults=FILE")]),
    "job": ("j.fio", FIO.encode(), [("run", *PLAIN)]),
    "diskspd": ("d.cmd", DISKSPD.encode(), [("run", *PLAIN)]),
    "mqsim": ("m.xml", MQSIM.encode(), [("run", *SMALL)]),
    "parv": ("m.parv", PARV.encode(), [("run", "--quiet")]),
    "femu": ("run.sh", FEMU.encode(), [("run", "FILE", "--show")]),
    "nvmevirt": ("ssd_config.h", NVMEVIRT.encode(), [("run", "FILE", "--show")]),
    "fio json": ("f.json", json.dumps(FIO_JSON).encode(), [ASK]),
    "iostat": ("i.txt", IOSTAT.encode(), [ASK]),
    "nvme smart": (
        "n.json",
        json.dumps(NVME).encode(),
        [("ask", "FILE", "--rated", "600TB", "--quiet")],
    ),
}
#: How the text within a file is taken out and put back.
WITHIN = {
    "gzip": (gzip.decompress, gzip.compress),
    "xz": (lzma.decompress, lzma.compress),
}
#: Kinds without a text: every change of a byte is damage.
BINARY = {"drive"}


def words(command, path):
    """The words of a command that reads a file."""
    if any("FILE" in word for word in command):
        return [word.replace("FILE", str(path)) for word in command]
    if command[-1] == "--out":
        return [*command, path.with_suffix(".csv")]
    if command[:1] == ("report",):
        return ["report", path, *command[1:]]
    return [*command, path]


def judged(done, said=""):
    """True if a file was accepted. Asserts that a refusal is one message with a reason."""
    assert "Traceback" not in done.stderr, f"{said}\n{done.stderr}"
    assert done.returncode in (0, 1, 2), f"{said}: {done}"
    if done.returncode != 2:
        return True
    lines = [line for line in done.stderr.splitlines() if line.startswith("ssdlab: ")]
    assert lines and len(lines[-1]) > 20, f"{said}: {done}"
    # Nothing is said about nothing: a message ends with its reason.
    assert not lines[-1].rstrip().endswith((":", "None")), f"{said}: {done}"
    rest = done.stderr[done.stderr.index(lines[-1]) :].splitlines()[1:]
    assert all(line.startswith("  ") or not line for line in rest), f"{said}: {done}"
    return False


def tried(call, folder, kind, door, change, seeds):
    """Gives changed files of a kind to the commands of its door.

    Returns how many there were, how many were accepted, and how many of these ran for longer than
    `call` lets them.
    """
    name, content, commands = door
    content = content(folder) if callable(content) else content
    path = folder / name
    inputs = accepted = long = 0
    for command in commands:
        path.write_bytes(content)
        whole = call(*words(command, path))
        assert whole.returncode == 0, (kind, whole)
        for seed in seeds:
            path.write_bytes(change(kind, content, seed))
            for old in folder.glob("*.csv"):
                if old != path:
                    old.unlink()
            inputs += 1
            try:
                accepted += judged(call(*words(command, path)), f"{kind} {seed} {command}")
            except subprocess.TimeoutExpired:
                # A file may ask for a run of 2^31 requests.
                long += 1
    return inputs, accepted + long, long


def structured(kind, content, seed):
    """A file of the kind with some of its words or numbers changed."""
    return mutated.mutated(kind, content, seed, *WITHIN.get(kind, (bytes, bytes)))


def main():
    """Tries all kinds; prints a line for each and the sums."""
    count, seed = map(int, sys.argv[1:3])
    sums = [0, 0, 0]
    for kind in KINDS.keys() - BINARY:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)

            def call(*arguments, folder=folder):
                return inside.run([*map(str, arguments)], folder, timeout=30)

            try:
                got = tried(call, folder, kind, KINDS[kind], structured, range(seed, seed + count))
            except AssertionError as fault:
                print(f"{kind}: 1 failed: {str(fault)[:600]}", flush=True)
                continue
        sums = [a + b for a, b in zip(sums, got, strict=True)]
        print(f"  {kind:14}{got[0]:8}{got[1]:8} accepted{got[2]:4} of them long", flush=True)
    print(f"{sums[0]} inputs, {sums[1]} accepted, {sums[2]} ran longer than 30 s, seed {seed}")


if __name__ == "__main__":
    main()
