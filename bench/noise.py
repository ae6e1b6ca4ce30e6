#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How often `offcpu diff` is wrong: noise.py OFFCPU LOAD [ROUNDS [SECONDS]] (20 of 15 s).

LOAD is the path of tests/live/programs/steady, "python" (the same load in Python), or "mariadb" (sessions of a server of its own that take one
GET_LOCK).  Each round records it three times: twice alike, then with its lock held 10% longer.  The first two must differ in no row of any
table, the first and the third in the lock's, and --fail-if must see a quarter of it.  How much longer it was held the program's own clock
says: a round in which that differs by a percent between the equals is no such round, and is done again.  Waits for a CPU are told apart, for
the rest of the machine is no part of the load.  Two rounds run at a time; needs root."""
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

THREADS = 4


PATIENCE_S = 20
MARGIN_S = 8     # by which a load outlasts its recording, which begins late on a busy machine
EQUAL = 0.01    # by how much holds of equal loads may differ by the program's own clock


class Steady:
    """A program that says how often and how long it held its lock when its input is closed."""
    lock = "mutex_lock"    # a function in the stacks of its waits
    hold_us, longer_us = 1000, 1107    # a sleep takes some 70 us more than asked for: the clock has the last word

    def __init__(self, command):
        self.command = command

    @contextlib.contextmanager
    def running(self, truth, hold_us, _seconds):
        """Yields who is to be recorded, and a function that ends it and says how long a hold took."""
        program = subprocess.Popen([*self.command, truth, str(THREADS), str(hold_us)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        program.stdout.readline()
        program.stdin.write(b"g")
        program.stdin.flush()

        def held():
            program.stdin.close()
            program.wait(PATIENCE_S)
            row = next(row for row in map(json.loads, truth.read_text().splitlines()) if row["kind"] == "steady")
            return row["held_ns"] / row["held"]
        try:
            yield program.pid, held
        finally:
            program.kill()
            program.wait()

    def stop(self):
        pass


class Python(Steady):
    lock = "acquire"

    def __init__(self, _folder):
        super().__init__([sys.executable, Path(__file__).with_name("noise_load.py")])


class Database:
    """Sessions that call a procedure which does what `steady` does; how long a turn with the lock took the server's clock says.  A statement
    takes it some 0.1 ms of CPU, so the lock is held for longer."""
    lock = "get_lock"
    hold_us, longer_us = 2000, 2215
    PROCEDURE = """create procedure steady(hold double, seconds double) begin
        set @n = 0, @begin = sysdate(6), @end = sysdate(6) + interval seconds second;
        while sysdate(6) < @end do
            do sleep(-ln(1 - rand()) * 0.001);
            do get_lock('steady', 60);
            do sleep(hold);
            do release_lock('steady');
            set @n = @n + 1;
        end while;
        select @n, timestampdiff(microsecond, @begin, sysdate(6));
    end"""

    def __init__(self, folder):
        self.socket = folder / "s"
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db",
                        f"--datadir={folder}/data"], check=True, **quiet)
        self.server = subprocess.Popen(["chrt", "--fifo", "1", "mariadbd", "--no-defaults", "--user=root", f"--datadir={folder}/data",
                                        f"--socket={self.socket}", "--skip-networking", f"--pid-file={folder}/pid"], **quiet)
        for _ in range(PATIENCE_S * 10):
            if self.socket.exists():
                break
            time.sleep(0.1)
        time.sleep(3)    # what a server does as it begins is no part of the load
        self.ask(f"create database d;\nuse d;\ndelimiter $$\n{self.PROCEDURE}$$\n").communicate()

    def ask(self, text):
        client = subprocess.Popen(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        client.stdin.write(text)
        client.stdin.flush()
        return client

    @contextlib.contextmanager
    def running(self, _truth, hold_us, seconds):
        sessions = [self.ask(f"call d.steady({hold_us / 1e6}, {seconds + MARGIN_S})") for _ in range(THREADS)]
        for session in sessions:
            session.stdin.close()
            session.stdin = None
        time.sleep(0.5)

        def held():
            if any(session.poll() is not None for session in sessions):
                return math.nan    # one ended before the recording did: no round of equal loads
            rows = [[float(n) for n in session.communicate()[0].split()] for session in sessions]
            return 1e3 * max(us for _, us in rows) / sum(n for n, _ in rows)    # somebody holds it all the time
        yield self.server.pid, held

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(PATIENCE_S)


def record(offcpu, load, folder, name, hold_us, seconds):
    """The recording, and how long a hold took by the program's clock."""
    out = folder / (name + ".offcpu")
    with load.running(folder / (name + ".truth"), hold_us, seconds) as (pid, held):
        time.sleep(0.2)
        subprocess.run([offcpu, "record", "-p", str(pid), "--exact", "-d", str(seconds), "-o", out], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return out, held()


def compare(offcpu, load, before, after):
    """Rows of all tables that are called a change, the lock's own row, and what --fail-if says."""
    done = subprocess.run([offcpu, "diff", before, after, "--json", "--fail-if", f"stack~{load.lock} mean > +2.5%"],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    diff = json.loads(done.stdout)
    changed = [(by, row["name"]) for by, table in diff["by"].items() for row in table["rows"]
               if row["time"]["is_change"] or row["each"]["is_change"]]
    lock = next((row for row in diff["by"]["function"]["rows"] if load.lock in row["name"] and row["is_tested"]), None)
    return changed, lock, done.returncode == 10


def is_of_queue(name):
    return name in ("cpu.queue", "waiting for a CPU") or name.startswith("runnable ")


def one_round(offcpu, load, seconds):
    """What it found, or nothing where the load was not the same."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, two, longer = (record(offcpu, load, folder, n, hold, seconds)
                            for n, hold in (("one", load.hold_us), ("two", load.hold_us), ("longer", load.longer_us)))
        same, _, same_fails = compare(offcpu, load, one[0], two[0])
        _, lock, fails = compare(offcpu, load, one[0], longer[0])
    row = {"same": [row for row in same if not is_of_queue(row[1])], "queue": any(is_of_queue(row[1]) for row in same),
           "same_fails": same_fails, "found": bool(lock) and lock["each"]["is_change"] and lock["each"]["by_ns"] > 0, "fails": fails}
    print(f"alike: {len(same)} changes (held {two[1] / one[1] - 1:+.2%})   10% longer: {'found' if row['found'] else 'MISSED'}, each wait "
          f"{lock['each']['percent_milli'] / 1e5 if lock else 0:+.1%}, t {lock['each']['z_milli'] / 1e3 if lock else 0:.1f} (held "
          f"{longer[1] / one[1] - 1:+.1%}, {lock['before']['whole_count'] / THREADS if lock else 0:.0f} waits of each thread) {same or ''}",
          flush=True)
    return row if abs(two[1] / one[1] - 1) < EQUAL else None


def main():
    offcpu, name = sys.argv[1:3]
    rounds, seconds = (int(n) for n in (sys.argv[3:5] + ["20", "15"][len(sys.argv) - 3:])[:2])
    rows, spoilt = [], []

    def lane():
        with tempfile.TemporaryDirectory(prefix="noise-", ignore_cleanup_errors=True) as folder:
            load = {"python": Python, "mariadb": Database}.get(name, lambda _: Steady([name]))(Path(folder))
            while len(rows) < rounds and len(spoilt) < 2 * rounds:
                row = one_round(offcpu, load, seconds)
                (rows if row else spoilt).append(row)
            load.stop()

    lanes = [threading.Thread(target=lane) for _ in range(2)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    print(f"{len(rows)} rounds of {seconds} s, and {len(spoilt)} in which the load was not the same: no change reported between equals "
          f"{sum(not r['same'] for r in rows)} times (of the wait for a CPU {sum(r['queue'] for r in rows)} times), exit status 10 "
          f"{sum(r['same_fails'] for r in rows)} times; a lock held 10% longer found {sum(r['found'] for r in rows)} times, exit status 10 "
          f"{sum(r['fails'] for r in rows)} times")


main()
