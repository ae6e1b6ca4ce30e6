# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""User stacks of programs without .eh_frame: with .debug_frame, or with nothing but their instructions."""

import os
import re
import shutil
import subprocess

from cases_unwind import ALLOWED, check_all_complete, check_chain
from check import check_account
from lib import Skip, case

MUSL = "/usr/lib/x86_64-linux-musl/libc.so"


def modes_are_complete(env, name, modes, root=True, **other):
    for mode in modes:
        report, truth, _ = env.record(name, mode, 20, 5000)
        check_account(env.check, report, allowed_losses=ALLOWED)
        check_all_complete(env.check, report, **other)
        env.check.that(truth, "the program told no truth")
        for line in truth:
            check_chain(env.check, report, line, root=root)


def without_eh_frame(env, name, is_packed):
    """A program whose own functions only .debug_frame describes."""
    sections = subprocess.run(["readelf", "-SW", os.path.join(env.programs, name)], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
    flags = re.search(r"\.debug_frame +PROGBITS(?: +[0-9a-f]+){4} +(\w*)", sections)
    if not flags:
        raise Skip("the compiler writes no .debug_frame")
    env.check.equal("C" in flags[1], is_packed, f"{name}: .debug_frame is compressed")
    modes_are_complete(env, name, ("chain", "align", "wrappers"))


@case
def unwind_debug_frame(env):
    without_eh_frame(env, "unwind_debug_frame", False)


@case
def unwind_debug_frame_compressed(env):
    without_eh_frame(env, "unwind_debug_frame_packed", True)


@case
def unwind_without_any_table(env):
    """A program whose functions nothing describes but their instructions."""
    modes_are_complete(env, "unwind_bare", ("chain", "alloca", "align", "wrappers", "signal", "altstack", "interrupt"))


@case
def unwind_musl_without_tables(env):
    """As in Alpine's containers: the program has tables, and its libc has none."""
    if not shutil.which("musl-gcc") or not os.path.exists(MUSL):
        raise Skip("no musl-gcc")
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
    directory = env.temporary("musl")
    os.makedirs(directory)
    libc, program = os.path.join(directory, "ld-musl-bare.so.1"), os.path.join(directory, "unwind_musl")
    subprocess.run(["objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr", MUSL, libc], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["musl-gcc", "-O2", "-w", "-D_GNU_SOURCE", "-fomit-frame-pointer", "-fno-optimize-sibling-calls",
                    "-I" + os.path.join(sources, "../../../src"), "-idirafter", "/usr/include",
                    "-idirafter", "/usr/include/x86_64-linux-gnu", "-o", program,
                    *(os.path.join(sources, name) for name in ("unwind_calls.c", "truth.c")),
                    "-Wl,-z,now", "-Wl,--dynamic-linker=" + libc], check=True)
    # a thread that has not run yet stands where its parent does, in clone(), and has another stack
    modes_are_complete(env, program, ("chain", "wrappers", "signal"), root=False,
                       is_other=lambda wait: wait["state"] == "R" and len(wait["user"]) == 1)
