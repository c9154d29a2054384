"""The plaintexts of the vectors, made from nothing but 32-bit arithmetic.

test/support/plaintexts.ts makes the same bytes in JavaScript, so the vectors
need not carry them. Change both together.
"""

from itertools import islice

MIB = 1 << 20

WORDS = (
    "the message that was sent before this one carried a topic and some bytes which nobody "
    "had asked for so every reader on that socket had to wait until its queue drained again "
    "while another peer kept writing small frames into what looked like an idle connection"
).split()


class Random:
    """xorshift32, seeded with the FNV-1a hash of a name (bench/random.mjs)."""

    def __init__(self, name):
        state = 0x811C9DC5
        for byte in name.encode("ascii"):
            state = (state ^ byte) * 0x01000193 & 0xFFFFFFFF
        self.state = state or 1

    def next(self):
        x = self.state
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        self.state = x
        return x

    def below(self, count):
        return self.next() % count

    def pick(self, choices):
        return choices[self.below(len(choices))]


def lines(random, make):
    """Lines of which three in four were there before: the parts stay small."""
    recent = []
    while True:
        if len(recent) == 64 and random.below(4) > 0:
            line = random.pick(recent)
        else:
            line = make(random).encode("ascii")
            recent = [line, *recent[:63]]
        yield from line


def text(random):
    def sentence(random):
        return " ".join(random.pick(WORDS) for _ in range(4 + random.below(12))) + ".\n"

    return lines(random, sentence)


def json(random):
    def event(random):
        return '{"id":%d,"level":"%s","path":"/v1/%s/%d","ms":%d,"tags":["%s","%s"]}\n' % (
            random.below(1000000),
            random.pick(["debug", "info", "warn", "error"]),
            random.pick(WORDS),
            random.below(100000),
            random.below(3000),
            random.pick(WORDS),
            random.pick(WORDS),
        )

    return lines(random, event)


def random_bytes(random):
    while True:
        yield random.next() >> 24


def zeros(_random):
    while True:
        yield 0


def compressed(random):
    """Text after LZW with 12-bit codes, as old GIF and compress(1) would do."""
    codes, prefix, high = {}, -1, -1
    for byte in text(random):
        key = (prefix, byte)
        if prefix < 0:
            prefix = byte
        elif key in codes:
            prefix = codes[key]
        else:
            # Two 12-bit codes make three bytes.
            if high < 0:
                high = prefix
            else:
                yield from (high >> 4, (high & 15) << 4 | prefix >> 8, prefix & 255)
                high = -1
            if len(codes) == 4096 - 256:
                codes.clear()
            codes[key] = 256 + len(codes)
            prefix = byte


KINDS = {"text": text, "json": json, "random": random_bytes, "zeros": zeros, "compressed": compressed}
SIZES = [0, 1, 127, 128, 511, 512, 513, 4096, 65535, 65536, 65537, MIB]


def plaintext(kind, size):
    """The first `size` bytes of a stream: each size begins like the others."""
    return bytes(islice(KINDS[kind](Random(kind)), size))


def dictionary():
    """2 KiB of other text and JSON."""
    halves = (islice(KINDS[kind](Random(kind + " dictionary")), 1024) for kind in ("text", "json"))
    return b"".join(map(bytes, halves))
