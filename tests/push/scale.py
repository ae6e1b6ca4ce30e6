#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A fleet of simulated hosts in a real ClickHouse: rate of inserts, rows, bytes on disk, times of the shipped questions.

    scale.py OFFCPU [HOSTS [WINDOWS]]        as root; prints a table; some minutes

Three real recordings of this machine, of 2 s, are made here.  A tenth of the hosts push one of them under their own name and time, by
`offcpu push`, four at once; the other hosts' windows are made of those inside the server.  So are the windows of the minutes before, every
second one yesterday, with numbers of their own.
"""
import concurrent.futures
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import clickhouse_server  # noqa: E402
import tap  # noqa: E402

# what is recorded, and of how many of ten hosts
BASES = ((("--comm", "python3"), 6), (("-k",), 3), ((), 1))
NUMBERS = ("count", "blocked_ns", "runnable_ns", "preempted_ns", "on_cpu_ns", "switches", "max_ns")
OF_WINDOW = ("threads", "states", "waits", "wakes", "on_cpu", "windows")
MINUTE_S, DAY_S = 60, 86400


def record_bases(offcpu, folder):
    paths = []
    for words, of_ten in BASES:
        path = os.path.join(folder, f"base-{len(paths)}.offcpu")
        subprocess.run([offcpu, "record", "-d", "2", *words, "-o", path], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        paths += [path] * of_ten
    return paths


def push_host(program, base, number, url, folder):
    path = os.path.join(folder, f"host-{number}.offcpu")
    shutil.copyfile(base, path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'host'", (f"host{number:04}",))
        db.execute("UPDATE window SET start_unix_ns = ?", (time.time_ns() - 2 * 10**9 + number,))
    db.close()
    status, _, err = program.run("push", path, "--clickhouse", url)
    os.unlink(path)
    return None if status == 0 else err


def push_all(program, bases, hosts, url, folder):
    """Seconds that it took; ends with the words of one that failed."""
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        errors = [err for err in pool.map(lambda n: push_host(program, bases[n % len(bases)], n, url, folder), range(hosts)) if err]
    if errors:
        sys.exit(f"{len(errors)} hosts failed: {errors[0]}")
    return time.monotonic() - begun


def copy_hosts(server, copies):
    """Each host as that many, under other names."""
    for table in ("objects", "wakers", *OF_WINDOW):
        columns = server.columns(table)
        changed = {"host": "concat(host, '-', toString(n))", "window": "window + n * 1000003", "object": "if(object = 0, 0, object + n)",
                   "waker": "waker + n", "wait": "wait + n"}
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT {', '.join(changed.get(c, c) for c in columns)} "
                   f"FROM (SELECT *, arrayJoin(range({copies})) + 1 AS n FROM offcpu.{table})")


def copy_window(server, ago):
    """All hosts' first windows again, some minutes before, every second time yesterday, with other numbers."""
    back_s = ago * MINUTE_S + ago % 2 * DAY_S
    for table in OF_WINDOW:
        columns = server.columns(table)
        changed = {"start": f"start - {back_s}", "window": f"window + {ago}", "start_unix_ns": f"start_unix_ns - {back_s} * 1000000000",
                   "start_ns": f"start_ns - {back_s} * 1000000000"}
        if table == "waits":
            changed.update({name: f"intDiv({name} * {ago + 3}, 3)" for name in NUMBERS if name in columns})
            changed["hist"] = f"arrayMap(x -> toUInt32(intDiv(x * {ago + 3}, 3)), hist)"
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT {', '.join(changed.get(c, c) for c in columns)} "
                   f"FROM offcpu.{table} WHERE start > now() - 3600 AND window IN (SELECT window FROM first)")


def timed(what, repeats=3):
    """Median of seconds."""
    took = []
    for _ in range(repeats):
        begun = time.monotonic()
        what()
        took.append(time.monotonic() - begun)
    return statistics.median(took)


def disk(server):
    rows = server.ask("SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'offcpu' GROUP BY table ORDER BY 3 DESC")
    return [(name.replace(".inner.", ""), int(cnt), int(size)) for name, cnt, size in rows]


def questions():
    text = clickhouse_server.SHIPPED.joinpath("queries.sql").read_text()
    titles = ("which stack's p99 grew", "what the fleet waits for", "where locks hurt most", "which hosts lost something")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return list(zip(titles, [query for query in lines.split(";\n") if query.strip()]))


def main():
    offcpu = os.path.abspath(sys.argv[1])
    hosts, windows = (int(word) for word in (sys.argv[2:4] + ["1000", "10"][len(sys.argv[2:4]):]))
    kind = clickhouse_server.Chdb
    if kind.why_not():
        sys.exit(kind.why_not())
    program, load, rows = tap.Program(offcpu), os.getloadavg()[0], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        server = kind(os.path.join(folder, "server"))
        error = server.start()
        if error:
            sys.exit(error)
        try:
            server.load(server.schema(keeps="30 DAY"))
            pushes = hosts // 10
            took = push_all(program, record_bases(offcpu, folder), pushes, server.url, folder)
            pushed = sum(int(server.ask(f"SELECT count() FROM offcpu.{t}")[0][0]) for t in ("threads", "states", "waits", "stacks", "objects", "windows"))
            copy_hosts(server, 9)
            server.ask("CREATE TABLE first ENGINE = Memory AS SELECT window FROM offcpu.windows")
            rows = [("machine's load before and behind", f"{load:.0f}, {os.getloadavg()[0]:.0f}"),
                    ("windows pushed by 4 clients", f"{pushes} in {took:.0f} s, {pushes / took:.1f} a second, {pushed / took:,.0f} rows a second")]
            for ago in range(1, windows):
                copy_window(server, ago)
            parts = disk(server)
            rows += [("rows, bytes on disk, all tables", f"{sum(p[1] for p in parts):,}, {sum(p[2] for p in parts) / 1e6:,.1f} MB")]
            rows += [(f"`{name}`", f"{cnt:,}, {size / 1e6:,.1f} MB") for name, cnt, size in parts[:5]]
            rows += [(title, f"{timed(lambda q=sql: server.ask(q)) * 1000:,.0f} ms") for title, sql in questions()]
            today = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600))
            for title, glob in (("`report --clickhouse`, one host, the last hour", "host0007"), ("the same, 100 hosts", "host000*")):
                words = ("report", "--clickhouse", server.url, "--host", glob, "--from", today, "--json")
                if program.run(*words)[0]:
                    sys.exit(program.run(*words)[2])
                rows.append((title, f"{timed(lambda w=words: program.run(*w)) * 1000:,.0f} ms"))
        except (RuntimeError, OSError) as error:
            rows.append(("it ended", error))
        finally:
            server.stop()
            for name, value in rows:
                print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
