# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Compares a report with the truth.  Nothing here runs anything."""

import collections
import math
import re

MAX_RESIDUAL = 0.001  # of observed
TOLERANCE = 0.01  # of the truth, or
TOLERANCE_NS = 100_000  # for each wait, whichever is more
# On a busy machine a thread may run between the window's edge and the reading of its stack.
EDGE_LOSSES = ("snapshot", "kernel_stack", "user_stack")
LAST_SLOT = 47  # holds everything above, too

# What a sleep's kernel stack must pass through.
KERNEL = {
    "nanosleep": r"hrtimer_nanosleep|do_nanosleep",
    "nanosleep2": r"hrtimer_nanosleep|do_nanosleep",
    "hold": r"do_nanosleep",
    "roam": r"do_nanosleep",
    "before": r"do_nanosleep",
    "after": r"do_nanosleep",
    "chosen": r"do_nanosleep",
    "leaf": r"do_nanosleep",
    "deep": r"do_nanosleep",
    "futex": r"futex_wait",
    "pipe": r"pipe_read",
    "fsync": r"vfs_fsync|do_fsync|__x64_sys_fsync|__arm64_sys_fsync",
    "sock": r"sock_read_iter|sock_recvmsg|unix_stream|tcp_recvmsg",
    "fault": r"filemap_fault|handle_mm_fault",
    "stop": r"do_signal_stop|ptrace_stop|get_signal",
    "yield": r"sched_yield",
    "vfork": r"kernel_clone|wait_for_vfork_done|_do_fork",
}
TRACER = re.compile(r"^bpf_prog_[0-9a-f]{16}|^bpf_trace_run|^__bpf_trace_|^__traceiter_|^trace_call_bpf|"
                    r"^bpf_get_(task_)?stack|get_perf_callchain|^perf_callchain")


class Check:
    """What a case found wrong."""

    def __init__(self, tolerated=()):
        self.problems = []
        self.counted = 0
        self.too_short = 0  # of these: a time below the program's own bracket
        # Losses that this machine forces on every recording; and stacks walked by frame pointers
        # until tables are there, which loses no time and is judged by the stacks themselves.
        self.tolerated = set(tolerated) | {"no_unwind_table"}

    def that(self, condition, text):
        self.counted += 1
        if not condition:
            self.problems.append(text)
        return bool(condition)

    def equal(self, seen, expected, what):
        return self.that(seen == expected, f"{what}: expected {expected}, seen {seen}")


def names(frames):
    return [frame["name"] for frame in frames]


class Report:
    """`offcpu report --json`, schema 1."""

    def __init__(self, data):
        if data["schema"] != 1:
            raise ValueError(f"schema {data['schema']}")
        self.data = data
        self.window, self.coverage = data["window"], data["coverage"]
        self.threads, self.waits = data["threads"], data["waits"]
        self.rows = collections.defaultdict(list)
        for row in self.threads:
            self.rows[row["pid"], row["tid"]].append(row)
        self.by_thread = collections.defaultdict(list)
        for wait in self.waits:
            self.by_thread[wait["pid"], wait["tid"]].append(wait)

    def ended(self, pid, tid, chain):
        """Waits of a thread whose user stack ends in the chain, and that ended in the window."""
        return [wait for wait in self.by_thread[pid, tid]
                if not wait["open_at_end"] and names(wait["user"])[-len(chain):] == chain]

    def preempted_ns(self, pid, tid):
        """What the thread lost while it wanted to run: it may lie inside or outside a bracket."""
        return sum(wait["off_cpu_ns"] for wait in self.by_thread[pid, tid] if wait["state"] == "R")

    def leaves(self):
        """All innermost user function names."""
        return {wait["user"][-1]["name"] for wait in self.waits if wait["user"]}


def off_cpu_ns(row):
    return row["blocked_ns"] + row["runnable_ns"] + row["preempted_ns"]


def scale_ns(report):
    """The highest scale below which waits were sampled; 0: every wait was kept."""
    return report.coverage.get("sampling", {}).get("scale_max_ns", 0)


def sampling_slack_ns(report, account_ns, errors=5):
    """
    How far a sum of sampled waits may lie from the account: the variance of a wait of duration d is
    d * (scale - d), so never more than scale times the time of all.  No estimate is in this bound.
    """
    return errors * math.sqrt(scale_ns(report) * account_ns) + scale_ns(report)


def residual_ns(row):
    return row["observed_ns"] - row["on_cpu_ns"] - off_cpu_ns(row)


# -- the account of SEMANTICS ---------------------------------------------------

def check_wait(check, wait):
    who = f"wait of {wait['comm']} {wait['pid']}/{wait['tid']} in {wait['state']}"
    off_ns = wait["off_cpu_ns"]
    check.equal(wait["blocked_ns"] + wait["runnable_ns"] + wait["preempted_ns"], off_ns, f"{who}: sum of the parts")
    check.that(wait["count"] > 0, f"{who}: count {wait['count']}")
    check.equal(sum(count for _, count in wait["log2_ns"]), wait["count"], f"{who}: histogram total against count")
    if wait.get("off_cpu_se_ns"):  # an estimate: only the count and its histogram go together
        check.that(wait["max_ns"] <= off_ns, f"{who}: maximum {wait['max_ns']} of {off_ns} ns")
        check_tracer(check, wait, who)
        return
    low = sum(count << exponent for exponent, count in wait["log2_ns"] if exponent)
    high = sum(count << (exponent + 1) for exponent, count in wait["log2_ns"])
    open_ended = any(exponent >= LAST_SLOT for exponent, _ in wait["log2_ns"])
    check.that(low <= off_ns and (off_ns <= high or open_ended),
               f"{who}: {off_ns} ns do not fit its histogram, {low} to {high} ns: {wait['log2_ns']}")
    check.that(wait["max_ns"] <= off_ns <= wait["max_ns"] * wait["count"],
               f"{who}: maximum {wait['max_ns']} with {wait['count']} waits of {off_ns} ns together")
    if wait["state"] == "R":
        check.equal(wait["blocked_ns"], 0, f"{who}: blocked")
    else:
        check.equal(wait["preempted_ns"], 0, f"{who}: preempted")
    check_tracer(check, wait, who)


def check_tracer(check, wait, who):
    for frame in wait["kernel"]:
        if frame["name"] and TRACER.search(frame["name"]):
            check.that(False, f"{who}: the tracer's own frame {frame['name']}: {names(wait['kernel'])}")
            break


def check_thread_rows(check, report):
    for row in report.threads:
        who = f"thread {row['comm']} {row['pid']}/{row['tid']}"
        check.that(abs(residual_ns(row)) <= row["observed_ns"] * MAX_RESIDUAL,
                   f"{who}: residual {residual_ns(row)} of observed {row['observed_ns']} ns "
                   f"(on {row['on_cpu_ns']} blocked {row['blocked_ns']} runnable {row['runnable_ns']} "
                   f"preempted {row['preempted_ns']} switches {row['switches']})")
        check.that(row["observed_ns"] <= report.window["duration_ns"],
                   f"{who}: observed {row['observed_ns']} exceeds the window, {report.window['duration_ns']}")


def check_states(check, report):
    """The exact totals of each state are all of the off-CPU time but what is filtered, whatever was sampled."""
    for row in report.threads:
        total_ns = sum(map(off_cpu_ns, row["states"]))
        check.equal(total_ns + row["filtered_ns"], off_cpu_ns(row),
                    f"thread {row['comm']} {row['pid']}/{row['tid']}: states + filtered against off-CPU")


def check_sums(check, report, filtered):
    """Waits listed, filtered and lost are all of the off-CPU time, thread by thread."""
    for key, rows in report.rows.items():
        account_ns = sum(map(off_cpu_ns, rows))
        listed_ns = sum(wait["off_cpu_ns"] for wait in report.by_thread[key])
        hidden_ns = sum(row.get("filtered_ns", 0) + row.get("lost_ns", 0) for row in rows)
        if filtered and "filtered_ns" not in rows[0]:
            check.that(listed_ns <= account_ns, f"thread {key}: waits {listed_ns} exceed off-CPU {account_ns}")
            continue
        who = f"thread {rows[0]['comm']} {key}"
        if scale_ns(report):
            slack_ns = sampling_slack_ns(report, account_ns, 6)  # of hundreds of threads some lie far out
            check.that(abs(listed_ns + hidden_ns - account_ns) <= slack_ns,
                       f"{who}: waits + filtered + lost {listed_ns + hidden_ns} against {account_ns} +- {slack_ns:.0f} ns")
        else:
            check.equal(listed_ns + hidden_ns, account_ns, f"{who}: waits + filtered + lost against off-CPU of the account")
    check.equal({key for key, waits in report.by_thread.items() if waits} - set(report.rows), set(),
                "threads that have waits but no account")
    listed_ns = sum(wait["off_cpu_ns"] for wait in report.waits)
    account_ns = sum(map(off_cpu_ns, report.threads))
    if scale_ns(report):
        all_ns = listed_ns + report.coverage["filtered_ns"] + sum(row.get("lost_ns", 0) for row in report.threads)
        check.that(abs(all_ns - account_ns) <= sampling_slack_ns(report, account_ns),
                   f"all waits + filtered + lost {all_ns} against {account_ns} ns off CPU")
    elif filtered or not report.coverage["lost"]:
        check.equal(listed_ns + report.coverage["filtered_ns"] + sum(row.get("lost_ns", 0) for row in report.threads),
                    account_ns, "all waits + filtered + lost against all off-CPU time")
    if not filtered:
        check.equal(report.coverage["filtered_ns"], 0, "filtered_ns without a filter")


def check_account(check, report, filtered=False, allowed_losses=()):
    """What must hold of every recording."""
    check.that(report.threads, "the report has no thread at all")
    for wait in report.waits:
        check_wait(check, wait)
    check_thread_rows(check, report)
    check_sums(check, report, filtered)
    if any("states" in row for row in report.threads):
        check_states(check, report)
    observed_ns = sum(row["observed_ns"] for row in report.threads)
    check.equal(report.coverage["observed_ns"], observed_ns, "coverage.observed_ns against the threads'")
    check.equal(report.coverage["residual_ns"], sum(map(residual_ns, report.threads)),
                "coverage.residual_ns against the threads'")
    check.that(abs(report.coverage["residual_ns"]) <= observed_ns * MAX_RESIDUAL,
               f"residual {report.coverage['residual_ns']} of observed {observed_ns} ns")
    # Wakers that nobody asked for are left out of short sleeps where tracing is over its budget.
    thinned = () if "--wakers" in report.data["recorder"]["command_line"] else ("waker_sampled",)
    # Which caller of a waker it was is an estimate, by chance: no event is missing.
    unexpected = {reason: value for reason, value in report.coverage["lost"].items()
                  if reason not in (*allowed_losses, *thinned, "waker_estimated") and
                  reason not in check.tolerated}
    check.equal(unexpected, {}, "losses")


# -- the truth of a program -------------------------------------------------------

def tolerance_ns(wall_ns, count):
    return max(wall_ns * TOLERANCE, count * TOLERANCE_NS)


def check_time(check, who, seen_ns, low_ns, high_ns, slack_ns):
    within = check.that(low_ns - slack_ns <= seen_ns <= high_ns + slack_ns,
                        f"{who}: {seen_ns} ns off CPU, truth {low_ns} to {high_ns} +- {slack_ns:.0f} ns")
    # An interrupt, or a host that stands still, between the program's reading and its call.
    check.too_short += not within and seen_ns < low_ns


def check_truth(check, report, truth, slack_each_ns=None, busy=False, kernel=True):
    """
    One line of truth against the report: thread, state, names, count, time.

    A bracket holds the wait, the way into it and out of it, and whatever the thread was
    preempted for; the program cannot tell the last two from the wait.  So the time off CPU in
    the sleeping state lies between wall - preempted and wall.  busy: the call computes as
    well (fsync, faults) or does not always sleep (pipe), so the CPU time it measured goes too.
    slack_each_ns: a tighter tolerance for each wait than the promised one.
    """
    pid, tid, chain, state = truth["pid"], truth["tid"], truth["chain"], truth["state"]
    who = f"{truth['kind']} {pid}/{tid} at {chain[-1]}"
    rows = report.rows.get((pid, tid), [])
    check.that(any(row["comm"] == truth["comm"] for row in rows),
               f"{who}: no thread row named {truth['comm']}, rows {[row['comm'] for row in rows]}")
    at_site = report.ended(pid, tid, chain)
    found = [wait for wait in at_site if wait["state"] == state]
    strangers = {wait["state"] for wait in at_site} - {state, "R"}
    check.equal(strangers, set(), f"{who}: other states at the site")
    expected = truth["yielded"] if state == "R" else truth["slept"]
    if not found and expected:
        stacks = {(wait["state"], *names(wait["user"])[-4:]) for wait in report.by_thread[pid, tid]}
        check.that(False, f"{who}: no wait in {state} with stack ...{chain}; seen {sorted(stacks, key=str)[:8]}")
        return
    check.equal(sum(wait["count"] for wait in found), expected, f"{who}: count of waits")
    preempted_ns = report.preempted_ns(pid, tid) if state != "R" else 0
    low_ns = truth["wall_ns"] - preempted_ns - (truth["cpu_ns"] if busy else 0)
    slack_ns = slack_each_ns * expected if slack_each_ns else tolerance_ns(truth["wall_ns"], expected)
    check_time(check, who, sum(wait["off_cpu_ns"] for wait in found), low_ns, truth["wall_ns"], slack_ns)
    if truth["calls"] == expected and not busy:
        longest_ns = max((wait["max_ns"] for wait in found), default=0)
        check_time(check, f"{who}: longest wait", longest_ns, truth["max_ns"] - preempted_ns, truth["max_ns"],
                   tolerance_ns(truth["max_ns"], 1))
    if kernel and truth["kind"] in KERNEL:
        check_kernel(check, who, truth["kind"], found)


def check_kernel(check, who, kind, waits):
    pattern = re.compile(KERNEL[kind])
    for wait in waits:
        stack = names(wait["kernel"])
        if not check.that(any(name and pattern.search(name) for name in stack),
                          f"{who}: kernel stack without {KERNEL[kind]}: {stack}"):
            return
        if not check.that(any(name and "schedule" in name for name in stack[-3:]),
                          f"{who}: kernel stack does not end in the scheduler: {stack}"):
            return


def of_kind(truth, kind):
    return [line for line in truth if line["kind"] == kind]
