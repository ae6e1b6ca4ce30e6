#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Live tests: records programs that measured their own waits and compares.

Prints TAP, one point for each case.  Exits 77 when it may not trace, 1 on a failure.  A case that failed runs once more
after all others; where it passes then, its point is ok and ends with "# UNSTEADY", and both outputs are printed.
"""

import argparse
import importlib
import itertools
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

import lib  # noqa: E402
import isolate  # noqa: E402
# Always: accounts, filters, stacks, wakers, locks, what is written.
CORE = ["waits", "traces", "lives", "filters", "event_files", "command", "whole", "wakers", "waitgraph", "locks", "objects", "crowd", "unwind",
        "unwind_bare", "remember", "uretprobe", "mappings", "rights", "symbols", "files"]
# One of the two at each commit (see tools/run-tests): what is told and of which languages; other commands and the agent.
TURNS = [["planted", "disguised", "reasons", "troubles", "servers", "request_servers", "tasks", "jit", "languages", "python", "scripts", "java", "virtual", "greenlets",
          "go", "gpu", "inline", "imports"],
         ["agent", "agent_rights", "agent_requests", "agent_chains", "agent_troubles", "never_answers", "request", "request_socket", "doctor", "mcp", "kubectl", "diff",
          "whatif", "sampling", "io", "looks", "oncpu", "slices", "cuts", "pair", "top", "together", "migrating", "wakeuptime"]]

SHOWN = 12  # problems of one case
# Of a case that failed and says nothing (see why_again): so many at least, and more while there is time.
ATTEMPTS = 8
ATTEMPTS_S = 45
CASE_S = 300    # of a case with all its attempts
ONCE_MORE = True
HIDDEN = "events of guarded processes were missing"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--offcpu", default=os.environ.get("OFFCPU"), help="the program to test")
    parser.add_argument("--programs", help="where the test programs were built")
    parser.add_argument("--build", help="a build directory that holds both")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="a case, or a glob of them")
    parser.add_argument("--all", action="store_true", default=os.environ.get("OFFCPU_TEST_ALL") == "1",
                        help="nightly cases, too (also by OFFCPU_TEST_ALL=1)")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    parser.add_argument("--keep", metavar="DIR", help="leave the recordings of failed cases there")
    given = parser.parse_args()
    build = given.build or os.path.join(HERE, "..", "..", "build")
    given.offcpu = os.path.abspath(given.offcpu or os.path.join(build, "src", "cmd", "offcpu"))
    given.programs = os.path.abspath(given.programs or os.path.join(build, "tests", "live"))
    return given


def may_not_trace():
    if os.geteuid() != 0:
        return "not root"
    try:
        lib.bpf_program_ids()
    except lib.Skip as skip:
        return str(skip)
    return None


def why_again(env):
    """
    Why a failed case says nothing: the recording itself says that events were hidden from it, and the machine hides
    some; or all that is wrong is time below a program's bracket.  None: it does say something.
    """
    if env.unseen and lib.guarded_processes():
        return HIDDEN
    if env.check.too_short and env.check.too_short == len(env.check.problems):
        return "a program's own bracket held more than its wait"
    return None


def run_case(function, given):
    """One case's TAP point as (ok, directive, lines), why to try again or None, and what is wrong but for losses."""
    directory = tempfile.mkdtemp(prefix="offcpu-live-")
    env = lib.Env(given.offcpu, given.programs, directory)
    begin = time.monotonic()
    directive, ok, too_late = "", True, False
    try:
        function(env)
    except lib.Skip as skip:
        directive = f" # SKIP {skip}"
    except lib.Broken as broken:
        env.check.problems.append(str(broken))
        too_late = isinstance(broken, lib.TooLate)
    except Exception as error:  # a case that breaks is a failed case, not the end of the run
        env.check.problems.append(f"{type(error).__name__}: {error} (line {error.__traceback__.tb_next.tb_lineno})")
    finally:
        env.clean()
    if not directive:
        ok = not env.check.problems and env.check.counted > 0
    lines = env.notes + env.check.problems[:SHOWN]
    if len(env.check.problems) > SHOWN:
        lines.append(f"and {len(env.check.problems) - SHOWN} more")
    again = None if ok else "the machine was too slow for it" if too_late else why_again(env)
    lines.append(f"{env.check.counted} checks in {time.monotonic() - begin:.1f} s")
    if given.keep and not ok:
        shutil.copytree(directory, os.path.join(given.keep, function.__name__), dirs_exist_ok=True)
    shutil.rmtree(directory, ignore_errors=True)
    return ok, directive, lines, again, {problem for problem in env.check.problems if not problem.startswith("losses")}


def run_attempts(function, given):
    """
    Again, if a failure says nothing.  Where the machine hid events every time the case could not be run here: it is
    skipped, with what was seen.  The guests of tests/vm hide none.  But what is wrong in the same words each time is no
    chance.
    """
    before, reasons, end, always = [], set(), time.monotonic() + ATTEMPTS_S, None
    for attempt in itertools.count(1):
        ok, directive, lines, again, wrong = run_case(function, given)
        if not again:
            break
        always = wrong if always is None else always & wrong
        before += [f"attempt {attempt}, in which {again}: {line}" for line in lines]
        reasons.add(again)
        if attempt >= ATTEMPTS and time.monotonic() >= end:
            if always:
                return False, "", before + [f"in every attempt: {problem}" for problem in sorted(always)]
            if HIDDEN in reasons:
                return True, f" # SKIP in {attempt} attempts, {HIDDEN}", before
            return ok, directive, before
    return ok, directive, before + lines


def run_isolated(function, given):
    """The TAP point of one case as (ok, directive, lines), run in a process of its own of which nothing is left."""
    try:
        (ok, directive, lines), left = isolate.call(lambda: run_attempts(function, given), CASE_S)
        return ok, directive, lines + left
    except RuntimeError as error:
        return False, "", [str(error)]


def print_point(number, function, ok, directive, lines):
    print(f"{'ok' if ok else 'not ok'} {number} - {function.__name__}{directive}")
    print_lines(lines)


def print_lines(lines):
    for line in lines:
        print("# " + line.replace("\n", "\n# "))
    sys.stdout.flush()


def run_once_more(number, function, given, before):
    """The point of a case that failed beside whatever else ran then: now nothing else does."""
    ok, directive, lines = run_isolated(function, given)
    print_point(number, function, ok, " # UNSTEADY" if ok else "",
                [f"first: {line}" for line in before] + [f"once more: {line}" for line in lines + [directive] if line])
    return ok


def run_cases(cases, given):
    """Prints the point of each case; returns whether all passed."""
    again, good = [], True
    for number, function in enumerate(cases, 1):
        if function in lib.NIGHTLY and not given.all and not given.only:
            print_point(number, function, True, " # SKIP runs with ./bootstrap test --all", [])
            continue
        ok, directive, lines = run_isolated(function, given)
        if ok or not ONCE_MORE:
            print_point(number, function, ok, directive, lines)
            good &= ok
        else:
            print_lines([f"{function.__name__} failed and runs once more at the end"])
            again.append((number, function, lines))
    for number, function, lines in again:
        good &= run_once_more(number, function, given, lines)
    return good


def load_cases(given):
    """Has the modules register their cases; returns those that are left out, whose turn it is not."""
    turn = os.environ.get("OFFCPU_TEST_TURN", "both")
    left_out = TURNS[1 - int(turn) % 2] if turn != "both" and not (given.all or given.only or given.list) else []
    for module in CORE + [module for modules in TURNS for module in modules if module not in left_out]:
        importlib.import_module(f"cases_{module}")
    return left_out


def main():
    given = arguments()
    left_out = load_cases(given)
    cases = lib.selected(given.only)
    if given.list:
        print("\n".join(function.__name__ for function in cases))
        return 0
    reason = may_not_trace()
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 77
    for path in (given.offcpu, given.programs):
        if not os.path.exists(path):
            print(f"Bail out! {path} does not exist")
            return 1
    isolate.adopt()
    print(f"1..{len(cases) + bool(left_out)}", flush=True)
    good = run_cases(cases, given)
    if left_out:
        print(f"ok {len(cases) + 1} - other turn # SKIP these run at the next commit, or with ./bootstrap test --all: {' '.join(left_out)}")
    return 0 if good and cases else 1


if __name__ == "__main__":
    sys.exit(main())
