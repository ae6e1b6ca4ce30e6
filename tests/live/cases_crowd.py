# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Threads in one another's way: who held the CPU meanwhile, and events that wake many threads at once."""

import json
import os
import subprocess

from check import names
from lib import Program, Recorder, Skip, case, exact, nightly

MS = 1_000_000


def record(env, option, name, *args, cgroup=None):
    """The program under a recording of its processes with that option: the report and its truth."""
    program = Program(env, name, *args, cgroup=cgroup)
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), option, *exact(option))
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    return report, program.truth()


# -- who held the CPU ----------------------------------------------------------

def check_adds_up(env, report):
    """Of each thread: what is blamed on somebody and what is unknown is what it waited, to the nanosecond."""
    accounts = {}
    for thread in report.threads:
        key = thread["pid"], thread["tid"], thread["comm"]
        runnable_ns, preempted_ns = accounts.get(key, (0, 0))
        accounts[key] = runnable_ns + thread["runnable_ns"], preempted_ns + thread["preempted_ns"]
    blamed = {}
    for thread in report.data["runq_blame"]:
        key = thread["pid"], thread["tid"], thread["comm"]
        runnable_ns, preempted_ns = blamed.get(key, (0, 0))
        blamed[key] = (runnable_ns + sum(held["runnable_ns"] for held in thread["held_by"]),
                       preempted_ns + sum(held["preempted_ns"] for held in thread["held_by"]))
    for key, waited in accounts.items():
        if waited != (0, 0):
            env.check.that(blamed.get(key) == waited, f"{key} waited {waited} ns for a CPU, told are {blamed.get(key)}")


def held_by(report, tid):
    """{name or kind of the culprit: ns} of one thread."""
    held = {}
    for thread in report.data["runq_blame"]:
        if thread["tid"] != tid:
            continue
        for culprit in thread["held_by"]:
            name = culprit.get("comm", "[" + culprit["kind"] + "]")
            held[name] = held.get(name, 0) + culprit["runnable_ns"] + culprit["preempted_ns"]
    return held


def check_held(env, line, held):
    """
    All that a thread waited is told of, as much as the scheduler counted; nearly nobody is unknown, unless others
    switch so often that the last stretches of a CPU are but few milliseconds (docs/mechanisms.md).
    """
    told_ns, name = sum(held.values()), line["name"]
    waited_ns = line["delay_ns"]
    if waited_ns >= 0:
        env.check.that(abs(told_ns - waited_ns) < 0.02 * waited_ns + 15 * MS,
                       f"{name} waited {waited_ns} ns for its CPU, told are {told_ns}: {held}")
    unknown_ns = held.get("[unknown]", 0)
    env.check.that(unknown_ns < 0.01 * told_ns, f"of {name}'s waiting {unknown_ns} ns are unknown: {held}")


@case
def blame_of_hogs(env):
    """
    A hog waits just as long as the others run: their CPU time is what they are blamed for.  Somebody else
    who runs on that CPU keeps the hogs waiting too; so what he held while the victim waited the hogs say as well.
    """
    report, truth = record(env, "--runq-blame", "runq", 2, 1500)
    env.tolerate_unseen()
    check_adds_up(env, report)
    lines = {line["name"]: line for line in truth}
    held_of = {name: held_by(report, line["tid"]) for name, line in lines.items()}
    for sufferer in ("hog-1", "hog-2"):
        held = held_of[sufferer]
        for name, line in lines.items():
            if name == sufferer:
                continue
            slack_ns = 0.03 * line["cpu_ns"] + 15 * MS
            env.check.that(abs(held.get(name, 0) - line["cpu_ns"]) < slack_ns,
                           f"{sufferer} waited {held.get(name, 0)} ns for {name}, which ran {line['cpu_ns']} ns")
        check_held(env, lines[sufferer], held)
        env.check.that(held.get("[idle]", 0) < 5 * MS, f"{sufferer} waited beside an idle CPU: {held}")
        for name, ns in held_of["victim"].items():
            if name not in lines and name != "[unknown]":
                env.check.that(ns <= 1.03 * held.get(name, 0) + 15 * MS,
                               f"{name} held the victim's CPU for {ns} ns, but {sufferer}'s for {held.get(name, 0)}")
    check_held(env, lines["victim"], held_of["victim"])
    env.check.that(held_of["victim"].get("hog-1", 0) > 0 and held_of["victim"].get("hog-2", 0) > 0,
                   f"no hog held the victim's CPU: {held_of['victim']}")


@case
@nightly
def blame_under_a_bpf_scheduler(env):
    """Where a BPF scheduler has the CPUs nobody is blamed for who is in its queue, and the times are what they were."""
    program = os.path.join(env.programs, "bpf_scheduler")
    scheduler = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if scheduler.stdout.readline() != "ready\n":
            raise Skip("this kernel has no sched_ext")
        report, truth = record(env, "--runq-blame", "runq", 2, 1500)
    finally:
        scheduler.stdin.close()
        scheduler.wait()
    env.tolerate_unseen()
    check_adds_up(env, report)
    env.check.that(report.data["host"].get("scheduler") == "one_queue", f"its name is not told: {report.data['host']}")
    for line in truth:
        held = held_by(report, line["tid"])
        env.check.that(set(held) <= {"[unknown]", "[throttled]"}, f"{line['name']} was held up by {held}")
    env.check.that(sum(held_by(report, truth[0]["tid"]).values()) > 100 * MS, "hogs did not wait for one another")


@case
def blame_names_one_thread(env):
    """A culprit that is alone under its name has its thread id."""
    report, truth = record(env, "--runq-blame", "runq", 2, 300)
    env.tolerate_unseen()
    tids = {line["name"]: line["tid"] for line in truth}
    for thread in report.data["runq_blame"]:
        for culprit in thread["held_by"]:
            if culprit.get("comm") in tids:
                env.check.that(culprit["tid"] == tids[culprit["comm"]], f"{culprit} is thread {tids[culprit['comm']]}")


def lines_of_events(env, program, *options):
    """What `offcpu events --json` prints of the program's waits."""
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), "--json", *options, verb="events")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    program.finish()
    with open(recorder.out, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def told_waits(env, name, *args, options=()):
    """What `offcpu events --runq-blame` tells of the program's waits, each checked to add up; and its truth."""
    program = Program(env, name, *args)
    waits = lines_of_events(env, program, "--runq-blame", *options)
    env.check.that(waits, "no wait was told")
    for wait in waits:
        told_ns = sum(held["time_ns"] for held in wait["held_by"])
        env.check.that(told_ns == wait["runnable_ns"] + wait["preempted_ns"], f"does not add up: {wait}")
        # beside a switch that was not seen, which a guarded process is sure to hide some of
        env.unseen |= any(held["kind"] == "unknown" for held in wait["held_by"])
    return waits, program.truth()


def held_of_each(waits, tid):
    """{name or kind of the culprit: ns} of one thread's waits."""
    held = {}
    for wait in waits:
        for culprit in wait["held_by"] if wait["tid"] == tid else ():
            name = culprit.get("comm", "[" + culprit["kind"] + "]")
            held[name] = held.get(name, 0) + culprit["time_ns"]
    return held


@case
def events_tell_who_held_the_cpu(env):
    """Wait by wait: together the hogs' waits are as long as the others ran, and a short wait has one culprit."""
    waits, truth = told_waits(env, "runq", 2, 1000)
    lines = {line["name"]: line for line in truth}
    for sufferer in ("hog-1", "hog-2"):
        held = held_of_each(waits, lines[sufferer]["tid"])
        for name, line in lines.items():
            if name != sufferer:
                slack_ns = 0.03 * line["cpu_ns"] + 15 * MS
                env.check.that(abs(held.get(name, 0) - line["cpu_ns"]) < slack_ns,
                               f"{sufferer}'s waits were {held.get(name, 0)} ns for {name}, which ran {line['cpu_ns']} ns")
        env.check.that(held.get("[unknown]", 0) < 0.01 * sum(held.values()), f"unknown to {sufferer}: {held}")
    tids = {line["name"]: line["tid"] for line in truth}
    for culprit in (culprit for wait in waits for culprit in wait["held_by"] if culprit.get("comm") in tids):
        env.check.that(culprit["tid"] == tids[culprit["comm"]], f"{culprit} is thread {tids[culprit['comm']]}")


@case
def events_of_long_delays_alone(env):
    """--runq: -m and -M are of the time without a CPU.  The sleeper sleeps longer than -m, and is told for its delay."""
    waits, _ = told_waits(env, "runq", 2, 600, options=("--runq", "-m", "1ms", "-M", "1s"))
    for wait in waits:
        delay_ns = wait["runnable_ns"] + wait["preempted_ns"]
        env.check.that(MS <= delay_ns <= 1000 * MS, f"a delay of {delay_ns} ns: {wait}")
    told = lines_of_events(env, Program(env, "nanosleep", 30, 20000), "--runq", "-m", "5ms")
    env.check.that(all(wait["runnable_ns"] + wait["preempted_ns"] >= 5 * MS for wait in told), f"short delays: {told[:3]}")


@case
def events_tell_of_queues_of_all_cpus(env):
    """Threads that are moved from queue to queue: what they waited in each is told, and they held the CPUs themselves."""
    waits, truth = told_waits(env, "hog", 3 * os.cpu_count() + 1, 500)
    all_ns, hogs_ns, unknown_ns = 0, 0, 0
    tids = {line["tid"] for line in truth}
    for held in (held for wait in waits if wait["tid"] in tids for held in wait["held_by"]):
        all_ns += held["time_ns"]
        hogs_ns += held["time_ns"] if held.get("comm") == "hog" else 0
        unknown_ns += held["time_ns"] if held["kind"] == "unknown" else 0
    env.check.that(unknown_ns <= 0.01 * all_ns, f"of {all_ns} ns {unknown_ns} are unknown")
    ran_ns = sum(line["cpu_ns"] for line in truth)
    want_ns = sum(line["wall_ns"] for line in truth) - ran_ns
    env.check.that(abs(all_ns - want_ns) < 0.05 * want_ns + 20 * MS, f"told are {all_ns} ns of waiting, of {want_ns}")
    # each ran while all others of its CPU waited; what else ran on this machine is not ours to know
    env.check.that(hogs_ns > 0.5 * all_ns, f"the hogs held the CPU for only {hogs_ns} of {all_ns} ns")


def limited_cgroup(env, percent):
    """A cgroup whose threads together get so much of one CPU; version 2 or 1."""
    root = "/sys/fs/cgroup"
    if os.path.exists(f"{root}/cgroup.controllers"):
        path = env.cgroup("offcpu-live-throttled")
        if not os.path.exists(f"{path}/cpu.max"):
            raise Skip("the cpu controller is not enabled for cgroups")
        with open(f"{path}/cpu.max", "w", encoding="ascii") as f:
            f.write(f"{percent * 1000} 100000")
        return path
    path = f"{root}/cpu/offcpu-live-throttled"
    try:
        os.makedirs(path, exist_ok=True)
        env.cgroups.append(path)
        with open(f"{path}/cpu.cfs_quota_us", "w", encoding="ascii") as f:
            f.write(str(percent * 1000))
    except OSError as error:
        raise Skip(f"{path}: {error.strerror}") from error
    return path


def throttled_ns(path):
    """How long the group has been throttled, by its own count."""
    with open(f"{path}/cpu.stat", encoding="ascii") as f:
        stat = dict(line.split() for line in f)
    return int(stat["throttled_usec"]) * 1000 if "throttled_usec" in stat else int(stat["throttled_time"])


@case
def blame_of_throttling(env):
    """Nobody is blamed for what a cgroup's limit takes: as much as the group itself counts."""
    path = limited_cgroup(env, 20)
    before_ns = throttled_ns(path)
    report, truth = record(env, "--runq-blame", "runq", 1, 1500, cgroup=path)
    want_ns = throttled_ns(path) - before_ns
    env.tolerate_unseen()
    check_adds_up(env, report)
    hog = truth[0]
    held = held_by(report, hog["tid"])
    waited_ns = hog["wall_ns"] - hog["cpu_ns"]
    env.check.that(waited_ns > 0.6 * hog["wall_ns"], f"the hog was not throttled: it ran {hog['cpu_ns']} ns")
    env.check.that(abs(held.get("[throttled]", 0) - want_ns) <= 0.03 * want_ns + 15 * MS,
                   f"the group was throttled for {want_ns} ns: {held}")


@case
def throttled_is_known_by_default(env):
    """Without --runq-blame, too: so much of the hog's preempted time as its group counts, and its waits say so."""
    path = limited_cgroup(env, 20)
    before_ns = throttled_ns(path)
    report, truth = record(env, "--exact", "runq", 1, 1500, cgroup=path)
    want_ns = throttled_ns(path) - before_ns
    env.tolerate_unseen()
    hog = truth[0]
    threads = [thread for thread in report.data["threads"] if thread["tid"] == hog["tid"]]
    got_ns = sum(thread["throttled_ns"] for thread in threads)
    delay_ns = sum(thread["preempted_ns"] + thread["runnable_ns"] for thread in threads)
    env.check.that(abs(got_ns - want_ns) <= 0.03 * want_ns + 15 * MS,
                   f"the group was throttled for {want_ns} ns, its thread for {got_ns}")
    env.check.that(got_ns <= delay_ns, f"throttled {got_ns} of {delay_ns} ns")
    waits_ns = sum(wait["off_cpu_ns"] for wait in report.data["waits"] if wait["tid"] == hog["tid"] and wait["throttled"])
    env.check.that(0.95 * got_ns - 15 * MS <= waits_ns <= delay_ns, f"waits of {waits_ns} ns are called throttled, of {got_ns}")
    others_ns = sum(thread["throttled_ns"] for thread in report.data["threads"] if thread not in threads)
    env.check.that(others_ns <= 0.02 * got_ns, f"threads outside the group are throttled for {others_ns} ns")


# -- storms --------------------------------------------------------------------

IN_VAIN = ("in_vain",)


def storms_of(report, *kinds):
    return [storm for storm in report.data["storms"] if storm["kind"] in kinds]


def check_storm(env, report, line, kinds, verdicts):
    """All events of the program woke all its threads, as one row; returns that."""
    found = storms_of(report, *kinds)
    env.check.that(len(found) == 1, f"not one storm of {kinds}: {[(s['kind'], s['woken']) for s in report.data['storms']]}")
    if not found:
        return None
    storm = found[0]
    wanted = line["events"], line["threads"] * line["events"], line["threads"]
    got = storm["events"], storm["woken"], storm["most"]
    env.check.that(got == wanted, f"{got} events, woken threads and at most, not {wanted}")
    env.check.that(storm["ended"] >= 0.98 * storm["woken"], f"only {storm['ended']} of {storm['woken']} were followed")
    again = f"{storm['again']} of {storm['ended']} slept again at once, {line['slow']} took longer by their own clocks"
    # A thread's clock leaves out interrupts and what a virtual machine's host took (rq_clock_task()), which for the
    # tracer is time on the CPU: 3 to 9% of 100 us rounds on a busy host.
    env.check.that(storm["again"] >= storm["ended"] - line["slow"] - 0.15 * storm["woken"], again)
    # What they did costs more on a busy host: then they are not what the verdict is about.
    if verdicts != IN_VAIN or line["slow"] < 0.4 * storm["woken"]:
        env.check.that(storm["verdict"] in verdicts, f"{storm['verdict']}, not {verdicts}: {again}")
    return storm


def check_stacks(env, storm, waker_frame, woken_frame):
    env.check.that(waker_frame in names(storm["waker"]["user"]), f"{waker_frame} is not in {names(storm['waker']['user'])}")
    places = storm["woken_waits"]
    told = sum(place["count"] for place in places if woken_frame in names(place["user"]))
    env.check.that(told >= 0.95 * storm["woken"], f"{told} of {storm['woken']} woken are told at {woken_frame}")


@case
def storm_of_a_broadcast(env):
    """A broadcast to 200 threads that all need the mutex, which the caller keeps."""
    report, truth = record(env, "--storms", "herd", "cond", 200, 5)
    env.tolerate_unseen()
    storm = check_storm(env, report, truth[0], ("condition_broadcast",), IN_VAIN)
    if storm:
        check_stacks(env, storm, "broadcast_site", "wait_for_event")
        env.check.that(not storm["one_by_one"], "a broadcast is one call")
        env.check.that(storm["calls"] == storm["events"], f"{storm['calls']} calls for {storm['events']} broadcasts")


@case
def broadcast_with_work(env):
    """The same event, but each of the woken has a millisecond's work: no storm."""
    report, truth = record(env, "--storms", "herd", "work", 60, 5)
    env.tolerate_unseen()
    storm = check_storm(env, report, truth[0], ("condition_broadcast",), ("work",))
    if storm:
        env.check.that(storm["cpu_ns"] > 0.9 * MS * storm["ended"], f"all worked 1 ms, {storm['cpu_ns']} ns are told")


def storm_of_connections(env, way, kind):
    """60 threads wait for one listening socket, and each of 10 connections wakes all of them."""
    report, truth = record(env, "--storms", "herd", way, 60, 10)
    env.tolerate_unseen()
    storm = check_storm(env, report, truth[0], (kind,), IN_VAIN)
    if storm:
        check_stacks(env, storm, "connect_site", f"{way}_main")


@case
def storm_of_epoll(env):
    storm_of_connections(env, "epoll", "epoll_accept_herd")


@case
def no_storm_with_epollexclusive(env):
    report, truth = record(env, "--storms", "herd", "exclusive", 60, 10)
    env.tolerate_unseen()
    env.check.that(truth[0]["served"] == 10, f"{truth[0]} connections were served")
    found = [storm for storm in report.data["storms"] if storm["kind"] != "signal"]
    env.check.that(not found, f"a storm where each event wakes one thread: {[(s['kind'], s['woken']) for s in found]}")


@case
def storm_of_pollers_of_a_listening_socket(env):
    storm_of_connections(env, "poll", "accept_herd")


@case
def storms_beside_all_wakers(env):
    """With --wakers each waking has its waker anyway: the same storms."""
    program = Program(env, "herd", "epoll", 40, 5)
    recorder = Recorder(env, "-p", str(program.pid), "--storms", "--wakers", "--runq-blame")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    env.tolerate_unseen()
    check_adds_up(env, report)
    storm = check_storm(env, report, program.truth()[0], ("epoll_accept_herd",), IN_VAIN)
    if storm:
        most = max(place["threads"] for place in storm["woken_waits"])
        env.check.that(most <= 40, f"{most} threads of 40 are told to have slept in one place")
