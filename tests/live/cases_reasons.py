# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Problems of known truth: the first finding names what is waited for, and in which function."""

import os

from lib import Recorder, case, nightly

MAX_OTHER = 0.03  # of the off-CPU time
SECONDS = 2

# problem: reason, function, who ends it or holds it, what that one does meanwhile; needs a file of so many bytes
PROBLEMS = {
    "mutex": ("lock.mutex", "write_audit", "holder", {"disk.sync", "sleep"}, 1),
    "pool": ("lock.condition", "pool_get", "waker", None, 0),
    "broadcast": ("lock.condition", "wait_change", "waker", None, 0),
    "fsync": ("disk.sync", "insert_row", None, None, 1),
    "pollloop": ("sleep", "poll_for_job", "waker", None, 0),
    "retry": ("sleep", "kv_get", "waker", None, 0),
    "mmap": ("memory.file", "touch", None, None, 64 << 20),
    "pipe": ("pipe", "feed", "waker", {"sleep"}, 0),
    "child": ("child_exit", "wait_for_child", "waker", {"sleep"}, 0),
    "udp": ("event_loop", "resolve", "waker", None, 0),
    "queue": ("pipe", "next_message", "waker", {"sleep"}, 0),
}
# Without asking for wakers and locks: a reason and a function are known all the same.
BY_DEFAULT = {"mutex": 1, "fsync": 1, "retry": 0, "yield": 0}


def record(env, problem, size, options=("--wakers", "--locks", "--exact")):
    path = env.disk_file() if size else None
    try:
        if path:
            with open(path, "wb") as out:
                for _ in range(max(1, size >> 20)):
                    out.write(os.urandom(min(size, 1 << 20)))
                os.fsync(out.fileno())
        command = [os.path.join(env.programs, "planted"), problem, str(SECONDS)] + ([path] if path else [])
        recorder = Recorder(env, *options, command=command)
        recorder.wait()
        return recorder.report(status=0)
    finally:
        if path:
            os.unlink(path)


def of_waits(report):
    """The findings that are no waits for a CPU, and none of what runs: how busy the machine is is not the program's problem."""
    return [finding for finding in report.data["findings"] if not finding["reason"].startswith("cpu.") and not finding.get("busy")]


def has_kernel_stack(wait):
    """One that a guarded process hid is lost; without it a wait has no reason."""
    return any(frame["name"] for frame in wait["kernel"])


def check_sums(env, report, what):
    rows = report.data["reasons"]
    total = sum(row["off_cpu_ns"] for row in rows)
    waits = sum(wait["off_cpu_ns"] for wait in report.data["waits"])
    env.check.equal(total, waits, f"{what}: off-CPU time by reason")
    other = sum(row["off_cpu_ns"] for row in rows if row["reason"] == "other")
    env.check.that(other <= MAX_OTHER * total, f"{what}: {other} of {total} ns have no reason")


@case
def planted_problems_are_the_first_finding(env):
    for problem, (reason, function, role, meanwhile, size) in PROBLEMS.items():
        report = record(env, problem, size)
        check_sums(env, report, problem)
        findings = of_waits(report)
        if not env.check.that(findings, f"{problem}: no finding"):
            continue
        first = findings[0]
        env.check.equal(first["reason"], reason, f"{problem}: reason of the first finding")
        env.check.equal((first["function"] or {}).get("name"), function, f"{problem}: its function")
        by = first["by"] or {}
        if role:
            env.check.equal(by.get("role"), role, f"{problem}: role of who ends it")
        if meanwhile:
            env.check.that(by.get("meanwhile") in meanwhile, f"{problem}: meanwhile {by.get('meanwhile')}")
        if problem == "broadcast":
            env.check.that(first["broadcast"], "no broadcast")
        if problem == "retry":
            env.check.that("libplanted_kv" in (first["function"] or {}).get("module", ""), "not in the library")


@case
@nightly
def planted_problems_by_default_options(env):
    expected = {name: PROBLEMS[name][:2] for name in BY_DEFAULT if name in PROBLEMS}
    expected["yield"] = ("cpu.queue", "spin_until_ready")
    for problem, size in BY_DEFAULT.items():
        report = record(env, problem, size, ())
        findings = report.data["findings"] if problem == "yield" else of_waits(report)
        if not env.check.that(findings, f"{problem}: no finding"):
            continue
        first = findings[0]
        found = (first["reason"], (first["function"] or {}).get("name"))
        env.check.equal(found, expected[problem], f"{problem}: the first finding")
        env.check.equal(first["yield"], problem == "yield", f"{problem}: yields")
        if problem == "mutex":
            env.check.equal(first["lock"], "audit_lock", "the lock's name")
            env.check.equal((first["by"] or {}).get("role"), "holder", "who holds it is known")
        if problem == "fsync":
            env.check.equal(first["object_kind"], "file", "what the disk is to keep")


@case
def workers_without_work_are_idle(env):
    report = record(env, "idle", 0)
    check_sums(env, report, "idle")
    idle = report.data["budget"]["idle_ns"]
    waits = [wait for wait in report.data["waits"] if any(f["name"] == "queue_pop" for f in wait["user"])]
    waiting_ns, pool_ns = (sum(wait["off_cpu_ns"] for wait in some)
                           for some in (waits, [wait for wait in waits if wait["idle"] == "pool"]))
    env.check.that(waiting_ns and pool_ns >= 0.98 * waiting_ns, f"of {waiting_ns} ns in queue_pop {pool_ns} are idle in a pool")
    env.check.that(idle.get("pool", 0) >= 7 * SECONDS * 10**9 * 0.8, f"8 workers were idle for {idle} ns")
    jobs = [wait for wait in report.data["waits"] if any(f["name"] == "do_job" for f in wait["user"])]
    env.check.that(jobs and all(wait["idle"] is None for wait in jobs), "a worker at work is idle")
