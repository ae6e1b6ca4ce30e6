# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A client of `offcpu mcp` over its standard input and output."""
import json
import os
import subprocess
import time

SLOW = 60    # seconds until an answer is missed


class Client:
    def __init__(self, offcpu, *words, cwd, env=None):
        self.process = subprocess.Popen([offcpu, "mcp", *words], cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "TZ": "UTC", **(env or {})})
        self.count = 0
        self.notes = []      # notifications, in their order
        self.early = {}      # answers that nobody has taken yet, by id

    def write(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method, params=None, number=None):
        """A request with a new number, which it gives; a notification for number 0."""
        message = {"jsonrpc": "2.0", "method": method}
        if number is None:
            self.count += 1
            number = self.count
        if number:
            message["id"] = number
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message).encode())
        return number

    def read(self):
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), f"no whole line: {line!r}"
        return json.loads(line)

    def take(self, number):
        """The answer to that request."""
        deadline = time.monotonic() + SLOW
        while number not in self.early:
            assert time.monotonic() < deadline, f"no answer to {number}"
            message = self.read()
            if "id" in message:
                self.early[message["id"]] = message
            else:
                self.notes.append(message)
        return self.early.pop(number)

    def ask(self, method, params=None):
        return self.take(self.send(method, params))

    def begin(self, tool, token=None, **arguments):
        params = {"name": tool, "arguments": {key.rstrip("_"): value for key, value in arguments.items()}}
        if token is not None:
            params["_meta"] = {"progressToken": token}
        return self.send("tools/call", params)

    def call(self, tool, token=None, **arguments):
        """The result; `from_` is the argument "from"."""
        return self.take(self.begin(tool, token, **arguments))["result"]

    def leave(self):
        self.process.stdin.close()
        rest = self.process.stdout.read()
        return self.process.wait(SLOW), rest
