"""Writes the test vectors: wire parts whose blocks PyPI's lz4 compressed.

    python test/vectors/generate.py [DIRECTORY]      (needs test/interop/requirements.txt)

Some are arenas, of which RFC.md says which ones are refused. They go beside this script, or to DIRECTORY. vectors.json says what there is,
vectors.bin holds the parts one after another. The plaintexts are in neither:
plaintexts.py makes them, vectors.json has their hashes. The output is the same
on every run with the pinned lz4.
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

import lz4
import lz4.block

from plaintexts import KINDS, SIZES, dictionary, plaintext

HERE = Path(__file__).parent

# Incompressible data as a block is legal but no sender's choice: up to here
# both forms are tested, above it the plain form, which needs no stored bytes.
ALWAYS_COMPRESS_BELOW = 8192
# The plaintext per block of LZ4M parts for the small-blocks build of the module.
SMALL_BLOCK = 65536


def block(plain, dictionary_bytes, compression=1):
    """One raw LZ4 block, without the length that the Python API adds by itself."""
    mode = {"mode": "high_compression", "compression": compression} if compression > 1 else {}
    return lz4.block.compress(plain, store_size=False, dict=dictionary_bytes, **mode)


def lz4b(plain, dictionary_bytes, compression=1):
    return b"LZ4B" + struct.pack("<Q", len(plain)) + block(plain, dictionary_bytes, compression)


def lz4m(plain, dictionary_bytes, block_plain):
    part = b"LZ4M" + struct.pack("<Q", len(plain))
    for start in range(0, len(plain), block_plain):
        data = block(plain[start : start + block_plain], dictionary_bytes)
        part += struct.pack("<I", len(data)) + data
    return part


def parts_of(kind, plain):
    """Yields (fields of the manifest, wire part)."""
    for with_dictionary in (False, True):
        dictionary_bytes = dictionary() if with_dictionary else b""
        fields = {"kind": kind, "size": len(plain), "dictionary": with_dictionary}
        part = lz4b(plain, dictionary_bytes)
        if len(part) < len(plain) + 4 or len(plain) < ALWAYS_COMPRESS_BELOW:
            yield {**fields, "form": "LZ4B"}, part
        if kind == "text" and len(plain) < ALWAYS_COMPRESS_BELOW:
            # Decoders cannot tell the output of LZ4HC from that of LZ4.
            yield {**fields, "form": "LZ4B", "compression": 9}, lz4b(plain, dictionary_bytes, 9)
            # One block of less than 1 GiB: no sender does it, every receiver reads it.
            yield {**fields, "form": "LZ4M"}, lz4m(plain, dictionary_bytes, 1 << 30)
        if kind == "json" and len(plain) >= SMALL_BLOCK - 1:
            yield {**fields, "form": "LZ4M", "blockSize": SMALL_BLOCK}, lz4m(plain, dictionary_bytes, SMALL_BLOCK)


# Arenas of equal messages: how many, how many parts in each, and the bytes of a part.
ARENAS = [
    (256, 3, 4),
    (256, 5, 0),
    (256, 6, 1),
    (256, 16, 9),
    (1, 1376, 0),
    # More parts than their blocks pay for.
    (1, 1377, 0),
    (256, 6, 0),
    (256, 16, 0),
    (1, 4096, 0),
]


def arena(messages, parts, size):
    """Returns a wire part, and whether a receiver refuses it (RFC.md section A.1)."""
    part = bytes([size]) + b"a" * size
    frames = messages * ((parts - 1) * (b"\1" + part) + b"\0" + part)
    body = block(frames, b"")
    refused = messages * parts > min(4096, 1024 + 16 * len(body))
    fields = {"messages": messages, "parts": parts, "size": size, "refused": refused}
    return fields, b"LZ4A" + struct.pack("<III", 1, len(frames), messages) + body


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def main():
    plaintexts, parts, blob = [], [], bytearray()
    for kind in KINDS:
        for size in SIZES:
            plain = plaintext(kind, size)
            plaintexts.append({"kind": kind, "size": size, "sha256": sha256(plain)})
            for fields, part in parts_of(kind, plain):
                parts.append({**fields, "offset": len(blob), "length": len(part)})
                blob += part

    arenas = []
    for fields, part in (arena(*given) for given in ARENAS):
        arenas.append({**fields, "offset": len(blob), "length": len(part)})
        blob += part

    def lines(rows):
        # One row a line, so that a change shows as one.
        return "[\n    " + ",\n    ".join(json.dumps(row) for row in rows) + "\n  ]"

    manifest = {
        "generator": json.dumps(f"lz4 {lz4.__version__}, liblz4 {lz4.library_version_string()}"),
        "dictionarySha256": json.dumps(sha256(dictionary())),
        "binSha256": json.dumps(sha256(blob)),
        "plaintexts": lines(plaintexts),
        "parts": lines(parts),
        "arenas": lines(arenas),
    }
    text = "{\n" + ",\n".join(f'  "{key}": {value}' for key, value in manifest.items()) + "\n}\n"
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    (directory / "vectors.json").write_text(text)
    (directory / "vectors.bin").write_bytes(blob)
    print(f"{len(parts)} parts of {len(plaintexts)} plaintexts, {len(arenas)} arenas, {len(blob)} bytes")


if __name__ == "__main__":
    main()
