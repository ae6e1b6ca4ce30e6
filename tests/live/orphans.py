# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Ends what a case leaves behind: a program that still spins takes its CPU from every case after it.

A process above the run is a subreaper: who loses its parent becomes its child, and is reaped by it at once, as init
would.  Beside the run itself it has no other children, so these are what was left.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)


def adopt():
    """Goes on in a child of a subreaper, which ends as that child ends."""
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    run = os.fork()
    if run == 0:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(run, number))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the run as well
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == run:
            end_children(os.getpid())
            sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def children(parent):
    try:
        with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as f:
            return [int(pid) for pid in f.read().split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return []


def end_children(parent, but=None):
    """Kills them with all below, and says what they were."""
    said = []
    for pid in children(parent):
        if pid == but:
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read().replace(b"\0", b" ").decode(errors="replace").strip()
            said += end_children(pid)
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
        if words:  # else a zombie
            said.append(f"left behind, and ended: {pid} {words[:160]}")
    return said


def end():
    """For the run, after a case: lines about what it left; `offcpu io` lets its probes go in a child that outlives it."""
    return [line for line in end_children(os.getppid(), os.getpid()) if "offcpu io --" not in line]
