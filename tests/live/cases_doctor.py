# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu doctor -p`: what it says of real programs, against how these were built and started."""

import json
import os
import shutil
import subprocess
import time

from cases_languages import build_go, pythons, real_version
from lib import Skip, case, nightly, wait_until

SLEEPER = """
import time
while True:
    time.sleep(0.1)
"""
ASYNCIO = """
import asyncio
asyncio.run(asyncio.sleep(1000))
"""
JAVA = """
class Sleeper {
    public static void main(String[] words) throws Exception { for (;;) Thread.sleep(100); }
}
"""
NATIVE = """
#include <unistd.h>
{functions}
int main(void) {{ for (;;) {{ f99(3); usleep(100000); }} }}
"""
FUNCTION = """
__attribute__((noinline)) int f{n}(int depth)
{{
    volatile int sum = depth * {n};
    for (int i = 0; i < depth; i++)
        sum += i * {n} ^ sum;
    return sum + {below};
}}
"""


def ask(env, pid, *options):
    return subprocess.run([env.offcpu, "doctor", "-p", str(pid), *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


class Examined:
    """A program while it runs, and what doctor says of it."""

    def __init__(self, env, *command, is_ready=lambda pid: True, variables=None):
        self.env = env
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        cwd=env.directory, env={**os.environ, **(variables or {})})
        env.running.append(self.process)
        self.pid = self.process.pid
        # until it has executed itself, and its loader is through
        wait_until(lambda: "libc.so" in self.maps() and is_ready(self.pid), 30)
        time.sleep(0.3)

    def maps(self):
        with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="replace") as file:
            return file.read()

    def look(self):
        result = ask(self.env, self.pid, "--json")
        self.env.check.equal((result.returncode, result.stderr), (0, ""), "doctor --json")
        self.data = json.loads(result.stdout)
        self.findings = {finding["what"]: finding for finding in self.data["findings"]}
        return self

    def expect(self, what, is_there, words=""):
        """A finding, and words of its text or its advice; each one that is missing says what to do."""
        finding = self.findings.get(what)
        if not self.env.check.that(finding, f"no finding {what}, but {sorted(self.findings)}"):
            return
        said = f"{finding['text']} {finding['advice'] or ''}"
        self.env.check.equal(finding["is_there"], is_there, f"{what}: {said}")
        self.env.check.that(words in said, f"{what}: '{words}' is not in: {said}")
        self.env.check.that(is_there or finding["advice"], f"{what}: nothing to do about it")

    def expect_runtime(self, name, version=None):
        found = {runtime["name"]: runtime["version"] for runtime in self.data["runtimes"]}
        self.env.check.equal(list(found), [name], "runtimes")
        if version:
            self.env.check.equal(found.get(name), version, f"version of {name}")

    def expect_screen(self):
        text = ask(self.env, self.pid).stdout
        lines = text.splitlines()
        self.env.check.that(len(lines) <= 24, f"{len(lines)} lines\n{text}")
        self.env.check.that(all(len(line) <= 80 or " " not in line.strip() for line in lines), f"lines are too long\n{text}")
        self.env.check.that(f"(PID {self.pid})" in lines[0], lines[0])


@case
@nightly
def doctor_names_python(env):
    tried = set()
    for interpreter in pythons():
        minor, path = real_version(interpreter)
        if not minor or path in tried:
            continue
        tried.add(path)
        version = subprocess.run([path, "-c", "import platform; print(platform.python_version())"], capture_output=True,
                                 text=True, check=True).stdout.strip()
        program = Examined(env, path, "-c", SLEEPER).look()
        program.expect_runtime("CPython", version if minor >= 11 else f"3.{minor}")
        program.expect("python-frames", 8 <= minor <= 15)
        program.expect("unwind-tables", True)
        program.expect_screen()
        if 8 <= minor <= 15:
            looping = Examined(env, path, "-c", ASYNCIO).look()
            wait_until(lambda: "python-tasks" in looping.look().findings, 20)  # once it has imported it
            looping.expect("python-tasks", True, "offcpu tasks")
    if not tried:
        raise Skip("no python3 is installed")


def go_program(env, is_stripped, *options):
    go = shutil.which("go")
    if not go:
        raise Skip("go is not installed")
    folder = build_go(env, go, *options)
    version = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout.strip()
    program = Examined(env, f"{folder}/go_waits", env.temporary("truth"), "5").look()
    program.expect_runtime("Go", version)
    program.expect("go-functions", True, "symbols are stripped" if is_stripped else "own table")
    if is_stripped:
        program.expect("go-inlined", False, "-ldflags=-w")
    else:
        env.check.that("go-inlined" not in program.findings, "it has debug information")
    program.expect("go-goroutines", True, "offcpu tasks")
    program.expect_screen()


@case
def doctor_names_go(env):
    go_program(env, False)


@case
def doctor_names_go_stripped(env):
    go_program(env, True, "-ldflags=-s -w")


@case
def doctor_names_java(env):
    for tool in ("java", "javac"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    source = env.temporary("Sleeper.java")
    with open(source, "w", encoding="utf-8") as file:
        file.write(JAVA)
    subprocess.run(["javac", "-d", env.directory, source], check=True)
    shown = subprocess.run(["java", "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=True).stderr
    version = next(line.split("=")[1].strip() for line in shown.splitlines() if " java.version =" in line)

    def has_jvm(pid):
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            return "libjvm.so" in file.read()

    plain = Examined(env, "java", "-cp", env.directory, "Sleeper", is_ready=has_jvm).look()
    plain.expect_runtime("Java (HotSpot)")
    env.check.that(plain.data["runtimes"][0]["version"].startswith(version), f"{plain.data['runtimes']} is not {version}")
    wait_until(lambda: plain.look().findings["java-frames"]["is_there"], 20)  # once it has begun
    plain.expect("java-frames", True, "own tables")
    plain.expect_screen()


SCRIPTS = (("node", "Node.js", ["-e", "setInterval(() => {}, 100)"], ["-p", "process.versions.node"], "node-functions"),
           ("ruby", "Ruby", ["-e", "loop { sleep 0.1 }"], ["-e", "print RUBY_VERSION"], "ruby-frames"),
           ("php", "PHP", ["-r", "while (1) usleep(100000);"], ["-r", "echo PHP_MAJOR_VERSION, '.', PHP_MINOR_VERSION;"], "php-frames"),
           ("perl", "Perl", ["-e", "select(undef, undef, undef, 0.1) while 1"], ["-e", "printf '5.%d', $] =~ /5.(...)/"], "perl-frames"))


@case
def doctor_names_scripts(env):
    """What needs no option of these interpreters."""
    found = [script for script in SCRIPTS if shutil.which(script[0])]
    if not found:
        raise Skip("neither node, ruby, php nor perl is installed")
    for interpreter, name, code, ask_version, what in found:
        version = subprocess.run([interpreter, *ask_version], capture_output=True, text=True, check=True).stdout.strip()
        program = Examined(env, interpreter, *code)
        wait_until(lambda: what in program.look().findings and program.findings[what]["is_there"], 20)  # once it has begun
        program.expect_runtime(name)
        said = next(runtime["version"] for runtime in program.data["runtimes"] if runtime["name"] == name)
        env.check.that(said and (said.startswith(version[:3]) or version.startswith(said)), f"{name} {said} is {version}")
        program.expect(what, True, "no option is needed")
        program.expect_screen()


def build_native(env, name, *options):
    source = env.temporary("native.c")
    functions = "".join(FUNCTION.format(n=n, below=f"f{n - 1}(depth / 2)" if n else "0") for n in range(100))
    with open(source, "w", encoding="utf-8") as file:
        file.write(NATIVE.format(functions=functions))
    path = os.path.join(env.directory, name)
    built = subprocess.run(["cc", "-O1", *options, "-o", path, source], capture_output=True, text=True, check=False)
    if built.returncode != 0:
        raise Skip(f"cc failed: {built.stderr.strip()[-200:]}")
    return path


@case
def doctor_names_native(env):
    if not shutil.which("cc"):
        raise Skip("cc is not installed")
    no_tables = ("-s", "-fno-asynchronous-unwind-tables", "-Wl,--build-id=none")
    good = Examined(env, build_native(env, "good", "-g", "-Wl,--build-id")).look()
    env.check.equal(good.data["runtimes"], [], "runtimes")
    good.expect("unwind-tables", True)
    good.expect("program-symbols", True)
    good.expect("program-lines", True)
    env.check.that(good.data["files"][0]["build_id"], "it has no build id")
    good.expect_screen()
    bare = Examined(env, build_native(env, "bare", *no_tables, "-fomit-frame-pointer")).look()
    bare.expect("unwind-tables", True, "in bare, by what its code does")
    bare.expect("program-symbols", False, "no build id")
    bare.expect("program-lines", False, "-g")
    bare.expect_screen()
    framed = Examined(env, build_native(env, "framed", *no_tables, "-fno-omit-frame-pointer")).look()
    framed.expect("unwind-tables", True, "framed")
    # it need not have a name any more
    os.unlink(os.path.join(env.directory, "good"))
    good.look()
    good.expect("program-symbols", True)
    env.check.equal([good.data["files"][0][key] for key in ("path", "is_deleted", "is_readable")],
                    [os.path.join(env.directory, "good"), True, True], "a deleted program")


@case
def doctor_names_who_is_no_process(env):
    for who, status in (("2147483646", 1), ("no-such-name-x", 1), ("1,x", 1), ("", 2)):
        result = ask(env, who)
        env.check.equal(result.returncode, status, f"status of -p '{who}': {result.stderr}")
        env.check.equal(len(result.stderr.splitlines()), 1, f"sentences about -p '{who}': {result.stderr}")
    alone = subprocess.run([env.offcpu, "doctor", "--json"], capture_output=True, text=True, check=False)
    env.check.equal(alone.returncode, 0, "--json alone")
    env.check.that(json.loads(alone.stdout)["may_record"], f"may not record: {alone.stdout}")
    if os.path.exists("/proc/2") and not os.path.exists("/proc/2/exe"):  # not within a pid namespace
        kernel = ask(env, 2).stdout
        env.check.that("kernel thread" in kernel, kernel)
