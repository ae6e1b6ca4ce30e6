# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A client of `offcpu mcp` over its standard input and output, and one of `offcpu serve --mcp`."""
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

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


class HttpClient:
    """The same of `offcpu serve --mcp`."""

    def __init__(self, offcpu, *words, cwd):
        # what a sanitizer looks at as a process ends is nobody's to look at in one that has left its rights
        options = [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]
        self.process = subprocess.Popen([offcpu, "serve", "--mcp", *words], cwd=cwd, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "TZ": "UTC", "ASAN_OPTIONS": ":".join(filter(None, options))})
        lines = [self.process.stdout.readline() for _ in range(4)]
        self.url = next(line.split()[1] for line in lines if line.startswith("  assistants"))
        self.count = 0

    def post(self, body, method="POST", url=None, **headers):
        """Status, header and body."""
        request = urllib.request.Request(url or self.url, data=body, method=method, headers={
            "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()}})
        try:
            with urllib.request.urlopen(request, timeout=SLOW) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def ask(self, method, params=None):
        self.count += 1
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, **({"params": params} if params is not None else {})}
        status, headers, body = self.post(json.dumps(message).encode(), MCP_Protocol_Version="2025-11-25")
        assert status == 200 and headers["Content-Type"] == "application/json", f"{method}: {status} {body[:200]!r}"
        answer = json.loads(body)
        assert answer["id"] == self.count, f"{answer}"
        return answer

    def call(self, tool, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": {key.rstrip("_"): value for key, value in arguments.items()}})["result"]

    def end(self):
        self.process.terminate()
        self.process.stdout.close()
        return self.process.wait(SLOW)
