"""Parameter files of DiskSim as tests write them."""

from __future__ import annotations

SSD = {
    "Reserve pages percentage": "15", "Minimum free blocks percentage": "5", "Write policy": "2",
    "Cleaning policy": "2", "Planes per package": "8", "Blocks per plane": "64",
    "Plane block mapping": "3", "Copy back": "1", "Number of parallel units": "1",
    "Allocation pool logic": "1", "Elements per gang": "1", "Gang share": "1",
    "Cleaning in background": "0", "Command overhead": "0.0", "Bus transaction latency": "0.0",
    "Flash chip elements": "8", "Page size": "8", "Pages per block": "64",
    "Blocks per element": "512", "Element stride pages": "1", "Never disconnect": "1",
    "Max queue length": "20", "Timing model": "1", "Chip xfer latency": "0.000025",
    "Page read latency": "0.025", "Page write latency": "0.200", "Block erase latency": "1.5",
    "Bulk sector transfer time": "0", "Print stats": "1",
}  # fmt: skip
FLOW = {
    "Storage capacity per device": "200000", "devices": "[ org0 ]", "Blocking factor": "8",
    "Probability of sequential access": "0.25", "Probability of local access": "0.0",
    "Probability of read access": "0.5", "Probability of time-critical request": "0.0",
    "Probability of time-limited request": "0.0",
    "Time-limited think times": "[ uniform, 0.0, 1.0 ]",
    "General inter-arrival times": "[ uniform, 0.0, 1.0 ]",
    "Sequential inter-arrival times": "[ exponential, 0.0, 1.5 ]",
    "Sizes": "[ exponential, 0.0, 8.0 ]",
}  # fmt: skip


def block(kind, name, given):
    inside = ",\n".join(f"   {key} = {value}" for key, value in given.items())
    return f"{kind} {name} {{\n{inside}\n}} # end of {name}\n"


def parameters(ssd=None, flow=None, organization=None, devices="ssd0"):
    """A file as the original has them: an SSD behind a bus of 0.2384 us a sector."""
    queue = "disksim_ioqueue { Scheduling policy = %d, Cylinder mapping strategy = 0 }"
    return "".join(
        [
            block("disksim_global", "Global", {"Init Seed": "42", "Real Seed": "42"}),
            block("disksim_iodriver", "DRIVER0", {"type": "1", "Scheduler": queue % 3}),
            block("disksim_bus", "BUS1", {"type": "2", "Read block transfer time": "0.0002384",
                                          "Write block transfer time": "0.0002384"}),
            block("ssdmodel_ssd", "SSD", SSD | {"Scheduler": queue % 1} | (ssd or {})),
            f"instantiate [ {devices} ] as SSD\ninstantiate [ bus1 ] as BUS1\n",
            "topology disksim_iodriver driver0 [ disksim_bus bus1 [ ssdmodel_ssd ssd0 [] ] ]\n",
            block("disksim_logorg", "org0", {
                "Addressing mode": "Array", "Distribution scheme": "Striped",
                "Redundancy scheme": "Noredun", "devices": "[ ssd0 ]", "Stripe unit": "128",
            } | (organization or {})),
            block("disksim_synthio", "Synthio", {
                "Number of I/O requests to generate": "5000",
                "Generators": "[\n" + block("disksim_synthgen", "", FLOW | (flow or {})) + "]",
            }),
        ]
    )  # fmt: skip
