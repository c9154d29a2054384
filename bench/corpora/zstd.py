"""Zstandard on events, for comparison: JSON lines on standard output.

usage: zstd.py EVENTS SAMPLES DICTIONARY

EVENTS is a file of events, each behind its length as u32 LE. DICTIONARY is a raw one, which
zstd's COVER is to be compared with: it makes one as large of the first SAMPLES events, and
writes the content, without zstd's tables, to DICTIONARY.cover.
"""

import json
import struct
import sys
import time

import zstandard

LEVELS = (-3, 1, 3, 22)


def read_events(file):
    data = open(file, "rb").read()
    events, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        events.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return events


def cover(samples, size):
    """The content of zstd's dictionary of these samples: what follows its tables."""
    trained = zstandard.train_dictionary(size + 1024, samples, d=6, steps=40, threads=1)
    return trained.as_bytes()[-size:]


def measure(events, level, dictionary):
    options = {"dict_data": dictionary} if dictionary else {}
    compressor = zstandard.ZstdCompressor(level=level, write_content_size=True, **options)
    decompressor = zstandard.ZstdDecompressor(**options)
    start = time.perf_counter()
    blocks = [compressor.compress(event) for event in events]
    middle = time.perf_counter()
    for block in blocks:
        decompressor.decompress(block)
    end = time.perf_counter()
    megabytes = sum(map(len, events)) / 1e6
    return {
        "level": level,
        "dictionary": bool(dictionary),
        # 4 bytes of a sentinel, as our own parts have.
        "wireBytes": sum(map(len, blocks)) + 4 * len(blocks),
        "encode": megabytes / (middle - start),
        "decode": megabytes / (end - middle),
    }


def main(file, samples, dictionary_file):
    events = read_events(file)
    raw = open(dictionary_file, "rb").read()
    with open(f"{dictionary_file}.cover", "wb") as out:
        out.write(cover(events[: int(samples)], len(raw)))
    dictionary = zstandard.ZstdCompressionDict(raw, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    for level in LEVELS:
        dictionary.precompute_compress(level=level)
        for used in (None, dictionary):
            print(json.dumps(measure(events, level, used)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
