# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""User stacks of programs with very many executable mappings."""

import os
import re
import shutil

from cases_unwind import ALLOWED, check_all_complete, check_chain
from check import check_account
from lib import case


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
def unwind_2000_libraries(env):
    many_mappings(env, 2000, 0)


@case
def unwind_20000_mappings(env):
    many_mappings(env, 20, 20000)
