"""ssdlab and MQSim under the same load on the same geometry, from MQSim's own pair of files.

`python python/benches/mqsim.py FOLDER`, where FOLDER is a checkout of MQSim in which `make` was
run. Each program reads `ssdconfig.xml` and `workload.xml` with the changes of `LOADS`. A run of the
short length is subtracted from one of the long length, so neither program's start counts. Runs of
the two programs alternate; the table has medians of CPU time, and instructions where valgrind is
there.
"""

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

#: Of both loads: one flow over 70 % of the drive, a page of 8 KiB a request, 32 outstanding, no
#: data cache, and the whole map in memory.
DRIVE = {"Enabled_Preconditioning": "false", "CMT_Capacity": 1 << 28}
FLOW = {
    "Device_Level_Data_Caching_Mode": "TURNED_OFF",
    "Average_Request_Size": 16,
    "Average_No_of_Reqs_in_Queue": 32,
    # With more, MQSim ends with a segmentation fault when garbage collection begins.
    "Initial_Occupancy_Percentage": 70,
    "Working_Set_Percentage": 70,
    "Stop_Time": 0,
}
#: Changes of drive and flow, settings of ssdlab alone, the short and the long length in requests.
LOADS = {
    "random reads": ({}, {"Read_Percentage": 100}, {"device.fill": "full"}, 20_000, 120_000),
    # A small drive, which the short length overwrites twice.
    "random writes, steady": (
        {"Block_No_Per_Plane": 64, "Page_No_Per_Block": 32, "Overprovisioning_Ratio": 0.2},
        {"Read_Percentage": 0},
        {},
        600_000,
        900_000,
    ),
}


def changed(text: str, values: dict) -> str:
    """The XML with other values; a name that is not there is an error."""
    for name, value in values.items():
        text, count = re.subn(f"<{name}>[^<]*", f"<{name}>{value}", text)
        if not count:
            raise SystemExit(f"mqsim.py: the file of MQSim has no {name}")
    return text


def files(source: Path, folder: Path, load: str, requests: int) -> list[str]:
    """Writes the pair of files; returns the settings of ssdlab."""
    drive, flow, settings, *_ = LOADS[load]
    config = (source / "ssdconfig.xml").read_text()
    (folder / "ssdconfig.xml").write_text(changed(config, DRIVE | drive))
    tag = "IO_Flow_Parameter_Set_Synthetic"
    first = re.search(f"<{tag}>.*?</{tag}>", (source / "workload.xml").read_text(), re.DOTALL)
    flow = changed(first[0], FLOW | flow | {"Total_Requests_To_Generate": requests})
    scenario = f"<IO_Scenario>{flow}</IO_Scenario>"
    head = '<?xml version="1.0" encoding="us-ascii"?>'
    (folder / "workload.xml").write_text(
        f"{head}\n<MQSim_IO_Scenarios>{scenario}</MQSim_IO_Scenarios>\n"
    )
    return [word for item in settings.items() for word in ("--set", "=".join(item))]


def commands(source: Path, settings: list[str]) -> dict[str, list[str]]:
    """The command of each program."""
    pair = ["ssdconfig.xml", "--workload", "workload.xml"]
    return {
        "MQSim": [str(source / "MQSim"), "-i", "ssdconfig.xml", "-w", "workload.xml"],
        "ssdlab": [sys.executable, "-m", "ssdlab", "run", *pair, *settings],
    }


def cpu(command: list[str], folder: Path) -> float:
    """CPU time of a command, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def instructions(command: list[str], folder: Path) -> float:
    """Instructions of a command, which valgrind counts."""
    counted = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [*counted, *command],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment,
    )
    return float(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", ""))


def a_request(measure, source: Path, load: str, runs: int) -> dict[str, float]:
    """Cost of a request in each program: the median of alternating runs."""
    *_, short, long = LOADS[load]
    seen: dict[str, list[float]] = {"MQSim": [], "ssdlab": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(runs):
            for program, differences in seen.items():
                took = []
                for length in (short, long):
                    settings = files(source, folder, load, length)
                    took.append(measure(commands(source, settings)[program], folder))
                differences.append((took[1] - took[0]) / (long - short))
    return {program: statistics.median(differences) for program, differences in seen.items()}


def main() -> None:
    """Prints the table."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("folder", type=Path, help="a checkout of MQSim in which make was run")
    arguments.add_argument("--runs", type=int, default=5, help="runs of each length, 5 by default")
    given = arguments.parse_args()
    source = given.folder.resolve()
    if not os.access(source / "MQSim", os.X_OK):
        arguments.error(f"{given.folder} has no program MQSim: run make there")
    print("| load | counted | MQSim | ssdlab | ratio |\n|---|---|---|---|---|")
    for load in LOADS:
        kinds = [("CPU us a request", cpu, 1e6, given.runs)]
        if shutil.which("valgrind") and load == "random reads":
            kinds.append(("instructions a request", instructions, 1, 1))
        for kind, measure, unit, runs in kinds:
            took = a_request(measure, source, load, runs)
            theirs, ours = (took[program] * unit for program in ("MQSim", "ssdlab"))
            print(
                f"| {load} | {kind} | {theirs:,.3g} | {ours:,.3g} | {theirs / ours:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
