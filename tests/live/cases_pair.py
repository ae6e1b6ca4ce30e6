# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Two sessions at once in one process: each says what a recorder of its own says."""

import json
import os
import subprocess

from cases_cuts import CLASSES, EVENT_NS, check_window
from lib import Program, Recorder, TooLate, case, default_signals

OPEN_AT_START, EXITED = 2, 8  # enum thread_flag
THREADS = 150
SECONDS = 6


def started_pair(env, *pids):
    command = [os.path.join(env.programs, "pair"), str(SECONDS), *map(str, pids)]
    pair = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default_signals)
    env.running.append(pair)
    env.check.equal(pair.stdout.readline(), b"recording\n", "what the pair says when both windows are open")
    return pair


def check_against_recorder(env, window, report, pid):
    """Each thread that was born and ended within both windows."""
    alone = {(row["pid"], row["tid"]): row for row in report.threads}
    compared, wrong = 0, []
    for thread in window["threads"]:
        if not thread["flags"] & EXITED or thread["flags"] & OPEN_AT_START:
            continue
        row = alone.get((thread["pid"], thread["tid"]))
        compared += 1
        if not row:
            wrong.append(f"no row of {thread['tid']}")
            continue
        room_ns = EVENT_NS * (4 + 2 * thread["switches"])
        for name in ("on_cpu", *CLASSES):
            if abs(thread[name] - row[name + "_ns"]) > room_ns:
                wrong.append(f"{thread['tid']}: {name} {thread[name]} ns, recorder {row[name + '_ns']}")
        if thread["switches"] != row["switches"]:
            wrong.append(f"{thread['tid']}: {thread['switches']} switches, recorder {row['switches']}")
    env.check.that(compared >= THREADS - 5, f"{compared} of {THREADS} threads lived within the window of process {pid}")
    env.check.that(len(wrong) <= compared // 50, f"of {compared} threads of process {pid} {len(wrong)} differ from the recorder: {wrong[:3]}")


@case
def two_sessions_in_one_process(env):
    """Of two processes, made, run and ended by two threads at once: accounts are closed, and each is what a recorder says."""
    env.tolerate_unseen()
    programs = Program(env, "churn", THREADS, 10, 1000, 6), Program(env, "churn", THREADS, 5, 3000, 9)
    recorders = [Recorder(env, "-p", program.pid, "--exact", "--wakers") for program in programs]
    for recorder in recorders:
        recorder.wait_attached()
    pair = started_pair(env, *(program.pid for program in programs))
    for program in programs:
        program.go()
    for program in programs:
        program.wait_done()
    if pair.poll() is not None:
        raise TooLate("the windows were over before the programs were done")
    out, errors = pair.communicate(timeout=60)
    env.check.equal(pair.returncode, 0, f"pair: {errors.decode()}")
    for recorder in recorders:
        recorder.stop()
    windows = [json.loads(line) for line in out.decode(errors="replace").splitlines()]
    env.check.equal(len(windows), 2, "windows")
    for k, (window, recorder, program) in enumerate(zip(windows, recorders, programs)):
        check_window(env, k, window)
        env.check.equal({thread["pid"] for thread in window["threads"]}, {program.pid}, f"processes in window {k}")
        check_against_recorder(env, window, recorder.report(), program.pid)
    for program in programs:
        program.finish()
