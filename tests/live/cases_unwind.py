# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
User stacks without frame pointers: programs that have none, asleep in libc's own wrappers,
and what every frame of theirs must be.
"""

import os
import re
import shutil
import signal
import subprocess
import time

from check import EDGE_LOSSES, check_account, names
from lib import Program, Recorder, Skip, TooLate, case, default_signals, descriptors, nightly, read_truth

LIBC = re.compile(r"/(libc|libc-[\d.]+|libpthread[^/]*|ld-[^/]*)\.so|^\[vdso\]$")
WRAPPERS = {
    "nap_site": r"nanosleep", "child_site": r"nanosleep", "plugin_site": r"nanosleep",
    "cond_site": r"pthread_cond_|__futex_abstimed", "poll_site": r"poll", "read_site": r"read",
}
# A program maps its libraries, runs at once, and a table takes its time: no loss but a delay; as is what a mapping is called.
# Mapping events are the whole machine's; what their loss did to our programs is what is checked.
ALLOWED = ("no_unwind_table", "mmap_events", "replaced_code", *EDGE_LOSSES)


def is_libc(frame):
    return bool(frame["module"] and LIBC.search(frame["module"]))


def same_name(seen, expected):
    """C++ and Rust names carry arguments, and Rust's a hash."""
    if seen is None:
        return False
    return seen == expected or seen.startswith(expected + "(") or \
        bool(re.fullmatch(re.escape(expected) + r"::h[0-9a-f]{16}", seen))


def match_chain(frames, chain):
    """
    Where the chain ends in the frames, root first, or None.  It is contiguous; "*" stands for
    one or more frames of libc, such as the one between a handler and what a signal interrupted.
    """
    for start in range(len(frames)):
        at = start
        for expected in chain:
            if expected == "*":
                begin = at
                while at < len(frames) and is_libc(frames[at]):
                    at += 1
                if at == begin:
                    break
            elif at < len(frames) and same_name(frames[at]["name"], expected):
                at += 1
            else:
                break
        else:
            return start, at
    return None


def shown(frames):
    return [frame["name"] or f"{os.path.basename(frame['module'] or '?')}+{frame['offset']:#x}" for frame in frames]


def is_fault(wait):
    """A page fault that slept, for a lock or a page: no wait that the program asked for."""
    return any(name and "handle_mm_fault" in name for name in names(wait["kernel"]))


def at_chain(report, truth):
    """Waits of a thread below the chain, with nothing but libc's wrapper inside it."""
    found = []
    for wait in report.by_thread[truth["pid"], truth["tid"]]:
        place = match_chain(wait["user"], truth["chain"])
        if wait["state"] == truth["state"] and place and all(map(is_libc, wait["user"][place[1]:])) and not is_fault(wait):
            found.append((wait, place))
    return found


def check_wrapper(check, who, wait, end, leaf):
    """The frame called by the innermost function of the chain is the wrapper it called."""
    pattern = WRAPPERS.get(leaf.rsplit("::", 1)[-1])
    inside = wait["user"][end:]
    if pattern and check.that(inside, f"{who}: no frame of libc inside {leaf}"):
        name = inside[0]["name"]
        check.that(name and re.search(pattern, name), f"{who}: {leaf} called {name}, not {pattern}: {shown(wait['user'])}")


def check_root(check, who, wait, start):
    """Outside the chain lies only what starts a program (_start, of its own) or a thread (libc's)."""
    outside = wait["user"][:start]
    strangers = [frame["name"] for frame in outside if not is_libc(frame) and frame["name"] != "_start"]
    check.equal(strangers, [], f"{who}: frames outside the chain")
    check.that(outside, f"{who}: the walk ends at the chain, before the thread's start: {shown(wait['user'])}")


def check_chain(check, report, truth, count=None, root=True):
    """Every wait at the chain is complete, and there are as many as the program counted."""
    who = f"{'>'.join(truth['chain'])} {truth['pid']}/{truth['tid']}"
    found = at_chain(report, truth)
    if not found:
        seen = {(wait["state"], wait["user_end"], *shown(wait["user"])) for wait in
                report.by_thread[truth["pid"], truth["tid"]]}
        check.that(False, f"{who}: no such stack; seen {sorted(seen, key=str)[:4]}")
        return
    for wait, (start, end) in found:
        check.equal(wait["user_end"], "complete", f"{who}: end of {shown(wait['user'])}")
        check_wrapper(check, who, wait, end, truth["chain"][-1])
        if root:
            check_root(check, who, wait, start)
    seen = sum(wait["count"] for wait, _ in found)
    if count is not None:
        check.equal(seen, count, f"{who}: waits")
    elif truth.get("slept") is not None:
        # what the thread slept on its way there counts as well, such as a page fault waiting for a lock
        listed = [wait for wait, _ in found]
        on_the_way = sum(wait["count"] for wait in report.by_thread[truth["pid"], truth["tid"]]
                         if wait["state"] != "R" and wait not in listed and match_chain(wait["user"], truth["chain"]))
        check.that(seen <= truth["slept"] <= seen + on_the_way,
                   f"{who}: waits: {seen} and {on_the_way} on the way, slept {truth['slept']}")


def check_all_complete(check, report, pids=None, other=(), is_other=lambda wait: False):
    """Not one stack of these processes that stops short of its thread's start; one lost is a loss, and judged as that."""
    lost = report.coverage["lost"].get("user_stack", 0)
    for wait in report.waits:
        if wait["user_end"] in ("complete", "none", *other) or pids is not None and wait["pid"] not in pids or is_other(wait):
            continue
        if wait["user_end"] == "pending" and lost:
            lost -= 1
            continue
        check.that(False, f"{wait['comm']} {wait['pid']}/{wait['tid']} in {wait['state']}, {wait['off_cpu_ns']} ns, "
                          f"{wait['count']} waits: {wait['user_end']}: {shown(wait['user'])}")


def unwind_mode(env, mode, count=20, nap_us=5000):
    report, truth, program = env.record("unwind_calls", mode, count, nap_us)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    env.check.that(truth, "the program told no truth")
    for line in truth:
        check_chain(env.check, report, line)
    return report, truth, program


@case
def unwind_plain_chain(env):
    unwind_mode(env, "chain")


@case
def unwind_every_wrapper(env):
    """nanosleep, pthread_cond_timedwait, poll and read, each in a thread."""
    unwind_mode(env, "wrappers")


@case
def unwind_alloca(env):
    unwind_mode(env, "alloca", 60)


@case
def unwind_aligned_locals(env):
    unwind_mode(env, "align", 40)


@case
def unwind_aligned_locals_and_alloca(env):
    unwind_mode(env, "drap", 40)


@case
def unwind_recursion_beyond_the_limit(env):
    """200 frames deep: the 127 innermost are kept, and the stack says that it was cut."""
    report, truth, _ = env.record("unwind_calls", "deep", 10, 5000)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report, other=("truncated",))
    found = at_chain(report, truth[0])
    env.check.equal(sum(wait["count"] for wait, _ in found), truth[0]["slept"], "waits at the bottom")
    for wait, (_, end) in found:
        user = wait["user"]
        end = next(i for i, frame in enumerate(user) if frame["name"] == "nap_site")
        env.check.equal(wait["user_end"], "truncated", "end of the deep stack")
        env.check.equal(len(user), 127, "frames kept")
        env.check.equal(set(names(user[:end])), {"descend"}, "what lies outside nap_site")
        env.check.that(all(map(is_libc, user[end + 1:])), f"inside nap_site: {shown(user[end:])}")


@case
def unwind_through_a_signal(env):
    """A handler sleeps; outside it lies a function that makes no call at all."""
    unwind_mode(env, "signal")


@case
def unwind_through_a_signal_stack(env):
    unwind_mode(env, "altstack")


@case
def unwind_through_a_signal_in_a_system_call(env):
    unwind_mode(env, "interrupt")


@case
def unwind_vfork(env):
    """The parent stands still in libc's vfork, which keeps its return address in a register."""
    unwind_mode(env, "vfork", 10, 20000)


def record_family(env, name, *args):
    """Runs a program that forks under a recording of all processes of its name: (report, truth, program)."""
    program = Program(env, name, *args)
    recorder = Recorder(env, "--comm", name)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    check_account(env.check, report, allowed_losses=ALLOWED)
    return report, program.truth(), program


@case
def unwind_vfork_child(env):
    """With the children in sight: they sleep on their parent's stack, and its tables serve them."""
    report, truth, program = record_family(env, "unwind_calls", "vfork", 10, 30000)
    children = {row["pid"] for row in report.threads} - {program.pid}
    env.check.equal(len(children), 10, "children")
    for pid in children:
        check_chain(env.check, report, {**truth[0], "pid": pid, "tid": pid, "state": "S"}, count=1)


@case
def unwind_command(env):
    """A command from its first instruction: within a second its stacks are complete."""
    env.tolerate_unseen()  # of two seconds a guarded process hides some event nearly always
    report, truth = env.record_command("unwind_calls", "chain", 200, 10000)
    check_account(env.check, report, allowed_losses=ALLOWED)
    short_ns = sum(wait["off_cpu_ns"] for wait in report.waits if wait["user_end"] not in ("complete", "none"))
    env.notes.append(f"{short_ns / 1e6:.0f} ms before the tables were there")
    env.check.that(short_ns < 1_000_000_000, f"{short_ns} ns without a complete stack")
    complete = sum(wait["count"] for wait, _ in at_chain(report, truth[0]) if wait["user_end"] == "complete")
    env.check.that(complete > 80, f"{complete} of 200 waits complete")


@case
def unwind_threads_that_never_run(env):
    """Asleep before the window began and after it ended: their stacks are read from outside."""
    program = Program(env, "unwind_calls", "forever", 1, 1)
    recorder = Recorder(env, "-p", program.pid)
    recorder.wait_attached()
    time.sleep(0.5)
    recorder.stop()
    report = recorder.report()
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    truth = program.truth()
    env.check.equal(len(truth), 4, "threads that told their truth")
    for line in truth:
        row = report.rows[line["pid"], line["tid"]][0]
        env.check.equal(row["switches"], 0, f"switches of {line['chain']}")
        check_chain(env.check, report, line, count=1)
    env.check.equal({wait["open_at_start"] and wait["open_at_end"] for wait in report.waits}, {True},
                    "open at both ends")


@case
def unwind_library_loaded_meanwhile(env):
    """dlopen in the window: within a second of it the library's own frames have a table."""
    library = os.path.join(env.programs, "libunwind_plugin.so")
    report, truth, _ = env.record("unwind_dlopen", library, 100, 20000)
    check_account(env.check, report, allowed_losses=ALLOWED)
    line = truth[0]
    short_ns = sum(wait["off_cpu_ns"] for wait in report.waits if wait["user_end"] != "complete")
    env.notes.append(f"{short_ns / 1e6:.0f} ms before the table was there")
    env.check.that(short_ns < 1_000_000_000, f"{short_ns} ns without a complete stack after dlopen")
    found = at_chain(report, line)
    complete_ns = sum(wait["off_cpu_ns"] for wait, _ in found if wait["user_end"] == "complete")
    env.check.that(complete_ns >= line["wall_ns"] - line["cpu_ns"] - 1_000_000_000,
                   f"{complete_ns} ns complete below plugin_site, of {line['wall_ns']}; seen "
                   f"{[(wait['user_end'], wait['count'], shown(wait['user'])) for wait in report.waits][:6]}")
    for wait in report.waits:
        if wait["user_end"] == "complete":
            unnamed = [frame for frame in wait["user"] if frame["name"] is None and not is_libc(frame)]
            env.check.equal(unnamed, [], "frames without a name")


@case
def unwind_library_in_the_place_of_another(env):
    """
    dlclose, and dlopen of another library: the same addresses have other names, and other frames. By the first one's rules a
    walk from the second leaves plugin_run() out: no such stack is told as complete.
    """
    library, twin = (os.path.join(env.programs, f"libunwind_{name}.so") for name in ("plugin", "plug_c"))
    count = 100
    report, truth, _ = env.record("unwind_dlopen", library, count, 10000, twin)
    env.check.equal(len(truth), 2, "libraries")
    for line in truth:
        seen = sum(wait["count"] for wait in report.waits if line["chain"][-1] in names(wait["user"]))
        # Until the mapping is known, a drain or so, a stack has the name of what lay there; for so long is told.
        env.check.that(0.7 * count <= seen <= 1.3 * count, f"{seen} of {count} waits in {line['chain'][-1]}")
    env.check.equal(report.coverage["lost"].get("replaced_code"), 1, "libraries in the place of others")
    of_sites = [wait for wait in report.waits if {"plugin_site", "plugin_twin"} & set(names(wait["user"])) and not is_fault(wait)]
    lacking = [shown(wait["user"]) for wait in of_sites if wait["user_end"] == "complete" and not match_chain(wait["user"], ["main", "load_site", "plugin_run"])]
    env.check.equal(lacking, [], "complete, but for plugin_run")
    env.notes.append(f"{sum(wait['count'] for wait in of_sites if wait['user_end'] != 'complete')} waits with a broken stack")


@case
def unwind_forked_children(env):
    """Stacks of a child that has mapped nothing are its parent's; of one that has, its own, at the same addresses."""
    library, twin = (os.path.join(env.programs, f"libunwind_{name}.so") for name in ("plugin", "plug_b"))
    env.tolerate_unseen()
    count = 200  # the first 40 ms pass before there are tables
    report, truth, program = record_family(env, "unwind_forks", library, twin, count, 2000)
    env.check.equal(len(truth), 3, "processes that told their truth")
    for line in truth:
        name, expected = line["chain"][-1], count * (2 if line["pid"] == program.pid else 1)
        seen = sum(wait["count"] for wait, _ in at_chain(report, line))
        env.check.that(expected * 0.9 <= seen <= expected, f"{seen} of {expected} waits of {line['pid']} in {name}")
        other = {"plugin_site", "plugin_twin"} - {name}
        wrong = [wait for wait in report.waits if wait["pid"] == line["pid"] and other & set(names(wait["user"]))]
        env.check.equal(wrong, [], f"waits of {line['pid']} elsewhere than in {name}")


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    found = re.search(r"Build ID: ([0-9a-f]{6,})", text)
    if not found:
        raise Skip(f"{path} has no build id")
    return found.group(1)


def strip_program(env, name):
    """A folder with a stripped copy of a program, and its symbols where distributions put them."""
    folder = env.temporary("stripped")
    os.mkdir(folder)
    source, program = os.path.join(env.programs, name), os.path.join(folder, name)
    number = build_id(source)
    debug = f"/usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug"
    for tool in ("objcopy", "strip"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    if os.path.exists(debug):
        raise Skip(f"{debug} exists already")
    subprocess.run(["strip", "-o", program, source], check=True)
    try:
        os.makedirs(os.path.dirname(debug), exist_ok=True)
    except OSError as error:
        raise Skip(f"{debug}: {error.strerror}") from error
    return folder, source, debug


def remove_debug(debug):
    if os.path.exists(debug):
        os.unlink(debug)
    try:
        os.rmdir(os.path.dirname(debug))
    except OSError:
        pass  # others' files are there


@case
def unwind_stripped_with_debug_file(env):
    """.eh_frame stays in the stripped file; the names come from /usr/lib/debug/.build-id."""
    folder, source, debug = strip_program(env, "unwind_calls")
    programs, env.programs = env.programs, folder
    try:
        subprocess.run(["objcopy", "--only-keep-debug", source, debug], check=True)
        unwind_mode(env, "chain")
    finally:
        remove_debug(debug)
        env.programs = programs


@case
def unwind_stripped_without_debug_file(env):
    """No name is better than a wrong one: complete, and every frame of the program says why it has none."""
    folder, _, _ = strip_program(env, "unwind_calls")
    programs, env.programs = env.programs, folder
    try:
        report, truth, _ = env.record("unwind_calls", "chain", 20, 5000)
    finally:
        env.programs = programs
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    naps = [wait for wait in report.waits if wait["state"] == "S" and wait["user"] and "nanosleep" in (wait["user"][-1]["name"] or "")]
    env.check.equal(sum(wait["count"] for wait in naps), truth[0]["slept"], "waits in nanosleep")
    for wait in naps:
        own = [frame for frame in wait["user"] if not is_libc(frame)]
        env.check.equal(len(own), 5, f"frames of the program: {shown(wait['user'])}")
        env.check.equal([frame["name"] for frame in own], [None] * len(own), "names of a stripped program")
        env.check.that(all(frame.get("why") and frame["offset"] for frame in own), f"no reason or place: {own}")


@case
def unwind_cxx(env):
    """Virtual calls, std::function, a handler, a destructor that an exception runs, std::thread."""
    if not os.path.exists(os.path.join(env.programs, "unwind_cxx")):
        raise Skip("there was no C++ compiler")
    report, truth, _ = env.record("unwind_cxx", 20, 3000)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    env.check.equal(len(truth), 4, "lines of truth")
    for line in truth:
        # below std::thread lie libstdc++'s frames, below catcher and caller shapes::run
        check_chain(env.check, report, line_of_cxx(line), root=line["kind"] != "thread")


def line_of_cxx(line):
    chain = list(line["chain"])
    if chain[0] == "main":
        chain.insert(1, "shapes::run")
    return {**line, "chain": chain}


@case
def unwind_rust(env):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "unwind_rust.rs")
    folder = env.temporary("rust")
    os.mkdir(folder)
    if not shutil.which("rustc"):
        raise Skip("rustc is not installed")
    built = subprocess.run(["rustc", "-O", "-C", "force-frame-pointers=no", source, "-o", f"{folder}/unwind_rust"],
                           capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise Skip(f"rustc failed: {built.stderr.strip()[-200:]}")
    programs, env.programs = env.programs, folder
    try:
        report, truth, _ = env.record("unwind_rust", 20, 5000)
    finally:
        env.programs = programs
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    naps = [wait for wait in report.waits if wait["state"] == "S" and match_chain(wait["user"], truth[0]["chain"])]
    env.check.equal(sum(wait["count"] for wait in naps), truth[0]["slept"],
                    f"waits at the chain, of {[shown(wait['user']) for wait in report.waits][:4]}")
    for wait in naps:
        env.check.that("_start" in names(wait["user"])[:1], f"root: {shown(wait['user'])}")
        env.check.that("main" in names(wait["user"]), f"no main: {shown(wait['user'])}")
        mangled = [name for name in names(wait["user"]) if name and name.startswith(("_R", "_ZN"))]
        env.check.equal(mangled, [], "names left as the compiler wrote them")


@case
def unwind_fork_storm(env):
    """Children of 300 ms that never exec: what their parent has mapped serves them at once."""
    report, truth, _ = record_family(env, "unwind_storm", 200, 40, 300)
    env.check.equal(len(truth), 200, "children that told their truth")
    for line in truth:
        check_chain(env.check, report, line, count=1)
    check_all_complete(env.check, report, {line["pid"] for line in truth})


@case
def unwind_short_lived(env):
    """A program that lives 15 ms, run by run, while the whole machine is recorded: known from its second run on."""
    program = env.temporary("unwind_calls")    # an inode that nobody has mapped before
    shutil.copy(os.path.join(env.programs, "unwind_calls"), program)
    truths = []

    def run_once():
        truths.append(env.temporary("truth"))
        subprocess.run([program, truths[-1], "chain", "3", "4000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       check=True, timeout=60)

    recorder = Recorder(env, "-a", "--exact")
    recorder.wait_attached()
    run_once()
    time.sleep(1)
    for _ in range(20):
        run_once()
    recorder.stop()
    report = recorder.report()
    lines = [read_truth(path)[0] for path in truths[1:]]
    naps = sum(len(line["waits_ns"]) for line in lines)
    # By how many they are, not by their time: what the program measures has its own running in it, a fifth under emulation.
    whole = sum(wait["count"] for line in lines for wait, _ in at_chain(report, line) if wait["user_end"] == "complete")
    env.notes.append(f"{whole} of {naps} naps with a whole stack")
    env.check.equal(len({line["pid"] for line in lines}), 20, "processes")
    env.check.that(0.9 * naps < whole <= naps, f"{whole} of {naps} naps have a whole stack")


def sleeping_commands(env):
    """Forty each of five programs, of which four are the distribution's own."""
    for path in ("/bin/sleep", "/bin/cat", "/bin/sh", "/usr/bin/tail"):
        if not os.path.exists(path):
            raise Skip(f"{path} does not exist")
    own = [os.path.join(env.programs, "unwind_calls"), env.temporary("truth"), "chain", "1", "1"]
    return [["/bin/sleep", "1000"], ["/bin/cat"], ["/bin/sh", "-c", "read line"], ["/usr/bin/tail", "-f", "/dev/null"], own]


def record_sleepers(env, started, while_recording):
    """
    Records these processes for a second and ends them: all have a stack, every stack is complete, and the
    tracer's memory stays within its bound.  Gives what while_recording(recorder) gave at the end of it.
    """
    recorder = Recorder(env, "-p", ",".join(str(process.pid) for process in started))
    recorder.wait_attached()
    time.sleep(1)
    seen = while_recording(recorder)
    recorder.stop()
    report = recorder.report()
    late = report.coverage["lost"].get("no_unwind_table", 0)
    if late and any(wait["user_end"] == "broken" for wait in report.waits):
        raise TooLate(f"{late} waits ended before the tables were there")
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    env.check.equal({process.pid for process in started} - {wait["pid"] for wait in report.waits if wait["user"]}, set(),
                    "processes without a stack")
    memory = report.coverage["tracer"]["peak_rss_bytes"]
    env.notes.append(f"peak memory of the tracer {memory / 2**20:.1f} MiB")
    env.check.that(memory < 150 << 20, f"peak memory of the tracer {memory} bytes")
    for process in started:
        process.send_signal(signal.SIGKILL)
    return seen


@case
def unwind_many_processes(env):
    """200 sleeping processes of 5 programs: the tables are built once for each file, and all stacks are complete."""
    started = []
    for command in sleeping_commands(env):
        for _ in range(40):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            env.running.append(process)
            started.append(process)
    time.sleep(1.5)
    record_sleepers(env, started, lambda recorder: None)


def eh_frame_of(path):
    """(offset, size) of the file's .eh_frame."""
    text = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.search(r"\.eh_frame +\w+ +[0-9a-f]+ +([0-9a-f]+) +([0-9a-f]+)", text)
    return (int(found[1], 16), int(found[2], 16)) if found else (0, 0)


def distinct_shells(env, count):
    """
    Copies of bash, each with another rule after some function's `push %rbp`, where no thread
    sleeps: no two have the same file or the same table.
    """
    shell = shutil.which("bash")
    if not shell:
        raise Skip("bash is not installed")
    with open(shell, "rb") as f:
        image = bytearray(f.read())
    begin, size = eh_frame_of(shell)
    # DW_CFA_def_cfa_offset 16; DW_CFA_offset rbp at cfa-16
    places = [match.start() + 1 for match in re.finditer(b"\x0e\x10\x86\x02", bytes(image[begin:begin + size]))]
    if len(places) < count:
        raise Skip("this bash has too few frames with a frame pointer")
    for number in range(count):
        path = env.temporary(f"shell{number}")
        own = image[:]
        own[begin + places[number]] = 24
        with open(path, "wb") as f:
            f.write(own)
        os.chmod(path, 0o755)
        yield path


def memory_of_maps(pid):
    """Bytes that a process's BPF maps take in the kernel, by their type's number."""
    maps = {}
    for fd, target in descriptors(pid).items():
        if "bpf-map" in target:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                info = dict(line.split(":\t", 1) for line in f if ":\t" in line)
            maps[info["map_id"]] = (int(info["map_type"]), int(info["max_entries"]), int(info["memlock"]))
    return maps.values()


@case
@nightly
def unwind_many_programs(env):
    """200 processes of 200 programs, each with an unwind table of its own."""
    started = []
    for path in distinct_shells(env, 200):
        process = subprocess.Popen([path, "-c", "read line"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=default_signals)
        env.running.append(process)
        started.append(process)
    time.sleep(1)
    slabs = record_sleepers(env, started, lambda recorder: [
        memlock for kind, entries, memlock in memory_of_maps(recorder.process.pid) if kind == 2 and entries == 2048])
    env.notes.append(f"{len(slabs)} slabs of tables in the kernel, {sum(slabs) / 2**20:.1f} MiB")
    # bash alone has 17,500 rows of 8 bytes: less would mean that tables were taken for each other
    env.check.that(20 << 20 < sum(slabs) < 64 << 20, f"{sum(slabs)} bytes of tables in the kernel")
