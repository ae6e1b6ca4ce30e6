# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""whatif_client.py PORT CALLS SECONDS: asks CALLS times for each page; prints the pages a second, without the first 0.3."""
import random
import socket
import sys
import time

port, calls, seconds = (int(word) for word in sys.argv[1:])
connection = socket.create_connection(("127.0.0.1", port))
random.seed(1)


def render(rows):
    total = 0
    for i in range(random.randrange(20000, 60000)):
        total += i * rows
    return total


def page():
    for _ in range(calls):
        connection.send(b"q")
        connection.recv(1)
    render(calls)


def pages_until(end):
    done = 0
    while time.monotonic() < end:
        page()
        done += 1
    return done


pages_until(time.monotonic() + 0.3)
start = time.monotonic()
print(pages_until(start + seconds) / (time.monotonic() - start))
