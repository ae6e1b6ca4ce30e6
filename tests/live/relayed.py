#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""usage: relayed.py FILE

A client that asks a server that sleeps as told, in a network namespace of their own: through a relay that delays or
drops segments as told, or over loopback.  The truth goes to FILE: of each port, how long the client waited, and
how much of that at least were the server and the way.  The relay swaps the two addresses of what comes out of a TUN device, so both ends are on this side of it.  Exit status 2:
this machine has no such device, or lets nobody have a namespace.
"""

import ctypes
import fcntl
import heapq
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time

SECONDS = 0.4  # each
TIMER_S = 0.2  # what is dropped is sent again after it
# port: where, ms of the server, ms of the way there or back, which request is dropped once
PORTS = {7701: ("10.99.0.2", 40, 20, 0), 7702: ("10.99.0.2", 5, 0, 2), 7703: ("127.0.0.1", 10, 0, 0), 7704: ("10.99.0.2", 150, 10, 0)}
POLLED = {7704}  # the client asks poll() whether the answer is there
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN_NO_PI = 0x400454CA, 0x1001
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK, IFF_UP_RUNNING = 0x8914, 0x8916, 0x891C, 0x41
LIBC = ctypes.CDLL(None, use_errno=True)
CHILDREN = []


def set_interface(request, name, data):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, request, struct.pack("16s24s", name, data))


def set_up_network():
    """The TUN device; its own namespace goes with the last process."""
    if LIBC.unshare(CLONE_NEWNET):
        sys.exit(2)
    set_interface(SIOCSIFFLAGS, b"lo", struct.pack("H", IFF_UP_RUNNING))
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    except OSError:
        sys.exit(2)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN_NO_PI))
    for request, address in ((SIOCSIFADDR, "10.99.0.1"), (SIOCSIFNETMASK, "255.255.255.0")):
        set_interface(request, b"tun0", struct.pack("HH4s16x", socket.AF_INET, 0, socket.inet_aton(address)))
    set_interface(SIOCSIFFLAGS, b"tun0", struct.pack("H", IFF_UP_RUNNING))
    return tun


def in_child(function, *args):
    pid = os.fork()
    if pid:
        CHILDREN.append(pid)
        return
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    function(*args)
    os._exit(0)


class Relay:
    def __init__(self, tun):
        self.tun = tun
        self.due = []
        self.number = 0
        self.requests = {}  # sequence numbers, by port

    def is_dropped(self, packet, header, port, every):
        """Each so many-th request, the first time that it comes."""
        data = struct.unpack("!H", packet[2:4])[0] - header - (packet[header + 12] >> 4) * 4
        sequence = packet[header:header + 2] + packet[header + 4:header + 8]  # connections have their own
        seen = self.requests.setdefault(port, set())
        if not data or not every or sequence in seen:
            return False
        seen.add(sequence)
        return len(seen) % every == 0

    def take(self, packet):
        if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
            return
        header = (packet[0] & 15) * 4
        source, to = struct.unpack("!HH", packet[header:header + 4])
        _, _, delay_ms, every = PORTS.get(to) or PORTS[source]
        if to in PORTS and self.is_dropped(packet, header, to, every):
            return
        self.number += 1
        swapped = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
        heapq.heappush(self.due, (time.monotonic() + delay_ms / 1e3, self.number, swapped))

    def run(self):
        while True:
            wait_s = max(0, self.due[0][0] - time.monotonic()) if self.due else 1
            if select.select([self.tun], [], [], wait_s)[0]:
                self.take(os.read(self.tun, 65536))
            while self.due and self.due[0][0] <= time.monotonic():
                os.write(self.tun, heapq.heappop(self.due)[2])


def serve(listener, sleep_ms, took):
    took_s = 0
    while True:
        connection, _ = listener.accept()
        while connection.recv(100):
            begun = time.monotonic()
            time.sleep(sleep_ms / 1e3)
            took_s += time.monotonic() - begun
            took[:] = struct.pack("d", took_s)
            connection.sendall(b"a")


def ask(port, took):
    """A connection each: its first request is acknowledged at once."""
    address, _, delay_ms, every = PORTS[port]
    count, waited_s, end = 0, 0, time.monotonic() + SECONDS
    while time.monotonic() < end:
        with socket.create_connection((address, port)) as client:
            client.sendall(b"q")
            poll = select.poll()
            poll.register(client, select.POLLIN)
            begun = time.monotonic()
            if port in POLLED:
                poll.poll()
            client.recv(100)
            waited_s += time.monotonic() - begun
            count += 1
    network_s = count * 2 * delay_ms / 1e3 + (count // every * TIMER_S if every else 0)
    return {"port": port, "count": count, "waited_s": waited_s, "network_s": network_s, "peer_s": struct.unpack("d", took[:])[0]}


def main():
    tun = set_up_network()
    in_child(Relay(tun).run)
    took = {port: mmap.mmap(-1, struct.calcsize("d")) for port in PORTS}  # shared with the children
    for port, (_, sleep_ms, _, _) in PORTS.items():
        in_child(serve, socket.create_server(("", port)), sleep_ms, took[port])
    truth = [ask(port, took[port]) for port in PORTS]
    for pid in CHILDREN:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump(truth, file)


main()
