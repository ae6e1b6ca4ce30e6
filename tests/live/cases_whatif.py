# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a change would gain: predicted from a recording, and then done (docs/whatif.md)."""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from lib import Broken, case, nightly

SOURCES = Path(__file__).parent / "programs"
PORT = 17411
RECORD_S, RUN_S = 5, 2
NEAR, ENOUGH = 0.1, 9    # in nine of ten: within 10%, and within the interval


def work(**settings):
    return ["whatif", "work", *(f"{key}={value}" for key, value in settings.items())]


def serve(mode="serve", **settings):
    return ["whatif", mode, f"port={PORT}", "seconds=60", *(f"{key}={value}" for key, value in settings.items())]


PEER = f"peer=127.0.0.1:{PORT}"
PIPELINE = ["whatif", "pipeline", "cpu=1000", f"port={PORT}", "wait=4800", "hold=200"]
PAGES = ["python", f"port={PORT}", "calls=20"]
NAPS = work(threads=3, cpu=2500, nap=10000, port=PORT)
QUEUE = work(threads=6, nap=10000, cpu=500, port=PORT)
CLIENTS = work(threads=4, cpu=2000, port=PORT)
LOCK = "lock=inventory_lock hold*0.5"
# name: the program and its server, both changed, the change, and what is said of the program
PROGRAMS = {
    "lock": (work(threads=8, wait=15000, cpu=1000, hold=3000), None, work(threads=8, wait=15000, cpu=1000, hold=1500), None, LOCK, "--pauses"),
    "lock and CPU": (work(threads=6, cpu=4000, hold=1500), None, work(threads=6, cpu=4000, hold=750), None, LOCK),
    "peer": (CLIENTS, serve(service=10000), CLIENTS, serve(service=5000), f"{PEER} time*0.5"),
    "peer that queues": (QUEUE, serve("serve-queue", burn=2000), QUEUE, serve("serve-queue", burn=1000), f"{PEER} time*0.5", "--pauses"),
    "fsync": (["go", "1", "5000"], None, ["go", "0", "5000"], None, "reason=disk.sync time*0"),
    "one CPU": (["taskset", "-c", "0", *work(threads=5, cpu=2000)], None, work(threads=5, cpu=2000), None, "cpus+1"),
    "pipeline": (PIPELINE, serve(service=8000), PIPELINE, serve(service=4000), f"{PEER} time*0.5", "--pauses"),
    "N+1": (PAGES, serve(service=1000), PAGES, serve(service=300), f"{PEER} time*0.3"),
    "sleep between": (NAPS, serve(service=8000), NAPS, serve(service=2400), f"{PEER} time*0.3", "--pauses"),
    "two locks": (work(threads=8, wait=10000, hold=1200, hold2=2000), None, work(threads=8, wait=10000, hold=1200, hold2=1000), None,
                  "lock=ledger_lock hold*0.5", "--pauses"),
}


def hurry():
    """Other work on the machine does not count: it is no part of what was recorded, and differs from run to run."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(10))


def command(env, words, seconds):
    """The program's command line."""
    if words[0] == "python":
        return [sys.executable, str(SOURCES / "whatif_client.py"), str(PORT), "20", str(seconds)]
    if words[0] == "go":
        return [os.path.join(env.directory, "whatif_log"), *words[1:], str(seconds)]
    words = [os.path.join(env.programs, word) if word == "whatif" else word for word in words]
    return words if any(word.startswith("seconds=") for word in words) else [*words, f"seconds={seconds}"]


def start(env, words, seconds, is_printing=True):
    process = subprocess.Popen(command(env, words, seconds), stdout=subprocess.PIPE if is_printing else subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, preexec_fn=hurry, cwd=env.directory)
    env.running.append(process)
    return process


def begin(env, words, server, seconds):
    """Both processes; the server is None where there is none."""
    serving = start(env, server, 0, False) if server else None
    time.sleep(0.1)
    process = start(env, words, seconds)
    time.sleep(0.4)
    return process, serving


def end(*processes):
    for process in filter(None, processes):
        process.kill()
        process.wait()


def run(env, words, server):
    """Its cycles a second."""
    process, serving = begin(env, words, server, RUN_S)
    rate = float(process.communicate(timeout=60)[0])
    end(serving)
    return rate


def record(env, words, server, seconds, *options):
    recording = env.temporary("whatif.offcpu")
    both = begin(env, words, server, 60)
    pids = ",".join(str(one.pid) for one in both if one)
    done = subprocess.run([env.offcpu, "record", "-p", pids, "-d", str(seconds), *options, "-o", recording], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False, preexec_fn=hurry)
    end(*both)
    if done.returncode != 0:
        raise Broken(f"record exited with {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
    return recording


def ask(env, recording, *words):
    """What whatif answers, or None and why it does not."""
    done = subprocess.run([env.offcpu, "whatif", recording, *words, "--json"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          check=False)
    return (json.loads(done.stdout) if done.returncode == 0 else None), done.stderr.decode()


@case
def whatif_of_a_peer(env):
    """Two clients of a peer that would take half the time."""
    recording = record(env, work(threads=2, cpu=500, port=PORT), serve(service=5000), 1, "--exact")
    answer, why = ask(env, recording, f"{PEER} time*0.5")
    env.check.that(answer and 1.5 < answer["rate_permille"] / 1000 < 2.1, f"{answer} {why}")


@case
@nightly
def whatif_refuses(env):
    """Work that a timer starts, and samples."""
    recording = record(env, work(threads=3, cpu=2000, port=PORT, period=25000), serve(service=8000), 2, "--exact")
    answer, why = ask(env, recording, f"{PEER} time*0.5")
    env.check.that(not answer and "--pauses" in why, f"a timer's work: {answer} {why}")
    recording = record(env, work(threads=4, cpu=100, hold=50), None, 2, "--sample", "10ms")
    answer, why = ask(env, recording, LOCK)
    env.check.that(not answer and "sampled" in why, f"samples: {answer} {why}")


@case
@nightly
def whatif_of_ten(env):
    """Ten programs of known structure: what is predicted, and what they do when they are changed."""
    if shutil.which("go"):
        subprocess.run(["go", "build", "-o", os.path.join(env.directory, "whatif_log"), str(SOURCES / "whatif_log.go")], check=True, timeout=120)
    near = held = 0
    for name, (words, server, changed, server_changed, change, *options) in PROGRAMS.items():
        if words[0] == "go" and not shutil.which("go"):
            near, held = near + 1, held + 1
            continue
        recording = record(env, words, server, RECORD_S, "--exact")
        pairs = [(run(env, words, server), run(env, changed, server_changed)) for _ in range(2)]
        truth = sum(then for _, then in pairs) / sum(now for now, _ in pairs)
        answer, why = ask(env, recording, change, *options)
        if not answer:
            env.notes.append(f"{name}: {truth:.2f}, refused: {why.strip()}")
            continue
        rate, low, high = (answer[f"rate{which}_permille"] / 1000 for which in ("", "_low", "_high"))
        near += abs(rate / truth - 1) < NEAR
        held += low <= truth <= high
        env.notes.append(f"{name}: {truth:.2f}, predicted {rate:.2f} ({low:.2f} to {high:.2f})")
    env.check.that(near >= ENOUGH and held >= ENOUGH, f"{near} of {len(PROGRAMS)} near, {held} within: {env.notes}")
