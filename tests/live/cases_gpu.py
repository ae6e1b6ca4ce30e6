# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Busy waits for a GPU are CPU time, and told as waits (docs/runtimes.md, "GPUs"): libraries in the place of the drivers' know how long they took."""

import json
import os
import subprocess
import sys

from lib import Recorder, case, nightly, wait_until

PYTHON = """
import ctypes, json, sys, time
gpu = ctypes.CDLL(sys.argv[1])
gpu.gpu_waited.restype = ctypes.c_uint64
def wait_for_logits():
    gpu.cuStreamSynchronize()
end = time.monotonic() + 5
while time.monotonic() < end:
    gpu.cuLaunchKernel(20000)
    sum(range(20000))
    wait_for_logits()
with open(sys.argv[2], "w") as f:
    json.dump({"cpu_ns": time.thread_time_ns(), "waited_ns": gpu.gpu_waited()}, f)
"""
SAMPLES_ERROR = 0.12  # of a share, by some hundred samples


def reported(env, path):
    return json.loads(subprocess.run([env.offcpu, "report", "--json", path], capture_output=True, check=True, timeout=60).stdout)


def spins(report):
    return [(row["busy_rule"], (row["function"] or {}).get("name"), row["time_ns"] / row["on_cpu_ns"])
            for row in report["findings"] if row.get("busy") == "spin"]


def record(env, command, *options, cpus=None):
    """The report of two seconds of a program that runs."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    env.running.append(process)
    if cpus:
        os.sched_setaffinity(process.pid, cpus)
    wait_until(lambda: len(os.listdir(f"/proc/{process.pid}/task")) > 1, 5)
    recorder = Recorder(env, "-p", process.pid, "-d", "2", *options)
    env.check.equal(recorder.wait(60), 0, "exit status")
    return reported(env, recorder.out), process


def truth_of(process, path):
    process.wait(30)
    with open(path, encoding="ascii") as f:
        told = json.load(f)
    return told["waited_ns"] / told["cpu_ns"]


@case
@nightly
def busy_waits_for_a_gpu(env):
    """The share of the CPU time is the library's own, with the program's function; in Python, too."""
    truth = env.temporary("gpu.json")
    for library, rule, says in (("cuda", "gpu-cuda-spin", "the GPU (CUDA)"), ("amdhip64", "gpu-rocm-spin", "the GPU (ROCm)"),
                                ("ze_intel_gpu", "gpu-user-spin", "the GPU"), (None, "gpu-cuda-spin", "the GPU (CUDA)")):
        command = [os.path.join(env.programs, f"gpu_{library}"), truth, "20000", "1000000", "5000"] if library else \
            [sys.executable, "-c", PYTHON, os.path.join(env.programs, "libcuda.so"), truth]
        function = "await_forces" if library else "wait_for_logits"
        report, process = record(env, command, "-F", "997")
        share = truth_of(process, truth)
        found = spins(report)
        env.check.equal([row[:2] for row in found], [(rule, function)], f"busy waits of {command[0]}")
        env.check.that(all(abs(row[2] - share) < SAMPLES_ERROR for row in found), f"{found}, of which {share} are the library's")
        told = [h["sentence"] for h in report["headlines"]]
        env.check.that(any(f"waits busily for {says} in {function}" in sentence for sentence in told), f"it tells {told}")


@case
@nightly
def who_computes_beside_a_gpu_has_nothing_to_gain(env):
    """Short waits behind long work of its own are no finding."""
    truth = env.temporary("gpu.json")
    report, process = record(env, [os.path.join(env.programs, "gpu_cuda"), truth, "500", "20000000", "5000"], "-F", "997")
    share = truth_of(process, truth)
    env.check.that(share < 0.1, f"its waits are {share} of its CPU time")
    env.check.equal(spins(report), [], "busy waits")


@case
@nightly
def busy_waits_without_samples(env):
    """Where it lost its CPU tells the same."""
    cpus = [os.sched_getaffinity(0).pop()]
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    env.running.append(other)
    os.sched_setaffinity(other.pid, cpus)
    report, _ = record(env, [os.path.join(env.programs, "gpu_cuda"), os.devnull, "20000", "1000", "20000"], cpus=cpus)
    env.check.equal([row[:2] for row in spins(report)], [("gpu-cuda-spin", "await_forces")], "busy waits")
