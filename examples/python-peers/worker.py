"""Counts the words of texts that a program in Node sends."""

import collections
import json
import os
import sys

import pyomq as zmq

context = zmq.Context()
texts = context.socket(zmq.PULL)
texts.connect(os.environ["TEXTS"])
results = context.socket(zmq.PUSH)
results.connect(os.environ["RESULTS"])

print(f"Python {sys.version.split()[0]}: waits for texts", flush=True)
while True:
    title, text = texts.recv_multipart()
    if title == b"end":
        break
    words = collections.Counter(text.decode().split())
    word, count = words.most_common(1)[0]
    result = {"words": words.total(), "most": word, "times": count}
    results.send_multipart([title, json.dumps(result).encode()])

texts.close()
results.close()
context.term()  # waits until the results are sent
