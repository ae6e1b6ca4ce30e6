# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu tasks`: goroutines of programs that know how many they have and how long these wait."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

from lib import Skip, case, enter_cgroup, fetched, nightly, wait_until

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "go_tasks.go")
# OFFCPU_GOS names more compilers: "/opt/go1.24/bin/go:/opt/go1.26/bin/go"
GOS = [go for go in [shutil.which("go"), *os.environ.get("OFFCPU_GOS", "").split(":"), *fetched("go1.*")] if go]


class GoProgram:
    def __init__(self, env, go, flags, *arguments):
        folder = env.temporary("go")
        os.mkdir(folder)
        root = os.path.dirname(os.path.dirname(os.path.realpath(go)))
        built = subprocess.run([go, "build", *flags, "-o", f"{folder}/tasks", SOURCE], capture_output=True, text=True, check=False,
                               env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local", "GOROOT": root})
        if built.returncode != 0:
            raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
        self.process = subprocess.Popen([f"{folder}/tasks", *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        env.running.append(self.process)
        self.process.stdout.readline()

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def look(env, program, *options):
    result = subprocess.run([env.offcpu, "tasks", "--json", "-p", str(program.process.pid), *options], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=120, check=False)
    env.check.equal(result.returncode, 0, f"exit status: {result.stderr.strip()}")
    return json.loads(result.stdout)


def own(row):
    return (row["own"] or {}).get("name")


def label(row, key):
    return next((frame["name"] for frame in row["stack"] if frame.get("file") == f"[{key}]"), None)


def tasks_at(data, function, reasons):
    return sum(row["tasks_milli"] for row in data["rows"] if own(row) == function and row["reason"] in reasons) / 1000


@case
def goroutines_are_counted_where_they_wait(env):
    if not GOS:
        raise Skip("go is not installed")
    for go in GOS:
        for flags in ([], ["-ldflags=-s -w"], ["-ldflags=-s -w", "-buildmode=pie"]):
            program = GoProgram(env, go, flags, 1024)
            data = look(env, program)
            program.stop()
            what = f"{data['version']} {flags}"
            env.check.equal(tasks_at(data, "main.producer", ["chan send"]), 1024, f"{what}: senders")
            env.check.equal(tasks_at(data, "main.locker", ["semacquire", "sync.Mutex.Lock"]), 7, f"{what}: who waits for the lock")
            waiting = sum(tasks_at(data, function, [reason]) for function, reason in
                          (("main.receiver", "chan receive"), ("main.napper", "sleep"), ("main.worker", "sleep")))
            env.check.that(38 <= waiting <= 40, f"{what}: {waiting} workers wait")
            send = next(row for row in data["rows"] if own(row) == "main.producer")
            routes = {route: sum(row["tasks_milli"] for row in data["rows"] if own(row) == "main.routed" and label(row, "http.route") == route) / 1000
                      for route in ("/order/{id}", "/stock", None)}
            env.check.equal(routes, {"/order/{id}": 3, "/stock": 2, None: 1}, f"{what}: by label")
            with open(SOURCE, encoding="utf-8") as file:
                lines = file.read().split("\n")
            env.check.equal(lines[send["own"]["line"] - 1].strip(), "c <- 1", f"{what}: the line")
            env.check.equal(send["creator"]["name"], "main.spawn", f"{what}: creator")
            env.check.equal({row["stack_end"] for row in data["rows"] if row["state"] == "waiting"}, {"complete"}, f"{what}: stacks")


@case
def goroutines_time_is_what_they_measure(env):
    if not GOS:
        raise Skip("go is not installed")
    program = GoProgram(env, GOS[0], [], 10)
    wait_until(lambda: program.ask()["ns"] > 1_500_000_000, 60)  # all workers have begun
    before = program.ask()
    recording = env.temporary("go.offcpu")
    made = subprocess.run([env.offcpu, "record", "--tasks", "--max-overhead", "50", "-p", str(program.process.pid), "-d", "6", "-o", recording],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    after = program.ask()
    program.stop()
    env.check.equal(made.returncode, 0, f"exit status: {made.stderr.strip()}")
    report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
    data = report["tasks"][0]
    threads = sum(t["observed_ns"] for t in report["threads"])
    tasks = sum(row["task_ns"] for row in data["rows"])
    env.check.that(tasks > 2 * threads, f"{tasks / 1e9} s of tasks beside {threads / 1e9} s of threads")
    env.check.that(sum(w["off_cpu_ns"] for w in report["waits"]) <= threads, "waits are those of threads alone")
    for function, reason in (("main.receiver", "chan receive"), ("main.napper", "sleep")):
        truth = (after[reason] - before[reason]) / (after["ns"] - before["ns"])
        rows = [row for row in data["rows"] if own(row) == function and row["reason"] == reason]
        seen = sum(row["task_ns"] for row in rows) / data["window_ns"]
        error = sum(row["task_se_ns"] ** 2 for row in rows) ** 0.5 / data["window_ns"]
        env.check.that(abs(seen - truth) <= max(0.02 * truth, 3 * error), f"{reason}: {seen:.3f} tasks, not {truth:.3f} (error {error:.3f})")


@case
@nightly
def goroutines_that_change_have_no_wrong_stack(env):
    if not GOS:
        raise Skip("go is not installed")
    program = GoProgram(env, GOS[0], [], 1, "busy")
    allowed = {"main.receiver": ["chan receive"], "main.napper": ["sleep"], "main.producer": ["chan send"], "main.locker": ["semacquire", "sync.Mutex.Lock"],
               "main.busy": ["chan receive", "chan send"]}
    before = program.ask()
    data = look(env, program, "-d", "3", "-F", "50")
    after = program.ask()
    program.stop()
    env.check.that(after["turns"] > before["turns"], "nothing changed")
    for row in data["rows"]:
        if row["state"] == "waiting" and own(row) in allowed:
            env.check.that(row["reason"] in allowed[own(row)], f"{own(row)} waits for {row['reason']}")
            env.check.equal(row["stack_end"], "complete", f"{own(row)}: the stack's end")
            innermost = "runtime.goparkunlock" if row["stack"][0]["name"] != "runtime.gopark" else "runtime.gopark"
            env.check.equal(row["stack"][0]["name"], innermost, f"{own(row)}: innermost function")
    env.notes.append(f"{data['lacks']['stale']} stale in {data['looks']} looks")


@case
@nightly
def a_million_goroutines_are_looked_at_within_the_budget(env):
    if not GOS:
        raise Skip("go is not installed")
    program = GoProgram(env, GOS[0], [], 300000)
    data = look(env, program, "-d", "4")
    program.stop()
    seen = [row for row in data["rows"] if own(row) == "main.producer"]
    tasks = sum(row["tasks_milli"] for row in seen) / 1000
    error = sum(row["task_se_ns"] ** 2 for row in seen) ** 0.5 / data["window_ns"]
    env.check.that(abs(tasks - 300000) <= max(0.02 * 300000, 3 * error), f"{tasks} senders (error {error})")
    env.check.that(data["looked_at_ppm"] < 1000000, "all were looked at")
    env.check.that(data["cpu_ns"] < 10**9, f"{data['cpu_ns']} ns of CPU time")


@case
def tasks_of_what_has_none_are_one_sentence(env):
    program = subprocess.Popen(["sleep", "60"])
    env.running.append(program)
    result = subprocess.run([env.offcpu, "tasks", "-p", str(program.pid)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=60, check=False)
    program.kill()
    program.wait()
    env.check.equal(result.returncode, 1, "exit status")
    env.check.equal(result.stderr.count("\n"), 1, f"lines of {result.stderr!r}")
    env.check.that("no runtime whose tasks can be seen" in result.stderr, result.stderr)


ASYNCIO = """
import asyncio, json, sys, time

async def fetch(n):
    await asyncio.sleep(n)

async def handler(n):
    return await fetch(n)

async def locked(lock):
    async with lock:
        pass

async def reader(queue):
    await queue.get()

async def chief(task):
    await task

spent = [0.0, 0.0]
doing = {}

async def napper(i):
    while True:
        doing[i] = (0, time.monotonic())
        await asyncio.sleep(0.3 + 0.007 * i)
        spent[0] += time.monotonic() - doing[i][1]
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.5 + 0.011 * i, future.set_result, None)
        doing[i] = (1, time.monotonic())
        await receiver(future)
        spent[1] += time.monotonic() - doing[i][1]

async def receiver(future):
    await future

async def main():
    lock, queue = asyncio.Lock(), asyncio.Queue()
    await lock.acquire()
    tasks = [asyncio.create_task(handler(1000)) for _ in range(8)]
    tasks += [asyncio.create_task(locked(lock)) for _ in range(5)]
    tasks += [asyncio.create_task(reader(queue), name="consumer") for _ in range(3)]
    tasks.append(asyncio.create_task(chief(tasks[0]), name="chief"))
    begun = time.monotonic()
    for i in range(20):
        tasks.append(asyncio.create_task(napper(i)))
        await asyncio.sleep(0.04)
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        now = time.monotonic()
        sums = list(spent)
        for kind, since in doing.values():
            sums[kind] += now - since
        print(json.dumps({"ns": int((now - begun) * 1e9), "sleep": int(sums[0] * 1e9), "future": int(sums[1] * 1e9)}), flush=True)

asyncio.run(main())
"""


class PythonProgram:
    def __init__(self, env, python):
        path = env.temporary("app.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(ASYNCIO)
        self.lines = ASYNCIO.split("\n")
        self.process = subprocess.Popen([python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        env.running.append(self.process)
        self.process.stdout.readline()

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()


def can_be_seen(python):
    version = subprocess.run([python, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True, check=False)
    return version.returncode == 0 and 8 <= int(version.stdout) <= 15


def check_group(env, pid):
    """It is found by its control group, beside a process that has no tasks."""
    group = env.cgroup(f"offcpu-tasks-{pid}")
    other = subprocess.Popen(["sleep", "60"])
    env.running.append(other)
    for member in (pid, other.pid):
        enter_cgroup(group, member)
    shown = subprocess.run([env.offcpu, "tasks", "--cgroup", os.path.basename(group), "--json"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=60, check=False)
    other.kill()
    other.wait()
    env.check.equal(json.loads(shown.stdout or "{}").get("pid"), pid, f"by its group: {shown.stderr.strip()}")


@case
def asyncio_tasks_are_known_by_their_coroutines(env):
    from cases_languages import pythons
    found = [python for python in pythons() if can_be_seen(python)]
    if not found:
        raise Skip("no CPython 3.8 to 3.15 is here")
    for python in found:
        program = PythonProgram(env, python)
        data = look(env, program)
        check_group(env, program.process.pid)
        program.stop()
        counts = {function: sum(row["tasks_milli"] for row in data["rows"] if own(row) == function) / 1000
                  for function in ("fetch", "locked", "reader", "chief", "napper", "receiver", "main")}
        napping = counts.pop("napper") + counts.pop("receiver")
        env.check.equal(counts, {"fetch": 8, "locked": 5, "reader": 3, "chief": 1, "main": 1}, f"{data['version']}: tasks")
        env.check.equal(napping + data["lacks"]["stale"], 20, f"{data['version']}: nappers")
        for row in data["rows"]:
            if own(row) == "fetch":
                env.check.equal(program.lines[row["own"]["line"] - 1].strip(), "await asyncio.sleep(n)", f"{data['version']}: the line")
                env.check.equal([frame["name"] for frame in row["stack"]], ["sleep", "fetch", "handler"], f"{data['version']}: chain")
                env.check.equal(row["awaited_by"], "chief", f"{data['version']}: who awaits it")
            if own(row) == "reader":
                env.check.equal(row["name"], "consumer", f"{data['version']}: name")


GATHER = """
import asyncio, sys
async def part(n):
    await asyncio.sleep(n)
async def step(n):
    await asyncio.sleep(n)
async def all_parts():
    steps = asyncio.gather(*[step(1000) for _ in range(3)])
    await asyncio.gather(steps, *[asyncio.create_task(part(1000)) for _ in range(6)])
async def waited(n):
    await asyncio.sleep(n)
async def timed(n):
    await asyncio.sleep(n)
async def grouped(n):
    await asyncio.sleep(n)
async def waits(tasks):
    await asyncio.wait(tasks, timeout=2000)
async def is_patient(task):
    await asyncio.wait_for(task, 2000)
async def has_group():
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(grouped(1000))
async def main():
    whole = asyncio.create_task(all_parts(), name="whole")
    apart = [asyncio.create_task(waits({asyncio.create_task(waited(1000)) for _ in range(3)}), name="waiter"),
             asyncio.create_task(is_patient(asyncio.create_task(timed(1000))), name="patient")]
    if hasattr(asyncio, "TaskGroup"):
        apart.append(asyncio.create_task(has_group(), name="group"))
    await asyncio.sleep(0.1)
    print("ready", flush=True)
    await whole
asyncio.run(main())
"""


@case
def asyncio_tasks_know_who_gathers_them(env):
    """Also of a gather() of gather()s, of wait(), wait_for() and TaskGroups; the tasks of a thread that has ended are none."""
    from cases_languages import pythons
    found = [python for python in pythons() if can_be_seen(python)]
    if not found:
        raise Skip("no CPython 3.8 to 3.15 is here")
    path = env.temporary("gather.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(GATHER)
    for python in found:
        process = subprocess.Popen([python, path], stdout=subprocess.PIPE, text=True)
        env.running.append(process)
        process.stdout.readline()
        shown = subprocess.run([env.offcpu, "tasks", "-p", str(process.pid), "--json"], capture_output=True, text=True, check=False)
        process.kill()
        process.wait()
        if not env.check.equal(shown.returncode, 0, f"status: {shown.stderr}"):
            return
        data = json.loads(shown.stdout)
        seen = sorted((own(row), row["tasks_milli"] // 1000, row["awaited_by"]) for row in data["rows"])
        truth = [("all_parts", 1, "Task-1"), ("is_patient", 1, None), ("main", 1, None), ("part", 6, "whole"), ("step", 3, "whole"),
                 ("timed", 1, "patient"), ("waited", 3, "waiter"), ("waits", 1, None)]
        if int(data["version"].split(".")[1].split(",")[0]) >= 11:
            truth += [("grouped", 4, "group"), ("has_group", 1, None)]
        env.check.equal(seen, sorted(truth), f"{data['version']}: tasks, and who awaits them")


@case
@nightly
def asyncio_time_is_what_tasks_measure(env):
    from cases_languages import pythons
    found = [python for python in pythons() if can_be_seen(python)]
    if not found:
        raise Skip("no CPython 3.8 to 3.15 is here")
    program = PythonProgram(env, found[0])
    before = program.ask()
    data = look(env, program, "-d", "8", "-F", "5")
    after = program.ask()
    program.stop()
    for function, kind in (("napper", "sleep"), ("receiver", "future")):
        truth = (after[kind] - before[kind]) / (after["ns"] - before["ns"])
        rows = [row for row in data["rows"] if own(row) == function and row["state"] == "waiting"]
        seen = sum(row["task_ns"] for row in rows) / data["window_ns"]
        error = sum(row["task_se_ns"] ** 2 for row in rows) ** 0.5 / data["window_ns"]
        env.check.that(abs(seen - truth) <= max(0.02 * truth, 3 * error), f"{kind}: {seen:.3f} tasks, not {truth:.3f} (error {error:.3f})")


@case
def asyncio_lock_is_a_finding(env):
    """Five tasks wait for a lock all the time, which no thread tells; three that get from a queue may have nothing to do."""
    from cases_languages import pythons
    seen = [python for python in pythons() if can_be_seen(python)]
    if not seen:
        raise Skip("no CPython 3.8 to 3.15 is here")
    program, recording = PythonProgram(env, seen[0]), env.temporary("lock.offcpu")
    made = subprocess.run([env.offcpu, "record", "--tasks", "-p", str(program.process.pid), "-d", "2", "-o", recording],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    program.stop()
    env.check.equal(made.returncode, 0, f"status: {made.stderr[-300:]}")
    report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
    found, tasks = report["task_findings"], report["tasks"][0]
    env.check.equal([(f["function"], f["call"].rsplit(".", 1)[-1]) for f in found], [("locked", "acquire")], "findings of tasks")
    # a busy machine has looks at every second task or fewer, each of which is that many then; with all seen it is exact
    slack = 8 * (1 - tasks["looked_at_ppm"] / 1e6)
    env.check.that(abs(found[0]["tasks_milli"] / 1000 - 5) <= slack, f"{found[0]['tasks_milli']} thousandths of tasks, by {tasks['looked_at_ppm']} ppm")
    env.check.that(abs(found[0]["task_ns"] - 5 * tasks["window_ns"]) <= slack * tasks["window_ns"], f"{found[0]['task_ns']} ns of their time")
    text = subprocess.run([env.offcpu, "report", recording], capture_output=True, text=True, check=True).stdout
    # before Python 3.11 functions are without their classes
    env.check.that(re.search(r"tasks: [\d.]+ tasks wait (to acquire|for) a lock", " ".join(text.split())), text[:600])


def tasks_beside(env, *which, name):
    """The processes of that name of which a recording has tasks, without their being asked for."""
    recording = env.temporary(name)
    made = subprocess.run([env.offcpu, "record", *which, "-d", "4", "-o", recording], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=90, check=False)
    env.check.equal(made.returncode, 0, f"status: {made.stderr[-300:]}")
    report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
    return {row["pid"] for row in report["tasks"]}


@case
def tasks_of_all_that_run_are_looked_at(env):
    """A recording of the whole machine or of a control group has the tasks of programs that run meanwhile, of the latter only its own."""
    from cases_languages import pythons
    seen = [python for python in pythons() if can_be_seen(python)]
    if not seen:
        raise Skip("no CPython 3.8 to 3.15 is here")
    inner, outer = PythonProgram(env, seen[0]), PythonProgram(env, seen[0])
    group = env.cgroup(f"offcpu-live-{os.getpid()}")
    enter_cgroup(group, inner.process.pid)
    of_all = tasks_beside(env, name="all.offcpu")
    of_group = tasks_beside(env, "--cgroup", group, name="group.offcpu")
    for program in (inner, outer):
        program.stop()
    env.check.equal({inner.process.pid, outer.process.pid} - of_all, set(), "processes without tasks in the machine's recording")
    env.check.equal(of_group, {inner.process.pid}, "processes with tasks in the group's recording")


PHASES = """
import asyncio, sys, time
async def first(gate):
    await gate.acquire()
async def second():
    await asyncio.sleep(60)
async def main():
    gate = asyncio.Semaphore(0)
    waiting = [asyncio.create_task(first(gate)) for _ in range(20)]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for _ in waiting:
        gate.release()
    await asyncio.gather(*waiting)
    then = [asyncio.create_task(second()) for _ in range(7)]
    await asyncio.sleep(0)
    print(time.time_ns(), flush=True)
    await asyncio.gather(*then)
asyncio.run(main())
"""


@case
def tasks_are_told_in_ranges(env):
    """Twenty tasks wait for a semaphore, and then seven others sleep: each part of the recording has only its own."""
    from cases_languages import pythons
    found = [python for python in pythons() if can_be_seen(python)]
    if not found:
        raise Skip("no CPython 3.8 to 3.15 is here")
    recording, source = env.temporary("phases.offcpu"), env.temporary("phases.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write(PHASES.replace("asyncio.to_thread(", "asyncio.get_running_loop().run_in_executor(None, "))
    program = subprocess.Popen([found[0], source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    env.running.append(program)
    program.stdout.readline()
    recorder = subprocess.Popen([env.offcpu, "record", "--max-overhead", "50", "-p", str(program.pid), "-d", "3", "-o", recording],
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    env.running.append(recorder)
    time.sleep(2)
    program.stdin.write("g\n")
    program.stdin.flush()
    edge_ns = int(program.stdout.readline())
    env.check.equal(recorder.wait(timeout=60), 0, "exit status")

    def told(*options):
        text = subprocess.run([env.offcpu, "report", "--json", *options, recording], capture_output=True, text=True, check=True)
        return json.loads(text.stdout)

    def task_ns(report):
        sums = {}
        for row in (row for data in report["tasks"] for row in data["rows"]):
            sums[own(row)] = sums.get(own(row), 0) + row["task_ns"]
        return sums

    whole = told()
    edge_s = (edge_ns - whole["window"]["start_unix_ns"]) / 1e9
    if not 0.5 < edge_s < whole["window"]["duration_ns"] / 1e9 - 0.5:
        raise Skip(f"the phases met {edge_s:.1f} s into the window: the machine is too slow for this")
    # a look stands for its period, wherever in that it was
    early, late = told("--to", f"{edge_s - 0.3:.3f}"), told("--from", f"{edge_s + 0.3:.3f}")
    for report, function, tasks in ((early, "first", 20), (late, "second", 7)):
        window_ns = report["tasks"][0]["window_ns"]
        env.check.equal(sorted(name for name in task_ns(report) if name in ("first", "second")), [function], "functions")
        env.check.that(abs(task_ns(report)[function] - tasks * window_ns) <= tasks, f"{function}: {task_ns(report)} in {window_ns}")
        env.check.that(window_ns <= report["window"]["duration_ns"] + 200_000_000, "their window is the range's")
    parts = [task_ns(told("--to", f"{edge_s:.3f}")), task_ns(told("--from", f"{(int(edge_s * 10) + 1) / 10:.1f}"))]
    for function, ns in task_ns(whole).items():
        here = sum(part.get(function, 0) for part in parts)
        env.check.that(abs(here - ns) <= 1000, f"{function}: {here} in two parts, {ns} in all")


TASKS = """
import asyncio, sys
async def held(gate):
    async with gate:
        await asyncio.sleep(0.05)
async def client(gate):
    while True:
        await held(gate)
async def main():
    gate = asyncio.Semaphore(2)
    print("ready", flush=True)
    await asyncio.gather(*(client(gate) for _ in range(12)))
asyncio.run(main())
"""


@case
def agent_keeps_tasks(env):
    """Of twelve clients of one gate ten wait at any time, in each window and over all; so do 1024 goroutines, whose file another process parses."""
    from cases_agent import Agent
    store, gophers = env.temporary("store"), GoProgram(env, GOS[0], [], 1024) if GOS else None
    program = subprocess.Popen([sys.executable, "-c", TASKS], stdout=subprocess.PIPE, text=True)
    env.running.append(program)
    program.stdout.readline()
    agent = Agent(env, store, "--windows", "5", settings=["record.tasks=yes"])
    env.check.equal(agent.process.wait(timeout=120), 0, f"exit status: {agent.log()}")
    program.kill()
    if gophers:
        gophers.stop()
    report = subprocess.run([env.offcpu, "report", f"--history={store}", "--from", "-1h", "--json"], capture_output=True, text=True, check=True)
    for data in json.loads(report.stdout)["tasks"]:
        if gophers and data["pid"] == gophers.process.pid:
            sending = tasks_at(data, "main.producer", ["chan send"])
            env.check.that(abs(sending - 1024) < 11, f"{sending} goroutines send, not 1024")
            env.check.equal({row["stack_end"] for row in data["rows"] if own(row) == "main.producer"}, {"complete"}, "their stacks")
            gophers = None
    env.check.equal(gophers, None, "goroutines are kept")
    told = [data for data in json.loads(report.stdout)["tasks"] if data["pid"] == program.pid]
    env.check.equal(len(told), 1, "populations of the process")
    env.check.that(told[0]["window_ns"] > 500_000_000, f"{told[0]['window_ns']} ns of five windows were looked at")
    found = [f for f in json.loads(report.stdout)["task_findings"] if f["pid"] == program.pid]
    env.check.equal([(f["function"], f["call"].rsplit(".", 1)[-1]) for f in found], [("held", "acquire")], "findings")
    # one that was let in stands at the gate until the loop runs it; where the budget leaves tasks out, the row says how far it may be off
    error = sum(row["task_se_ns"] for row in told[0]["rows"] if row["seen"]) / told[0]["window_ns"]
    env.check.that(abs(found[0]["tasks_milli"] / 1000 - 10) <= 2 + 4 * error,
                   f"{found[0]['tasks_milli']} thousandths of a task wait for the gate, not 10, error {error:.2f}")


TOKIO_TASKS = {"sleeper": 10, "locker": 7, "receiver": 5, "notified": 3, "first_twin": 4, "second_twin": 4}


@case
def tasks_of_tokio_are_counted(env):
    """Of each future as many as the program has, by its name, or by its line where two are one function to the compiler."""
    programs = fetched("tokio-*")
    if not programs:
        raise Skip("no program with Tokio: tests/live/fetch-runtimes tokio-forky, and OFFCPU_RUNTIMES=1")
    for path in programs:
        for scheduler in ("multi", "current"):
            check_tokio(env, path, scheduler)


def functions_of_tokio():
    """The names of the program's async functions by their lines."""
    with open(os.path.join(os.path.dirname(__file__), "programs", "tokio_tasks.rs"), encoding="utf-8") as source:
        return {number: m.group(1) for number, line in enumerate(source, 1) if (m := re.match(r"async fn (\w+)", line))}


@case
def blocking_call_of_tokio_has_its_line(env):
    """A task that blocks its worker is told by its own function's line, where that is compiled into Tokio's."""
    programs = fetched("tokio-*")
    if not programs:
        raise Skip("no program with Tokio: tests/live/fetch-runtimes tokio-forky, and OFFCPU_RUNTIMES=1")
    for path in programs:
        what, recording = os.path.basename(path), env.temporary("tokio.offcpu")
        process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        env.running.append(process)
        process.stdout.readline()
        made = subprocess.run([env.offcpu, "record", "-p", str(process.pid), "-d", "0.3", "-o", recording], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        process.kill()
        process.wait()
        env.check.equal(made.returncode, 0, f"{what}: {made.stderr[-300:]}")
        report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
        lines = functions_of_tokio()
        told = {lines.get(frame["line"]) for wait in report["waits"] if wait["reason"] == "sleep" for frame in wait["user"]
                if (frame["file"] or "").endswith("tokio_tasks.rs")}
        env.check.equal(told, {"blocker"}, f"{what}: functions of the program that sleep")
        held = [found for found in report["findings"] if found.get("holds_up_loop")]
        env.check.that(held and "tokio_tasks.rs" in json.dumps(held[0]), f"{what}: the finding {held}")


def check_tokio(env, path, scheduler):
    process = subprocess.Popen([path, scheduler], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    env.running.append(process)
    process.stdout.readline()
    result = subprocess.run([env.offcpu, "tasks", "--json", "-p", str(process.pid)], stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=120, check=False)
    process.kill()
    process.wait()
    what = f"{os.path.basename(path)}, {scheduler}"
    if not env.check.equal(result.returncode, 0, f"{what}: exit status, {result.stderr.strip()}"):
        return
    data, seen, lines = json.loads(result.stdout), {}, functions_of_tokio()
    for row in data["rows"]:
        name = re.sub(r"^tokio_tasks::(\w+)::\{.*", r"\1", own(row))
        line = row["own"].get("line")
        if name == "async fn or block":
            name = lines.get(line, "unknown line")
        elif line:
            env.check.equal(lines.get(line), name, f"{what}: the function that begins in line {line}")
        seen[name, row["state"]] = seen.get((name, row["state"]), 0) + row["tasks_milli"] // 1000
    expected = {(name, "waiting"): count for name, count in TOKIO_TASKS.items()}
    if scheduler == "multi":
        expected["blocker", "running"] = 1
    env.check.equal(seen, expected, f"{what}: tasks of each future")
    env.check.equal(data["lacks"], {"stale": 0, "unreadable": 0, "no_row": 0, "cut": False}, f"{what}: losses")
