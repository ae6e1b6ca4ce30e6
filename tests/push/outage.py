#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""An agent with windows of 1 s, and an engine that is away for a while: what was traced, kept, dropped, and what arrived.

    outage.py OFFCPU [BEFORE_S AWAY_S [SPOOL_SIZE [SETTING...]]]        as root; prints a table

ClickHouse is a real one (Debian's), Pyroscope the model of the tests.  The live case `agent_outage` is the same with a shorter time.
"""
import glob
import gzip
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clickhouse_server  # noqa: E402
import pyroscope_model  # noqa: E402

DROPPED = re.compile(r"(ClickHouse|Pyroscope) at \S+: dropped (\d+) that")


def sleep_until(what, timeout_s):
    until = time.monotonic() + timeout_s
    while not what() and time.monotonic() < until:
        time.sleep(0.2)
    return what()


class SumsHandler(pyroscope_model.Handler):
    """Takes what comes and adds it up: the rules are checked elsewhere, and to check them takes longer than to send."""

    def take(self, body, fault):
        model = self.server.model
        profile = pyroscope_model.first(pyroscope_model.first(body, 1), 2)
        data = gzip.decompress(pyroscope_model.first(profile, 1))
        off_cpu_ns = start_ns = 0
        for field, value in pyroscope_model.message(data):
            if field == 2:
                off_cpu_ns += pyroscope_model.packed(value, 2)[1]
            elif field == 9:
                start_ns = value
        with model.lock:
            model.pushes.append((start_ns, off_cpu_ns))
        self.answer(200, b"")


class Outage:
    def __init__(self, offcpu, folder, spool_size="256M", settings=()):
        self.offcpu, self.folder, self.settings = offcpu, folder, settings
        self.store = os.path.join(folder, "history")
        self.spool = os.path.join(folder, "spool")
        self.log_path = os.path.join(folder, "agent.log")
        self.server = clickhouse_server.Chdb(os.path.join(folder, "clickhouse"))
        self.model = pyroscope_model.Model(None)
        self.model.handler = SumsHandler
        self.spool_size = spool_size
        self.most = {"clickhouse": 0, "pyroscope": 0, "rss": 0}
        self.took_from = self.took_to = None    # when ClickHouse had the first (time, windows that waited) and the last that had waited
        self.agent = None

    def start(self):
        error = self.server.start()
        if error:
            raise RuntimeError(error)
        self.server.load(self.server.schema())
        self.model.start()
        settings = ["agent.window=1s", "agent.memory=off", f"store.dir={self.store}", "agent.budget=off", f"push.clickhouse={self.server.url}",
                    f"push.pyroscope={self.model.url}", f"push.spool={self.spool}", f"push.spool-size={self.spool_size}", *self.settings]
        with open(self.log_path, "wb") as log:
            self.agent = subprocess.Popen([self.offcpu, "agent", *(word for s in settings for word in ("--set", s))],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        if not sleep_until(lambda: self.windows(), 60):
            raise RuntimeError(self.log())

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def windows(self):
        """(start, length) of all that the history has, in order."""
        rows = []
        for path in sorted(glob.glob(os.path.join(self.store, "*.10s*.db"))):
            try:
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20) as db:
                    rows += db.execute("SELECT start_unix_ns, duration_ns FROM window ORDER BY seq").fetchall()
            except sqlite3.OperationalError:    # its tables are just being made
                pass
        return rows

    def gaps(self):
        rows = self.windows()
        return [(one, other) for one, other in zip(rows, rows[1:]) if one[0] + one[1] != other[0]]

    def waiting(self, engine):
        """(files, bytes) of its spool."""
        sizes = []
        for entry in os.scandir(os.path.join(self.spool, engine)):
            if ".push" in entry.name and not entry.name.startswith("."):
                try:
                    sizes.append(entry.stat().st_size)
                except FileNotFoundError:   # sent meanwhile
                    pass
        return len(sizes), sum(sizes)

    def cpu_s(self):
        with open(f"/proc/{self.agent.pid}/stat", encoding="ascii") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def watch(self, seconds):
        """Lets it run; how much CPU time the agent took, and the most that it and its spools grew to."""
        begun, cpu_s = time.monotonic(), self.cpu_s()
        while time.monotonic() < begun + seconds and self.agent.poll() is None:
            for engine in ("clickhouse", "pyroscope"):
                self.most[engine] = max(self.most[engine], self.waiting(engine)[1])
            with open(f"/proc/{self.agent.pid}/status", encoding="ascii") as file:
                rss = re.search(r"VmRSS:\s*(\d+)", file.read())
            self.most["rss"] = max(self.most["rss"], int(rss[1]) * 1024)
            time.sleep(0.5)
        if self.agent.poll() is not None:
            raise RuntimeError(f"the agent ended with {self.agent.returncode}: {self.log()}")
        return (self.cpu_s() - cpu_s) / seconds

    def away(self, seconds):
        self.server.stop()
        self.model.stop()
        taken = self.watch(seconds)
        self.model.start()
        error = self.server.start()
        if error:
            raise RuntimeError(error)
        return taken

    def drain(self, timeout_s):
        """Until both engines have all but the newest window: seconds, or None."""
        begun = time.monotonic()
        waited = {start for start, _ in self.waiting_names("clickhouse")}

        def is_drained():
            now, left = time.monotonic(), waited & {start for start, _ in self.waiting_names("clickhouse")}
            if len(left) < len(waited) and not self.took_from:
                self.took_from = now, len(waited)
            if not left and not self.took_to:
                self.took_to = now
            return all(len({start for start, _ in self.waiting_names(engine)}) <= 1 for engine in ("clickhouse", "pyroscope"))
        return time.monotonic() - begun if sleep_until(is_drained, timeout_s) else None

    def end(self):
        self.agent.send_signal(signal.SIGTERM)
        return self.agent.wait(60)

    def waiting_names(self, engine):
        """(start, key and part) of what its spool has."""
        names = [name.split("-", 1) for name in os.listdir(os.path.join(self.spool, engine)) if ".push" in name and not name.startswith(".")]
        return [(int(start), rest) for start, rest in names]

    def first_waiting(self, engine):
        """Windows from here on are not all sent."""
        return min((start for start, _ in self.waiting_names(engine)), default=sum(self.windows()[-1]))

    def dropped(self, engine):
        """As the journal says."""
        return sum(int(n) for title, n in DROPPED.findall(self.log()) if title.lower() == engine)

    def arrived(self):
        rows = self.server.ask("SELECT start_unix_ns, duration_ns FROM offcpu.windows FINAL ORDER BY start_unix_ns")
        return [(int(start), int(length)) for start, length in rows]

    def pushed_off_cpu(self, before_ns):
        """Of Pyroscope, in windows that began before."""
        return sum(off_cpu_ns for start_ns, off_cpu_ns in self.model.pushes if start_ns < before_ns)

    def sums(self, before_ns, *where):
        """Of all threads and waits of windows that began before, as a report says; not counts: a wait that was cut is one in each window."""
        to = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(before_ns // 10**9)) + f".{before_ns % 10**9:09d}Z"
        done = subprocess.run([self.offcpu, "report", *where, "--from", "2020-01-01T00:00", "--to", to, "--json"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode:
            return {"error": done.stderr.decode()}
        report = json.loads(done.stdout)
        waits = [wait for wait in report["waits"] if wait["state"] != "C"]
        return {"off_cpu_ns": sum(wait["off_cpu_ns"] for wait in waits),
                **{key: sum(thread[key] for thread in report["threads"])
                   for key in ("on_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns", "residual_ns", "lost_ns", "switches")}}

    def stop(self):
        if self.agent and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()
        self.server.stop()


def main():
    before_s, away_s = map(int, sys.argv[2:4] or (10, 40))
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        rows = []
        outage = Outage(os.path.abspath(sys.argv[1]), folder, *sys.argv[4:5], settings=sys.argv[5:])
        try:
            outage.start()
            usual = outage.watch(before_s)
            rss = outage.most["rss"]
            away = outage.away(away_s)
            rows += [("seconds away", away_s), ("CPU of the agent before, away", f"{usual:.3f} s/s, {away:.3f} s/s"),
                    ("waiting at the end: ClickHouse", "%d files, %.1f MB" % (outage.waiting("clickhouse")[0], outage.waiting("clickhouse")[1] / 1e6)),
                    ("waiting at the end: Pyroscope", "%d files, %.1f MB" % (outage.waiting("pyroscope")[0], outage.waiting("pyroscope")[1] / 1e6)),
                    ("memory of the agent before, at most", f"{rss >> 20} MiB, {outage.most['rss'] >> 20} MiB"),
                    ("until all was sent", outage.drain(900)),
                     ("of it ClickHouse took windows", "%d, from the first to the last %.1f s" % (outage.took_from[1], outage.took_to - outage.took_from[0])), ("exit status", outage.end())]
            stored, arrived = outage.windows(), outage.arrived()
            until = outage.first_waiting("clickhouse")
            missing = [w for w in stored if w[0] < until and w not in set(arrived)]
            rows += [("most in the spools", {k: f"{v / 1e6:.1f} MB" for k, v in outage.most.items() if k != "rss"}),
                     ("windows stored, gaps", f"{len(stored)}, {len(outage.gaps())}"), ("windows that arrived", len(arrived)),
                     ("missing, dropped as told", f"{len(missing)}, {outage.dropped('clickhouse')}"),
                     ("requests to Pyroscope, dropped as told", f"{len(outage.model.pushes)}, {outage.dropped('pyroscope')}"),
                     ("lines of the journal", len(outage.log().splitlines()))]
            if not missing:
                rows += [("sums of the history", outage.sums(until, "--history", outage.store)),
                         ("sums of ClickHouse", outage.sums(until, "--clickhouse", outage.server.url)),
                         ("waits by SQL", outage.server.ask("SELECT sum(count), sum(blocked_ns + runnable_ns + preempted_ns) FROM offcpu.waits FINAL"))]
                until = outage.first_waiting("pyroscope")
                rows += [("off CPU of the history, of Pyroscope", f"{outage.sums(until, '--history', outage.store).get('off_cpu_ns')}, "
                          f"{outage.pushed_off_cpu(until)}")]
        finally:
            outage.stop()
            print(outage.log())
            for name, value in rows:
                print(f"| {name} | {value} |", flush=True)


if __name__ == "__main__":
    main()
