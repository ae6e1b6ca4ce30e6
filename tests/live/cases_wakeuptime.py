# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The same programs under libbpf-tools' wakeuptime at the same time: what it says, and where and why it says otherwise."""

import collections
import re
import shutil
import signal
import subprocess
import time

from lib import Broken, Program, Recorder, Skip, case, default_signals, descriptors, wait_until

# It asks at sched_wakeup who runs, which in an interrupt is whom it interrupted.  These frames say that it was one.
INTERRUPT = re.compile(r"sched_ttwu_pending|hrtimer|sysvec|common_interrupt|handle_softirqs|irq_exit")


class Wakeuptime:
    """wakeuptime of one process."""

    def __init__(self, env, pid):
        path = shutil.which("wakeuptime")
        if not path:
            raise Skip("wakeuptime (libbpf-tools) is not installed")
        self.out = env.temporary("wakeuptime.out")
        with open(self.out, "wb") as out:
            self.process = subprocess.Popen([path, "-p", str(pid), "600"], stdin=subprocess.DEVNULL, stdout=out,
                                            stderr=subprocess.DEVNULL, preexec_fn=default_signals)
        env.running.append(self.process)
        if not wait_until(lambda: self.process.poll() is not None or self.links() >= 2, 20):
            raise Broken("wakeuptime attached nothing within 20 s")
        time.sleep(0.1)
        if self.process.poll() is not None:
            raise Skip(f"wakeuptime ends with {self.process.returncode} here")

    def links(self):
        """It loads its programs a good while before it attaches them."""
        return sum("bpf_link" in target or "bpf-link" in target for target in descriptors(self.process.pid).values())

    def text(self):
        with open(self.out, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self):
        """{(target, waker, is interrupt): ns}"""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        sums = collections.Counter()
        for block in self.text().split("\ttarget:")[1:]:
            lines = block.splitlines()
            target, waker, frames = lines[0].strip(), None, []
            for line in lines[1:]:
                name, _, value = line.strip().partition(": ")
                if name == "waker":
                    waker = value.strip()
                elif waker is None:
                    frames.append(line.split()[-1])
                elif line.strip().isdigit():
                    sums[target, waker, any(INTERRUPT.search(frame) for frame in frames)] += int(line) * 1000
                    break
        return sums


def ours(report):
    """({(target, waker or None for an interrupt): ns}, {target: sleeps})"""
    sums, counts = collections.Counter(), collections.Counter()
    for wait in report.waits:
        if wait["open_at_start"] or wait["open_at_end"] or wait["state"] == "R":
            continue
        for waker in wait["wakers"]:
            sums[wait["comm"], None if waker["irq"] else waker["comm"]] += waker["blocked_ns"]
            counts[wait["comm"]] += waker["count"]
    return sums, counts


def check_compared(env, targets, *args):
    program = Program(env, "waking", *args)
    other = Wakeuptime(env, program.pid)
    recorder = Recorder(env, "-p", program.pid, "--wakers", "--exact")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    theirs = other.stop()
    recorder.stop()
    report = recorder.report()
    program.finish()
    sums, counts = ours(report)
    for target in targets:
        seen_ns = sum(ns for (name, _), ns in sums.items() if name == target)
        their_ns = sum(ns for (name, _, _), ns in theirs.items() if name == target)
        slack_ns = max(0.02 * seen_ns, 100_000 * counts[target])
        # It loses some on a busy machine, and nearly all when many are woken at once (docs/wait-graph.md).
        env.check.that(0 < their_ns <= seen_ns + slack_ns,
                       f"{target}: {seen_ns} ns blocked, wakeuptime says {their_ns} (+ {slack_ns:.0f})")
        if their_ns < seen_ns - slack_ns:
            env.notes.append(f"{target}: wakeuptime lost {seen_ns - their_ns} ns of {seen_ns}")
        for (name, waker, by_interrupt), ns in theirs.items():
            if name != target or by_interrupt:
                continue
            env.check.that(ns <= sums[target, waker] + slack_ns,
                           f"{target} by {waker}: wakeuptime says {ns} ns, on no interrupt; seen are {sums[target, waker]}")
        misled_ns = sum(ns for (name, _, by_interrupt), ns in theirs.items() if name == target and by_interrupt)
        who = sorted({waker for name, waker, by_interrupt in theirs if name == target and by_interrupt})
        env.notes.append(f"{target}: {their_ns / 1e6:.1f} ms by wakeuptime, of it {misled_ns / 1e6:.1f} in an interrupt, "
                         f"blamed on {who}; {seen_ns / 1e6:.1f} ms by offcpu, "
                         f"{sums[target, None] / 1e6:.1f} by interrupts")


@case
def wakeuptime_of_a_pipeline(env):
    check_compared(env, ("stageA", "stageB", "stageC", "stageD"), "pipeline", "pipe", 30)


@case
def wakeuptime_of_a_convoy(env):
    check_compared(env, ("convoy",), "convoy", 4, 60)


@case
def wakeuptime_of_signals(env):
    check_compared(env, ("signalled",), "signal", 60)
