"""Reads and writes wire parts of zstd+tcp with PyPI's zstandard, which is Zstandard itself.

    zstd_parts.py decode < parts > results
    zstd_parts.py encode LEVEL CHECKSUM < plaintexts > parts

Standard input has parts or plaintexts, each preceded by its length (u32 LE). A part that is a dictionary is
used for those after it; a first plaintext that is one is used for those after it, and is written as it is.

For "decode", standard output has a JSON line for each part that carries plaintext: {"form", "size",
"sha256"}. The program fails at a part that violates the format. For "encode" it has the parts.
"""

import hashlib
import json
import struct
import sys

import zstandard

FRAME = b"\x28\xb5\x2f\xfd"
ZDICT = b"\x37\xa4\x30\xec"


def given():
    while head := sys.stdin.buffer.read(4):
        (length,) = struct.unpack("<I", head)
        yield sys.stdin.buffer.read(length)


def dictionary_of(part):
    return zstandard.ZstdCompressionDict(part, dict_type=zstandard.DICT_TYPE_FULLDICT)


def decode():
    dictionary = None
    for part in given():
        if part[:4] == ZDICT:
            dictionary = dictionary_of(part)
            continue
        if part[:4] == bytes(4):
            form, plain = "plain", part[4:]
        else:
            assert part[:4] == FRAME, f"unknown sentinel {part[:4]!r}"
            size = zstandard.frame_content_size(part)
            assert size >= 0, "no content size"
            decoder = zstandard.ZstdDecompressor(dict_data=dictionary).decompressobj()
            form, plain = "FRAME", decoder.decompress(part)
            assert decoder.eof and not decoder.unused_data, "not one whole frame"
            assert len(plain) == size, f"frame holds {len(plain)} bytes, {size} declared"
        print(json.dumps({"form": form, "size": len(plain), "sha256": hashlib.sha256(plain).hexdigest()}))


def encode(level, checksum):
    dictionary = None
    for plain in given():
        if plain[:4] == ZDICT:
            dictionary = dictionary_of(plain)
            part = plain
        else:
            encoder = zstandard.ZstdCompressor(level=level, write_checksum=checksum, dict_data=dictionary)
            part = encoder.compress(plain)
        sys.stdout.buffer.write(struct.pack("<I", len(part)) + part)


if sys.argv[1] == "decode":
    decode()
else:
    encode(int(sys.argv[2]), sys.argv[3] == "True")
