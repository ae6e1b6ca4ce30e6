# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Runtimes that keep their own tables: what is seen of programs in their languages, against what those know."""

import os
import shutil
import subprocess

from cases_unwind import ALLOWED, match_chain, shown
from check import EDGE_LOSSES, check_account
from lib import Skip, case, fetched, nightly

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


def build_go(env, go, *options, sources=("go_waits.go",)):
    """The program is called as the first of them."""
    name = sources[0].removesuffix(".go")
    if not go:
        if options or not os.path.exists(os.path.join(env.programs, name)):
            raise Skip("go is not installed")
        return env.programs     # a guest of tests/vm, which has it compiled
    folder = env.temporary("go")
    os.mkdir(folder)
    variables = {**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
    built = subprocess.run([go, "build", *options, "-o", f"{folder}/{name}", *(os.path.join(PROGRAMS, source) for source in sources)],
                           capture_output=True, text=True, check=False, env=variables)
    if built.returncode != 0:
        raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
    return folder


def share(waits, fits):
    """Of the time of waits, in percent."""
    total = sum(wait["off_cpu_ns"] for wait in waits)
    return 100 * sum(wait["off_cpu_ns"] for wait in waits if fits(wait)) / total if total else 0


def check_go_thread(check, report, truth):
    """A thread's own chain: contiguous, at its lines, below the goroutine's end, as often as it slept."""
    found = [wait for wait in report.by_thread[truth["pid"], truth["tid"]]
             if wait["state"] == "S" and match_chain(wait["user"], truth["chain"])]
    who = ">".join(truth["chain"])
    if not check.that(found, f"{who}: not seen, but {[shown(w['user']) for w in report.by_thread[truth['pid'], truth['tid']]][:3]}"):
        return
    seen = sum(wait["count"] for wait in found)
    # a read that comes late need not sleep
    fits = seen == truth["slept"] if truth["kind"] == "nap" else truth["slept"] // 2 <= seen <= truth["slept"]
    check.that(fits, f"{who}: {seen} waits of {truth['slept']}")
    for wait in found:
        _, end = match_chain(wait["user"], truth["chain"])
        check.equal(wait["user"][0]["name"], "runtime.goexit", f"{who}: outermost")
        check.equal([frame["line"] for frame in wait["user"][end - 2:end]], truth["lines"], f"{who}: lines")
        files = {os.path.basename(frame["file"] or "") for frame in wait["user"][end - 2:end]}
        check.equal(files, {"go_waits.go"}, f"{who}: files")


def go_waits(env, *options):
    """On each compiler there is."""
    for go in [path for path in [shutil.which("go"), *fetched("go1.*")] if path] or [None]:
        check_go(env, go, *options)


def check_go(env, go, *options):
    folder, what = build_go(env, go, *options), os.path.basename(go or "go")
    env.tolerate_unseen()
    programs, env.programs = env.programs, folder
    try:
        report, truth, _ = env.record("go_waits", 60, extra=["--inline"])
    finally:
        env.programs = programs
    check_account(env.check, report, allowed_losses=(*ALLOWED, *EDGE_LOSSES))
    chains = [line for line in truth if line["chain"]]
    env.check.equal(len(chains), 2, "threads that told their chains")
    for line in chains:
        check_go_thread(env.check, report, line)
    waits = [wait for wait in report.waits if wait["user"]]
    complete = share(waits, lambda wait: wait["user_end"] == "complete")
    named = share(waits, lambda wait: all(frame["name"] for frame in wait["user"]))
    broken = [shown(wait["user"]) for wait in waits if wait["user_end"] != "complete"]
    env.check.that(complete >= 99, f"{what}: {complete:.1f} % of the time is complete; {broken[:3]}")
    env.check.that(named >= 99, f"{what}: {named:.1f} % of the time is named")


@case
def language_go(env):
    go_waits(env)


@case
def language_go_stripped(env):
    """Neither symbols nor debug information: only what Go's runtime itself needs."""
    go_waits(env, "-ldflags=-s -w")


@case
@nightly
def language_go_position_independent(env):
    go_waits(env, "-ldflags=-s -w", "-buildmode=pie")


def pythons():
    """Installed interpreters; OFFCPU_PYTHONS names more of them, as PATH does; and those with a GIL that fetch-runtimes got or built."""
    named = [path for path in os.environ.get("OFFCPU_PYTHONS", "").split(":") if path]
    found = [shutil.which("python3"), "/usr/bin/python3", *named, *fetched("python3.*[!t]")]
    return [path for path in found if path and os.access(path, os.X_OK)]


def real_version(interpreter):
    """(minor, path of the interpreter itself), which a wrapper script may stand before."""
    code = "import sys, os; print(sys.version_info[1], os.path.realpath(sys.executable))"
    found = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    words = found.stdout.split()
    if len(words) != 2:
        return 0, ""
    # one that was fetched runs only with the C library it came with
    return int(words[0]), interpreter if interpreter in fetched("python3.*") else words[1]


def own_frames(wait, source):
    return [[frame["name"], frame["line"]] for frame in wait["user"] if frame["file"] == source]


def is_within(wait, truth, source):
    """Below the call that the program timed, in its own functions."""
    own, chain = own_frames(wait, source), truth["chain"]
    return own[:1] == chain[:1] and [name for name, _ in own] == [name for name, _ in chain][:len(own)]


def check_python_thread(check, report, truth, source, may_be_bare=False):
    """The waits of a thread at its chain: function by function, line by line, for as long as it says itself.

    may_be_bare: the interpreter keeps threads that have ended, for others.
    """
    who = ">".join(name for name, _ in truth["chain"])
    waits = [wait for wait in report.by_thread[truth["pid"], truth["tid"]] if wait["user"]]
    at_chain = [wait for wait in waits if own_frames(wait, source) == truth["chain"]]
    # within what the program timed it may lose its CPU or the GIL anywhere, by its own waker for example
    lost = [wait for wait in waits if wait not in at_chain and is_within(wait, truth, source) and (wait["state"] != "S" or wait["reason"] == "lock.gil")]
    seen_ns = sum(wait["off_cpu_ns"] for wait in at_chain + lost)
    # a thread that begins asks for the GIL before it has a frame
    others = [chain for chain, wait in ((own_frames(wait, source), wait) for wait in waits)
              if wait["state"] == "S" and wait not in at_chain and (chain or wait["reason"] != "lock.gil")]
    # before it begins and after it ends it stands in run() alone; for the GIL it waits at any line
    functions = [name for name, _ in truth["chain"]]
    strangers = [chain for chain in others if (not chain and not may_be_bare) or [name for name, _ in chain] != functions[:len(chain)]]
    check.equal(strangers[:3], [], f"{who}: sleeps elsewhere")
    off_cpu_ns = truth["spent_ns"] - truth.get("on_cpu_ns", 0)   # under emulation much of it is on a CPU
    check.that(0.9 * off_cpu_ns <= seen_ns <= truth["spent_ns"],
               f"{who}: {seen_ns} ns at the chain of {off_cpu_ns} to {truth['spent_ns']}; others {others[:3]}")
    check.that(all(wait["user_end"] == "complete" for wait in at_chain), f"{who}: not all complete")
    bare = {frame["module"] for wait in at_chain for frame in wait["user"] if not frame["name"]}
    of_interpreter = [module for module in bare if os.path.basename(module or "").startswith(("python3", "libpython", "ruby", "libruby", "php"))]
    check.equal(of_interpreter, [], f"{who}: the interpreter's own functions without a name are not folded")


def python_waits(env, interpreter):
    source = os.path.join(env.temporary("python"), "py_waits")
    os.mkdir(os.path.dirname(source))
    with open(os.path.join(PROGRAMS, "py_waits.py"), encoding="utf-8") as file, \
            open(source, "w", encoding="utf-8") as script:
        script.write(f"#!{interpreter}\n{file.read()}")
    os.chmod(source, 0o755)
    env.tolerate_unseen()
    programs, env.programs = env.programs, os.path.dirname(source)
    try:
        report, truth, _ = env.record("py_waits", 60)
    finally:
        env.programs = programs
    # up to 3.12 a call has a moment in which the thread's list of frames leads nowhere: a thread may be preempted there
    check_account(env.check, report, allowed_losses=(*ALLOWED, *EDGE_LOSSES, "interpreter"))
    env.check.equal(len(truth), 6, "threads that told their truth")
    for line in truth:
        check_python_thread(env.check, report, line, source)


@case
def language_python(env):
    """CPython without any option: its functions and lines are in the stacks."""
    tried = set()
    for interpreter in [*pythons(), *fetched("python3.*t")]:
        minor, path = real_version(interpreter)
        if 8 <= minor <= 15 and path not in tried:
            tried.add(path)
            python_waits(env, path)
    if not tried:
        raise Skip("no CPython from 3.8 to 3.15 is installed")
