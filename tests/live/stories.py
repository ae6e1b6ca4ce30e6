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
UNKNOWN_NS = 2_000_000  # before its first event a waker may have done anything, if it is no longer
NEVER = 2**64 - 1  # after a waking by one that is no more

Span = collections.namedtuple("Span", "lo hi")
Reading = collections.namedtuple("Reading", "wall cpu slept yielded delay")
Event = collections.namedtuple("Event", "what channel serial before after")
# parts: {path of wakers, nearest first: what the last one of it did}
Story = collections.namedtuple("Story", "blocked parts")


def later(end, start):
    """The time from one instant to another."""
    return Span(max(end.lo - start.hi, 0), max(end.hi - start.lo, 0))


def plus(one, other):
    return Span(one.lo + other.lo, one.hi + other.hi)


NOTHING = Span(0, 0)


class Part:
    """What the last waker of a path did: awake, of that waiting for a CPU, and of a timer the time until it came."""

    def __init__(self):
        self.count, self.awake, self.ready, self.rest = 0, NOTHING, NOTHING, NOTHING

    def add(self, count=0, awake=NOTHING, ready=NOTHING, rest=NOTHING):
        self.count += count
        self.awake, self.ready, self.rest = plus(self.awake, awake), plus(self.ready, ready), plus(self.rest, rest)

    def __eq__(self, other):
        return vars(self) == vars(other)

    def __repr__(self):
        return str(vars(self))


def new_parts():
    return collections.defaultdict(Part)


def once_each(parts):
    """A story has each path once, however often its waker slept."""
    for part in parts.values():
        part.count = 1
    return parts


def length(story):
    return max(map(len, story.parts))


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
        self.parents = {line["pid"] for line in lines if line["kind"] == "events" and line["sleep_site"]}
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
        """
        When the thread fell asleep in a bracket: after what it used of CPU time in it, and, had it been preempted, waited for, at the
        latest.  One that was not waited for a CPU after its sleep only.
        """
        if event.after.slept != event.before.slept + 1:
            raise Unclear("it slept more than once")
        hi = event.after.wall
        is_preempted = event.after.yielded > event.before.yielded
        if event.before.delay >= 0 or not is_preempted:
            delay = event.after.delay - event.before.delay if is_preempted else 0
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

    def ready_at_most(self, log, last, index, start, hi):
        """Of what a thread waited for a CPU between two of its events what may lie behind that time."""
        waking = log.events[index]
        for i in range(index - 1, last, -1):
            if log.events[i].before.wall <= start.lo and waking.before.delay >= 0:
                if waking.after.yielded > waking.before.yielded:
                    break
                return min(hi, waking.before.delay - log.events[i].before.delay)
        return hi

    def story(self, log, index):
        """Of the sleep that is the event `index` of a thread, by the definition in docs/semantics.md."""
        event = log.events[index]
        start, end = self.began(event), self.woken(event)
        parts = new_parts()
        self.tell_sleep(parts, (), event, start, end)
        return Story(later(end, start), once_each(parts))

    def tell_sleep(self, parts, path, event, start, end):
        """What the one who ended that sleep, and those he waited for, did in that time of it."""
        waker = self.waker(event)
        if waker is None:
            parts[*path, TIMER].add(rest=later(end, start))
        else:
            self.tell_waker(parts, (*path, waker[0].tid), *waker, start, end)

    def tell_waker(self, parts, path, log, index, start, end):
        """What a thread did in that time, at whose end it woke somebody in its event `index`; from the end backwards."""
        while True:
            left = max(0, end.hi - start.lo)
            try:
                last = log.last_sleep(index)
            except Unclear:
                # a child has been awake since it began, at most since it was waited for
                if path not in parts or (left > UNKNOWN_NS and log.line["pid"] in self.parents):
                    raise
                parts[path].add(awake=Span(0, left), ready=Span(0, left))
                return
            event = log.events[last]
            woken = self.woken(event)
            ready = self.ready(event, woken, log.events[index])
            if woken.hi <= start.lo:  # awake all the time
                awake = later(end, start)
                ready = self.ready_at_most(log, last, index, start, ready.hi)
                parts[path].add(awake=awake, ready=Span(0, min(ready, awake.hi)))
                return
            if woken.lo <= start.hi:
                if woken.hi - start.lo > TOLERANCE_NS:
                    raise Unclear("who was first cannot be told")
                parts[path].add(awake=Span(later(end, woken).lo, later(end, start).hi), ready=Span(0, ready.hi))
                return
            awake = later(end, woken)
            parts[path].add(awake=awake, ready=Span(min(ready.lo, awake.hi), min(ready.hi, awake.hi)))
            end = self.began(event)
            self.tell_sleep(parts, path, event, Span(max(start.lo, end.lo), max(start.hi, end.hi)), woken)
            index = last
            if end.hi - start.lo <= TOLERANCE_NS:
                left = max(0, end.hi - start.lo)
                parts[path].add(awake=Span(0, left), ready=Span(0, left))
                return


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


class Seen:
    """The same as a Part, in numbers."""

    def __init__(self):
        self.count = self.awake = self.ran = self.ready = self.earlier = self.rest = 0


def sum_seen(waits):
    parts = collections.defaultdict(Seen)
    for wait in waits:
        for waker in wait["wakers"]:
            for story in waker.get("stories", []):
                path, hops, rest = seen_story(story)
                for i, (awake, ran, ready, earlier) in enumerate(hops, 1):
                    of = parts[path[:i]]
                    of.count += story["count"]
                    of.awake, of.ran, of.ready, of.earlier = of.awake + awake, of.ran + ran, of.ready + ready, of.earlier + earlier
                parts[path].rest += rest
    return parts


def sum_told(stories):
    parts = new_parts()
    for story in stories:
        for path, part in story.parts.items():
            parts[path].add(part.count, part.awake, part.ready, part.rest)
    return parts


# -- the two compared ---------------------------------------------------------------

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
            span, of = plus(told[path].awake, told[path].rest), seen[path]
            ns, slack_ns = of.awake + of.earlier + of.rest, TOLERANCE_NS * told[path].count
            wrong_ns += max(0, span.lo - ns - slack_ns, ns - span.hi - slack_ns - self.unclear_ns)
        # sleeps that the program cannot tell are among those seen; and a few may be missing
        stray_ns = self.unclear_ns
        missing = len(self.stories) - sum(wait["count"] for wait in self.waits)
        if missing > 0:
            stray_ns += self.told_ns * missing // len(self.stories)
        for path, of in told.items():
            if of.count:
                self.check_path(check, path, of, seen[path], stray_ns, stolen_ns)
        return wrong_ns

    def check_path(self, check, path, told, seen, stray_ns, stolen_ns):
        who = f"{self.name} <- {' <- '.join(map(str, path))}"
        ran = Span(told.awake.lo - told.ready.hi, told.awake.hi - told.ready.lo)
        for what, ns, span, slack_ns in (("awake", seen.awake, told.awake, 0), ("ran", seen.ran, ran, 0),
                                         ("ready", seen.ready, told.ready, 0), ("untold", seen.earlier, NOTHING, stolen_ns),
                                         ("rest", seen.rest, told.rest, stolen_ns)):
            check_time(check, f"{who}: {what}", ns, span, told.count, stray_ns + slack_ns)


def ran_meanwhile(sleeper):
    """{who: what he ran while he was waited for} in all stories of a sleeper."""
    ran = collections.defaultdict(lambda: NOTHING)
    for path, part in sum_told(sleeper.stories).items():
        ran[path[-1]] = plus(ran[path[-1]], Span(part.awake.lo - part.ready.hi, part.awake.hi - part.ready.lo))
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
                   f"{s.name}: seen {[(p, of.count, of.awake + of.earlier + of.rest) for p, of in sum_seen(s.waits).items()]}, "
                   f"told {[(p, of.count, plus(of.awake, of.rest)) for p, of in sum_told(s.stories).items()]}, unclear {s.unclear}"
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
