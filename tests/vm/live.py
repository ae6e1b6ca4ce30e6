# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Runs the live tests in a guest.  There a system call and the two clock readings around a wait
take up to a millisecond, which the program's own truth includes and the wait does not; so each
wait gets that much more room.  And a busy host stops the emulated CPU between two instructions,
for as long as it likes: a case has three tries, and what it waits for has four times as long.
States, counts, names and threads are held to the same as ever, in the try that counts."""

import functools
import subprocess
import sys

import lib

TRIES = 3
PATIENCE = 4


def patient(function, position):
    """The function with the time that it waits at most, its argument at that position or `timeout`, made longer."""
    @functools.wraps(function)
    def waits(*args, **options):
        args = [given * PATIENCE if i == position and given else given for i, given in enumerate(args)]
        if options.get("timeout"):
            options["timeout"] *= PATIENCE
        return function(*args, **options)
    return waits


# before the cases have their own names for these
lib.wait_until = patient(lib.wait_until, 1)
subprocess.Popen.wait = patient(subprocess.Popen.wait, 1)
subprocess.Popen.communicate = patient(subprocess.Popen.communicate, 2)
lib.Program._line = patient(lib.Program._line, 2)
lib.Recorder.wait_attached.__defaults__ = (240,)    # an emulated verifier takes its time

import cases_guest  # noqa: E402,F401
import cases_never_answers  # noqa: E402
import cases_locks  # noqa: E402
import check  # noqa: E402
import run  # noqa: E402
import stories  # noqa: E402

check.TOLERANCE_NS = 3_000_000
check.TOLERANCE = 0.05
stories.TOLERANCE_NS = 500_000  # of a hop: the tracer's own programs take a tenth of a millisecond in it
cases_never_answers.END_S *= PATIENCE
cases_never_answers.MATRIX_TURN_S *= PATIENCE     # each loads programs first, half a minute of an emulated verifier
cases_locks.ROUNDS, cases_locks.HOLD_US = 15, 20_000
cases_locks.TOLERANCE_NS = 500_000  # the same: the kernel counts them as CPU time of the thread that is to run, we as off CPU
run.ATTEMPTS, run.ATTEMPTS_S = 1, 0     # the tries are here: eight in each of three held a guest until it was stopped
run.CASE_S, run.ONCE_MORE = 1200, False  # tests/vm/run boots the guest once more, alone, for what failed
run_once = run.run_attempts


def run_tries(function, given):
    before = []
    for number in range(1, TRIES + 1):
        ok, directive, lines = run_once(function, given)
        if ok:
            break
        before += [f"try {number}: {line}" for line in lines]
    return ok, directive, lines if number == 1 else before + lines


run.run_attempts = run_tries

if __name__ == "__main__":
    sys.exit(run.main())
