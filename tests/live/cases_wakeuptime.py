# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The same programs under libbpf-tools' wakeuptime at the same time: what it says, and where and why it says otherwise."""

import collections
import ctypes
import os
import re
import shutil
import signal
import struct
import subprocess
import time

from lib import Broken, Program, Recorder, Skip, bpf, case, default_signals, descriptors, wait_until

# It asks at sched_wakeup who runs, which in an interrupt is whom it interrupted.  These frames say that it was one.
INTERRUPT = re.compile(r"sched_ttwu_pending|hrtimer|sysvec|common_interrupt|handle_softirqs|irq_exit")


def is_interrupt(waker, frames):
    """The idle thread wakes nobody itself; that must be told by its name where wakeuptime did not get the stack."""
    return waker.startswith("swapper/") or any(INTERRUPT.search(frame) for frame in frames)


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

    def counts(self):
        """Its sums in the kernel, [(target, waker, ns)], in the order in which it prints them."""
        for fd, target in descriptors(self.process.pid).items():
            if "bpf-map" in target:
                with open(f"/proc/{self.process.pid}/fdinfo/{fd}", encoding="ascii") as f:
                    info = dict(line.split(":", 1) for line in f)
                if int(info["key_size"]) == KEY.size:
                    return read_counts(int(info["map_id"]))
        raise Skip("this wakeuptime keeps its sums otherwise")

    def printed(self):
        """[(target, waker, is interrupt, its number)]"""
        found = []
        for block in self.text().split("\ttarget:")[1:]:
            lines = block.splitlines()
            target, waker, frames = lines[0].strip(), None, []
            for line in lines[1:]:
                name, _, value = line.strip().partition(": ")
                if name == "waker":
                    waker = value.strip()
                elif waker is None:
                    frames.append(line.split()[-1])
                elif line.strip():
                    found.append((target, waker, is_interrupt(waker, frames), int(line)))
                    break
        return found

    def stop(self, env):
        """{(target, waker, is interrupt): ns} by its sums in the kernel; how much it prints of each target, in ns."""
        counts = self.counts()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        printed = self.printed()
        env.check.that([row[:2] for row in printed] == [row[:2] for row in counts],
                       f"wakeuptime prints {printed}, its sums are {counts}"[:1000])
        sums, shown = collections.Counter(), collections.Counter()
        for (target, waker, by_interrupt, number), (_, _, ns) in zip(printed, counts):
            env.check.that(number in (as_printed(ns), ns // 1000),
                           f"{target} by {waker}: {ns} ns are printed as {number}, not as {as_printed(ns)}")
            sums[target, waker, by_interrupt] += ns
            shown[target] += number * 1000
        return sums, shown


# Waker, target, stack
KEY = struct.Struct("=16s16si")


def read_counts(map_id):
    fd, _ = bpf(14, "=I", map_id)  # BPF_MAP_GET_FD_BY_ID
    if fd < 0:
        raise Skip("maps cannot be read")
    key, following, value = (ctypes.create_string_buffer(size) for size in (KEY.size, KEY.size, 8))
    address = ctypes.addressof
    found = []
    while bpf(4, "=IxxxxQQ", fd, address(key), address(following))[0] == 0:  # BPF_MAP_GET_NEXT_KEY
        key.raw = following.raw
        if bpf(1, "=IxxxxQQ", fd, address(key), address(value))[0] == 0:  # BPF_MAP_LOOKUP_ELEM
            waker, target, _ = KEY.unpack(key.raw)
            found.append((*(name.split(b"\0")[0].decode() for name in (target, waker)), struct.unpack("=Q", value.raw)[0]))
    os.close(fd)
    return found


def as_printed(ns):
    """Its sum in us, of the lowest 32 bits of the ns as a signed number: so does 0.26, 8 bytes being looked up into an int."""
    low = (ns + 2**31) % 2**32 - 2**31
    return -(-low // 1000) if low < 0 else low // 1000


def ours(report):
    """({(target, waker or None for an interrupt): ns}, {target: sleeps}, {target: ns from waking to running})"""
    sums, counts, ready = collections.Counter(), collections.Counter(), collections.Counter()
    for wait in report.waits:
        if wait["open_at_start"] or wait["open_at_end"] or wait["state"] == "R":
            continue
        ready[wait["comm"]] += wait["runnable_ns"]
        for waker in wait["wakers"]:
            sums[wait["comm"], None if waker["irq"] else waker["comm"]] += waker["blocked_ns"]
            counts[wait["comm"]] += waker["count"]
    return sums, counts, ready


def check_compared(env, targets, *args, name="waking"):
    """Its sleeps end at sched_wakeup: after the waking that ends ours, and before the thread runs."""
    program = Program(env, name, *args)
    other = Wakeuptime(env, program.pid)
    recorder = Recorder(env, "-p", program.pid, "--wakers", "--exact")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    theirs, shown = other.stop(env)
    recorder.stop()
    report = recorder.report()
    program.finish()
    sums, counts, ready = ours(report)
    for target in targets:
        seen_ns = sum(ns for (name, _), ns in sums.items() if name == target)
        their_ns = sum(ns for (name, _, _), ns in theirs.items() if name == target)
        slack_ns = max(0.02 * seen_ns, 100_000 * counts[target])
        env.check.that(seen_ns > 0 and -slack_ns <= their_ns - seen_ns <= slack_ns + ready[target],
                       f"{target}: {seen_ns} ns blocked and {ready[target]} on the way to a CPU, wakeuptime has summed {their_ns} "
                       f"(+- {slack_ns:.0f})")
        for (name, waker, by_interrupt), ns in theirs.items():
            if name != target or by_interrupt:
                continue
            env.check.that(ns <= sums[target, waker] + ready[target] + slack_ns,
                           f"{target} by {waker}: wakeuptime says {ns} ns, on no interrupt; seen are {sums[target, waker]}")
        misled_ns = sum(ns for (name, _, by_interrupt), ns in theirs.items() if name == target and by_interrupt)
        who = sorted({waker for name, waker, by_interrupt in theirs if name == target and by_interrupt})
        env.notes.append(f"{target}: {their_ns / 1e6:.1f} ms by wakeuptime, printed as {shown[target] / 1e6:.1f}, "
                         f"of it {misled_ns / 1e6:.1f} in an interrupt, blamed on {who}; {seen_ns / 1e6:.1f} ms by offcpu, "
                         f"{sums[target, None] / 1e6:.1f} by interrupts")
    return theirs


@case
def wakeuptime_of_a_pipeline(env):
    check_compared(env, ("stageA", "stageB", "stageC", "stageD"), "pipeline", "pipe", 30)


@case
def wakeuptime_of_a_convoy(env):
    check_compared(env, ("convoy",), "convoy", 4, 60)


@case
def wakeuptime_of_signals(env):
    check_compared(env, ("signalled",), "signal", 60)


@case
def wakeuptime_over_loopback(env):
    check_compared(env, ("stageA", "stageB", "stageC", "stageD"), "pipeline", "tcp", 30)


@case
def wakeuptime_of_children(env):
    check_compared(env, ("waking",), "child", 60)


@case
def wakeuptime_of_a_disk(env):
    check_compared(env, ("disk",), env.disk_file(), "sync", 8, 30, name="disk")


@case
def wakeuptime_of_a_broadcast(env):
    """All 200 are one sum there, which is more than it can print (docs/wait-graph.md): the sum is ours."""
    sums = check_compared(env, ("herd",), "broadcast", 200, 10)
    env.check.that(max(sums.values(), default=0) >= 2**32, f"no sum above 32 bits: {sums}")
