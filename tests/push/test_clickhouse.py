# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A real ClickHouse: rows read back are the recording's to the nanosecond, whatever is sent twice or while it is away."""
import os
import pathlib
import time

import clickhouse_server
from tap import contains, point, same

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "share" / "clickhouse" / "schema-18.sql"
QUERIES = SCHEMA.with_name("queries.sql")
VIEWS = ([], ["--full"], ["--stacks"], ["--by", "reason"], ["--by", "service"], ["--csv"], ["--wakers"])

WAITS_ONLY = (["--csv"], ["--stacks"])      # of a recording with storms and blame, which are not pushed


def utc(ns):
    seconds, rest = divmod(ns, 10**9)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:09d}Z"


def around(r):
    return ("--from", utc(max(r.start_ns - 10**9, 0)), "--to", utc(r.start_ns + 10**9))


def check_same(program, server, recordings):
    """Each recording alone: all views print the same of the file and of the table."""
    for kind in ("wakers", "cpu", "crowd", "after"):
        r = recordings[kind]
        server.ask("DROP DATABASE IF EXISTS offcpu")
        server.load(SCHEMA.read_text())
        for _ in range(2):
            status, _, err = program.run("push", r.path, "--clickhouse", server.url)
            point(f"ClickHouse, {kind}: exit status", err if status else None)
        sums = server.ask("SELECT sum(count), sum(blocked_ns + runnable_ns + preempted_ns) FROM offcpu.waits FINAL")
        same(f"ClickHouse, {kind}: pushed twice, counts once", sums, [[str(r.waits), str(r.off_cpu_ns)]])
        for view in ("by_stack", "by_reason"):
            sums = server.ask(f"SELECT sum(waits), sum(off_cpu_ns), sum(arraySum(bars)) FROM offcpu.{view} FINAL")[0]
            same(f"ClickHouse, {kind}: {view}", sums[:2], [str(r.waits), str(r.off_cpu_ns)])
        for words in VIEWS if kind != "crowd" else WAITS_ONLY:
            expected = program.run("report", r.path, *words)
            got = program.run("report", "--clickhouse", server.url, *around(r), *words)
            if expected[0]:     # what the recording does not have: said of the one as of the other
                same(f"ClickHouse, {kind}: report {' '.join(words)}", got[0], expected[0])
                continue
            different = [pair for pair in zip(expected[1].splitlines(), got[1].splitlines()) if pair[0] != pair[1]]
            point(f"ClickHouse, {kind}: report {' '.join(words)}", None if got[:2] == expected[:2] else f"{different[:3]} {got[2]}")


def check_hosts(program, server, r):
    status, text, _ = program.run("report", "--clickhouse", server.url, *around(r), "--host", r.host[:1] + "*", "--json")
    same("--host, a glob that is one: exit status", (status, text[:1]), (0, "{"))
    for glob in ("nobody", "'", "\\", "a') OR 1 --", "*')(?s"):
        status, text, err = program.run("report", "--clickhouse", server.url, *around(r), "--host", glob)
        same(f"--host {glob!r}: exit status", (status, text), (1, ""))
        contains(f"--host {glob!r}: it is said", err, "no window of")
    rows = "host, start, window, row, start_unix_ns, duration_ns, cpus"
    server.ask(f"INSERT INTO offcpu.windows ({rows}) SELECT 'other', start, window + 1, row, start_unix_ns, duration_ns, 3 "
               "FROM offcpu.windows")
    for table in ("threads", "waits"):
        columns = [row[0] for row in server.ask(f"DESCRIBE TABLE offcpu.{table}")]
        changed = {"host": "'other'", "window": "window + 1"}
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT "
                   f"{', '.join(changed.get(c, c) for c in columns)} FROM offcpu.{table}")
    status, text, err = program.run("report", "--clickhouse", server.url, *around(r), "--csv")
    lines = text.splitlines()[1:]
    _, alone, _ = program.run("report", r.path, "--csv")
    same("two hosts: the rows of both", (status, len(lines)), (0, 2 * len(alone.splitlines()[1:])))
    point("two hosts: processes say whose they are", None if any("@other" in line for line in lines) else err + text[:200])


def check_outage(program, server, r, other, folder):
    words = ("--clickhouse", server.url, "--spool", os.path.join(folder, "outage"))
    server.ask("DROP DATABASE offcpu")
    server.load(SCHEMA.read_text())
    server.stop()
    status, _, err = program.run("push", r.path, *words, "--wait", "1s")
    same("ClickHouse, an outage: exit status", status, 1)
    contains("ClickHouse, an outage: it is said", err, "cannot be reached", "wait in")
    error = server.start()
    point("ClickHouse is back", error)
    status, _, err = program.run("push", other.path, *words)
    point("ClickHouse, after an outage: exit status", err if status else None)
    program.run("push", r.path, *words)
    sums = server.ask("SELECT sum(count), sum(blocked_ns + runnable_ns + preempted_ns) FROM offcpu.waits FINAL")
    same("ClickHouse, after an outage: everything, once", sums,
         [[str(r.waits + other.waits), str(r.off_cpu_ns + other.off_cpu_ns)]])


def check_names(program, server, r, folder):
    secrets = os.path.join(folder, "fleet")
    with open(os.open(secrets, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.write("user fleet\npassword se'c \"ret\n")
    name = "o'f`f \\x"
    quoted = "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    server.load(SCHEMA.read_text().replace("EXISTS offcpu;", f"EXISTS {quoted};").replace("offcpu.", f"{quoted}."))
    words = ("--clickhouse", server.url, "--database", name, "--credentials", secrets)
    status, _, err = program.run("push", r.path, *words)
    point("a database of a strange name, a password: exit status", err if status else None)
    status, text, err = program.run("report", *words, *around(r), "--csv")
    same("a database of a strange name: read back", text, program.run("report", r.path, "--csv")[1])
    status, _, err = program.run("push", r.path, "--clickhouse", server.url, "--wait", "1s",
                                 env={"OFFCPU_PUSH_USER": "fleet", "OFFCPU_PUSH_PASSWORD": "wrong"})
    same("a wrong password: exit status", status, 1)
    point("a wrong password is not printed", "wrong" in err.lower().replace("wrong password", "") and err)
    status, _, err = program.run("push", r.path, "--clickhouse", server.url, "--database", "nowhere", "--wait", "1s")
    same("a database that is not there: exit status", status, 1)
    contains("a database that is not there: its words", err, "nowhere")


def check_questions(server):
    """The questions that are shipped run, and the first one finds what grew."""
    server.ask("TRUNCATE TABLE offcpu.`.inner.by_stack`")
    for ago, slot in ((86400, 20), (0, 23)):
        bars = ", ".join(f"toUInt64({1000 if i == slot else 0})" for i in range(48))
        server.ask(f"INSERT INTO offcpu.by_stack SELECT 'h', now() - {ago} - 100, {ago}, 'shop', 'lock.mutex', '', 1, 2, 1000, 1, 0, 1, [{bars}]")
    text = "\n".join(line for line in QUERIES.read_text().splitlines() if not line.startswith("--"))
    answers = [server.ask(query) for query in text.split(";\n") if query.strip()]
    same("queries.sql: all of them run", len(answers), 4)
    same("queries.sql: whose p99 grew", [row[:3] for row in answers[0]], [["shop", "lock.mutex", "8"]])


def run(program, recordings, folder):
    if not clickhouse_server.program():
        point("a real ClickHouse", skip="clickhouse-server is not installed")
        return
    home = os.path.join(folder, "clickhouse")
    server = clickhouse_server.Server(home)
    error = server.start()
    point("ClickHouse starts", error)
    if error:
        return
    try:
        check_same(program, server, recordings)
        check_hosts(program, server, recordings["after"])
        check_outage(program, server, recordings["plain"], recordings["crowd"], folder)
        check_names(program, server, recordings["wakers"], folder)
        check_questions(server)
    finally:
        server.stop()
