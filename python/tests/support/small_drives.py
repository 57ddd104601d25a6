"""Two small drives to choose between, and a trace for them."""

import random

import ssdlab

#: A drive of 270 MB, quick to simulate; the second reads much slower.
FAST = """
[device]
preset = "tlc-enterprise"
channels = 2
dies_per_package = 1
planes_per_die = 1
blocks_per_plane = 512
pages_per_block = 18
scale = 1
spare_factor = 0.12
cleaning.min_free = 0.02
"""
SLOW = FAST + 'timing.read = "5ms"\n'


def recorded(path, requests=1500, gap_ns=40_000_000, reads=0.5, touched=20_000):
    draw = random.Random(1)
    ssdlab.trace.write(
        path,
        at_ns=[n * gap_ns for n in range(requests)],
        op=["read" if draw.random() < reads else "write" for _ in range(requests)],
        sector=[8 * draw.randrange(touched) for _ in range(requests)],
        sectors=[8] * requests,
    )
    return path
