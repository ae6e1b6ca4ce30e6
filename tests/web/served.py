# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A command that serves, and requests to it byte by byte, as nobody's library would send them."""
import os
import re
import signal
import socket
import subprocess


class Served:
    def __init__(self, *command, **more):
        # At its end it has no rights left to look for leaks, which is done by a tracer of its own.
        environment = more.pop("env", os.environ)
        options = environment.get("ASAN_OPTIONS", "")
        more["env"] = {**environment, "ASAN_OPTIONS": options + ":detect_leaks=0" if options else "detect_leaks=0"}
        # Its own group: whoever runs the tests in the background ignores SIGINT, and so would it.
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler), **more)
        self.text = ""
        while not re.search(r"http://[^/\s]+/[^/\s]+/\S*\n", self.text):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError("it ended: " + self.process.stderr.read())
            self.text += line
        self.url = re.search(r"http://\S+?/\S+?/(?=\s)", self.text).group()
        self.host, self.token = re.match(r"http://([^/]+)/([^/]+)/", self.url).groups()
        self.address = (self.host.split(":")[0], int(self.host.split(":")[1]))

    def threads(self):
        """What the kernel says of each of its threads: fields of their status."""
        folder = f"/proc/{self.process.pid}/task"
        for tid in os.listdir(folder):
            with open(f"{folder}/{tid}/status", encoding="ascii") as file:
                yield dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def end(self, number=signal.SIGINT):
        """Its exit status, and all it said beside the links."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        self.text += out
        return self.process.returncode, err

    def connect(self):
        return socket.create_connection(self.address, timeout=20)

    def raw(self, data):
        """Status, header and body of what comes back; status 0 where nothing does."""
        with self.connect() as s:
            try:
                s.sendall(data)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return answer_of(s)

    def ask(self, path="", method="GET", body=b"", host=None, **headers):
        """`path` is behind the token, unless it begins with a slash."""
        path = path if path.startswith("/") else f"/{self.token}/{path}"
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or self.host}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def answer_of(s):
    parts = []
    try:
        while part := s.recv(1 << 20):
            parts.append(part)
    except ConnectionResetError:
        pass
    head, _, body = b"".join(parts).partition(b"\r\n\r\n")
    lines = head.decode("latin1").split("\r\n")
    match = re.match(r"HTTP/1\.\d (\d+)", lines[0])
    return int(match.group(1)) if match else 0, {n.lower(): v for n, _, v in (line.partition(": ") for line in lines[1:])}, body
