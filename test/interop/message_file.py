"""Files of messages, as bench/ makes them."""

import struct


def read_messages(file):
    """The messages of a file, in which each stands behind its length as u32 LE."""
    with open(file, "rb") as opened:
        data = opened.read()
    messages, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        messages.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return messages
