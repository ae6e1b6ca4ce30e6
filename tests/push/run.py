#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Pushes recordings to models of Pyroscope, of an OpenTelemetry collector and of Parca, and to real ClickHouses, with faults, and reads
them back.

    run.py OFFCPU MAKE_RECORDING [answers|pyroscope|series|clickhouse|hostile|shipped|outage ...]

What needs a server that is not installed is skipped by name.  Prints TAP.
"""
import json
import os
import subprocess
import sys
import tempfile

import tap
import test_answers
import test_clickhouse
import test_hostile
import test_outage
import test_pyroscope
import test_series
import test_shipped

KINDS = ("plain", "wakers", "cpu", "crowd", "before", "after", "tasks", "requests", "contexts")
GROUPS = {"answers": test_answers.run, "pyroscope": test_pyroscope.run, "series": test_series.run, "clickhouse": test_clickhouse.run,
          "hostile": test_hostile.run, "shipped": test_shipped.run, "outage": test_outage.run}


class Recording:
    def __init__(self, program, path):
        self.path = path
        _, text, _ = program.run("export", "-f", "json", path)
        report = json.loads(text)
        waits = [wait for wait in report["waits"] if wait["state"] != "C"]
        self.host = report["host"]["name"]
        self.start_ns = report["window"]["start_unix_ns"]
        self.end_ns = self.start_ns + report["window"]["duration_ns"]
        self.off_cpu_ns = sum(wait["off_cpu_ns"] for wait in waits)
        self.waits = sum(wait["count"] for wait in waits)
        self.threads = len(report["threads"])
        self.requests = report.get("requests", [])


def main():
    program = tap.Program(os.path.abspath(sys.argv[1]))
    groups = sys.argv[3:] or list(GROUPS)
    with tempfile.TemporaryDirectory() as folder:
        recordings = {}
        for kind in KINDS:
            path = os.path.join(folder, f"{kind}.offcpu")
            subprocess.run([os.path.abspath(sys.argv[2]), path] + ([kind] if kind != "plain" else []), check=True)
            recordings[kind] = Recording(program, path)
        for group in groups:
            GROUPS[group](program, recordings, folder)
    tap.end()


if __name__ == "__main__":
    main()
