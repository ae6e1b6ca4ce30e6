# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""offcpu sample: looking now and then, by BPF and by /proc alone, against a traced recording of the same load."""

import collections
import json
import math
import os
import shutil
import subprocess
import time

from check import names
from lib import Program, Recorder, Skip, TooLate, case, wanted_ns

ERRORS = 4  # standard errors that an estimate may be off
SECONDS = 4
MAX_CROWDED = 0.5  # of the time
SITES = ("long_site", "short_site", "held_site", "convoy_site")
NOBODY = "65534"
WORKS = ("work_three", "work_one", "work_kernel")


def shares(report):
    """{(thread name, site or state): (share of that thread's time, its standard error)} of the threads that stay."""
    observed = collections.Counter()
    for thread in report.threads:
        observed[thread["comm"]] += thread["observed_ns"]
    sums = collections.defaultdict(lambda: [0, 0])
    for wait in report.waits:
        stack = names(wait["user"])
        site = next((name for name in SITES if name in stack), wait["state"])
        if wait["state"] == "R":
            continue
        sums[wait["comm"], site][0] += wait["off_cpu_ns"]
        sums[wait["comm"], site][1] += wait["off_cpu_se_ns"] ** 2
    return {key: (ns / observed[key[0]], variance ** 0.5 / observed[key[0]]) for key, (ns, variance) in sums.items()}


def look(env, program, *options, before=(), out=None):
    """
    Looks for some seconds, with a tracer beside it: (looked, traced, what the first one said).  Where others want all CPUs who
    looks gets one just as they are handed on, and so sees more threads that want one, too, than at any other moment.
    """
    tracer = Recorder(env, "-p", program.pid, "--exact")
    tracer.wait_attached()
    out = out or env.temporary("looked.offcpu")
    line = [*before, env.offcpu, "sample", "-p", str(program.pid), "-F", "99", "-d", str(SECONDS), "-o", out, *options]
    begun_ns, wanted = time.monotonic_ns(), wanted_ns()
    result = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    program.crowded = (wanted_ns() - wanted) / (time.monotonic_ns() - begun_ns)
    tracer.stop()
    env.check.that(result.returncode == 0, f"sample exited with {result.returncode}: {result.stderr}")
    return env.report(out), tracer.report(), result.stderr


def compare(env, looked, traced, crowded):
    """
    Shares of the whole thread's time, by where it waits, within the errors that are stated and what the clocks differ by.  A wait that no
    look met has no error stated: that of a share by so many looks stands for it.
    """
    seen, truth = shares(looked), shares(traced)
    rounds = looked.coverage["looks"]["rounds"]
    compared = 0
    for (comm, site), (share, _) in truth.items():
        if comm not in ("sleeper", "convoy", "spinner") or share < 0.05:
            continue
        estimate, error = seen.get((comm, site), (0, math.sqrt(share * (1 - share) / rounds)))
        said = f"{comm} in {site}: {estimate:.3f} of its time seen, {share:.3f} traced, +- {error:.3f}"
        if abs(estimate - share) > ERRORS * error + 0.04 and crowded > MAX_CROWDED:
            raise TooLate(f"{said}; for {crowded:.0%} of the time a CPU was wanted in vain")
        env.check.that(abs(estimate - share) <= ERRORS * error + 0.04, said)
        compared += 1
    env.check.that(compared >= 5, f"only {compared} places to compare: {sorted(truth)}")


def check_looked(env, report):
    """It says that it is sampled, adds up, and makes up no numbers."""
    env.check.that(report.coverage.get("looks"), "the recording does not say that it was sampled")
    for thread in report.threads:
        env.check.that(thread["residual_ns"] == 0, f"{thread['comm']}: {thread['residual_ns']} ns are in no class")
    for wait in report.waits:
        env.check.that(wait["count"] is None and "max_ns" not in wait, f"a number of waits was made up: {wait['count']}")
    off_cpu = sum(thread["blocked_ns"] + thread["runnable_ns"] for thread in report.threads)
    listed = sum(wait["off_cpu_ns"] for wait in report.waits)
    env.check.that(listed == off_cpu, f"{listed} ns listed of {off_cpu}")


@case
def looked_at_by_bpf(env):
    program = Program(env, "looked")
    looked, traced, _ = look(env, program)
    check_looked(env, looked)
    compare(env, looked, traced, program.crowded)
    born = sum(thread["comm"] == "bearer" for thread in looked.threads) - 1
    rounds = looked.coverage["looks"]["rounds"]     # one of them is there at nearly every look, another one each time that 60 ms went by
    env.check.that(born > min(10, rounds / 3), f"of the short-lived threads {born} were seen in {rounds} looks")
    program.finish()


@case
def looked_at_by_proc(env):
    program = Program(env, "looked")
    looked, traced, _ = look(env, program, "--proc")
    check_looked(env, looked)
    compare(env, looked, traced, program.crowded)
    program.finish()


@case
def looked_at_as_nobody(env):
    """Without any right: one's own threads are seen, with what is lacking said; others' are not."""
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not here")
    nobody = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps", "-all", "--bounding-set", "-all"]
    directory = env.temporary("own")
    os.mkdir(directory)
    for path in (env.directory, directory):
        os.chmod(path, 0o777)
    own = shutil.copy(os.path.join(env.programs, "looked"), directory)
    with subprocess.Popen([*nobody, own, os.path.join(directory, "truth")], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        env.running.append(process)
        process.stdout.readline()
        program = type("", (), {"pid": process.pid})
        looked, traced, said = look(env, program, "--proc", before=nobody, out=os.path.join(directory, "looked.offcpu"))
        process.stdin.close()
        process.wait(20)
    check_looked(env, looked)
    compare(env, looked, traced, program.crowded)
    env.check.that("not_permitted_kernel" in said, f"it does not say that kernel stacks are lacking: {said}")
    env.check.that("not_permitted_user" not in said, f"its own threads could not be read: {said}")


def on_cpu_shares_of(env, path, pid):
    """{function: share of the process's on-CPU time}, and the samples behind that; each thread's rows are its account."""
    done = subprocess.run([env.offcpu, "report", "--json", path], capture_output=True, check=True, timeout=60)
    report = json.loads(done.stdout)
    sums, samples, accounts = collections.Counter(), 0, collections.Counter()
    for row in report["on_cpu"]["stacks"]:
        accounts[row["tid"]] += row["on_cpu_ns"]
        if row["pid"] != pid:
            continue
        samples += row["samples"]
        for name in set(names(row["user"])) & set(WORKS):
            sums[name] += row["on_cpu_ns"]
    threads = collections.Counter()
    for thread in report["threads"]:
        threads[thread["tid"]] += thread["on_cpu_ns"]
    return {name: sums[name] / max(threads.total(), 1) for name in WORKS}, samples, accounts == +threads


@case
def looked_at_running(env):
    """What running threads do has its stacks, too: the functions' shares are those of a traced recording with samples, and sums the account."""
    truth = env.temporary("shares.json")
    with subprocess.Popen([os.path.join(env.programs, "shares"), truth, "100000"], stdin=subprocess.DEVNULL) as process:
        env.running.append(process)
        program = type("", (), {"pid": process.pid})
        tracer = Recorder(env, "-p", process.pid, "--exact", "--cpu", "-F", "199")
        tracer.wait_attached()
        out = env.temporary("running.offcpu")
        line = [env.offcpu, "sample", "-p", str(program.pid), "-F", "99", "-d", str(SECONDS), "-o", out]
        result = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        tracer.stop()
        process.kill()
        process.wait(20)
    env.check.equal(result.returncode, 0, result.stderr)
    looked, seen, adds_up = on_cpu_shares_of(env, out, process.pid)
    traced, traced_cnt, traced_adds_up = on_cpu_shares_of(env, tracer.out, process.pid)
    env.check.that(adds_up and traced_adds_up, "the rows on CPU are not the threads' accounts")
    if not env.check.that(seen > 30 and traced_cnt > 60, f"only {seen} samples, {traced_cnt} traced"):
        return
    for name in WORKS:
        share = traced[name]
        error = math.sqrt(max(share * (1 - share), 0.01) * (1 / seen + 1 / traced_cnt))
        env.check.that(abs(looked[name] - share) <= ERRORS * error, f"{name}: {looked[name]:.3f} by looks, {share:.3f} traced, +- {error:.3f}")
        env.check.that(share > 0.05, f"{name}: only {share:.3f} of the time")
    env.notes.append(f"{seen} samples beside {traced_cnt}: " + ", ".join(f"{name} {looked[name]:.3f} {traced[name]:.3f}" for name in WORKS))


@case
def looked_at_by_cgroup(env):
    """--cgroup: who is in the group, or in one below it, by its path and by its name, by BPF and by /proc alone; nobody else is looked at."""
    outer = env.cgroup(f"offcpu-live-{os.getpid()}")
    inner = os.path.join(outer, f"inner-{os.getpid()}")
    os.mkdir(inner)
    env.cgroups.append(inner)
    pids = [Program(env, "nanosleep", 60_000, 10000, cgroup=group).pid for group in (None, outer, inner)]
    seen = {}
    for chosen, group in ((1, outer), (2, os.path.basename(inner))):
        for way in ((), ("--proc",)):
            out = env.temporary("group.offcpu")
            line = [env.offcpu, "sample", "--cgroup", group, "-d", "0.3", "-o", out, *way]
            result = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            env.check.equal(result.returncode, 0, result.stderr)
            seen[chosen, way] = {thread["pid"] for thread in env.report(out).threads} == set(pids[chosen:])
    env.check.equal(set(seen.values()), {True}, f"looks at just the processes of the group: {seen}")
