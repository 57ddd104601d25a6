"""LLM serving with more conversations than memory has room for: their KV blocks wait on a drive.

One GPU serves conversations in a batch. Between its turns a conversation keeps its KV cache in
memory, as long as there is room. Then the one that was used least recently leaves: its new blocks
are written to the drive, and all of them are read before its next turn. Without a drive the GPU
computes them again from the text. The model has 28 layers with 4 KV heads and 128 values of two
bytes; the speeds of the GPU are assumptions.

python kv_cache.py samsung-pm9a3
"""

import heapq
import random
import statistics
import sys
from dataclasses import dataclass

import ssdlab

TOKEN_BYTES = 2 * 28 * 4 * 128 * 2
BLOCK_TOKENS = 16
BLOCK_BYTES = BLOCK_TOKENS * TOKEN_BYTES
#: Blocks that memory has room for, and blocks that the drive keeps for each conversation.
MEMORY_BLOCKS, DRIVE_BLOCKS = 1_000, 1_024
PREFILL_NS_PER_TOKEN = 100_000
#: A step makes a token for each conversation in the batch.
STEP_NS, STEP_NS_PER_TURN = 12_000_000, 150_000
THINK_NS = 10**10


@dataclass
class Conversation:
    """A conversation: where its KV cache is, and what is left of its turn."""

    number: int
    turns: int
    draw: random.Random
    context: int = 0
    #: Tokens whose blocks are on the drive, in whole blocks.
    written: int = 0
    in_memory: bool = True
    is_busy: bool = False
    used_ns: int = 0
    came_ns: int = 0
    #: Tokens of the prompt, tokens to compute before the answer, and tokens of the answer.
    prompt: int = 0
    prefill: int = 0
    answer: int = 0

    def blocks(self, first_token=0):
        """The offset of each block on the drive, from the one with a token on."""
        numbers = range(first_token // BLOCK_TOKENS, -(-self.context // BLOCK_TOKENS))
        return [(self.number * DRIVE_BLOCKS + it) * BLOCK_BYTES for it in numbers]


class Server:
    """The GPU, its memory, and a drive or none."""

    def __init__(self, drive, count, turns):
        self.drive, self.now_ns = drive, 0
        # What they say does not depend on how they are served.
        draws = [random.Random(number) for number in range(count)]
        self.conversations = [Conversation(it, turns, draw) for it, draw in enumerate(draws)]
        self.coming = [(draw.randrange(THINK_NS), it) for it, draw in enumerate(draws)]
        heapq.heapify(self.coming)
        self.batch, self.reads, self.tokens, self.first_token_ns = [], {}, 0, []

    def run(self):
        """Serve all turns, one step of the GPU after the other."""
        while self.coming or self.reads or self.batch:
            while self.coming and self.coming[0][0] <= self.now_ns:
                self.begin(*heapq.heappop(self.coming))
            self.make_room()
            self.now_ns = self.step() if self.batch else self.next_ns()
            if self.drive is not None:
                self.fetched(self.drive.advance(to_ns=self.now_ns))
        return self

    def begin(self, at_ns, number):
        """A turn comes: its KV cache is in memory, is read, or is computed again."""
        it = self.conversations[number]
        wanted = [] if it.in_memory else it.blocks()
        it.is_busy, it.in_memory, it.came_ns = True, True, at_ns
        it.prompt, it.answer = it.draw.randrange(50, 400), it.draw.randrange(20, 80)
        it.prefill = it.prompt
        if wanted and self.drive is not None:
            for offset in wanted:
                self.reads[self.transfer("read", offset)] = it
            return
        it.prefill += it.context if wanted else 0
        self.batch.append(it)

    def transfer(self, op, offset):
        """Ask the drive for a block; the tag."""
        return self.drive.submit(at_ns=self.now_ns, op=op, offset=offset, bytes=BLOCK_BYTES)

    def fetched(self, answers):
        """Conversations whose blocks have all been read join the batch."""
        read = [self.reads.pop(it.tag) for it in answers if it.tag in self.reads]
        waiting = {it.number for it in self.reads.values()}
        ready = {it.number for it in read} - waiting
        self.batch += [self.conversations[number] for number in sorted(ready)]

    def make_room(self):
        """Conversations leave memory until the others have room; their new blocks are written."""
        here = sorted((it for it in self.conversations if it.in_memory), key=lambda it: it.used_ns)
        used = sum(len(it.blocks()) for it in here)
        for it in here:
            if used <= MEMORY_BLOCKS:
                break
            if it.is_busy:
                continue
            used -= len(it.blocks())
            it.in_memory = False
            if self.drive is not None:
                # The keys and values of a token never change.
                for offset in it.blocks(it.written):
                    self.transfer("write", offset)
                it.written = it.context // BLOCK_TOKENS * BLOCK_TOKENS

    def step(self):
        """Make a token for each in the batch, after the prompts of new ones; the end."""
        prefill_ns = sum(it.prefill for it in self.batch) * PREFILL_NS_PER_TOKEN
        end_ns = self.now_ns + STEP_NS + len(self.batch) * STEP_NS_PER_TURN + prefill_ns
        for it in self.batch:
            if it.prefill > 0:
                self.first_token_ns.append(end_ns - it.came_ns)
                it.context, it.prefill = it.context + it.prompt, 0
            it.context, it.answer, it.used_ns = it.context + 1, it.answer - 1, end_ns
            self.tokens += 1
            if it.answer == 0:
                it.is_busy, it.turns = False, it.turns - 1
                if it.turns > 0:
                    pause = round(it.draw.expovariate(1 / THINK_NS))
                    heapq.heappush(self.coming, (end_ns + pause, it.number))
        self.batch = [it for it in self.batch if it.is_busy]
        return end_ns

    def next_ns(self):
        """When a turn comes, or the drive does something for one."""
        nexts = [self.coming[0][0]] if self.coming else []
        nexts += [self.drive.next_event_ns()] if self.reads else []
        return max(self.now_ns, min(nexts))


def main(device="samsung-pm9a3", conversations=40, turns=8):
    """Print both ways side by side, and what the drive reports."""
    drive = ssdlab.Drive(device, prepared="sequential", set={"device.scale": 16})
    print(f"{'':18}{'tokens/s':>10}{'first token, ms: mean':>24}{'99 %':>8}")
    for name, where in (("computed again", None), ("from the drive", drive)):
        served = Server(where, int(conversations), int(turns)).run()
        cuts = [it / 1e6 for it in statistics.quantiles(served.first_token_ns, n=100)]
        mean = statistics.mean(served.first_token_ns) / 1e6
        rate = served.tokens / (served.now_ns / 1e9)
        print(f"{name:18}{rate:>10.1f}{mean:>24.0f}{cuts[98]:>8.0f}")
    host, flash = drive.report().host, drive.report().flash
    for name, it in (("reads", host.read), ("writes", host.write)):
        if it.requests == 0:
            continue
        print(f"drive, {name:11}{it.bytes / 1e9:>8.1f} GB{it.mean_us / 1000:>22.2f}", end="")
        print(f"{it.percentiles_us[99] / 1000:>8.2f}")
    if host.write.requests > 0:
        print(f"write amplification {flash.write_amplification:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
