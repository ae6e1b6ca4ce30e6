# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The Firefox Profiler itself, as npm's profiler-cli has it: what its processing makes of a file."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile

PACKAGE = "@firefox-devtools/profiler-cli"
TRIES = 10


class TooSlow(Exception):
    """It gives its own daemon half a second to start, and no option to change that."""


def read(modules, data):
    """A row a thread: name, pid, tid, markers, and the own time of all functions in ms.  Raises RuntimeError with its words."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "x.json.gz")
        file.write_bytes(data)
        program = modules / PACKAGE / "dist" / "profiler-cli.js"
        # of the environment nothing but what node needs: no symbol server, no session of the user's
        env = {"PATH": os.environ["PATH"], "HOME": folder, "PROFILER_CLI_SESSION_DIR": folder, "PROFILER_CLI_NO_SYMBOLICATE": "1"}

        def load():
            for _ in range(TRIES):
                try:
                    return ask("load", file)
                except RuntimeError as why:
                    late = re.search(r"did not become ready .*?\bpid (\d+)", str(why), re.S)
                    if not late:
                        raise
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(late.group(1)), signal.SIGKILL)
            raise TooSlow(f"its daemon did not start in time, {TRIES} times")

        def ask(*words):
            done = subprocess.run(["node", program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=env, timeout=60, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr.decode())
            return done.stdout

        load()
        try:
            return [thread_row(ask, t) for t in json.loads(ask("thread", "list", "--json"))["threads"]]
        finally:
            ask("stop", "--all")


def thread_row(ask, thread):
    told = json.loads(ask("thread", "functions", "--thread", thread["threadHandle"], "--json"))
    self_ms = sum(f["selfSamples"] for f in told["functions"])
    return thread["name"], str(thread["pid"]), str(thread["tid"]), thread["markerCount"], self_ms
