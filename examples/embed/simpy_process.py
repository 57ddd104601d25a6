"""Eight readers and a writer as SimPy processes, whose disk is a simulated drive.

python simpy_process.py samsung-pm9a3
"""

import random
import statistics
import sys

import simpy

import ssdlab


class Disk:
    """A drive in an environment whose clock counts nanoseconds."""

    def __init__(self, env, drive):
        self.env, self.drive, self.waiting, self.alarm = env, drive, {}, None

    def ask(self, **request):
        """Hand over a request now; the event of its answer, which is the value."""
        tag = self.drive.submit(at_ns=self.env.now, **request)
        self.waiting[tag] = self.env.event()
        self._set_alarm()
        return self.waiting[tag]

    def _set_alarm(self):
        event = self.drive.next_event_ns()
        if event is not None and (self.alarm is None or event < self.alarm):
            self.alarm = event
            self.env.timeout(event - self.env.now).callbacks.append(self._step)

    def _step(self, _):
        if self.env.now != self.alarm:
            return  # an earlier alarm took its place
        self.alarm = None
        for answer in self.drive.advance(to_ns=self.env.now):
            self.waiting.pop(answer.tag).succeed(answer)
        self._set_alarm()


def reader(env, disk, pages, draw, latencies):
    """Reads pages at random places; thinks for 20 us on average between an answer and the next."""
    while True:
        answer = yield disk.ask(op="read", offset=draw.randrange(pages) * 4096, bytes=4096)
        latencies.append(answer.latency_ns)
        yield env.timeout(round(draw.expovariate(1 / 20_000)))


def writer(env, disk, pages, draw):
    """Writes 64 KiB every 200 us, whether or not the last write was answered."""
    while True:
        disk.ask(op="write", offset=draw.randrange(pages // 16) * 65536, bytes=65536)
        yield env.timeout(200_000)


def main(device="samsung-pm9a3", milliseconds=50):
    """Print what the readers saw and what the drive reports."""
    drive = ssdlab.Drive(device, prepared="sequential", set={"device.scale": 64})
    env, draw, latencies = simpy.Environment(), random.Random(1), []
    disk, pages = Disk(env, drive), drive.capacity_bytes // 4096
    for _ in range(8):
        env.process(reader(env, disk, pages, draw, latencies))
    env.process(writer(env, disk, pages, draw))
    env.run(until=int(milliseconds) * 1_000_000)
    cuts = statistics.quantiles(latencies, n=100)
    print(f"{len(latencies)} reads: mean {statistics.mean(latencies) / 1000:.1f} us,", end=" ")
    print(f"99 % within {cuts[98] / 1000:.1f} us")
    host = drive.report().host
    print(f"the drive: {host.read.requests} reads, {host.write.requests} writes")


if __name__ == "__main__":
    main(*sys.argv[1:])
