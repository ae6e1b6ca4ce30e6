# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Windows of one session that are cut while everything goes on (docs/semantics.md, "Cuts")."""

import collections
import json
import os
import subprocess

from lib import Program, case, default_signals

CLASSES = ("blocked", "runnable", "preempted")
OPEN_AT_START, EXITED = 2, 8  # enum thread_flag
CUTS, LENGTH_S = 8, 0.3
EVENT_NS = 100000  # two sessions read the clock one after the other at each event, and the first walks stacks in between
LOSSES = {"missed_switch", "missed_wakeup", "ring_thread", "storage", "late_cut", "unread_sums", "wait_map_full"}


def windows_of(env, *pids):
    """What `cutter` saw: the windows, and the same time uncut."""
    command = [os.path.join(env.programs, "cutter"), str(CUTS), str(LENGTH_S), *map(str, pids)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                            preexec_fn=default_signals)
    env.check.equal(result.returncode, 0, f"cutter: {result.stderr.decode()}")
    lines = [json.loads(line) for line in result.stdout.decode(errors="replace").splitlines()]
    return lines[:-1], lines[-1]


def identity(thread):
    return thread["pid"], thread["tid"], thread["start"]


def check_window(env, k, window):
    """Each thread's classes add up to its life in the window, and its waits to its classes."""
    listed = collections.Counter()
    for wait in window["waits"]:
        for name in CLASSES:
            listed[wait["thread"], name] += wait[name]
    residual, unlisted, outside = 0, 0, 0
    for i, thread in enumerate(window["threads"]):
        spent = thread["on_cpu"] + sum(thread[name] for name in CLASSES)
        residual += abs(thread["to"] - thread["from"] - spent)
        unlisted += sum(abs(thread[name] - listed[i, name]) for name in CLASSES)
        outside += thread["from"] < window["start"] or thread["to"] > window["stop"]
    lost = sum(ns for reason, (_, ns) in window["losses"].items() if reason in LOSSES)
    env.check.that(residual <= lost, f"window {k}: residual {residual} ns, losses {window['losses']}")
    env.check.that(unlisted <= lost, f"window {k}: {unlisted} ns of accounts are in no wait")
    env.check.equal(outside, 0, f"window {k}: threads that reach beyond it")


def check_met_again(env, windows):
    """`cutter` forgets at each cut what crossed: whoever goes on sends its user stack again."""
    for k, window in enumerate(windows):
        pending = sum("[pending]" in wait["user"] for wait in window["waits"])
        lost = sum(window["losses"].get(reason, (0, 0))[0] for reason in ("user_stack", "ring_stack"))
        env.check.that(pending <= lost, f"window {k}: of {len(window['waits'])} rows {pending} have a user stack that is not known")


def check_rows(env, windows):
    """The rows of one thread follow one another without a gap from its first to its last, which ends with the session or its life."""
    rows = collections.defaultdict(list)
    for window in windows:
        for thread in window["threads"]:
            rows[identity(thread)].append(thread)
    gaps, early, edges = 0, 0, {window["stop"] for window in windows}
    for threads in rows.values():
        threads.sort(key=lambda thread: (thread["from"], thread["to"]))
        gaps += sum(one["to"] != other["from"] for one, other in zip(threads, threads[1:]))
        early += not threads[-1]["flags"] & EXITED and threads[-1]["to"] != windows[-1]["stop"]
    env.check.equal(gaps, 0, "gaps between the rows of a thread")
    env.check.equal(early, 0, "threads that vanish")
    env.check.that(len(edges) == CUTS + 1, "windows have edges of their own")
    return rows


def check_uncut(env, rows, whole):
    """A session that was not cut says the same of each thread that began and ended within the windows."""
    uncut = collections.defaultdict(list)
    for thread in whole["threads"]:
        uncut[identity(thread)].append(thread)
    compared, cut, wrong = 0, 0, []
    for key, threads in rows.items():
        ended = any(thread["flags"] & EXITED for thread in threads)
        if not ended or threads[0]["flags"] & OPEN_AT_START or key not in uncut or key[2] == 0:
            continue
        compared += 1
        cut += len(threads) > len(uncut[key])
        room_ns = EVENT_NS * (4 + 2 * sum(thread["switches"] for thread in threads))
        for name in ("on_cpu", *CLASSES):
            off_ns = sum(thread[name] for thread in threads) - sum(thread[name] for thread in uncut[key])
            if abs(off_ns) > room_ns:
                wrong.append(f"{threads[0]['comm']}: {name} {off_ns:+d} ns")
        switches = sum(thread["switches"] for thread in threads) - sum(thread["switches"] for thread in uncut[key])
        if switches:
            wrong.append(f"{threads[0]['comm']}: {switches:+d} switches")
    env.check.that(compared >= 50, f"{compared} threads lived within the windows")
    env.check.that(cut >= 5, f"{cut} of them were cut")
    env.check.that(len(wrong) <= compared // 100, f"of {compared} threads {len(wrong)} differ from the uncut session: {wrong[:3]}")


def check_sleepers(env, windows):
    """Who sleeps all the time is told in each window, with its stack, open at both ends."""
    for k, window in enumerate(windows):
        length = window["stop"] - window["start"]
        asleep = [wait for wait in window["waits"] if "sleeper_site" in wait["user"] and wait["blocked"] == length]
        env.check.equal(len(asleep), 20, f"window {k}: sleepers with their stacks")
        env.check.that(all(wait["count"] == 1 and any("nanosleep" in name for name in wait["kernel"]) for wait in asleep),
                       f"window {k}: where they sleep")


@case
def cuts_lose_nothing(env):
    program = Program(env, "windows")
    windows, whole = windows_of(env, program.pid)
    program.finish()
    env.check.equal(len(windows), CUTS + 1, "windows")
    env.check.equal(sum(one["stop"] != other["start"] for one, other in zip(windows, windows[1:])), 0, "windows that do not meet")
    for k, window in enumerate(windows):
        check_window(env, k, window)
    check_met_again(env, windows)
    rows = check_rows(env, windows)
    check_uncut(env, rows, whole)
    check_sleepers(env, windows)


@case
def cuts_of_the_whole_machine(env):
    program = Program(env, "windows")
    windows, _ = windows_of(env)
    program.finish()
    for k, window in enumerate(windows):
        check_window(env, k, window)
    check_rows(env, windows)
