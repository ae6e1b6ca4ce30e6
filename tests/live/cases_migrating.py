# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What docs/migrating.md says in place of the other tools' options: each command of it runs here, for a moment, and says something."""

import os
import re
import shlex
import subprocess
import sys
import time

from lib import Skip, case, enter_cgroup

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "docs", "migrating.md")
SECONDS = "0.3"
AT_ONCE = 3
# Waits of every kind that the page asks for: a lock, a pipe, a file, a timer.
WORK = """
import os, sys, threading, time
lock, (r, w) = threading.Lock(), os.pipe()
def locker():
    while True:
        with lock:
            time.sleep(0.005)
def reader():
    while os.read(r, 1):
        pass
def writer():
    file = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
    while True:
        os.write(w, b"x")
        os.pwrite(file, b"x" * 4096, 0)
        os.fsync(file)
        time.sleep(0.01)
for work in locker, locker, reader, writer:
    threading.Thread(target=work, daemon=True).start()
print("begun", flush=True)
time.sleep(600)
"""
CODE = re.compile(r"`([^`]+)`")
# What a cell of ours may say in place of a command.
NO_COMMAND = re.compile(r"none|always|the default|the same|the line above|-P", re.IGNORECASE)


def rows(text):
    """(line, theirs, [ours, ...]) of each row of the page's tables."""
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) >= 2 and not set(cells[0]) <= {"-", " "}:
            yield number, cells[0], cells[1:]


def commands(text):
    """{what follows `offcpu`: its line} of all that the page has one run."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("    offcpu "):
            line = f"`{line.strip().split(' | ')[0]}`"
        for code in CODE.findall(line.replace("\\|", "|")):
            if code.startswith("offcpu "):
                found.setdefault(code.split(maxsplit=1)[1], number)
    return found


def shortened(arguments, names):
    """The command, for a moment and of what runs here; None of what another tool's file is for."""
    verb, *words = [str(names.get(word, word)) for word in shlex.split(arguments)]
    if verb == "export" and "-" in words:
        return None
    if verb in ("report", "export"):
        return [verb, *words, *([] if names["a.offcpu"] in words else [names["recording"]])]
    if verb == "hist":
        return [verb, *[{"1": SECONDS, "10": "2"}.get(word, word) for word in words]]
    if verb == "top":
        return [verb, *words, "--batch", "-n", "1", "-i", SECONDS]
    if "-d" in words and verb != "trace":    # of trace it means what it does there
        words[words.index("-d") + 1] = SECONDS
    elif verb == "trace" and words[-1:] == ["5"]:
        words[-1] = SECONDS
    elif "--" not in words:
        words += ["0"] * (words[-1:] == ["--slower"]) + ["-d", SECONDS]
    return [verb, *(["-o", names["new"]()] if verb == "record" and "-o" not in words else []), *words]


def run(env, arguments):
    return subprocess.run([env.offcpu, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=120, check=False)


@case
def each_row_of_the_migrating_page(env):
    """Exit status 0, and output; of a command that is not whole or reads another tool's file, nothing."""
    from concurrent.futures import ThreadPoolExecutor  # here: the guests of tests/vm have no module for it

    if not os.path.exists(PAGE):
        raise Skip("the page is not here")
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    for number, theirs, ours in rows(text):
        for cell in ours if theirs != "none" else ():
            env.check.that("`offcpu " in cell or NO_COMMAND.search(cell) or cell.endswith(("offcpu", "locks")) or cell == "one-liner",
                           f"line {number}: {theirs}: neither a command nor none: {cell}")
    group = env.cgroup("migrating")
    work = subprocess.Popen([sys.executable, "-c", WORK, env.temporary("file")], stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: enter_cgroup(group, 0))
    try:
        work.stdout.readline()
        tid = max(int(name) for name in os.listdir(f"/proc/{work.pid}/task"))
        recording = env.temporary("recording")
        made = run(env, ["record", "--wakers", "-d", "1", "-o", recording])
        env.check.equal(made.returncode, 0, f"status of the recording: {made.stderr[-300:]}")
        names = {"1234": work.pid, "1235": tid, "/sys/fs/cgroup/web": group, "a.offcpu": env.temporary("a.offcpu"), "COMMAND": "/bin/true",
                 "FUNC": "lock", "recording": recording, "new": lambda: env.temporary("new")}
        wanted = [(number, given, shortened(given, names)) for given, number in commands(text).items()]
        wanted = [row for row in wanted if row[2]]
        first = [row for row in wanted if names["a.offcpu"] in row[2] and row[2][0] == "record"]
        begun = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(zip(first, pool.map(lambda row: run(env, row[2]), first)))
            rest = [row for row in wanted if row not in first]
            done += zip(rest, pool.map(lambda row: run(env, row[2]), rest))
    finally:
        work.kill()
        work.wait()
    for (number, given, arguments), result in done:
        said = (result.stdout + result.stderr).strip()
        env.check.equal(result.returncode, 0, f"line {number}: status of `offcpu {given}`, run as {' '.join(arguments)}: {said[-300:]}")
        env.check.that(said, f"line {number}: `offcpu {given}` says nothing")
    env.check.that(len(done) > 90, f"only {len(done)} commands were found on the page")
    env.notes.append(f"{len(done)} commands in {time.monotonic() - begun:.0f} s")
