"""Reads the files of messages that bench/ makes."""

import struct


def read_messages(file):
    """Returns the messages of a file, each of which is preceded by its length (u32 LE)."""
    with open(file, "rb") as opened:
        data = opened.read()
    messages, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at)
        messages.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return messages
