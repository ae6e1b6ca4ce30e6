#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The comparison of chains, without privileges: right stories pass, and every way to be wrong is told."""

import copy
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import ktrace  # noqa: E402
import stories  # noqa: E402
from check import Check, Report  # noqa: E402

MS = 1_000_000
ROUNDS = 20


def reading(wall_ns, slept, delay_ns=0):
    return [wall_ns, 0, slept, 0, delay_ns]


def event(what, serial, begin_ns, end_ns, slept=0, sleeps=False):
    return [what, 0, serial, reading(begin_ns, slept), reading(end_ns, slept + sleeps)]


def truth():
    """Thread 11 sleeps 10 ms by a timer and works 3, then wakes 12, which slept since 1 ms before that; 12 began it."""
    at = 999 * MS - 5000
    waker, sleeper = [event("s", ROUNDS, at - 5 * MS, at + 4000, 0, True)], [event("w", ROUNDS, at, at + 4000)]
    for i in range(ROUNDS):
        at = 1000 * MS + i * 14 * MS
        waker += [event("n", at + 10 * MS, at, at + 10 * MS, i + 1, True),
                  event("w", i, at + 13 * MS, at + 13 * MS + 5000, i + 2)]
        sleeper.append(event("s", i, at - MS, at + 13 * MS + 4000, i, True))
    return [{"kind": "events", "pid": 10, "tid": tid, "comm": comm, "sleep_site": sleep, "nap_site": nap, "wake_site": wake,
             "events": events}
            for tid, comm, sleep, nap, wake, events in ((11, "waker", None, "nap", "wake", waker),
                                                         (12, "sleeper", "take", None, None, sleeper))]


def frames(*functions):
    return [{"name": name, "module": "prog", "offset": 1} for name in functions]


def hop(comm, tid, ran_ns=0, earlier_ns=0, irq=None):
    return {"comm": comm, "pid": 10 if tid else 0, "tid": tid, "irq": irq, "ran_ns": ran_ns, "ready_ns": 0, "earlier_ns": earlier_ns}


def wait(comm, tid, site, each_ns, hops, rest_ns, kernel):
    first = hops[0]
    story = {"count": ROUNDS, "blocked_ns": each_ns * ROUNDS, "hops": hops, "rest_ns": rest_ns * ROUNDS, "end": "interrupt"}
    waker = {"comm": first["comm"], "pid": first["pid"], "tid": first["tid"], "irq": first["irq"], "count": ROUNDS,
             "blocked_ns": each_ns * ROUNDS, "user": frames() if first["irq"] else frames("main", "wake"),
             "kernel": frames(kernel, "try_to_wake_up"), "stories": [story]}
    return {"pid": 10, "tid": tid, "comm": comm, "state": "S", "count": ROUNDS, "blocked_ns": each_ns * ROUNDS,
            "open_at_start": False, "open_at_end": False, "user": frames("main", site), "wakers": [waker]}


def right():
    timer = hop("", 0, irq="timer")
    return {"schema": 1, "window": {}, "coverage": {}, "threads": [],
            "waits": [wait("waker", 11, "nap", 10 * MS, [timer], 10 * MS, "hrtimer_wakeup"),
                      wait("sleeper", 12, "take", 14 * MS, [hop("waker", 11, 4 * MS * ROUNDS), timer], 10 * MS,
                           "pipe_write")]}


def problems(data, lines):
    check = Check()
    known, sleepers = stories.sleepers_of(Report(data), lines, {10})
    if not stories.is_clear(sleepers):
        return ["not clear"]
    stories.check_stories(check, sleepers)
    stories.check_wakers(check, known, sleepers, "pipe_write")
    return check.problems


def story_of(data):
    return data["waits"][1]["wakers"][0]["stories"][0]


def another_hop(data):
    story_of(data)["hops"].insert(1, hop("third", 13))


def no_hop(data):
    del story_of(data)["hops"][1]


def moved(part, ns):
    """Time of the first hop told as something else."""
    def change(data):
        story_of(data)["hops"][0]["ran_ns"] -= ns
        if part == "rest":
            story_of(data)["rest_ns"] += ns
        else:
            story_of(data)["hops"][0][part] += ns
    return change


def two_rounds_missing(data):
    of = data["waits"][1]["wakers"][0]
    of["blocked_ns"] -= 28 * MS
    story = story_of(data)
    story["blocked_ns"], story["count"], story["rest_ns"] = of["blocked_ns"], ROUNDS - 2, story["rest_ns"] - 20 * MS
    story["hops"][0]["ran_ns"] -= 8 * MS


def of_waker(field, value):
    return lambda data: data["waits"][1]["wakers"][0].update({field: value})


def hidden_sleeps(lines):
    """The waker slept between its nap and its waking, at no event."""
    for of in lines[0]["events"][2::2]:
        of[3][2] += 1


def roused_late(lines, data):
    """After its nap the waker got a CPU late, which the kernel's count does not say."""
    for of in lines[0]["events"][1::2]:
        of[4][0] += 2 * MS
    moved("ready_ns", 2 * MS * ROUNDS)(data)


WRONG = [
    ("a hop too many", another_hop), ("a hop too few", no_hop), ("3 ms of running as waiting for a CPU", moved("ready_ns", 3 * MS)),
    ("3 ms of running as earlier", moved("earlier_ns", 3 * MS)), ("3 ms of running as rest", moved("rest", 3 * MS)),
    ("two sleeps of twenty are missing", two_rounds_missing), ("another waker's name", of_waker("comm", "other")),
    ("another waker", of_waker("tid", 13)), ("an interrupt for a thread", of_waker("irq", "timer")),
    ("another function wakes", of_waker("user", frames("main", "take"))), ("no user stack", of_waker("user", [])),
    ("another place in the kernel", of_waker("kernel", frames("futex_wake", "try_to_wake_up"))),
]


# Thread 5 sleeps; a request is done on CPU 1, which wakes 7, which has a CPU 30 us later, runs 40 and wakes 5.  Times in us.
TRACE = """
            disk-5       [000] d..2.   100.000010: sched_switch: prev_comm=disk prev_pid=5 prev_prio=120 prev_state=D ==> next_comm=x y next_pid=9 next_prio=120
     kworker/u8:3-7      [001] d..2.   100.000020: sched_switch: prev_comm=kworker/u8:3 prev_pid=7 prev_prio=120 prev_state=I ==> next_comm=swapper/1 next_pid=0 next_prio=120
          <idle>-0       [001] d.s2.   100.005000: block_rq_complete: 254,0 WS () 1000 + 32 none,0,0 [0]
          <idle>-0       [001] d.s3.   100.005004: sched_waking: comm=kworker/u8:3 pid=7 prio=120 target_cpu=001
          <idle>-0       [001] d..2.   100.005034: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=kworker/u8:3 next_pid=7 next_prio=120
     kworker/u8:3-7      [001] d..3.   100.005074: sched_waking: comm=disk pid=5 prio=120 target_cpu=000
"""


def told_by_the_kernel(text):
    witness = ktrace.Witness(text)
    return [witness.story(sleep) for sleep in witness.between(5, 0, 200 * 10**9)]


def at_us(*times_us):
    return stories.Span(*(us * 1000 for us in times_us))


def right_of_the_kernel():
    parts = stories.new_parts()
    parts[(7,)].add(awake=at_us(80, 80), ready=at_us(30, 40))
    parts[7, stories.DISK].add(rest=at_us(4980, 4984))
    return [stories.Story(at_us(5064, 5064), stories.once_each(parts))]


def ended_by(story):
    return max(story.parts, key=len)[-1]


def main():
    by_timer = TRACE.replace("block_rq_complete", "block_other")
    late = TRACE.replace("100.005000: block", "100.004000: block")
    end = "          <idle>-0       [001] d.s2.   100.005002: softirq_exit: vec=4 [action=BLOCK]\n"
    after = TRACE.replace("          <idle>-0       [001] d.s3.", end + "          <idle>-0       [001] d.s3.")
    points = [("the kernel's tracer", told_by_the_kernel(TRACE) == right_of_the_kernel()),
              ("without a request done it is no disk", ended_by(told_by_the_kernel(by_timer)[0]) == stories.TIMER),
              ("a disk that wakes a millisecond later", ended_by(told_by_the_kernel(late)[0]) == stories.DISK),
              ("after that interrupt it is no disk", ended_by(told_by_the_kernel(after)[0]) == stories.TIMER)]
    points += [("right stories pass", problems(right(), truth()) == [])]
    for name, change in WRONG:
        data = copy.deepcopy(right())
        change(data)
        points.append((f"told: {name}", problems(data, truth()) != []))
    lines, data = truth(), right()
    roused_late(lines, data)
    points.append(("late on a CPU", problems(data, lines) == []))
    moved("ready_ns", MS // 2 * ROUNDS)(data)
    points.append(("told: later than it was", problems(data, lines) != []))
    lines = truth()
    hidden_sleeps(lines)
    points.append(("what the program cannot know is no truth", problems(right(), lines) == ["not clear"]))
    print(f"1..{len(points)}")
    for number, (name, good) in enumerate(points, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return 0 if all(good for _, good in points) else 1


if __name__ == "__main__":
    sys.exit(main())
