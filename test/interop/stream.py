"""The messages that both sides of an interop test send or expect.

stream.ts makes the same messages in JavaScript. Change both together.
"""

import hashlib
import struct
import sys
from functools import cache
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "vectors"))
from plaintexts import KINDS, Random  # noqa: E402

LONGEST = 300_000
# Sizes around the thresholds and the maximum of short frames, and 0.
EDGES = [0, 1, 3, 4, 12, 127, 128, 251, 252, 255, 256, 511, 512, 513, LONGEST]
PART_COUNTS = [1, 1, 1, 2, 3, 5]
# The interval of large messages.
LARGE_EVERY = 2500
SOME_KINDS = ["text", "json", "random", "zeros"]


# Bytes of a pool before it repeats: more than LZ4 looks back, and few, because making them takes time.
MADE_BYTES = 100_000


@cache
def pool(kind):
    return 4 * bytes(islice(KINDS[kind](Random(kind)), MADE_BYTES))


def piece(kind, start, size):
    """Returns `size` bytes of a pool, which is repeated."""
    end = start + size
    return (pool(kind) * -(-end // len(pool(kind))))[start:end]


def usual_part(random, stream):
    kind = random.pick(SOME_KINDS)
    edge = random.below(4) == 0
    size = random.pick(EDGES) if edge else random.below(LONGEST + 1) >> random.below(19)
    size %= stream.get("most", LONGEST) + 1
    return piece(kind, random.below(100_001), max(size, stream.get("least", 0)))


def messages(stream):
    """Yields lists of parts. `only` omits the messages of other topics, which still count."""
    random = Random(stream["name"])
    topics = stream.get("topics")
    large = stream.get("large")
    for i in range(stream["count"]):
        if large and i % LARGE_EVERY == LARGE_EVERY - 1:
            size = large[i // LARGE_EVERY % len(large)]
            parts = [piece(random.pick(SOME_KINDS), random.below(100_001), size)]
        elif "alike" in stream:
            parts = [piece("zeros", 0, size) for size in stream["alike"]]
        else:
            count = 1 if stream.get("singlePart") else random.pick(PART_COUNTS)
            parts = [usual_part(random, stream) for _ in range(count)]
        if topics:
            topic = topics[i % len(topics)]
            if not topic.startswith(stream.get("only", "")):
                continue
            parts.insert(0, topic.encode())
        yield parts


class Summary:
    """The data that passed one side, for comparison with the other."""

    def __init__(self):
        self.messages = 0
        self.plain_bytes = 0
        self.hash = hashlib.sha256()

    def add(self, parts):
        self.messages += 1
        self.hash.update(struct.pack("<I", len(parts)))
        for part in parts:
            self.plain_bytes += len(part)
            self.hash.update(struct.pack("<I", len(part)))
            self.hash.update(part)

    def result(self):
        return {
            "messages": self.messages,
            "plainBytes": self.plain_bytes,
            "sha256": self.hash.hexdigest(),
        }
