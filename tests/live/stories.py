# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What chains of wakers must say of a program that wrote down its events (programs/events.h).

From the program's own readings alone: each instant is a bracket of two readings, each time a bracket of
what it is at least and at most.  What lies between two readings, an interrupt, a preemption, a hypervisor's
theft, so widens what may be said and never makes it wrong.  Nothing here runs anything.
"""

import collections
from functools import partial

from check import names

SHARE = 0.01  # of the time may be wrong
TOLERANCE = 0.02  # of a hop's time, or
TOLERANCE_NS = 100_000  # for each time, whichever is more
UNCLEAR = 0.05  # of the time of which the program itself cannot tell; above, it is no truth
TIMER, DISK = "timer", "disk"
NEVER = 2**64 - 1  # after a waking by one that is no more

Span = collections.namedtuple("Span", "lo hi")
Reading = collections.namedtuple("Reading", "wall cpu slept yielded delay")
Event = collections.namedtuple("Event", "what channel serial before after")
Hop = collections.namedtuple("Hop", "who awake ready earlier")
Story = collections.namedtuple("Story", "blocked hops rest")


def later(end, start):
    """The time from one instant to another."""
    return Span(max(end.lo - start.hi, 0), max(end.hi - start.lo, 0))


def plus(one, other):
    return Span(one.lo + other.lo, one.hi + other.hi)


NOTHING = Span(0, 0)


class Unclear(Exception):
    """The readings do not tell."""


class Log:
    """The events of one thread."""

    def __init__(self, line):
        self.tid, self.comm, self.line = line["tid"], line["comm"], line
        self.events = [Event(what, channel, serial, Reading(*before), Reading(*after))
                       for what, channel, serial, before, after in line["events"]]

    def sleeps(self, what):
        """Indices of the events of that kind in which the thread slept."""
        return [i for i, event in enumerate(self.events) if event.what == what and event.after.slept > event.before.slept]

    def last_sleep(self, index):
        """The thread's last sleep before its event `index`, by index."""
        event = self.events[index]
        for i in range(index - 1, -1, -1):
            other = self.events[i]
            if other.after.slept != event.before.slept:
                raise Unclear("it slept in between, at no event")
            if other.after.slept > other.before.slept:
                return i
            event = other
        raise Unclear("what it did before is not known")


class Truth:
    """All events of a program."""

    def __init__(self, lines):
        self.logs = {line["tid"]: Log(line) for line in lines if line["kind"] == "events"}
        self.wakings = {(event.channel, event.serial): (log, i) for log in self.logs.values()
                        for i, event in enumerate(log.events) if event.what == "w"}

    def waker(self, event):
        """Who ended that sleep: (log, index), None for a timer."""
        if event.what == "n":
            return None
        if (event.channel, event.serial) not in self.wakings:
            raise Unclear("nobody says that he ended it")
        return self.wakings[event.channel, event.serial]

    def woken(self, event):
        """When a sleep was ended."""
        waker = self.waker(event)
        if waker is None:
            return Span(min(event.serial, event.after.wall), event.after.wall)
        waking = waker[0].events[waker[1]]
        if waking.before.wall > event.after.wall:
            raise Unclear("it was over before it was ended")
        return Span(waking.before.wall, min(waking.after.wall, event.after.wall))

    def began(self, event):
        """When the thread fell asleep in a bracket: after what it used and waited for of CPU time in it, at the latest."""
        if event.after.slept != event.before.slept + 1:
            raise Unclear("it slept more than once")
        hi = event.after.wall
        delay = event.after.delay - event.before.delay if event.before.delay >= 0 else 0
        if event.before.delay >= 0 or event.after.yielded == event.before.yielded:
            hi = min(hi, event.before.wall + event.after.cpu - event.before.cpu + delay)
        return Span(event.before.wall, max(hi, event.before.wall))

    def ready(self, sleep, woken, waking):
        """
        How long a thread waited for a CPU from its waking until it woke another.  The kernel's count begins as a thread is put
        on a queue: an idle CPU does that itself once it has been roused, 0.1 ms after the waking on some hosts.
        """
        if sleep.before.delay < 0:
            return Span(0, waking.after.wall - sleep.before.wall)
        lo = waking.before.delay - sleep.before.delay
        hi = waking.before.delay - sleep.after.delay + max(sleep.after.delay - sleep.before.delay, sleep.after.wall - woken.lo)
        if sleep.after.yielded > sleep.before.yielded:  # it may have waited before it slept, too
            lo = waking.before.delay - sleep.after.delay
        if waking.after.wall == NEVER:
            return Span(lo, NEVER)  # the caller cuts it
        if waking.after.yielded > waking.before.yielded:
            hi += waking.after.delay - waking.before.delay
        return Span(lo, hi)

    def story(self, log, index):
        """Of the sleep that is the event `index` of a thread, by the definition in docs/semantics.md."""
        event = log.events[index]
        start, end = self.began(event), self.woken(event)
        blocked = later(end, start)
        hops = []
        while True:
            waker = self.waker(event)
            if waker is None:
                return Story(blocked, hops + [Hop(TIMER, NOTHING, NOTHING, NOTHING)], later(end, start))
            log, index = waker
            waking = log.events[index]
            event = log.events[log.last_sleep(index)]
            woken = self.woken(event)
            if woken.hi <= start.lo:  # awake all the time
                awake = later(end, start)
                return Story(blocked, hops + [Hop(log.tid, awake, Span(0, awake.hi), NOTHING)], NOTHING)
            if woken.lo <= start.hi:
                raise Unclear("who was first cannot be told")
            began = self.began(event)
            awake = later(end, woken)
            ready = self.ready(event, woken, waking)
            ready = Span(min(ready.lo, awake.hi), min(ready.hi, awake.hi))
            hops.append(Hop(log.tid, awake, ready, later(began, start)))
            start = Span(max(start.lo, began.lo), max(start.hi, began.hi))
            end = woken


# -- what the recording says ------------------------------------------------------

def is_timer(hop):
    """An interrupt; with PREEMPT_RT a thread that works for it."""
    return (hop["irq"] == TIMER and not hop["tid"]) or (not hop["irq"] and hop["comm"].startswith(("ktimers/", "ksoftirqd/")))


def is_disk(hop):
    return bool(hop["irq"]) and hop["irq"].startswith(("softirq:BLOCK", "irq:"))


def seen_story(story):
    """(path, [(awake, ran, ready, earlier)], rest): all from a timer's or a disk's hop on is rest, whoever handed the timer on."""
    path, hops, rest = [], [], story["rest_ns"]
    for hop in story["hops"]:
        if path and path[-1] in (TIMER, DISK):
            rest += hop["ran_ns"] + hop["ready_ns"] + hop["earlier_ns"]
        elif is_timer(hop) or is_disk(hop):
            path.append(DISK if is_disk(hop) else TIMER)
            rest += hop["ran_ns"] + hop["ready_ns"] + hop["earlier_ns"]
            hops.append((0, 0, 0, 0))
        else:
            path.append(hop["irq"] or hop["tid"])
            hops.append((hop["ran_ns"] + hop["ready_ns"], hop["ran_ns"], hop["ready_ns"], hop["earlier_ns"]))
    return tuple(path), hops, rest


class Sum:
    """Stories of one path: as spans or as numbers."""

    def __init__(self, zero):
        self.count, self.blocked, self.hops, self.rest = 0, zero, None, zero


def sum_seen(waits):
    sums = collections.defaultdict(lambda: Sum(0))
    for wait in waits:
        for waker in wait["wakers"]:
            for story in waker.get("stories", []):
                path, hops, rest = seen_story(story)
                of = sums[path]
                of.count += story["count"]
                of.blocked += story["blocked_ns"]
                of.hops = [tuple(map(sum, zip(*pair))) for pair in zip(of.hops or [(0,) * 4] * len(hops), hops)]
                of.rest += rest
    return sums


def sum_told(stories):
    sums = collections.defaultdict(lambda: Sum(NOTHING))
    for story in stories:
        of = sums[tuple(hop.who for hop in story.hops)]
        of.count += 1
        of.blocked = plus(of.blocked, story.blocked)
        hops = [(hop.awake, Span(hop.awake.lo - hop.ready.hi, hop.awake.hi - hop.ready.lo), hop.ready, hop.earlier)
                for hop in story.hops]
        of.hops = [tuple(plus(*pair) for pair in zip(*both)) for both in zip(of.hops or [(NOTHING,) * 4] * len(hops), hops)]
        of.rest = plus(of.rest, story.rest)
    return sums


# -- the two compared ---------------------------------------------------------------

PARTS = ("awake", "ran", "ready", "earlier")


def check_time(check, what, seen_ns, span, count, slack_ns=0):
    allowed_ns = max(TOLERANCE * (span.lo + span.hi) / 2, TOLERANCE_NS * count) + slack_ns
    check.that(span.lo - allowed_ns <= seen_ns <= span.hi + allowed_ns,
               f"{what}: {seen_ns} ns in {count} times, the program says {span.lo} to {span.hi} +- {allowed_ns:.0f}")


class Sleeper:
    """All sleeps of one thread at one place: as its program tells them, and as they were recorded."""

    def __init__(self, name, waits, sleeps):
        """sleeps: of each the longest that it can have been, and a function that tells its story."""
        self.name = name
        self.waits = waits
        self.stories, self.unclear = [], []
        for longest_ns, tell in sleeps:
            try:
                self.stories.append(tell())
            except Unclear as why:
                self.unclear.append((longest_ns, str(why)))
        self.unclear_ns = sum(ns for ns, _ in self.unclear)
        self.told_ns = sum(story.blocked.hi for story in self.stories)

    def check(self, check, stolen_ns):
        """Returns the time told of wrongly, in ns."""
        seen, told = sum_seen(self.waits), sum_told(self.stories)
        wrong_ns = 0
        for path in set(seen) | set(told):
            span, ns = told[path].blocked, seen[path].blocked
            wrong_ns += max(0, span.lo - ns - TOLERANCE_NS * told[path].count,
                            ns - span.hi - TOLERANCE_NS * told[path].count - self.unclear_ns)
        for path, of in told.items():
            if of.count and seen[path].count:
                self.check_path(check, path, of, seen[path], stolen_ns)
        return wrong_ns

    def check_path(self, check, path, told, seen, stolen_ns):
        # a time or two that the program cannot tell may be among those seen
        stray_ns = self.unclear_ns if seen.count > told.count else 0
        if seen.count < told.count:
            stray_ns += told.blocked.hi * (told.count - seen.count) // told.count
        who = f"{self.name} <- {' <- '.join(map(str, path))}"
        for i, (parts, spans) in enumerate(zip(seen.hops, told.hops)):
            for part, ns, span in zip(PARTS, parts, spans):
                check_time(check, f"{who}: {part} of {path[i]}", ns, span, seen.count, stray_ns + (part == "earlier") * stolen_ns)
        check_time(check, f"{who}: rest", seen.rest, told.rest, seen.count, stray_ns + stolen_ns)
        check_time(check, f"{who}: blocked", seen.blocked, told.blocked, seen.count, stray_ns + stolen_ns)


def ran_meanwhile(sleeper):
    """{who: what he ran while he was waited for} in all stories of a sleeper."""
    ran = collections.defaultdict(lambda: NOTHING)
    for story in sleeper.stories:
        for hop in story.hops:
            ran[hop.who] = plus(ran[hop.who], Span(hop.awake.lo - hop.ready.hi, hop.awake.hi - hop.ready.lo))
    return ran


def waits_at(report, tid, site):
    """A thread's sleeps in that function, but those open at an edge."""
    return [wait for wait in report.waits if wait["tid"] == tid and wait["state"] != "R" and
            not wait["open_at_start"] and not wait["open_at_end"] and names(wait["user"])[-1:] == [site]]


def sleepers_of(report, lines, pids):
    """A Sleeper for each thread of these processes and each place where it slept."""
    truth = Truth(lines)
    found = []
    for log in truth.logs.values():
        if log.line["pid"] not in pids:
            continue
        for what, site in (("s", log.line["sleep_site"]), ("n", log.line["nap_site"])):
            if not site or not log.sleeps(what):
                continue
            events = ((log.events[i], i) for i in log.sleeps(what))
            sleeps = [(event.after.wall - event.before.wall, partial(truth.story, log, i)) for event, i in events]
            found.append(Sleeper(f"{log.comm} {log.tid}", waits_at(report, log.tid, site), sleeps))
    return truth, found


def is_clear(sleepers):
    """Does the program itself know enough?"""
    return sum(s.unclear_ns for s in sleepers) <= UNCLEAR * sum(s.told_ns for s in sleepers)


def check_stories(check, sleepers, stolen_ns=0):
    """Right wakers, in the right order, for 99 % of the time; and hop times within 2 % or 100 us."""
    wrong_ns = sum(sleeper.check(check, stolen_ns) for sleeper in sleepers)
    told_ns = sum(sleeper.told_ns for sleeper in sleepers)
    unclear_ns = sum(sleeper.unclear_ns for sleeper in sleepers)
    check.that(told_ns > 0, "the program tells of no sleep")
    check.that(wrong_ns <= SHARE * told_ns + unclear_ns,
               f"of {told_ns} ns asleep {wrong_ns} are told with other chains than the program's: " + "; ".join(
                   f"{s.name}: seen {[(p, of.count, of.blocked) for p, of in sum_seen(s.waits).items()]}, "
                   f"told {[(p, of.count, of.blocked) for p, of in sum_told(s.stories).items()]}, unclear {s.unclear}"
                   for s in sleepers)[:1500])


def check_wakers(check, truth, sleepers, kernel_frame):
    """The waker's thread, name and stacks: its function that wakes is the innermost of its user stack."""
    right_ns, wrong = 0, collections.Counter()
    for sleeper in sleepers:
        for wait in sleeper.waits:
            for waker in wait["wakers"]:
                log = truth.logs.get(waker["tid"])
                kernel = names(waker["kernel"])
                site = [log.line["wake_site"]] if log and log.line["wake_site"] else []
                is_right = log and not waker["irq"] and waker["comm"] == log.comm and \
                    names(waker["user"])[-1:] == site and \
                    any(kernel_frame in (name or "") for name in kernel)
                if is_right or (is_timer(waker) and not log):
                    right_ns += waker["blocked_ns"]
                else:
                    wrong[waker["irq"] or waker["comm"], waker["tid"], str(names(waker["user"])[-2:]),
                          str(kernel[-8:])] += waker["blocked_ns"]
    blocked_ns = sum(wait["blocked_ns"] for sleeper in sleepers for wait in sleeper.waits)
    check.that(right_ns >= (1 - SHARE) * blocked_ns > 0,
               f"of {blocked_ns} ns blocked {right_ns} have the right wakers, names and stacks; wrong: {dict(wrong)}")
