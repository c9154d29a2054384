"""Decodes wire parts with PyPI's lz4, an independent LZ4.

    decode_parts.py BLOCK_SIZE < parts > results

Standard input has the parts of one connection, each preceded by its length (u32 LE);
an LZ4D part sets the dictionary of those after it. BLOCK_SIZE is the plaintext per
block of LZ4M, 1073741824 on a real connection.

Standard output has a JSON line for each part that carries plaintext:
{"form", "size", "sha256"}. The program fails at a part that violates the format.
"""

import hashlib
import json
import struct
import sys

import lz4.block


def decode_block(block, size, dictionary):
    if size == 0:
        # For the Python API, a size of 0 is unknown. An empty block is always a single zero byte.
        assert block == b"\0", "an empty block is not b'\\0'"
        return b""
    plain = lz4.block.decompress(block, uncompressed_size=size, dict=dictionary)
    assert len(plain) == size, f"block holds {len(plain)} bytes, {size} declared"
    return plain


def decode_multi(size, body, dictionary, block_size):
    plain = []
    while size > 0:
        (length,) = struct.unpack_from("<I", body)
        block, body = body[4 : 4 + length], body[4 + length :]
        assert len(block) == length, "truncated block"
        plain.append(decode_block(block, min(size, block_size), dictionary))
        size -= len(plain[-1])
    assert not body, "bytes after the last block"
    return b"".join(plain)


def decode_part(part, dictionary, block_size):
    """Returns (form, plaintext)."""
    if part[:4] == b"\0\0\0\0":
        return "plain", part[4:]
    form = part[:4].decode("ascii")
    (size,) = struct.unpack_from("<Q", part, 4)
    if form == "LZ4B":
        assert size <= block_size, "LZ4B above the block size"
        return form, decode_block(part[12:], size, dictionary)
    assert form == "LZ4M", f"unknown sentinel {form}"
    return form, decode_multi(size, part[12:], dictionary, block_size)


def main():
    block_size = int(sys.argv[1])
    dictionary = b""
    while head := sys.stdin.buffer.read(4):
        part = sys.stdin.buffer.read(*struct.unpack("<I", head))
        if part[:4] == b"LZ4D":
            assert not dictionary, "second dictionary"
            dictionary = part[4:]
            continue
        form, plain = decode_part(part, dictionary, block_size)
        print(json.dumps({"form": form, "size": len(plain), "sha256": hashlib.sha256(plain).hexdigest()}))


if __name__ == "__main__":
    main()
