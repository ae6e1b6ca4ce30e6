#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The comparison itself, without privileges: a right report passes, and every way to be wrong is told."""

import copy
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from check import Check, Report, check_account, check_truth  # noqa: E402

TRUTH = {"kind": "nanosleep", "pid": 10, "tid": 11, "comm": "prog", "state": "S", "chain": ["main", "run", "site"],
         "calls": 4, "slept": 4, "yielded": 0, "wall_ns": 40_200_000, "cpu_ns": 100_000, "min_ns": 10_000_000,
         "max_ns": 10_100_000}


def frames(*functions):
    return [{"name": name, "module": "prog", "offset": 1} for name in functions]


def right():
    return {
        "schema": 1, "window": {"start_unix_ns": 1, "duration_ns": 100_000_000},
        "recorder": {"command_line": "offcpu record --wakers"},
        "coverage": {"switches": 6, "lost": {}, "observed_ns": 100_000_000, "residual_ns": 0, "filtered_ns": 0},
        "threads": [{"pid": 10, "tid": 11, "comm": "prog", "process": "prog", "observed_ns": 100_000_000,
                     "on_cpu_ns": 59_000_000, "blocked_ns": 40_000_000, "runnable_ns": 100_000,
                     "preempted_ns": 900_000, "switches": 5, "open_at_start": False, "open_at_end": False}],
        "waits": [
            {"pid": 10, "tid": 11, "comm": "prog", "state": "S", "count": 4, "off_cpu_ns": 40_100_000,
             "blocked_ns": 40_000_000, "runnable_ns": 100_000, "preempted_ns": 0, "max_ns": 10_050_000,
             "log2_ns": [[23, 4]], "open_at_end": False, "user": frames("_start", "main", "run", "site"),
             "kernel": frames("do_syscall_64", "do_nanosleep", "schedule")},
            {"pid": 10, "tid": 11, "comm": "prog", "state": "R", "count": 1, "off_cpu_ns": 900_000, "blocked_ns": 0,
             "runnable_ns": 0, "preempted_ns": 900_000, "max_ns": 900_000, "log2_ns": [[19, 1]],
             "open_at_end": False, "user": frames("main", "run"), "kernel": frames("irqentry_exit", "schedule")}],
    }


def problems(data, truth=None):
    check = Check()
    report = Report(data)
    check_account(check, report)
    check_truth(check, report, truth or TRUTH)
    return check.problems


def put(data, path, value):
    *way, last = path
    for step in way:
        data = data[step]
    data[last] = value


WRONG = [
    ("a residual", [(("threads", 0, "on_cpu_ns"), 58_800_000), (("coverage", "residual_ns"), 200_000)]),
    ("a negative residual", [(("threads", 0, "on_cpu_ns"), 59_200_000), (("coverage", "residual_ns"), -200_000)]),
    ("a residual not told", [(("threads", 0, "on_cpu_ns"), 58_999_000)]),
    ("a wait that is not in the account", [(("threads", 0, "blocked_ns"), 39_000_000),
                                           (("threads", 0, "on_cpu_ns"), 60_000_000)]),
    ("another observed total", [(("coverage", "observed_ns"), 90_000_000)]),
    ("filtered time without a filter", [(("coverage", "filtered_ns"), 5)]),
    ("a loss", [(("coverage", "lost"), {"storage": 1})]),
    ("wakers lost that were asked for", [(("coverage", "lost"), {"waker_sampled": 1})]),
    ("another thread", [(("waits", 0, "tid"), 12)]),
    ("another name", [(("threads", 0, "comm"), "gorp")]),
    ("another state", [(("waits", 0, "state"), "D")]),
    ("another order of functions", [(("waits", 0, "user"), frames("run", "main", "site"))]),
    ("a function too many", [(("waits", 0, "user"), frames("main", "run", "site", "clock_nanosleep"))]),
    ("a function missing", [(("waits", 0, "user"), frames("main", "site"))]),
    ("an unnamed function", [(("waits", 0, "user", 2, "name"), None)]),
    ("another kernel stack", [(("waits", 0, "kernel"), frames("do_syscall_64", "pipe_read", "schedule"))]),
    ("the tracer's frames", [(("waits", 0, "kernel"), frames("do_nanosleep", "schedule", "__traceiter_sched_switch"))]),
    ("another count", [(("waits", 0, "count"), 5), (("waits", 0, "log2_ns"), [[22, 1], [23, 4]])]),
    ("a histogram without one wait", [(("waits", 0, "log2_ns"), [[23, 3]])]),
    ("a histogram of other times", [(("waits", 0, "log2_ns"), [[24, 4]])]),
    ("a maximum above the sum", [(("waits", 0, "max_ns"), 50_000_000)]),
    ("a maximum below the mean", [(("waits", 0, "max_ns"), 9_000_000)]),
    ("parts that miss the whole", [(("waits", 0, "runnable_ns"), 90_000)]),
    ("a preempted sleep", [(("waits", 0, "runnable_ns"), 0), (("waits", 0, "preempted_ns"), 100_000)]),
    ("an open wait", [(("waits", 0, "open_at_end"), True)]),
    ("an observation beyond the window", [(("window", "duration_ns"), 99_000_000)]),
    ("no threads", [(("threads",), []), (("coverage", "observed_ns"), 0)]),
]


def main():
    failed = problems(right())
    print("1.." + str(len(WRONG) + 3))
    print(f"{'not ok' if failed else 'ok'} 1 - a right report passes" + "".join(f"\n# {text}" for text in failed))
    bad = bool(failed)
    for number, (name, changes) in enumerate(WRONG, 2):
        data = copy.deepcopy(right())
        for path, value in changes:
            put(data, path, value)
        told = problems(data)
        bad |= not told
        print(f"{'ok' if told else 'not ok'} {number} - told: {name}" + (f"\n# {told[0]}" if told else ""))
    for number, (name, wall_ns) in enumerate((("longer", 43_000_000), ("shorter", 39_600_000)), len(WRONG) + 2):
        told = problems(right(), {**TRUTH, "wall_ns": wall_ns})
        bad |= not told
        print(f"{'ok' if told else 'not ok'} {number} - told: the truth is {name}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
