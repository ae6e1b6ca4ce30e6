# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu agent`: its windows against a program's own clock, and what becomes of them when things go wrong."""

import glob
import json
import os
import platform
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from cases_crowd import check_adds_up, held_by
from check import Report
from lib import Program, case, default_signals, enter_cgroup, wait_until

SECOND = 1_000_000_000

# Says what it ran by its own clock when it is told to end, and ends at once: an interpreter that cleans up runs 10 ms more that nobody tells.
SPINNER = """
import os, signal, threading, time
threading.Thread(target=lambda: [time.sleep(0.01) for _ in iter(int, 1)], daemon=True).start()
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
begun = time.process_time_ns(), time.monotonic_ns()
print("ready", flush=True)
while not ended:
    until = time.process_time_ns() + 3_000_000
    while time.process_time_ns() < until:
        pass
    time.sleep(0.003)
print(time.process_time_ns(), time.monotonic_ns() - begun[1], flush=True)
os._exit(0)
"""


class Agent:
    def __init__(self, env, store, *options, settings=(), before=()):
        self.store = store
        self.log_path = env.temporary("agent.log")
        settings = ["agent.window=1s", f"store.dir={store}", "agent.budget=off", *settings]
        command = [*before, env.offcpu, "agent", *map(str, options)]
        for setting in settings:
            command += ["--set", setting]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, preexec_fn=default_signals)

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def await_log(self, words, timeout_s=60):
        wait_until(lambda: words in self.log() or self.process.poll() is not None, timeout_s)
        return words in self.log()

    def await_windows(self, cnt, timeout_s=60):
        wait_until(lambda: len(windows(self.store)) >= cnt or self.process.poll() is not None, timeout_s, 0.1)
        return len(windows(self.store)) >= cnt

    def end(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        return self.process.wait(timeout=60)


def ask(store, sql, files):
    """Of all such files: a day has several where much is new."""
    rows = []
    for path in sorted(glob.glob(os.path.join(store, files))):
        try:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=20) as db:
                rows += db.execute(sql).fetchall()
        except sqlite3.OperationalError:  # its tables are just being made
            pass
    return rows


def windows(store):
    return [row[1:] for row in sorted(ask(store, "SELECT seq, start_ns, duration_ns, start_unix_ns FROM window", "*.10s*.db"))]


def gaps(store):
    return sorted(ask(store, "SELECT from_unix_ns, to_unix_ns, why FROM gap", "*.1h*.db"))


def check_contiguous(env, rows):
    for one, other in zip(rows, rows[1:]):
        env.check.equal(one[0] + one[1], other[0], "a window begins where the one before ends")
        env.check.equal(one[2] + one[1], other[2], "and so it does in clock time")


def read_all(env, store):
    path = env.temporary("all.offcpu")
    result = subprocess.run([os.path.join(env.programs, "stored"), store, path], stderr=subprocess.PIPE, check=False, timeout=120)
    env.check.equal(result.returncode, 0, f"stored: {result.stderr.decode()}")
    return path


def stolen_ns():
    """Time that the hypervisor took from all CPUs: a thread was on one meanwhile, but its own clock stood still (PARAVIRT_TIME_ACCOUNTING)."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) * SECOND // os.sysconf("SC_CLK_TCK")


@case
def agent_windows(env):
    """Windows follow one another, and summed they are what a program says of itself, beside a storm of forks."""
    store = env.temporary("history")
    agent = Agent(env, store)
    env.check.that(agent.await_log("recording"), f"it records: {agent.log()}")
    spinner = subprocess.Popen([sys.executable, "-c", SPINNER], stdout=subprocess.PIPE, preexec_fn=default_signals)
    spinner.stdout.readline()
    stolen = stolen_ns()
    storm = subprocess.Popen(["/bin/sh", "-c", "while :; do /bin/true; done"], preexec_fn=default_signals)
    seen = len(windows(store))
    env.check.that(agent.await_windows(seen + 5), "windows come")
    spinner.send_signal(signal.SIGTERM)
    cpu_ns, wall_ns = map(int, spinner.stdout.readline().split())
    spinner.wait()
    stolen = stolen_ns() - stolen
    storm.kill()
    storm.wait()
    time.sleep(1.2)
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    rows = windows(store)
    check_contiguous(env, rows)
    env.check.equal(gaps(store), [], "gaps")
    # in minutes whoever lived within one has no number any more
    for path in glob.glob(os.path.join(store, "*.1[mh].*")):
        os.unlink(path)
    with sqlite3.connect(read_all(env, store)) as db:
        lost = db.execute("SELECT reason, count FROM loss").fetchall()
        residual, = db.execute("SELECT sum(residual_ns) FROM v_thread").fetchone()
        env.check.that(residual == 0 or lost, f"residual {residual} with losses {lost}")
        told_cpu, observed, threads = db.execute("SELECT sum(on_cpu_ns), sum(observed_ns), count(DISTINCT tid) FROM v_thread WHERE pid = ?",
                                                 (spinner.pid,)).fetchone()
        slack_ns = max(0.03 * cpu_ns, 20_000_000)
        env.check.that(cpu_ns - slack_ns <= told_cpu <= cpu_ns + slack_ns + stolen, f"the spinner's CPU time: {told_cpu}, {cpu_ns}, {stolen} stolen")
        env.check.that(threads >= 1 and observed >= 1.9 * wall_ns, f"both of its threads were observed: {observed} of 2 x {wall_ns}")
        folded, = db.execute("SELECT coalesce(sum(observed_ns), 0) FROM v_thread WHERE comm = 'true' AND tid = 0").fetchone()
        single, = db.execute("SELECT count(*) FROM thread WHERE comm = 'true' AND tid > 0").fetchone()
        env.check.that(folded > 0 and single <= 2 * len(rows), f"the storm is folded: {folded} ns, {single} rows alone")


# One wait above all others, by its own clock: before it, as it is to end, behind it.
WAITER = """
import threading, time
event, said = threading.Event(), []
def wait():
    said.append(time.time_ns())
    event.wait()
    said.append(time.time_ns())
waiter = threading.Thread(target=wait)
waiter.start()
time.sleep(3.3)
said.append(time.time_ns())
event.set()
waiter.join()
print(waiter.native_id, *said, flush=True)
time.sleep(60)
"""


@case
def agent_longest(env):
    """When the longest wait of a stack began and who ended it, though windows were cut meanwhile."""
    store = env.temporary("history")
    agent = Agent(env, store)
    env.check.that(agent.await_log("recording"), f"it records: {agent.log()}")
    waiter = subprocess.Popen([sys.executable, "-c", WAITER], stdout=subprocess.PIPE, preexec_fn=default_signals)
    tid, before_ns, told_ns, after_ns = map(int, waiter.stdout.readline().split())
    agent.await_windows(len(windows(store)) + 2)
    waiter.kill()
    waiter.wait()
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    options = ["report", "--history", store, "--pid", str(waiter.pid)]
    report = json.loads(subprocess.check_output([env.offcpu, *options, "--json"]))
    waits = [w for w in report["waits"] if w["tid"] == tid and "max_start_unix_ns" in w]
    longest = max(waits, key=lambda w: w["max_ns"])
    began_ns, ended_ns = longest["max_start_unix_ns"], longest["max_start_unix_ns"] + longest["max_ns"]
    slack_ns = 20_000_000  # of clocks: the machine's time of day may be slewed meanwhile
    env.check.that(before_ns - slack_ns <= began_ns <= told_ns, f"it began at {began_ns}, behind {before_ns}")
    env.check.that(told_ns - slack_ns <= ended_ns <= after_ns + slack_ns, f"it ended at {ended_ns}, between {told_ns} and {after_ns}")
    env.check.equal(longest["max_waker"]["tid"], waiter.pid, "who ended it")
    text = subprocess.check_output([env.offcpu, *options, "--stacks"], text=True)
    clock = time.strftime("%H:%M:%S", time.localtime(began_ns // SECOND)) + f".{began_ns // 1_000_000 % 1000:03}"
    env.check.that(re.search(rf"longest \S+ s: thread {tid} \S+, began {clock}, woken by \S+ \({waiter.pid}\)", text), f"{clock} in {text}")


@case
def agent_reload(env):
    """SIGHUP: a bad configuration changes nothing, a good one does; SIGTERM: the last window is stored."""
    store, config = env.temporary("history"), env.temporary("agent.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write("[record]\nwakers = yes\n")
    agent = Agent(env, store, "--config", config)
    env.check.that(agent.await_windows(2), f"windows come: {agent.log()}")
    with open(config, "w", encoding="ascii") as file:
        file.write("[record]\nwaker = no\n")
    agent.process.send_signal(signal.SIGHUP)
    env.check.that(agent.await_log("line 2: [record] has no key 'waker'"), f"it says what is wrong: {agent.log()}")
    with open(config, "w", encoding="ascii") as file:
        file.write("[record]\nwakers = no\n")
    agent.process.send_signal(signal.SIGHUP)
    env.check.that(agent.await_log("was read again"), f"it reads it again: {agent.log()}")
    seen = len(windows(store))
    env.check.that(agent.await_windows(seen + 1), "windows come again")
    stored = len(windows(store))
    env.check.equal(agent.end(), 0, "status")
    env.check.that(len(windows(store)) > stored, "the last window is stored")
    why = [gap[2] for gap in gaps(store)]
    env.check.equal(why, ["the configuration was changed"], "gaps")


def start_planted(env, path, group=None):
    """Threads that wait for a lock, until end_planted(): a program that ends by itself may end before the agent has seen it on a busy machine."""
    program = subprocess.Popen([os.path.join(env.programs, "planted"), "mutex", "600", path], stdout=subprocess.DEVNULL,
                               preexec_fn=(lambda: enter_cgroup(group, 0)) if group else None)
    env.running.append(program)
    return program


def end_planted(program, *paths):
    program.kill()
    program.wait()
    for path in paths:
        os.unlink(path)


def start_jit(env):
    """One that sleeps below code of its own making, until end_planted(): (program, its list of functions)."""
    program = subprocess.Popen([os.path.join(env.programs, "unwind_trampoline"), env.temporary("truth"), "1000000", "5000"])
    env.running.append(program)
    return program, f"/tmp/perf-{program.pid}.map"


@case
def agent_alerts(env):
    """A program whose threads wait for a lock, and its end: an alert is told, run and over, with windows that stay; and its command may do nothing."""
    store, config, told = env.temporary("history"), env.temporary("agent.conf"), env.temporary("told")
    with open(config, "w", encoding="ascii") as file:
        file.write("[alert held]\nwhen = process=planted reason=lock share > 30%\nfor = 2\nkeep = 3s before, 1s after\nrecord = 1s\n"
                   f"run = /bin/sh -c 'echo \"$OFFCPU_STATE|$OFFCPU_ALERT|$OFFCPU_TEXT|$(grep CapEff /proc/self/status)\" >> {told}'\n"
                   "[alert never]\nwhen = process=planted reason=disk.read share > 99%\nfor = 1\n")
    agent = Agent(env, store, "--config", config)
    env.check.that(agent.await_log("recording"), f"it records: {agent.log()}")
    path = env.disk_file()
    with open(path, "wb") as file:
        file.write(bytes(4096))
    planted = start_planted(env, path)
    env.check.that(agent.await_log("alert held: process=planted reason=lock share > 30%: it is "), f"it is told: {agent.log()}")
    end_planted(planted, path)
    env.check.that(agent.await_log("alert held is over after"), f"and that it is over: {agent.log()}")
    env.check.that(agent.await_log("the recording of the alert held is done"), f"it was recorded: {agent.log()}")
    wait_until(lambda: os.path.exists(told) and len(open(told, encoding="utf-8").readlines()) == 2, 20)
    env.check.equal(agent.end(), 0, "status")
    with open(told, encoding="utf-8") as file:
        lines = [line.strip().split("|") for line in file]
    env.check.equal([line[:2] for line in lines], [["firing", "held"], ["over", "held"]], "what was run")
    for line in lines:
        env.check.equal(line[3].split()[-1].strip("0"), "", f"capabilities of the command: {line[3]}")
        env.check.that("reason=lock share" in line[2], f"its text: {line[2]}")
    env.check.that("alert never" not in agent.log(), f"no other alert: {agent.log()}")
    check_when(env, store, "planted")
    check_incident(env, store)


def check_incident(env, store):
    """What the alert put aside is there when the history is not; an incident by hand is one of the whole history."""
    keep = [env.offcpu, "agent", "--set", f"store.dir={store}", "--config", "/dev/null", "--keep", "by hand"]
    env.check.equal([subprocess.run(keep, capture_output=True).returncode for _ in range(2)], [0, 1], "by hand, and the name is taken")
    for name in os.listdir(store):
        if name.endswith(".db"):
            os.unlink(os.path.join(store, name))
    report = [env.offcpu, "report", "--history", store]
    listed = json.loads(subprocess.check_output([*report, "--incidents", "--json"]))["incidents"]
    env.check.equal(sorted(i["id"].split()[0] for i in listed), ["by", "held"], "incidents")
    held = next(i for i in listed if i["id"].startswith("held"))
    env.check.that("reason=lock share > 30%: it is" in held["said"], f"what the alert said: {held}")
    recorded = json.loads(subprocess.check_output([env.offcpu, "report", "--json", held["recording"]]))
    env.check.that(recorded["window"]["duration_ns"] > SECOND * 9 // 10, f"a recording of its: {recorded['window']}")
    env.check.that(held["windows"] > 3 and held["minutes"] == 0, f"whole windows: {held}")
    findings = json.loads(subprocess.check_output([*report, "--incident", held["id"], "--pid", "planted", "--json"]))["findings"]
    env.check.that(any(f["reason"].startswith("lock") for f in findings), f"the lock is in it: {findings}")


def check_when(env, store, name):
    """The first screen says of the lock that all wait for when its longest wait began."""
    options = [env.offcpu, "report", "--history", store, "--from", "-1h", "--pid", name]
    report = json.loads(subprocess.check_output([*options, "--json"]))
    finding = next(f for f in report["findings"] if f["reason"].startswith("lock"))
    longest = [w["max_start_unix_ns"] for w in report["waits"] if w["max_ns"] == finding["max_ns"] and "max_start_unix_ns" in w]
    env.check.that(finding["max_start_unix_ns"] in longest, f"{finding['max_start_unix_ns']} is one of {longest}")
    at_ns = finding["max_start_unix_ns"]
    clock = time.strftime("%H:%M:%S", time.localtime(at_ns // SECOND)) + f".{at_ns // 1_000_000 % 1000:03}"
    text = subprocess.check_output(options, text=True)
    env.check.that(f" at {clock}" in " ".join(text.split()), f"{clock} in {text}")


@case
def agent_alerts_of_yesterday(env):
    """The same program as a day before: an alert at half of its threads holds and says how many they were, one at twice does not; and p99."""
    before, store, config = env.temporary("before"), env.temporary("history"), env.temporary("agent.conf")
    fill, planted, path = os.path.join(env.programs, "..", "history", "history-fill"), os.path.join(env.programs, "planted"), env.disk_file()
    with open(path, "wb") as file:
        file.write(bytes(4096))
    for dir_ in before, store:
        if dir_ == store:
            # 17 to 33 minutes of that, for the first window and the last may be short ones; an alert wants 15 of the hour
            begin = time.time() - 86400 - 1000
            subprocess.run([fill, store, "2000", "--start", f"{begin:.3f}", before], stdout=subprocess.DEVNULL, check=True)
            with open(config, "w", encoding="ascii") as file:
                file.write("[alert more]\nwhen = reason=lock threads > 0.4x yesterday\nfor = 2\n"
                           "[alert twice]\nwhen = reason=lock threads > 2.5x yesterday\nfor = 2\n"
                           "[alert slow]\nwhen = process=planted reason=lock p99 > 1ms\nfor = 2\n"
                           "[alert slower]\nwhen = process=planted reason=lock p99 > 20s\nfor = 2\n")
        program = subprocess.Popen([planted, "mutex", "300", path], stdout=subprocess.DEVNULL)
        agent = Agent(env, dir_, *(["--config", config] if dir_ == store else []), settings=["record.comm=planted"])
        seen = len(windows(dir_))
        if dir_ == store:
            env.check.that(agent.await_log("alert more: reason=lock threads > 0.4x yesterday: it is "), f"it is told: {agent.log()}")
            env.check.that(agent.await_log("alert slow: process=planted reason=lock p99 > 1ms: it is "), f"so is p99: {agent.log()}")
        else:
            env.check.that(agent.await_windows(seen + 3), f"windows come: {agent.log()}")
        env.check.equal(agent.end(), 0, "status")
        program.kill()
        program.wait()
    os.unlink(path)
    found = re.search(r"alert more: .*: it is ([0-9.]+).*, a day before it was ([0-9.]+)", agent.log())
    env.check.that(found and 0.4 < float(found[1]) / float(found[2]) < 2.5, f"about as many as then: {agent.log()}")
    env.check.that("alert twice" not in agent.log() and "alert slower" not in agent.log(), f"no other alert: {agent.log()}")


@case
def agent_storms(env):
    """A herd of threads that one broadcast wakes: each event is in the history once, though windows are cut, and an alert tells it."""
    store = env.temporary("history")
    config, told = env.temporary("agent.conf"), env.temporary("told")
    with open(config, "w", encoding="ascii") as file:
        file.write(f"[alert herd]\nwhen = process=herd storms > 0.5\nfor = 1\nrun = /bin/sh -c 'echo \"$OFFCPU_STATE|$OFFCPU_TEXT\" >> {told}'\n")
    port = free_port()
    agent = Agent(env, store, "--config", config, settings=[f"metrics.listen=127.0.0.1:{port}"])
    env.check.that(agent.await_log("recording, "), f"it records: {agent.log()}")
    program = Program(env, "herd", "cond", 60, 100)
    program.go()
    env.check.that(agent.await_log("alert herd: process=herd storms > 0.5: it is "), f"it is told: {agent.log()}")
    firing = 'offcpu_alert_firing{alert="herd"} 1'
    text = metrics_of(f"http://127.0.0.1:{port}/metrics", lambda t: firing in t, 20)  # the line comes before the metric
    env.check.that(firing in text, f"it is a metric: {text[-400:]}")
    program.wait_done()
    program.finish()

    def cnt(words):
        return agent.log().count(words)
    # more than once where the machine let the program do nothing for a window
    env.check.that(wait_until(lambda: cnt("alert herd is over") == cnt("alert herd: process"), 60), f"it is over: {agent.log()}")
    times = cnt("alert herd is over")
    wait_until(lambda: os.path.exists(told) and len(open(told, encoding="utf-8").readlines()) == 2 * times, 20)
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    with open(told, encoding="utf-8") as file:
        env.check.equal([line.split("|")[0] for line in file], ["firing", "over"] * times, "what was run")
    report = json.loads(subprocess.check_output([env.offcpu, "report", "--history", store, "--storms", "--json"]))
    storms = [s for s in report["storms"] if s["waker"]["comm"] == "herd" and s["kind"] == "condition_broadcast"]
    events, woken = sum(s["events"] for s in storms), sum(s["woken"] for s in storms)
    truth = program.truth()[0]
    env.check.that(0.95 * truth["events"] <= events <= truth["events"] * 1.05, f"{events} events of {truth}")
    env.check.that(0.9 * truth["woken"] <= woken <= truth["woken"] * 1.02, f"{woken} woken of {truth}")


@case
def agent_blame(env):
    """Who held the CPU, out of the history: each hog waits as long as the others ran by their own clocks, though windows were cut meanwhile."""
    store = env.temporary("history")
    # else four programs are told by name, and on a busy machine others than these held the CPU longer
    agent = Agent(env, store, settings=["record.fold-short-lived=no"])
    env.check.that(agent.await_log("recording, "), f"it records: {agent.log()}")
    program = Program(env, "runq", 2, 2200)
    program.go()
    program.wait_done()
    program.finish()
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    env.check.that(len(windows(store)) >= 2, f"it was cut: {windows(store)}")
    report = Report(json.loads(subprocess.check_output([env.offcpu, "report", "--history", store, "--pid", str(program.pid), "--json"])))
    check_adds_up(env, report)
    lines = {line["name"]: line for line in program.truth()}
    for sufferer in ("hog-1", "hog-2"):
        held = held_by(report, lines[sufferer]["tid"])
        for name, line in lines.items():
            if name != sufferer:
                slack_ns = 0.05 * line["cpu_ns"] + 30_000_000
                env.check.that(abs(held.get(name, 0) - line["cpu_ns"]) < slack_ns,
                               f"{sufferer} waited {held.get(name, 0)} ns for {name}, which ran {line['cpu_ns']} ns: {held}")


def parsers_of(pid):
    """The processes that parse files for it: children of its children."""
    return [parser for keeper in children_of(pid) for parser in children_of(keeper) if comm_of(parser) == "offcpu-parser"]


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def told_by_parsers(env, store):
    """What of the programs that began meanwhile only a parser can have told: {what: is it known}."""
    with sqlite3.connect(read_all(env, store)) as db:
        names = {name for name, in db.execute("SELECT DISTINCT name FROM v_frame WHERE why = 'named' AND module LIKE '%/planted'")}
        made = db.execute("SELECT count(*) FROM v_frame WHERE name = 'jit:trampoline'").fetchone()[0]
        services = {name for name, in db.execute("SELECT DISTINCT service FROM v_thread WHERE comm LIKE 'planted%'")}
        locks = {name for name, in db.execute("SELECT DISTINCT object FROM v_wait WHERE object LIKE '%audit_lock%'")}
    return {"the names of a program": "main" in names, "what its container is called": "container:cache" in services, "its lock's name": bool(locks),
            "the name of code that was made at run time": made or platform.machine() != "x86_64"}


@case
def agent_parsers(env):
    """Files are parsed by processes without any right; when those are killed the recording goes on, and new programs have names all the same."""
    store = env.temporary("history")
    agent = Agent(env, store)
    env.check.that(agent.await_windows(1), f"windows come: {agent.log()}")
    parsers = parsers_of(agent.process.pid)
    env.check.equal(len(parsers), 2, "parsers")
    for pid in parsers:
        status = status_of(pid)
        env.check.equal((status["CapPrm"].strip("0"), status["CapEff"].strip("0"), status["NoNewPrivs"], status["Seccomp"]), ("", "", "1", "2"), "its rights")
        env.check.that("0" not in status["Uid"].split(), f"its user: {status['Uid']}")
        env.check.that(wait_until(lambda: holds_nothing(pid), 20), f"descriptors it holds while it parses nothing: {os.listdir(f'/proc/{pid}/fd')}")
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(set(parsers_of(agent.process.pid)) - set(parsers)) == 2, 60)
    path = env.disk_file()
    with open(path, "wb") as file:
        file.write(bytes(4096))
    planted, jit = start_planted(env, path, env.container("cache")), start_jit(env)
    end, known = time.monotonic() + 150, {}
    while time.monotonic() < end and not (known and all(known.values())):    # on a busy machine it takes more windows
        env.check.that(agent.await_windows(len(windows(store)) + 1), "windows come all the same")
        known = told_by_parsers(env, store)
    env.check.equal([what for what, is_known in known.items() if not is_known], [], "what is not known of programs that began after that")
    end_planted(planted, path)
    end_planted(*jit)
    env.check.equal(len(set(parsers_of(agent.process.pid)) - set(parsers)), 2, "there are new ones")
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    env.check.equal([pid for pid in parsers if os.path.exists(f"/proc/{pid}")], [], "none is left")
    check_contiguous(env, windows(store))


def holds_nothing(pid):
    """But its socket, and /dev/null."""
    try:
        targets = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except FileNotFoundError:  # it has just closed one
        return False
    return all(target == "/dev/null" or target.startswith("socket:") for target in targets)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def fetch(url, **headers):
    import urllib.error  # here: the guests of tests/vm have no module for it
    import urllib.request
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError:
        return 0, ""


def metric(text, name):
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(name + r"[ {]", line))


def metrics_of(url, until, timeout_s=60):
    """The text, once it is as it should be; or as it is."""
    last = [""]

    def is_so():
        last[0] = fetch(url)[1]
        return until(last[0])
    wait_until(is_so, timeout_s, 0.2)
    return last[0]


@case
def agent_metrics(env):
    """/metrics: what the store has, by a process without rights; it answers nobody who calls it by a name of his own."""
    store, config = env.temporary("history"), env.temporary("agent.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write("[alert \"any\"]\nwhen = reason=any threads > 0.001\nfor = 1\n"
                   f"[push]\npyroscope = http://127.0.0.1:{free_port()}\n")   # nobody is there
    agent = Agent(env, store, "--config", config,
                  settings=["metrics.listen=127.0.0.1:0", f"push.spool={env.temporary('spool')}"])
    env.check.that(agent.await_log("metrics are at "), f"it says where: {agent.log()}")
    url = re.search(r"metrics are at (\S+)", agent.log()).group(1)
    text = metrics_of(url, lambda t: metric(t, "offcpu_windows_total") >= 4)
    env.check.equal(fetch(url, Host="offcpu.example")[0], 403, "another name")
    env.check.equal(fetch(url.replace("/metrics", "/"))[0], 404, "another path")
    env.check.that('offcpu_alert_firing{alert="\\"any\\""} 1' in text, "the alert, with its name's quotes")
    cnt = int(metric(text, "offcpu_windows_total"))
    env.check.equal(metric(text, "offcpu_agent_windows_stored_total"), cnt, "windows stored, as long as none is lost")
    env.check.that(0 < metric(text, "offcpu_agent_cpu_seconds_total") < 60 and metric(text, "offcpu_agent_files_parsed_total") > 1,
                   "the agent's own")
    env.check.that(len(set(re.findall(r'service="([^"]*)"', text))) <= 52, "services")
    servers = [pid for pid in children_of(agent.process.pid) if comm_of(pid) == "offcpu-metrics"]
    env.check.equal(len(servers), 1, "servers")
    status = status_of(servers[0])
    env.check.equal((status["CapEff"].strip("0"), status["NoNewPrivs"], status["Seccomp"]), ("", "1", "2"), "its rights")
    if shutil.which("promtool"):
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
        env.check.equal(checked.returncode, 0, f"promtool: {checked.stderr}")
    if shutil.which("prometheus"):
        scrape(env, url, text)
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    first = windows(store)[:cnt]
    env.check.equal(len(first), cnt, "windows in the store")
    env.check.that(abs(metric(text, "offcpu_window_seconds_total") - sum(row[1] for row in first) / 1e9) < 1e-6, "their time")
    env.check.equal([pid for pid in servers if os.path.exists(f"/proc/{pid}")], [], "the server is gone")


def shipped_expressions(env):
    """(where it stands, expression) of the dashboard and of the rules that are shipped."""
    share = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share")
    rules = os.path.join(share, "prometheus", "alerts.yml")
    checked = subprocess.run(["promtool", "check", "rules", rules], text=True, capture_output=True, check=False)
    env.check.equal(checked.returncode, 0, f"promtool: {checked.stderr}")
    with open(os.path.join(share, "grafana", "offcpu.json"), encoding="utf-8") as file:
        panels = json.load(file)["panels"]
    found = [(panel["title"], target["expr"]) for panel in panels for target in panel["targets"]]
    with open(rules, encoding="utf-8") as file:
        for alert in re.split(r"- alert: ", file.read())[1:]:
            block = re.search(r"expr: \|\n(.*?)\n        \w+:", alert, re.S)
            found.append((alert.split("\n")[0], block.group(1) if block else re.search(r"expr: (.*)", alert).group(1)))
    return found


def check_expressions(env, query, text):
    """Each is one that Prometheus understands, and asks for what /metrics has."""
    import urllib.parse
    known = set(re.findall(r"# TYPE (\S+)", text))
    expressions = shipped_expressions(env)
    env.check.that(len(expressions) >= 13, f"expressions: {len(expressions)}")
    for title, expression in expressions:
        for name in re.findall(r"\boffcpu_\w+", expression):
            env.check.that(re.sub("_bucket$", "", name) in known or name == "offcpu_push_dropped_total", f"{title}: {name} is in /metrics")
        asked = re.sub(r"\[\w+\]", "[5s]", expression.replace("$__rate_interval", "5s").replace("$instance", ".*").replace("$service", ".*"))
        answer = fetch(query + urllib.parse.quote(asked, safe=""))
        env.check.that(answer[0] == 200 and json.loads(answer[1])["status"] == "success", f"{title}: {answer} to {asked}")
        if title.startswith(("Time of threads", "What waits", "Who waits", "p99", "Share of waits")):
            env.check.that(json.loads(answer[1] or "{}").get("data", {}).get("result"), f"{title} shows something: {answer}")


def scrape(env, url, text):
    """A real Prometheus has the same number, and what is shipped for it and for Grafana asks for what is there."""
    port, folder = free_port(), env.temporary("prometheus")
    os.mkdir(folder)
    config = os.path.join(folder, "p.yml")
    with open(config, "w", encoding="ascii") as file:
        file.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: offcpu\n  static_configs: "
                   f"[{{targets: ['{url.split('/')[2]}']}}]\n")
    with subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                           f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            query = f"http://127.0.0.1:{port}/api/v1/query?query="
            seen = metrics_of(query + "offcpu_windows_total", lambda t: '"value"' in t)
            env.check.that('"value"' in seen and int(json.loads(seen)["data"]["result"][0]["value"][1]) >= 4, f"what Prometheus has: {seen}")
            rate = metrics_of(query + "sum(rate(offcpu_thread_seconds_total[5s]))", lambda t: '"value"' in t)
            env.check.that('"value"' in rate, f"and of all threads: {rate}")
            check_expressions(env, query, text)
        finally:
            server.terminate()


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def comm_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()
