"""One end of a link of pyomq, for bench/corpora.mjs.

usage: pyomq_peer.py receive COUNT
       pyomq_peer.py send EVENTS TIMES ENDPOINT [OPTIONS]

The receiver prints its endpoint, and messages per second when it has COUNT messages. The sender
sends EVENTS, a file of events each behind its length as u32 LE, so many times, and ends when
standard input does. OPTIONS is JSON: {"dictionary": HEX, "autoTrain": true}.
"""

import json
import sys
import time

import pyomq as zmq

from zstd import read_events


def receive(count):
    socket = zmq.Context.instance().socket(zmq.PULL)
    socket.bind("lz4+tcp://127.0.0.1:0")
    print(socket.getsockopt_string(zmq.LAST_ENDPOINT), flush=True)
    socket.recv()
    start = time.perf_counter()
    for _ in range(int(count) - 1):
        socket.recv()
    print((int(count) - 1) / (time.perf_counter() - start), flush=True)


def send(file, times, endpoint, options="{}"):
    options = json.loads(options)
    socket = zmq.Context.instance().socket(zmq.PUSH)
    if "dictionary" in options:
        socket.compression_dict = bytes.fromhex(options["dictionary"])
    if options.get("autoTrain"):
        socket.compression_auto_train = 1
    socket.connect(endpoint)
    events = read_events(file)
    for _ in range(int(times)):
        for event in events:
            socket.send(event)
    sys.stdin.read()


{"receive": receive, "send": send}[sys.argv[1]](*sys.argv[2:])
