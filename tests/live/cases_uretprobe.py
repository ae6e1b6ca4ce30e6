# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""User stacks of functions that another tracer has put a uretprobe on."""

from cases_unwind import ALLOWED, at_chain, check_all_complete, check_chain, shown
from check import check_account
from lib import Program, Recorder, case
from uprobes import Uretprobe


def record_probed(env, name, functions, *args, options=()):
    """Records a program with uretprobes on these functions; (report, truth)."""
    program = Program(env, name, *args)
    probes = [Uretprobe(program.path, function, program.pid) for function in functions]
    recorder = Recorder(env, "-p", program.pid, "--exact", *options)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    for function, probe in zip(functions, probes):
        env.check.that(probe.count() > 0, f"the uretprobe on {function} counted nothing")
        probe.close()
    report = recorder.report()
    program.finish()
    return report, program.truth()


def is_in_probe(wait):
    """Preempted where the kernel has the probed function's first instruction executed: there is no frame yet, and it is told as broken."""
    return wait["state"] == "R" and wait["user"][-1]["module"] == "[uprobes]"


def stacks_at(report, line):
    return {tuple(shown(wait["user"])) for wait, _ in at_chain(report, line)}


@case
def uretprobe_leaves_stacks_whole(env):
    """One on each function of a chain, and the stacks are those of a run without any."""
    report, truth, _ = env.record("unwind_calls", "chain", 20, 5000)
    expected = stacks_at(report, truth[0])
    functions = [name for name in truth[0]["chain"] if name not in ("main",)]
    report, truth = record_probed(env, "unwind_calls", functions, "chain", 20, 5000)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report, is_other=is_in_probe)
    check_chain(env.check, report, truth[0])
    env.check.equal(stacks_at(report, truth[0]), expected, "stacks with and without uretprobes")


@case
def uretprobe_on_a_recursive_function(env):
    """Thirty of them on one stack, by frame pointers' code and by its tables."""
    for options in ((), ("--unwind", "fp")):
        report, truth = record_probed(env, "deep", ["descend", "bottom_site"], 30, 10, 2000, options=options)
        check_account(env.check, report, allowed_losses=ALLOWED)
        found = [wait for wait in report.waits if any(frame["name"] == "bottom_site" for frame in wait["user"])]
        env.check.equal(sum(wait["count"] for wait in found if wait["state"] == "S"), truth[0]["slept"], "waits at the bottom")
        for wait in found:
            seen = [frame["name"] for frame in wait["user"]]
            env.check.equal(seen.count("descend"), 30, f"frames of descend in {seen}")
            env.check.that("main" in seen, f"the stack goes on to main: {seen}")
