# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# Threads that wait in functions of their own.  py_waits TRUTH COUNT: a line of the truth has the thread, its chain of
# functions from the outermost with the lines that they stand at, how often it waited and for how long.
import json
import os
import queue
import select
import sys
import threading
import time

COUNT = int(sys.argv[2])
LINES = {text.split("# at: ")[1].strip(): number for number, text in enumerate(open(__file__), 1) if "# at: " in text}
begin = threading.Event()
truth = []


def nap_inner():
    time.sleep(0.004)                                   # at: nap_inner


def nap_outer():
    nap_inner()                                         # at: nap_outer


class Reader:
    def __init__(self):
        self.ends = os.pipe()

    def inner(self):
        return os.read(self.ends[0], 1)                 # at: Reader.inner

    def outer(self):
        return list(map(Reader.inner, [self]))          # at: Reader.outer

    def feed(self):
        time.sleep(0.005)                               # at: Reader.feed
        os.write(self.ends[1], b"x")


def numbers():
    while True:
        select.select([], [], [], 0.003)                # at: numbers
        yield 1


items = numbers()


def next_of_generator():
    next(items)                                         # at: next_of_generator


line = queue.Queue()


def take():
    line.get()                                          # at: take


def put():
    time.sleep(0.004)                                   # at: put
    line.put(1)


def run(chain, wait):
    begin.wait()
    spent_ns = on_cpu_ns = 0
    for _ in range(COUNT):
        from_ns, cpu_from_ns = time.monotonic_ns(), time.thread_time_ns()
        wait()                                          # at: run
        on_cpu_ns += time.thread_time_ns() - cpu_from_ns
        spent_ns += time.monotonic_ns() - from_ns
    truth.append({"pid": os.getpid(), "tid": threading.get_native_id(), "slept": COUNT, "spent_ns": spent_ns, "on_cpu_ns": on_cpu_ns,
                  "chain": [[name(function), LINES[function.__qualname__]] for function in (run, *chain)]})


def name(function):
    return function.__qualname__ if sys.version_info >= (3, 11) else function.__name__


reader = Reader()
threads = [threading.Thread(target=run, args=arguments) for arguments in (
    ((nap_outer, nap_inner), nap_outer),
    ((Reader.outer, Reader.inner), reader.outer),
    ((Reader.feed,), reader.feed),
    ((next_of_generator, numbers), next_of_generator),
    ((take,), take),
    ((put,), put),
)]
for thread in threads:
    thread.start()
time.sleep(0.05)
print("ready", os.getpid(), flush=True)
sys.stdin.buffer.read(1)
begin.set()
for thread in threads:
    thread.join()
print("done", flush=True)
with open(sys.argv[1], "w") as file:
    for entry in truth:
        print(json.dumps(entry), file=file)
sys.stdin.buffer.read(1)
