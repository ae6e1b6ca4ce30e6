#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""usage: anew.py PORT SECONDS

A loop of epoll that connects anew for each request to a server that answers after 5 ms, and pauses for 60 ms: its set is
empty nearly always.  The server is a process of its own.
"""
import os
import select
import socket
import sys
import time

PORT, SECONDS = int(sys.argv[1]), float(sys.argv[2])


def serve(listener):
    while True:
        connection, _ = listener.accept()
        connection.recv(100)
        time.sleep(0.005)
        connection.send(b"answer")
        connection.close()


def ask(epoll):
    with socket.socket() as s:
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", PORT))
        epoll.register(s, select.EPOLLOUT)
        epoll.poll()
        s.send(b"question")
        epoll.modify(s, select.EPOLLIN)
        epoll.poll()
        s.recv(100)
        epoll.unregister(s)


def main():
    listener = socket.create_server(("127.0.0.1", PORT))
    server = os.fork()
    if not server:
        serve(listener)
    listener.close()
    end = time.monotonic() + SECONDS
    try:
        with select.epoll() as epoll:
            while time.monotonic() < end:
                ask(epoll)
                epoll.poll(0.06)
    finally:
        os.kill(server, 9)
        os.waitpid(server, 0)


main()
