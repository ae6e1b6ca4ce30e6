# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""User stacks of programs with very many executable mappings, and of 32 bits."""

import os
import re
import shutil
import subprocess

from cases_unwind import ALLOWED, check_all_complete, check_chain
from check import check_account, names
from lib import Recorder, Skip, case, exact, nightly


def many_mappings(env, libraries, mappings):
    """
    Each library is a file of its own, and each sleeps once.  libc lies above them all, where a
    program's mappings would be dropped first.
    """
    env.tolerate_unseen()
    directory = env.temporary("libraries")
    os.mkdir(directory)
    for i in range(libraries):
        shutil.copyfile(os.path.join(env.programs, "libunwind_plugin.so"), os.path.join(directory, f"{i}.so"))
    report, truth, _ = env.record("unwind_libraries", directory, libraries, mappings, 200)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    check_chain(env.check, report, truth[0])
    seen = {frame["module"] for wait in report.waits for frame in wait["user"]
            if frame["name"] == "plugin_run" and re.search(r"/\d+\.so$", frame["module"] or "")}
    # a switch to a guarded process and back is a wait that nobody can see
    env.check.that(libraries * 0.99 <= len(seen) <= libraries, f"{len(seen)} of {libraries} libraries slept")


@case
def unwind_600_libraries(env):
    many_mappings(env, 600, 0)


@case
@nightly
def unwind_2000_libraries(env):
    many_mappings(env, 2000, 0)


@case
def unwind_20000_mappings(env):
    many_mappings(env, 20, 20000)


@case
def unwind_32_bits(env):
    """A program of 32 bits with frame pointers: each of its functions is there, with the time that its own clock says."""
    program = os.path.join(env.programs, "bits32")
    if not os.path.exists(program):
        raise Skip("the compiler makes no programs of 32 bits")
    try:
        runs = subprocess.run([program], stdout=subprocess.PIPE, check=False).returncode == 0
    except OSError:
        runs = False
    if not runs:
        raise Skip("this kernel runs no 32-bit code (ia32_emulation)")
    said = env.temporary("said")
    recorder = Recorder(env, *exact(), command=["sh", "-c", f"exec '{program}' >'{said}'"])
    recorder.wait()
    with open(said, encoding="ascii") as file:
        spent_ns = int(file.read()) * 1000
    chain = ["_start", "middle_32", "nap_site_32"]
    naps = [wait for wait in recorder.report().waits if wait["user_end"] == "complete" and names(wait["user"]) == chain]
    seen_ns = sum(wait["off_cpu_ns"] for wait in naps)
    env.check.equal(sum(wait["count"] for wait in naps if wait["state"] == "S"), 20, "naps")
    env.check.that(0.95 * spent_ns <= seen_ns <= spent_ns, f"{seen_ns} ns of {spent_ns} below nap_site_32()")
