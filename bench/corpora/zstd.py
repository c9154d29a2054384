"""Zstandard for comparison, controlled with the protocol of test/interop/python_peer.py.

    zstd.py SETUP

SETUP is JSON: {"file": EVENTS, "level": LEVEL, "dictionary": HEX}; the dictionary is optional.
The first line of standard output is {}. Commands, one per line of standard input:
{"do": "measure"} compresses and decompresses the events; {"do": "cover", "samples": COUNT,
"size": BYTES} returns the content, without zstd's tables, of the dictionary that zstd's COVER
makes from the first events.
"""

import json
import sys
import time
from pathlib import Path

import zstandard

sys.path.insert(0, str(Path(__file__).parents[2] / "test/interop"))
from message_file import read_messages  # noqa: E402

SETUP = json.loads(sys.argv[1])


def cover(samples, size):
    trained = zstandard.train_dictionary(size + 1024, samples, d=6, steps=40, threads=1)
    return {"dictionary": trained.as_bytes()[-size:].hex()}


def measure(events, compressor, decompressor):
    start = time.perf_counter()
    blocks = [compressor.compress(event) for event in events]
    middle = time.perf_counter()
    for block in blocks:
        decompressor.decompress(block)
    end = time.perf_counter()
    return {
        # 4 bytes for a sentinel, as in our parts.
        "wireBytes": sum(map(len, blocks)) + 4 * len(blocks),
        "encodeSeconds": middle - start,
        "decodeSeconds": end - middle,
    }


def answer(value):
    print(json.dumps(value), flush=True)


def main():
    events = read_messages(SETUP["file"])
    options = {}
    if "dictionary" in SETUP:
        dictionary = zstandard.ZstdCompressionDict(
            bytes.fromhex(SETUP["dictionary"]), dict_type=zstandard.DICT_TYPE_RAWCONTENT
        )
        dictionary.precompute_compress(level=SETUP["level"])
        options = {"dict_data": dictionary}
    compressor = zstandard.ZstdCompressor(
        level=SETUP["level"], write_content_size=True, **options
    )
    decompressor = zstandard.ZstdDecompressor(**options)
    answer({})
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "cover":
            answer(cover(events[: command["samples"]], command["size"]))
        else:
            answer(measure(events, compressor, decompressor))


main()
