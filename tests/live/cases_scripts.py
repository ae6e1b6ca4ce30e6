# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Ruby, PHP and Perl: their functions and lines in the stacks, against what a program in them knows of itself."""

import json
import os
import shutil
import subprocess

from cases_languages import PROGRAMS, check_python_thread, own_frames
from cases_unwind import ALLOWED
from check import EDGE_LOSSES, check_account
from lib import Skip, case, fetched


def version_of(interpreter, code):
    path = shutil.which(interpreter)
    if not path:
        raise Skip(f"{interpreter} is not installed")
    found = subprocess.run([path, *code], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        raise Skip(f"{path} does not run: {found.stderr.strip()[-100:]}")
    return path, found.stdout.strip()


def record_script(env, interpreter, name, suffix):
    """The program as an executable file of its own; returns (report, truth, its path)."""
    folder = env.temporary("scripts")
    os.mkdir(folder)
    source = os.path.join(folder, name)
    with open(os.path.join(PROGRAMS, name + suffix), encoding="utf-8") as file, open(source, "w", encoding="utf-8") as script:
        script.write(f"#!{interpreter}\n{file.read()}")
    os.chmod(source, 0o755)
    env.tolerate_unseen()
    programs, env.programs = env.programs, folder
    try:
        report, truth, _ = env.record(name, 60)
    finally:
        env.programs = programs
    check_account(env.check, report, allowed_losses=(*ALLOWED, *EDGE_LOSSES))
    return report, truth, source


@case
def language_ruby(env):
    """Its methods and blocks, each at its line, on threads that wait in them, on each Ruby there is; OFFCPU_RUBIES names more."""
    named = os.environ.get("OFFCPU_RUBIES", "").split(":")
    for program in [path for path in [shutil.which("ruby"), *named, *fetched("ruby*")] if path] or ["ruby"]:
        interpreter, version = version_of(program, ["-e", "print RUBY_VERSION"])
        if not version.startswith(("3.1.", "3.3.")):
            raise Skip(f"Ruby {version} is not one that is known")
        report, truth, source = record_script(env, interpreter, "rb_waits", ".rb")
        env.check.equal(len(truth), 6, f"Ruby {version}: threads that told their truth")
        for line in truth:
            check_python_thread(env.check, report, line, source, may_be_bare=True)


GVL = """
def hog_first; x = 0; 200000.times { x += 1 }; x; end
def hog_second; x = 0; 200000.times { x += 1 }; x; end
queue = Queue.new
Thread.new { loop { hog_first } }
Thread.new { loop { hog_second } }
Thread.new { queue.pop }
loop { sleep 0.3; puts "on"; $stdout.flush }
"""


def record_ruby(env, interpreter, source, name, seconds):
    """The report of a program that says when it is ready and goes on until it is killed."""
    path, recording = env.temporary(f"{name}.rb"), env.temporary(f"{name}.offcpu")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    program = subprocess.Popen([interpreter, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    env.running.append(program)
    program.stdout.readline()
    made = subprocess.run([env.offcpu, "record", "--exact", "-p", str(program.pid), "-d", seconds, "-o", recording],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    program.kill()
    program.wait()
    env.check.equal(made.returncode, 0, f"status: {made.stderr[-300:]}")
    return json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)


@case
def ruby_gvl_is_a_lock_with_a_holder(env):
    """Two threads that only compute wait for each other; who waits for a queue does not wait for that."""
    interpreter, version = version_of("ruby", ["-e", "print RUBY_VERSION"])
    if not version.startswith("3.1."):
        raise Skip(f"Ruby {version} is not one that is known by its symbols")
    report = record_ruby(env, interpreter, GVL, "gvl", "2")
    window = report["window"]["duration_ns"]
    waits = [wait for wait in report["waits"] if wait["reason"] == "lock.gil"]
    ns = sum(wait["off_cpu_ns"] for wait in waits)
    held = sum(wait["off_cpu_ns"] for wait in waits if "hog_" in (wait["lock"]["place"] or ""))
    # one of the two always waits; where nobody had the lock it is about to be handed on
    env.check.that(0.7 * window < ns < 1.5 * window, f"{ns} ns for the GVL, in a window of {window}")
    env.check.that(held > 0.8 * ns, f"{held} ns of {ns} with a holder in its function: { {wait['lock']['place'] for wait in waits} }")
    asleep = [wait for wait in report["waits"] if wait["reason"] != "lock.gil" and wait["off_cpu_ns"] > 0.9 * window]
    env.check.that(asleep, "the one at the queue waits for the GVL, too")


MUTEX = """
$lock = Mutex.new
def hold; $lock.synchronize { sleep 0.02 }; end
def enter; $lock.lock; sleep 0.001; $lock.unlock; sleep 0.005; end
threads = [:hold, :hold, :enter, :enter].map { |name| Thread.new { loop { send(name) } } }
puts "ready"; $stdout.flush
$stdin.read
"""


def reasons_at(report, function):
    """What threads slept for in that method."""
    return {wait["reason"] for wait in report["waits"] if wait["state"] == "S" and
            any((frame["name"] or "").endswith(function) for frame in wait["user"])}


@case
def ruby_mutex_is_a_mutex(env):
    """Who waits for a Mutex waits for no condition, and who sleeps while it has one sleeps, on each Ruby there is."""
    for program in [path for path in [shutil.which("ruby"), *fetched("ruby*")] if path] or ["ruby"]:
        interpreter, version = version_of(program, ["-e", "print RUBY_VERSION"])
        report = record_ruby(env, interpreter, MUTEX, f"mutex-{version}", "1")
        held, entered = reasons_at(report, "hold"), reasons_at(report, "enter")
        for reasons, name in ((held, "hold"), (entered, "enter")):
            env.check.that("lock.mutex" in reasons, f"Ruby {version}: {name} waits for {reasons}")
        asleep = [wait for wait in report["waits"] if wait["reason"] == "lock.mutex" and
                  any(frame["name"] in ("rb_thread_wait_for", "rb_f_sleep", "sleep") for frame in wait["user"])]
        env.check.equal(asleep, [], f"Ruby {version}: sleeps that are told as waits for a Mutex")
        env.check.that(held & {"sleep", "lock.condition"}, f"Ruby {version}: the sleep in hold is told as {held}")


@case
def language_php(env):
    """Its functions, own and built in, generators and callbacks, on each PHP there is."""
    for program in [shutil.which("php") or "php", *fetched("php*")]:
        check_php(env, program)


def check_chains(env, report, truth, source, who):
    """Each chain of functions and lines has the time that the program says it spent there."""
    for line in truth:
        chain = ">".join(name for name, _ in line["chain"])
        waits = [wait for wait in report.by_thread[line["pid"], line["tid"]] if wait["user"]]
        at_chain = [wait for wait in waits if own_frames(wait, source) == line["chain"]]
        seen_ns = sum(wait["off_cpu_ns"] for wait in at_chain)
        others = [own_frames(wait, source) for wait in waits if wait not in at_chain]
        env.check.that(0.9 * line["spent_ns"] <= seen_ns <= line["spent_ns"],
                       f"{who}: {chain}: {seen_ns} ns at the chain of {line['spent_ns']}; others {others[:6]}")
        env.check.that(all(wait["user_end"] == "complete" for wait in at_chain), f"{who}: {chain}: not all complete")


def check_php(env, program):
    interpreter, version = version_of(program, ["-r", "echo PHP_VERSION, (int)PHP_ZTS;"])
    if version[:4] not in ("8.2.", "8.4.") or version[-1] != "0":
        raise Skip(f"PHP {version} is not one that is known")
    report, truth, source = record_script(env, interpreter, "php_waits", ".php")
    env.check.equal(len(truth), 3, "chains that were told")
    check_chains(env, report, truth, source, f"PHP {version}")
    built_in = {frame["name"] for wait in report.waits for frame in wait["user"] or () if frame["module"] == "[php]"}
    env.check.that({"array_map", "usleep"} <= built_in, f"functions in C: {sorted(built_in)}")


@case
def language_perl(env):
    """Its functions: below loops, a block that C calls and that evaluates, comparisons of sort's, a text, on each Perl there is."""
    for program in [shutil.which("perl") or "perl", *fetched("perl*")]:
        interpreter, version = version_of(program, ["-MConfig", "-e", "print $^V, $Config{usethreads} ? '' : '-unthreaded'"])
        if not version.startswith(("v5.36.", "v5.40.")) or version.endswith("d"):
            raise Skip(f"Perl {version} is not one that is known")
        report, truth, source = record_script(env, interpreter, "pl_waits", ".pl")
        env.check.equal(len(truth), 5, "chains that were told")
        check_chains(env, report, truth, source, f"Perl {version}")
        made = sum(wait["off_cpu_ns"] for wait in report.waits for frame in wait["user"] or () if frame["name"] == "{eval}")
        evaluated = next(line["spent_ns"] for line in truth if line["chain"][-1][0] == "evaluate")
        env.check.that(0.9 * evaluated <= made <= evaluated, f"Perl {version}: {made} ns in the text of {evaluated}")
