# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Who woke whom by the kernel's own tracer (tracefs, an instance of ours): a second witness of wakers that no program can
write down, as a disk and the kernel's threads that complete for it.

Knows nothing of offcpu; the stories it tells are those of stories.py, by the definition in docs/semantics.md.
"""

import bisect
import collections
import os
import re

from lib import Skip
from stories import DISK, TIMER, Span, Story, Unclear, later, new_parts, once_each

ROOTS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
EVENTS = ("sched/sched_switch", "sched/sched_waking", "block/block_rq_complete", "irq/irq_handler_exit", "irq/softirq_exit")
BUFFER_KIB = 32768
LINE = re.compile(r"^.*-(\d+) +\[(\d+)\] (\S+) +(\d+)\.(\d{6}): (\w+): (.*)$")
SWITCH = re.compile(r"prev_pid=(\d+) .*prev_state=(\S+) ==> .*next_pid=(\d+)")
WAKING = re.compile(r"pid=(\d+) prio=")
IN_HARD, IN_SOFT = set("hHzZ"), set("s")
# A request's completion wakes in the same interrupt: at once, or after 16 MB of pages were let go.  That interrupt's end
# is not seen where it came from another CPU.
COMPLETION_NS = 5_000_000

Sleep = collections.namedtuple("Sleep", "start woken waker")


class Trace:
    """Records from its making to stop()."""

    def __init__(self, env):
        root = next((path for path in ROOTS if os.path.isdir(f"{path}/instances")), None) or env.mounted("tracefs")
        self.folder = os.path.join(root, "instances", f"offcpu-live-{os.getpid()}")
        try:
            os.mkdir(self.folder)
        except OSError as error:
            raise Skip(f"{self.folder}: {error.strerror}") from error
        env.cgroups.append(self.folder)  # removed as they are
        self._set("trace_clock", "mono")
        self._set("buffer_size_kb", BUFFER_KIB)
        for event in EVENTS:
            self._set(f"events/{event}/enable", 1)

    def _set(self, name, value):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as f:
            f.write(str(value))

    def stop(self):
        self._set("tracing_on", 0)
        with open(os.path.join(self.folder, "trace"), encoding="utf-8", errors="replace") as f:
            text = f.read()
        os.rmdir(self.folder)
        return Witness(text)


def kind_of_interrupt(flags):
    return "hard" if IN_HARD & set(flags[2:3]) else "soft" if IN_SOFT & set(flags[2:3]) else None


class Witness:
    """Each thread's sleeps, and when it had a CPU; has_gaps: somebody acts who was not seen to get one."""

    def __init__(self, text):
        self.sleeps = collections.defaultdict(list)  # tid: [Sleep], by time
        self.switches = collections.defaultdict(list)  # tid: [(ns, does it run from then on)]
        self._asleep = {}  # tid: (since when, who woke it as it was about to)
        self._early = {}  # tid: who woke it while it ran
        self._completed = {}  # (cpu, kind of interrupt that goes on): when
        self.has_gaps = False
        for line in text.splitlines():
            match = LINE.match(line)
            if match and not line.startswith("#"):
                tid, cpu, flags, s, us, what, rest = match.groups()
                self._add(int(tid), int(cpu), flags, int(s) * 10**9 + int(us) * 1000, what, rest)

    def _add(self, tid, cpu, flags, ns, what, rest):
        if tid and self.switches[tid] and not self.switches[tid][-1][1]:
            self.has_gaps = True    # a switch from a guarded process to it is not told
        if what == "block_rq_complete":
            self._completed[cpu, kind_of_interrupt(flags)] = ns
        elif what == "irq_handler_exit":
            self._completed.pop((cpu, "hard"), None)
        elif what == "softirq_exit":
            self._completed.pop((cpu, "soft"), None)
        elif what == "sched_waking":
            self._waking(int(WAKING.search(rest).group(1)), ns, self._waker(tid, cpu, flags, ns))
        elif what == "sched_switch":
            of, state, following = SWITCH.search(rest).groups()
            self._switched(int(of), int(following), ns, not state.startswith("R"))

    def _waker(self, tid, cpu, flags, ns):
        """(who, from when on)"""
        kind = kind_of_interrupt(flags)
        if not kind:
            return tid, ns
        completed_ns = self._completed.get((cpu, kind), 0)
        return (DISK, completed_ns) if ns - completed_ns <= COMPLETION_NS else (TIMER, ns)

    def _waking(self, tid, ns, waker):
        if tid in self._asleep:
            self.sleeps[tid].append(Sleep(self._asleep.pop(tid)[0], ns, waker))
        else:
            self._early[tid] = waker

    def _switched(self, tid, following, ns, sleeps):
        self.switches[tid].append((ns, False))
        self.switches[following].append((ns, True))
        since, early = self._asleep.pop(following, (0, None))
        if early:
            self.sleeps[following].append(Sleep(since, since, early))
        early = self._early.pop(tid, None)
        if sleeps:
            self._asleep[tid] = ns, early

    def off_cpu(self, tid, start, end, runs=False):
        """How long the thread, which runs at the start or does not, had no CPU until the end."""
        total, since = 0, None if runs else start
        of = self.switches[tid]
        for ns, is_on in of[bisect.bisect_left(of, (start, False)):]:
            if ns >= end:
                break
            if since is not None and is_on:
                total += ns - since
            since = None if is_on else ns
        return total if since is None else total + end - since

    def between(self, tid, start, end):
        """The thread's sleeps that began in this time."""
        return [sleep for sleep in self.sleeps[tid] if start <= sleep.start < end and sleep.woken > sleep.start]

    def story(self, sleep):
        parts = new_parts()
        self.tell_sleep(parts, (), sleep, sleep.start, sleep.woken)
        return Story(Span(sleep.woken - sleep.start, sleep.woken - sleep.start), once_each(parts))

    def tell_sleep(self, parts, path, sleep, start, end):
        who, since = sleep.waker
        if who in (DISK, TIMER):
            parts[*path, who].add(rest=later(Span(since, end), Span(start, start)))
            return
        path = (*path, who)
        sleeps = [other for other in self.sleeps[who] if other.woken < end]
        if not sleeps:
            raise Unclear("it slept before the trace")
        for last in reversed(sleeps):
            begun = max(start, last.woken)
            ready = self.off_cpu(who, last.woken, end) - (self.off_cpu(who, last.woken, start) if last.woken < start else 0)
            parts[path].add(awake=Span(end - begun, end - begun), ready=Span(ready, ready))
            if last.woken <= start:
                return
            end = max(start, last.start)
            self.tell_sleep(parts, path, last, end, begun)
            if end == start:
                return
        parts[path].add(awake=Span(end - start, end - start), ready=Span(0, end - start))
