# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What other tools record of a running program, read by us."""

import json
import os
import shutil
import subprocess

from lib import Program, Skip, case


def waits_of(env, path):
    done = subprocess.run([env.offcpu, "export", "-f", "json", path], check=True, stdout=subprocess.PIPE, timeout=120)
    return [wait for wait in json.loads(done.stdout)["waits"] if wait["comm"] == "windows"]


@case
def perf_data_has_its_stacks(env):
    """By `perf script` as we start it, and as its user would: the same waits with the same stacks."""
    if not shutil.which("perf"):
        raise Skip("perf is not installed")
    program = Program(env, "windows")
    data, text = os.path.join(env.directory, "perf.data"), os.path.join(env.directory, "perf.txt")
    done = subprocess.run(["perf", "record", "-q", "-o", data, "-e", "sched:sched_switch", "-a", "-g", "--", "sleep", "1"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, check=False)
    program.finish()
    if done.returncode:
        raise Skip(f"perf record: {done.stderr.decode().strip()[-200:]}")
    with open(text, "wb") as file:
        subprocess.run(["perf", "script", "-i", data, "--no-inline"], stdout=file, stderr=subprocess.DEVNULL, timeout=120, check=True)
    ours, theirs = waits_of(env, data), waits_of(env, text)
    env.check.that(ours, "the program's waits are there")
    env.check.equal(sum(w["off_cpu_ns"] for w in ours), sum(w["off_cpu_ns"] for w in theirs), "time off CPU")
    env.check.equal(len([w for w in ours if w["kernel"] or w["user"]]), len([w for w in theirs if w["kernel"] or w["user"]]), "rows with a stack")
    env.check.that(any(frame["name"] == "schedule" for w in ours for frame in w["kernel"] + w["user"]), "the scheduler's entrance is in a stack")


def stacks_of(env, path, *options):
    """Each thread's stacks with their nanoseconds, as sorted lines.  Whose stack was lost is nobody's frame."""
    words = [env.offcpu, "export", "-f", "folded", "--unit", "ns", "--by", "thread", *options, path]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
    return sorted(line for line in done.stdout.decode().splitlines() if "[stack lost]" not in line)


@case
def exports_are_read_back(env):
    """Of the whole machine, with objects and languages: each stack has its time, and its kernel's frames are the kernel's."""
    path, back = os.path.join(env.directory, "all.offcpu"), os.path.join(env.directory, "back")
    subprocess.run([env.offcpu, "record", "-a", "-d", "1", "-o", path], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   timeout=120)
    for part in ([], ["--from", "0.3", "--to", "0.8"], ["--idle", "drop"], ["--idle", "fold", "--user-threads"]):
        want = stacks_of(env, path, *part)
        env.check.that(want, f"there is something with {part}")
        for name in ("pprof", "speedscope", "perf-script"):
            with open(back, "wb") as file:
                subprocess.run([env.offcpu, "export", "-f", name, *part, path], check=True, stdout=file, stderr=subprocess.DEVNULL, timeout=120)
            different = set(want) ^ set(stacks_of(env, back))
            env.check.equal(sorted(different)[:2], [], f"{name} with {part}")
