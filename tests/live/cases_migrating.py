# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What docs/migrating.md says in place of the other tools' options: each command of it runs here, for a moment, and says something."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time

from lib import Skip, case, enter_cgroup

PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "docs", "migrating.md")
SECONDS = "0.25"
AT_ONCE = 6     # half of a command's time is the kernel's, which waits until no CPU is in a program that is taken away
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


# The heading of the page -> what of its tools says which options they have: libbpf-tools and perf by their help, bcc's by their source.
TOOLS = {
    "offcputime": ["offcputime --help", "offcputime-bpfcc"], "offwaketime": ["offwaketime-bpfcc"],
    "wakeuptime": ["wakeuptime --help", "wakeuptime-bpfcc"], "cpudist": ["cpudist --help", "cpudist-bpfcc"],
    "runqlat": ["runqlat --help", "runqlat-bpfcc"], "runqslower": ["runqslower --help", "runqslower-bpfcc"],
    "klockstat": ["klockstat --help", "klockstat-bpfcc"], "fileslower and fsslower": ["fsslower --help", "fileslower-bpfcc"],
    "biostacks, biosnoop, biotop": ["biostacks --help", "biosnoop --help", "biotop --help", "biosnoop-bpfcc", "biotop-bpfcc"],
    "perf sched timehist": ["perf sched -h", "perf sched timehist -h"], "perf trace -s": ["perf trace -h"],
    "perf lock contention": ["perf lock -h", "perf lock contention -h"],
}
OF_EVERY_TOOL = {"--help", "--usage", "--version", "--verbose", "--ebpf", "-h"}     # the page says so once


def options_of(tool):
    """[{an option's names}] of a tool that is installed here."""
    words = tool.split()
    path = shutil.which(words[0], path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        return []
    if len(words) == 1:
        with open(path, encoding="utf-8") as file:
            said = [call.split("help=")[0] for call in re.findall(r"add_argument\(([^)]*)", file.read())]
        found = [set(re.findall(r"""["'](--?[a-zA-Z][\w-]*)["']""", call)) for call in said]
    else:
        done = subprocess.run([path, *words[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=60, check=False)
        lines = [re.match(r" +(-\S.*?)(  |$)", line) for line in done.stdout.splitlines()]
        found = [set(re.findall(r"(?<![\w-])(--?[a-zA-Z?][\w-]*)", line[1])) for line in lines if line]
    return [names for names in found if names and not names & OF_EVERY_TOOL]


def check_options(check, text):
    """Each option of each tool that is here stands in the first cell of a row of its tool's. Returns how many."""
    count = 0
    for heading, tools in TOOLS.items():
        part = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        if not check.that(part is not None, f"the page has no part called {heading}"):
            continue
        told = set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", " ".join(theirs for _, theirs, _ in rows(part[1]))))
        for tool in tools:
            for names in options_of(tool):
                count += 1
                check.that(names & told, f"{tool.split(' -')[0]}: nothing is said of {', '.join(sorted(names))}")
    return count


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


def alike(found):
    """The first of those that differ in numbers only."""
    first = {}
    for given, number in found.items():
        first.setdefault(re.sub(r"\d+", "0", given), (given, number))
    return dict(first.values())


# Loads much, half a second of CPU time each.
HEAVY = {"trace", "record", "events", "top", "hist", "io"}
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def tried_elsewhere(given):
    """Those of HEAVY each option of which another command of the same verb has, too: that one runs in its place."""
    seen, found = set(), set()
    for command in sorted(given, key=lambda text: -len(text.split())):
        verb, *words = command.split()
        options = {(verb, word.split("=")[0]) for word in words if word.startswith("-")} | {(verb, "")}
        if verb in HEAVY and options <= seen:
            found.add(command)
        seen |= options
    return found


# Says whom to look at, or may find nothing in one process.
TARGETS = {"-a", "-p", "-t", "-u", "-k", "--cgroup", "--state", "--"}


def shortened(arguments, names):
    """The command, for a moment and of what runs here; None of what another tool's file is for."""
    verb, *words = narrowed(arguments, names)
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


def narrowed(arguments, names):
    """Its words. What would look at the whole machine looks at one process: that costs a third, and the options are the same."""
    verb, *words = [str(names.get(word, word)) for word in shlex.split(arguments)]
    looks = verb in ("trace", "hist", "events", "io", "top") or verb == "record" and "a.offcpu" not in arguments
    if looks and not TARGETS & set(words):
        words[:0] = ["-p", str(names["1234"])]
    return [verb, *words]


def run(env, arguments, before=()):
    return subprocess.run([*before, env.offcpu, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=120, check=False)


@case
def each_row_of_the_migrating_page(env):
    """
    Exit status 0, and output; of a command that is not whole or reads another tool's file, nothing. A command whose options others
    run with is given to a user without rights: its words have to be right, or the status would be another than that of missing rights.
    """
    from concurrent.futures import ThreadPoolExecutor  # here: the guests of tests/vm have no module for it

    if not os.path.exists(PAGE):
        raise Skip("the page is not here")
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    for number, theirs, ours in rows(text):
        for cell in ours if theirs != "none" else ():
            env.check.that("`offcpu " in cell or NO_COMMAND.search(cell) or cell.endswith(("offcpu", "locks")) or cell == "one-liner",
                           f"line {number}: {theirs}: neither a command nor none: {cell}")
    options = check_options(env.check, text)
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
                 "x.pftrace": env.temporary("x.pftrace"), "FUNC": "lock", "recording": recording, "new": lambda: env.temporary("new")}
        wanted = [(number, given, shortened(given, names)) for given, number in alike(commands(text)).items()]
        wanted = [row for row in wanted if row[2]]
        first = [row for row in wanted if names["a.offcpu"] in row[2] and row[2][0] == "record"]
        begun = time.monotonic()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(zip(first, pool.map(lambda row: run(env, row[2]), first)))
            elsewhere = tried_elsewhere(given for _, given, _ in wanted)
            rest = [row for row in wanted if row not in first and row[1] not in elsewhere]
            parsed = [row for row in wanted if row not in first and row[1] in elsewhere]
            done += zip(rest, pool.map(lambda row: run(env, row[2]), rest))
            output = {"record": ["-o", "/tmp/none.offcpu"]}     # where nobody may write, though nothing comes to that
            refused = list(zip(parsed, pool.map(lambda row: run(env, row[2] + output.get(row[2][0], []), NOBODY), parsed)))
    finally:
        work.kill()
        work.wait()
    for (number, given, arguments), result in done:
        said = (result.stdout + result.stderr).strip()
        env.check.equal(result.returncode, 0, f"line {number}: status of `offcpu {given}`, run as {' '.join(arguments)}: {said[-300:]}")
        env.check.that(said, f"line {number}: `offcpu {given}` says nothing")
    for (number, given, _), result in refused:
        env.check.equal(result.returncode, 3, f"line {number}: status of `offcpu {given}` without rights: {result.stderr[-300:]}")
    env.check.that(len(done) > 55 and len(done) + len(refused) > 90, f"only {len(done)} and {len(refused)} commands were found on the page")
    env.notes.append(f"{options} options of the other tools are told of; {len(done)} commands ran and {len(refused)} were read in {time.monotonic() - begun:.0f} s")
