# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Runs each case in a process of its own, and ends what the case leaves behind.

A program that a case left spinning would take its CPU from every later case.  The run is a subreaper: a process that
loses its parent becomes a child of the run.  So once the case's process has ended, whatever is below the run was left.
A control group for each case would do the same, but the cases themselves move their programs between control groups.
"""

import ctypes
import json
import os
import signal
import sys
import tempfile
import time
import traceback

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)


def adopt():
    """Makes the calling process the subreaper of all that it will start."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    signal.signal(signal.SIGTERM, lambda number, _: (end_children(), sys.exit(128 + number)))


def children(parent):
    """Pids of the living children of all threads of a process."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                state, its_parent = f.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(its_parent) == parent and state not in "ZX":
            found.append(int(pid))
    return found


def words_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def reap():
    """Waits for children that have ended: {pid: status}."""
    ended = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended[pid] = status


def end_children(patience_s=5):
    """Kills whatever is below this process, and returns a line for each process that had a command line."""
    said, end = [], time.monotonic() + patience_s
    while time.monotonic() < end:
        reap()
        left = children(os.getpid())
        if not left:
            break
        for pid in left:  # their children become ours, and are met in the next round
            words = words_of(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            # `offcpu io` lets its probes go in a child that outlives it.
            if words and "offcpu io --" not in words and not any(f" {pid} " in line for line in said):
                said.append(f"left behind, and ended: {pid} {words[:160]}")
        time.sleep(0.01)
    return said


def await_child(child, timeout_s):
    """Its status, or None where it did not end in time.  Orphans that end meanwhile are reaped as by init."""
    end = time.monotonic() + timeout_s
    while True:
        ended = reap()
        if child in ended:
            return ended[child]
        left_s = end - time.monotonic()
        if left_s <= 0:
            return None
        signal.sigtimedwait({signal.SIGCHLD}, min(left_s, 1))


def call(function, timeout_s):
    """
    What function() returned in a process of its own (anything that JSON can hold), and lines about what it left behind.
    Raises RuntimeError where that process did not end by itself in time.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8") as result:
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
                json.dump(function(), result)
                result.flush()
                status = 0
            except BaseException:  # nothing of the run may go on in this process
                traceback.print_exc()
            finally:
                os._exit(status)
        status = await_child(child, timeout_s)
        left = end_children()
        if status is None:
            raise RuntimeError(f"did not end within {timeout_s} s")
        if status:
            raise RuntimeError(f"its process ended with wait status {status}")
        result.seek(0)
        return json.load(result), left
