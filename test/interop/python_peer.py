"""A socket of pyomq or pyzmq, which have the same API, controlled by commands.

    python_peer.py SETUP

SETUP is JSON: {"module": "pyomq" or "zmq", "type": "PULL", "bind" or "connect": ENDPOINT,
"options": {...}, "dictionary": HEX, "subscribe": [TOPIC], "plainAuth": [NAME, PASSWORD]}. The
first line of standard output is {"endpoint"}. Each line of standard input is a command, and is
answered by a line. After an error, the program ends with a traceback and an exit status.
"""

import json
import os
import queue
import sys
import threading
import time
import traceback

from message_file import read_messages
from stream import Summary, messages

SETUP = json.loads(sys.argv[1])
FILES = {}
if SETUP["module"] == "pyomq":
    import pyomq as zmq
else:
    import zmq


def set_up(setup):
    socket = zmq.Context.instance().socket(getattr(zmq, setup["type"]))
    for name, value in setup.get("options", {}).items():
        setattr(socket, name, value.encode() if isinstance(value, str) else value)
    if "plainAuth" in setup:
        socket.plain_server = 1
        socket.set_plain_auth([tuple(setup["plainAuth"])])
    if "dictionary" in setup:
        socket.compression_dict = bytes.fromhex(setup["dictionary"])
    for topic in setup.get("subscribe", []):
        socket.subscribe(topic.encode())
    if "bind" in setup:
        socket.bind(setup["bind"])
    else:
        socket.connect(setup["connect"])
    return socket


def compare(parts, expected):
    assert len(parts) == len(expected), f"{len(parts)} parts instead of {len(expected)}"
    for i, (part, other) in enumerate(zip(parts, expected)):
        assert part == other, f"part {i} differs: {len(part)} bytes, {len(other)} expected"


def send(socket, command):
    """Sends a stream."""
    summary = Summary()
    for parts in messages(command["stream"]):
        summary.add(parts)
        socket.send_multipart(parts)
    return summary.result()


def receive(socket, command):
    """Receives a stream. Skips the probes of a publisher that waited for our subscription."""
    summary = Summary()
    probe = bytes.fromhex(command.get("probe", "")) or None
    for expected in messages(command["stream"]):
        parts = socket.recv_multipart()
        while parts == [probe]:
            parts = socket.recv_multipart()
        compare(parts, expected)
        summary.add(parts)
    return summary.result()


def echo(socket, command):
    """Receives a stream and sends each message back, with the envelope that a ROUTER puts before it."""
    summary = Summary()
    envelope = command.get("envelope", 0)
    for expected in messages(command["stream"]):
        parts = socket.recv_multipart()
        compare(parts[envelope:], expected)
        summary.add(parts[envelope:])
        socket.send_multipart(parts)
    return {**summary.result(), "envelope": [part.hex() for part in parts[:envelope]]}


def echo_frames(socket, command):
    """Does the same for a SERVER, whose frames have the routing id of their sender."""
    summary = Summary()
    for expected in messages(command["stream"]):
        frame = socket.recv(copy=False)
        compare([bytes(frame)], expected)
        summary.add([bytes(frame)])
        socket.send(frame)
    return summary.result()


def ask(socket, command):
    """Sends a stream one message at a time, each after the previous reply."""
    if SETUP["module"] == "pyomq":
        # A long message that its REQ sends before it has a peer gets two delimiters, over tcp:// too.
        while not socket.connections():
            time.sleep(0.001)
    summary = Summary()
    for expected in messages(command["stream"]):
        socket.send_multipart(expected)
        parts = socket.recv_multipart()
        compare(parts, expected)
        summary.add(parts)
    return summary.result()


def send_one(socket, command):
    socket.send_multipart([bytes.fromhex(part) for part in command["parts"]])
    return {}


def receive_one(socket, command):
    """Receives a message; returns null if none arrives within `timeoutMs`."""
    socket.rcvtimeo = command["timeoutMs"]
    try:
        return {"parts": [part.hex() for part in socket.recv_multipart()]}
    except zmq.Again:
        return {"parts": None}
    finally:
        socket.rcvtimeo = -1


def pump(socket, command):
    """Sends `count` messages for bench/: those of a file, repeated."""
    if command["file"] not in FILES:
        FILES[command["file"]] = read_messages(command["file"])
    file, left = FILES[command["file"]], command["count"]
    while left > 0:
        for message in file[:left]:
            socket.send(message)
        left -= len(file)
    return {}


def drain(socket, command):
    """Receives `count` messages for bench/. Returns the time from the first to the last."""
    size = len(socket.recv())
    start = time.perf_counter()
    for _ in range(command["count"] - 1):
        size += len(socket.recv())
    return {"bytes": size, "seconds": time.perf_counter() - start}


def subscribe(socket, command):
    socket.subscribe(command["topic"].encode())
    return {}


def unsubscribe(socket, command):
    socket.unsubscribe(command["topic"].encode())
    return {}


COMMANDS = {
    "send": send,
    "receive": receive,
    "echo": echo,
    "echoFrames": echo_frames,
    "ask": ask,
    "pump": pump,
    "drain": drain,
    "sendOne": send_one,
    "receiveOne": receive_one,
    "subscribe": subscribe,
    "unsubscribe": unsubscribe,
}


def answer(value):
    print(json.dumps(value), flush=True)


def read_commands(commands):
    for line in sys.stdin:
        commands.put(json.loads(line))
    os._exit(0)  # The parent is gone. sys.exit() would wait for the socket.


def main():
    socket = set_up(SETUP)
    endpoint = socket.last_endpoint
    answer({"endpoint": endpoint if isinstance(endpoint, str) else endpoint.decode()})
    commands = queue.Queue()
    threading.Thread(target=read_commands, args=(commands,), daemon=True).start()
    try:
        while True:
            command = commands.get()
            answer(COMMANDS[command["do"]](socket, command))
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # sys.exit() would wait for the socket.


if __name__ == "__main__":
    main()
