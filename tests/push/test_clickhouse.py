# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Real ClickHouses, of before and of today: rows read back are the recording's to the nanosecond, whatever is sent twice or while it is away."""
import json
import os
import shutil
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request

import clickhouse_server
from tap import contains, point, same

QUERIES = clickhouse_server.SHIPPED / "queries.sql"
VIEWS = ([], ["--full"], ["--stacks"], ["--by", "reason"], ["--by", "service"], ["--csv"], ["--wakers"])

TASKS_ASKED = [["server", "goroutine", "chan send", "main.producer", "1", "39.8"],
               ["server", "goroutine", "sync.(*Mutex).Lock", "main.pay", "1", "4.8"]]
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
        server.begin_anew()
        for _ in range(2):
            status, _, err = program.run("push", r.path, "--clickhouse", server.url)
            point(f"{server.title}, {kind}: exit status", err if status else None)
        sums = server.ask("SELECT sum(count), sum(blocked_ns + runnable_ns + preempted_ns) FROM offcpu.waits FINAL")
        same(f"{server.title}, {kind}: pushed twice, counts once", sums, [[str(r.waits), str(r.off_cpu_ns)]])
        for view in ("by_reason",):
            sums = server.ask(f"SELECT sum(waits), sum(off_cpu_ns), sum(arraySum(bars)) FROM offcpu.{view} FINAL")[0]
            same(f"{server.title}, {kind}: {view}", sums[:2], [str(r.waits), str(r.off_cpu_ns)])
        for words in VIEWS if kind != "crowd" else WAITS_ONLY:
            expected = program.run("report", r.path, *words)
            got = program.run("report", "--clickhouse", server.url, *around(r), *words)
            if expected[0]:     # what the recording does not have: said of the one as of the other
                same(f"{server.title}, {kind}: report {' '.join(words)}", got[0], expected[0])
                continue
            different = [pair for pair in zip(expected[1].splitlines(), got[1].splitlines()) if pair[0] != pair[1]]
            point(f"{server.title}, {kind}: report {' '.join(words)}", None if got[:2] == expected[:2] else f"{different[:3]} {got[2]}")


def check_tasks(program, server, r):
    """Tasks of a recording: the same report, findings and all; of two windows their sums, and half of that each."""
    server.begin_anew()
    for _ in range(2):
        program.run("push", r.path, "--clickhouse", server.url)
    for words in ([], ["--by", "task"], ["--full"], ["--json"]):
        expected = program.run("report", r.path, *words)
        got = program.run("report", "--clickhouse", server.url, *around(r), *words)
        point(f"{server.title}, tasks: report {' '.join(words)}", None if got[:2] == expected[:2] else f"{expected[1]} {got[1]} {got[2]}")
    contains(f"{server.title}, tasks: are there at all", program.run("report", "--clickhouse", server.url, *around(r))[1], "Tasks of ")
    sql = "SELECT kind, sum(task_ns), sum(seen) FROM offcpu.tasks FINAL GROUP BY kind ORDER BY kind"
    once = server.ask(sql)
    for table in ("windows", "threads", "waits", "task_populations", "tasks"):
        columns = server.columns(table)
        changed = {"window": "window + 1", "start_unix_ns": "start_unix_ns + 1"}
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT "
                   f"{', '.join(changed.get(c, c) for c in columns)} FROM offcpu.{table} FINAL")
    same(f"{server.title}, tasks: two windows have twice the time", server.ask(sql), [[k, str(2 * int(a)), str(2 * int(b))] for k, a, b in once])
    means = [[line.split()[0] for line in text.splitlines() if line.strip() and line.split()[0].replace(".", "").isdigit()]
             for text in (program.run("report", r.path, "--by", "task")[1],
                          program.run("report", "--clickhouse", server.url, *around(r), "--by", "task")[1])]
    same(f"{server.title}, tasks: two windows have the same mean numbers", means[1], means[0])
    point(f"{server.title}, tasks: there are numbers", None if means[0] else "none")
    for table in ("task_populations", "tasks"):
        columns = server.columns(table)
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT "
                   f"{', '.join({'start': 'now()'}.get(c, c) for c in columns)} FROM offcpu.{table} FINAL")
    asked = server.load(QUERIES.read_text())[5]
    same(f"{server.title}, queries.sql: what tasks wait for", [row[:6] for row in asked], TASKS_ASKED)


def check_contexts(program, server, r):
    """Whose request a row of waits was for."""
    server.begin_anew()
    program.run("push", r.path, "--clickhouse", server.url)
    waits = json.loads(program.run("report", "--json", r.path)[1])["waits"]
    want = sorted([w["route"], *(w["longest_trace"][key] for key in ("trace_id", "span_id")), str(w["count"])] for w in waits if "route" in w)
    got = server.ask("SELECT route, trace_id, span_id, sum(count) FROM offcpu.waits FINAL WHERE route != '' GROUP BY route, trace_id, span_id")
    same(f"{server.title}: routes and traces", (sorted(got), len(want)), (want, 2))


def check_requests(program, server, r):
    """Requests as the recording has them; those of a minute ago answer the questions that are shipped."""
    server.begin_anew()
    for _ in range(2):
        status, _, err = program.run("push", r.path, "--clickhouse", server.url)
        point(f"{server.title}, requests: exit status", err if status else None)
    columns = ("count", "wall_ns", "on_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns", "max_ns")
    rows = server.ask(f"SELECT request, {', '.join(columns)}, arraySum(counts) FROM offcpu.requests FINAL ORDER BY row")
    same(f"{server.title}, requests: as recorded", [row[:-1] for row in rows],
         [[q["name"], *(str(q[column]) for column in columns)] for q in r.requests])
    same(f"{server.title}, requests: each has its latency", [row[-1] for row in rows], [row[1] for row in rows])
    times = server.ask("SELECT reason, arraySum(times_ns) FROM offcpu.request_times FINAL WHERE place = ''")
    point(f"{server.title}, requests: what they spent it on", None if int(dict(times).get("on_cpu", 0)) > 0 else times)
    for table in ("requests", "request_times", "windows"):
        columns = server.columns(table)
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT "
                   f"{', '.join({'start': 'now() - 60'}.get(c, c) for c in columns)} FROM offcpu.{table} FINAL")
    latencies, spent = server.load(QUERIES.read_text())[7:9]
    asked = {q["name"]: q for q in r.requests if q["count"]}
    same(f"{server.title}, queries.sql: requests", [(row[0], row[1], row[2]) for row in latencies],
         [(name, "1", str(q["count"])) for name, q in asked.items()])
    for row in latencies:
        p50_ns, p99_ns = float(row[4]) * 1e6, float(row[5]) * 1e6
        q = asked[row[0]]
        point(f"{server.title}, queries.sql: percentiles", None if p50_ns <= q["p50_ns"] and p99_ns <= q["p99_ns"] else (row, q))
    same(f"{server.title}, queries.sql: what they spent it on adds up", round(sum(float(row[3]) for row in spent)), 100 * len(asked))
    # the slowest one of the recording is so slow that none of the times that it tells are of it
    same(f"{server.title}, queries.sql: and what the slowest did", {float(row[4]) for row in spent}, {0.0})
    server.ask("INSERT INTO offcpu.request_times SELECT * REPLACE (arrayMap(x -> toUInt64(1099511627776), from_ns) AS from_ns, row + 1000 AS row) "
               "FROM offcpu.request_times FINAL WHERE start > now() - 3600 AND reason != 'on_cpu'")
    spent = server.load(QUERIES.read_text())[8]
    same(f"{server.title}, queries.sql: once there are some", round(sum(float(row[4]) for row in spent)), 100 * len(asked))
    same(f"{server.title}, queries.sql: of these nothing was on CPU", [float(row[4]) for row in spent if row[1] == "on_cpu"], [0.0])


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
    for table in ("threads", "waits", "stacks", "objects", "wakers"):
        columns = server.columns(table)
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
    server.begin_anew()
    server.stop()
    status, _, err = program.run("push", r.path, *words, "--wait", "3s")
    same(f"{server.title}, an outage: exit status", status, 1)
    contains(f"{server.title}, an outage: it is said", err, "cannot be reached", "wait in")
    error = server.start()
    point(f"{server.title} is back", error)
    status, _, err = program.run("push", other.path, *words)
    point(f"{server.title}, after an outage: exit status", err if status else None)
    program.run("push", r.path, *words)
    sums = server.ask("SELECT sum(count), sum(blocked_ns + runnable_ns + preempted_ns) FROM offcpu.waits FINAL")
    same(f"{server.title}, after an outage: everything, once", sums,
         [[str(r.waits + other.waits), str(r.off_cpu_ns + other.off_cpu_ns)]])


def check_names(program, server, r, folder):
    secrets = os.path.join(folder, "fleet")
    with open(os.open(secrets, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        file.write("user fleet\npassword se'c \"ret\n")
    name = "o'f`f \\x"
    quoted = "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
    server.load(server.schema(quoted))
    words = ("--clickhouse", server.url, "--database", name, "--credentials", secrets)
    status, _, err = program.run("push", r.path, *words)
    point("a database of a strange name, a password: exit status", err if status else None)
    status, text, err = program.run("report", *words, *around(r), "--csv")
    same("a database of a strange name: read back", text, program.run("report", r.path, "--csv")[1])
    status, _, err = program.run("push", r.path, "--clickhouse", server.url, "--database", "nowhere", "--wait", "0")
    same("a database that is not there: exit status", status, 1)
    contains("a database that is not there: its words", err, "nowhere")


def check_password(program, server, r):
    error = server.start()
    point(f"{server.title} starts", error)
    if error:
        return
    status, _, err = program.run("push", r.path, "--clickhouse", server.url, "--wait", "0",
                                 env={"OFFCPU_PUSH_USER": "fleet", "OFFCPU_PUSH_PASSWORD": "wrong"})
    same("a wrong password: exit status", status, 1)
    point("a wrong password is not printed", "wrong" in err.lower().replace("wrong password", "") and err)
    server.stop()


def check_retention(program, server, r):
    """A recording that is older than rows are kept is taken, and gone: that is said before."""
    server.begin_anew(keeps="30 DAY")
    status, _, err = program.run("push", r.path, "--clickhouse", server.url)
    contains(f"{server.title}, an old recording: it is said", f"{status} {err}", "0 ", "days old", "older than 30", "TTL")
    server.ask("OPTIMIZE TABLE offcpu.windows FINAL")
    same(f"{server.title}, an old recording: it is gone", server.ask("SELECT count() FROM offcpu.windows"), [["0"]])
    server.begin_anew()
    _, _, err = program.run("push", r.path, "--clickhouse", server.url)
    point(f"{server.title}, an old recording in tables that keep it: nothing is said", err if "old" in err else None)


def plant(server, hosts):
    """The waits that are there as those of many hosts, yesterday and today; of one stack those of today last eight times as long."""
    busiest = "SELECT service, reason, user_stack, kernel_stack FROM offcpu.waits FINAL WHERE idle = '' AND user_stack != 0 "
    busiest = server.ask(busiest + "GROUP BY service, reason, user_stack, kernel_stack ORDER BY sum(count) DESC, user_stack LIMIT 1")[0]
    columns = server.columns("waits")
    for ago, slots in ((86400, 0), (0, 3)):
        changed = {"host": "concat('h', toString(n))", "start": f"now() - {ago} - 100", "window": f"window + {ago} + n",
                   "idle": "if(longest_waker = 0, idle, '')",
                   "longest_start_unix_ns": f"if(longest_start_unix_ns = 0, 0, toUInt64(toUInt32(now() - {ago} - 90)) * 1000000000)",
                   "first_bar": f"first_bar + if(user_stack = {busiest[2]} AND kernel_stack = {busiest[3]}, {slots}, 0)"}
        server.ask(f"INSERT INTO offcpu.waits ({', '.join(columns)}) SELECT {', '.join(changed.get(c, c) for c in columns)} FROM "
                   f"(SELECT *, arrayJoin(range({hosts})) AS n FROM offcpu.waits FINAL WHERE start < now() - 200000)")
    for table in ("stacks", "wakers"):
        columns = server.columns(table)
        server.ask(f"INSERT INTO offcpu.{table} ({', '.join(columns)}) SELECT "
                   f"{', '.join({'day': 'toDate(now())'}.get(c, c) for c in columns)} FROM offcpu.{table}")
    return busiest


def check_questions(program, server, r):
    """The questions that are shipped run, and the first one finds what grew, on how many hosts, and nothing else."""
    hosts = 150
    server.begin_anew()
    program.run("push", r.path, "--clickhouse", server.url)
    service, reason, user, kernel = plant(server, hosts)
    answers = server.load(QUERIES.read_text())
    same(f"{server.title}, queries.sql: all of them run", len(answers), 9)
    same(f"{server.title}, queries.sql: whose p99 grew", [row[:3] + row[7:10] for row in answers[0]],
         [[service, reason, "8", str(hosts), user, kernel]])
    point(f"{server.title}, queries.sql: its frames", None if answers[0][0][10] and answers[0][0][10] in answers[0][0][11] else answers[0])
    same(f"{server.title}, queries.sql: the longest waits, and who ended them", {tuple(row[4:9]) for row in answers[4]}, {("server", "100", "100", "worker", "101")})
    same(f"{server.title}, queries.sql: what the fleet waits for", {row[2] for row in answers[1]}, {str(hosts)})


# of a client that waits for a server, whose other end is in a recording of another host; no golden recording has objects
CLIENT = """UPDATE string SET text = 'tcp_recvmsg' WHERE text = 'anon_pipe_read.constprop.0';
INSERT INTO object (id, name, kind, is_private, operation, place, pid, address) VALUES (0, '10.0.0.5:3306', 'socket', 0, '', 'tcp', 0, 0);
UPDATE wait SET object_id = 0 WHERE thread_id = (SELECT id FROM thread WHERE pid = 200);
INSERT INTO tcp_wait (id, object_id, direction, count, blocked_ns, peer_ns, network_ns, silent_ns, unclear_ns, resent, min_rtt_us)
VALUES (0, 0, 0, 5, 150000000, 120000000, 1000000, 0, 0, 2, 300);
INSERT INTO connection (id, pid, side, local, remote) VALUES (0, 200, 0, '10.0.0.9:48120', '10.0.0.5:3306')"""
SERVER = "INSERT INTO connection (id, pid, side, local, remote) VALUES (0, 100, 1, '10.0.0.5:3306', '10.0.0.9:48120')"


def as_host(r, folder, host, changes):
    path = os.path.join(folder, f"{host}.offcpu")
    shutil.copy(r.path, path)
    with sqlite3.connect(path) as db:
        db.executescript(f"{changes};\nUPDATE meta SET value = '{host}' WHERE key = 'host'; UPDATE meta SET value = 1 WHERE key = 'has_objects'")
    return path


def check_follow(program, server, r, folder):
    """From the service that waits to the host that serves it: the same of tables as of files; and what TCP's waits went on."""
    paths = [as_host(r, folder, "web1", CLIENT), as_host(r, folder, "db1", SERVER)]
    server.begin_anew()
    for path in paths:
        status, _, err = program.run("push", path, "--clickhouse", server.url)
        point(f"{server.title}, follow: exit status", err if status else None)
    _, expected, _ = program.run("report", "--follow", "-p", "evil", "--json", *paths)
    hops = [(h["host"], h["reason"], h["found_by"]) for chain in json.loads(expected)["chains"] for h in chain["hops"]]
    same(f"{server.title}, follow: hops", hops, [("web1", "network.receive", None), ("db1", "disk.sync", "connection")])
    words = ("report", "--clickhouse", server.url, *around(r), "--json", "--host", "web1")
    same(f"{server.title}, follow: of tables", program.run(*words, "--pid", "evil", "--follow")[:2], (0, expected))
    kept, read = (json.loads(program.run(*words)[1])["tcp_waits"] for words in (("report", paths[0], "--json"), words))
    same(f"{server.title}, follow: what TCP's waits went on", read, kept)
    check_services(program, server, r, folder)
    server.ask("ALTER TABLE offcpu.connections DELETE WHERE host = 'db1' SETTINGS mutations_sync = 1")
    contains(f"{server.title}, follow: nobody there", program.run(*words, "--pid", "evil", "--follow")[1], "Nobody is known who serves 10.0.0.5:3306")


def check_services(program, server, r, folder):
    """The same two hosts as a graph: an arrow from who waits to who serves it, whose box says what it waits for itself."""
    asked = f"from={r.start_ns - 10**9}&to={r.end_ns}"
    served = Served(program, server.url, folder, "evil")
    try:
        graph = json.loads(served.get("all", f"api/services?{asked}")[1])
        names = [s["name"] for s in graph["services"]]
        edges = [(names[e["from"]], names[e["to"]], e["time_ns"], e["found_by"]) for e in graph["edges"]]
        whole = int(server.ask("SELECT sum(blocked_ns) FROM offcpu.waits FINAL WHERE host = 'web1' AND service = 'evil' AND reason = 'network.receive'")[0][0])
        same(f"{server.title}, services: who waits for whom", edges, [("evil", "server", whole, "connection")])
        page = served.get("all", f"services?{asked}&of=evil&host=web1")[1]
        contains(f"{server.title}, services: followed", page, "Meanwhile on db1", "</svg>")
        _, page = served.get("shop", f"services?{asked}&of=evil")
        point(f"{server.title}, services: a reader of one", page if "Meanwhile" in page or ">server<" in page or "10.0.0.5:3306" not in page else None)
    finally:
        served.stop()


READERS = clickhouse_server.SHIPPED / "readers.sql"
USERS = """<clickhouse><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota><databases><offcpu>{filters}</offcpu></databases>
</default></users></clickhouse>"""


def check_readers(program, server, r):
    """chdb has one user and no CREATE ROLE: the statements are parsed by it, and the condition guards the same tables by its users.xml."""
    text = "\n".join(line for line in READERS.read_text().splitlines() if not line.startswith("--"))
    statements = [" ".join(statement.split()) for statement in text.split(";\n") if statement.strip()]
    for statement in statements:
        quoted = statement.replace("'", "\\'")
        point(f"readers.sql: {statement[:40]}", None if server.ask(f"SELECT formatQuery('{quoted}')") else "it is no statement")
    policy = next(statement for statement in statements if statement.startswith("CREATE ROW POLICY"))
    guarded = [name.strip(" ,").removeprefix("offcpu.") for name in policy.split(" ON ")[1].split(" FOR ")[0].split(",")]
    with_service = server.ask("SELECT DISTINCT table FROM system.columns WHERE database = 'offcpu' AND name = 'service' AND table NOT LIKE '.inner%'")
    same("readers.sql: guards every table that has a service", sorted(guarded), sorted(row[0] for row in with_service))
    server.begin_anew()
    program.run("push", r.path, "--clickhouse", server.url)
    server.stop()
    filters = "".join(f"<{table}><filter>service IN ('evil')</filter></{table}>" for table in guarded)
    paths = [os.path.join(server.folder, name) for name in ("config.xml", "users.xml")]
    for path, words in zip(paths, ("<clickhouse><users_config>users.xml</users_config></clickhouse>", USERS.format(filters=filters))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(words)
    point("a reader of one service: the server is back", server.start())
    for table in guarded:
        seen = server.ask(f"SELECT DISTINCT service FROM offcpu.{table}")
        point(f"a reader of one service: {table}", seen if seen not in ([], [["evil"]]) else None)
    status, out, err = program.run("report", "--clickhouse", server.url, *around(r), "--csv")
    rows = [line.split(",")[3] for line in out.splitlines()[1:]]
    same("a reader of one service: its report", (status, set(rows)), (0, {"evil"}))
    _, out, err = program.run("report", "--clickhouse", server.url, *around(r), "--full")
    point("a reader of one service: nothing is lacking", None if "ClickHouse has rows" not in out + err and "vfs_read" in out else out + err)
    server.stop()
    for path in paths:
        os.unlink(path)
    point("the server is back", server.start())


class Served:
    """`offcpu serve --fleet`, and what it answers to a reader's token."""
    TOKENS = {"all": "everything-0123456789", "shop": "shop-0123456789abcdef"}

    def __init__(self, program, url, folder, services):
        path = os.path.join(folder, "readers")
        with open(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(f"all {self.TOKENS['all']}\nshop {self.TOKENS['shop']} services={services}\n")
        options = [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]    # which looks at its own process; that is nobody's to look at
        self.process = subprocess.Popen([program.offcpu, "serve", "--fleet", url, "--token-file", path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "ASAN_OPTIONS": ":".join(filter(None, options))})
        self.said = [self.process.stdout.readline() for _ in range(2)]
        self.url = self.said[1].split()[-1].removesuffix("TOKEN/") if len(self.said[1].split()) == 2 else None

    def get(self, reader, address):
        """(status, text)"""
        request = urllib.request.Request(self.url + address, headers={"Authorization": f"Bearer {self.TOKENS[reader]}"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as err:
            return err.code, err.read().decode(errors="replace")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.process.stdout.close()


def check_fleet(program, server, r, folder):
    """The list has what the tables have, a host's range is its recording, and a reader of one service sees no other."""
    server.begin_anew()
    program.run("push", r.path, "--clickhouse", server.url)
    service, matters = server.ask("SELECT any(service), sum(off_cpu_ns) FROM offcpu.by_reason FINAL WHERE idle = '' AND service = 'server'")[0]
    whole = int(server.ask("SELECT sum(off_cpu_ns) FROM offcpu.by_reason FINAL WHERE idle = ''")[0][0])
    asked = f"from={r.start_ns - 10**9}&to={r.end_ns}"
    served = Served(program, server.url, folder, service)
    try:
        hosts = json.loads(served.get("all", f"api/hosts?{asked}")[1])["hosts"]
        same("serve --fleet: a host, its windows and time", [(h["host"], h["windows"], h["off_cpu_ns"]) for h in hosts], [(r.host, 1, whole)])
        _, out, _ = program.run("report", "--json", r.path)
        headlines = json.loads(out)["headlines"]
        same("serve --fleet: what a report begins with", hosts[0]["finding"], headlines[0]["sentence"])
        status, page = served.get("all", f"?{asked}")
        point("serve --fleet: the page leads to its range", None if status == 200 and f"host={r.host}&amp;from=" in page else f"{status} {page[:300]}")
        hosts = json.loads(served.get("shop", f"api/hosts?{asked}")[1])["hosts"]
        same("serve --fleet: a reader of one service", [(h["host"], h["off_cpu_ns"], h["most_service"]) for h in hosts], [(r.host, int(matters), service)])
        report = json.loads(served.get("all", f"api/report?host={r.host}&{asked}")[1])
        same("serve --fleet: a range has all of its time", sum(w["off_cpu_ns"] for w in report["waits"] if w["state"] != "C"), r.off_cpu_ns)
        status, page = served.get("all", f"api/flame.html?host={r.host}&{asked}")
        point("serve --fleet: and is a page", None if status == 200 and page.startswith("<!DOCTYPE html>") else f"{status} {page[:300]}")
        for address, status in (("api/report?host=nobody", 404), ("api/report", 400), ("?from=5&to=4", 400), ("api/line", 404)):
            same(f"serve --fleet: {address}", served.get("all", address)[0], status)
    finally:
        served.stop()


def check_server(program, server, recordings, folder):
    error = server.start()
    point(f"{server.title} starts", error)
    if error:
        return
    try:
        check_tasks(program, server, recordings["tasks"])
        check_same(program, server, recordings)
        check_hosts(program, server, recordings["after"])
        check_requests(program, server, recordings["requests"])
        check_contexts(program, server, recordings["contexts"])
        check_outage(program, server, recordings["plain"], recordings["crowd"], folder)
        check_names(program, server, recordings["wakers"], folder)
        check_retention(program, server, recordings["wakers"])
        check_follow(program, server, recordings["wakers"], folder)
        check_fleet(program, server, recordings["wakers"], folder)
        check_readers(program, server, recordings["wakers"])
        check_questions(program, server, recordings["wakers"])
    finally:
        server.stop()


def run(program, recordings, folder):
    for kind, check in ((clickhouse_server.Server, lambda server: check_password(program, server, recordings["plain"])),
                        (clickhouse_server.Chdb, lambda server: check_server(program, server, recordings, folder))):
        if kind.why_not():
            point(f"a real {kind.title}", skip=kind.why_not())
        else:
            check(kind(os.path.join(folder, kind.__name__)))
