# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu agent` where things go wrong: it is killed, the disk is full, what it is told cannot be."""

import glob
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from cases_agent import SECOND, Agent, free_port, gaps, read_all, windows
from lib import case, enter_cgroup, wait_until


@case
def agent_killed(env):
    """After kill -9 the store is whole, and the time until the next start is a gap."""
    store = env.temporary("history")
    agent = Agent(env, store)
    env.check.that(agent.await_windows(3), f"windows come: {agent.log()}")
    agent.end(signal.SIGKILL)
    for path in glob.glob(os.path.join(store, "*.db")):
        with sqlite3.connect(path) as db:
            env.check.equal(db.execute("PRAGMA integrity_check").fetchone()[0], "ok", path)
    before = windows(store)
    time.sleep(2)
    agent = Agent(env, store)
    env.check.that(agent.await_windows(len(before) + 2), f"windows come: {agent.log()}")
    env.check.equal(agent.end(), 0, "status")
    after = windows(store)[len(before):]
    found = gaps(store)
    env.check.equal([gap[2] for gap in found], ["the agent was not running"], "gaps")
    env.check.equal(found[0][0], before[-1][2] + before[-1][1], "the gap begins as the last window ended")
    env.check.that(found[0][1] - found[0][0] >= 2 * SECOND, "it is as long as that took")
    env.check.equal(found[0][1], after[0][2], "it ends as the next one begins")


def mount_small_disk(env):
    """8 MiB: a file system in a file, where there are loop devices, else of memory."""
    mount, image = env.temporary("disk"), env.temporary("image")
    os.mkdir(mount)
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    made = shutil.which("mkfs.ext4") and not subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=False).returncode
    if not made or subprocess.run(["mount", "-o", "loop", image, mount], stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", mount], check=True)
    return mount


@case
def agent_disk_full(env):
    """On a full disk it goes on, says so once, and says when that is over."""
    mount = mount_small_disk(env)
    try:
        store, filler = os.path.join(mount, "history"), os.path.join(mount, "filler")
        agent = Agent(env, store)
        env.check.that(agent.await_windows(2), f"windows come: {agent.log()}")
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(bytes(65536)):
                    file.flush()
            except OSError:
                pass
        env.check.that(agent.await_log("windows are lost from now on"), f"it says so: {agent.log()}")
        time.sleep(3)
        env.check.equal(len(re.findall("windows are lost", agent.log())), 1, f"once: {agent.log()}")
        os.unlink(filler)
        env.check.that(agent.await_log("windows are stored again"), f"and when it is over: {agent.log()}")
        env.check.equal(agent.end(), 0, "status")
        env.check.that("windows could not be stored" in [gap[2] for gap in gaps(store)], f"the gap: {gaps(store)}")
    finally:
        subprocess.run(["umount", "-l", mount], check=False)


def engine():
    """A server that answers everything, on a port of its own."""
    import http.server  # the guests' Python has none

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@case
def agent_check(env):
    """What is configured and cannot be is told before anything runs: an engine that is away, a command that is not there, a folder for nothing."""
    path, store, server = env.temporary("agent.conf"), env.temporary("history"), engine()
    with open(path, "w", encoding="ascii") as file:
        file.write("[metrics]\nlisten = 127.0.0.1:9733\n[push]\n"
                   f"pyroscope = http://127.0.0.1:{server.server_port}\notlp = http://127.0.0.1:{free_port()}\n"
                   "[alert a]\nwhen = reason=lock share > 30%\nrun = /bin/true\n[alert b]\nwhen = reason=disk share > 30%\nrun = /nowhere/b\n")

    def check(folder):
        result = subprocess.run([env.offcpu, "agent", "--check", "--config", path, "--set", f"store.dir={folder}"], capture_output=True, text=True,
                                check=False, timeout=60)
        return result.returncode, result.stdout + result.stderr

    status, said = check(store)
    env.check.equal(status, 0, f"status: {said}")
    for words in ("http://127.0.0.1:9733/metrics", "yes  Pyroscope answers", "no   OTLP at http", "alert b: /nowhere/b cannot be run", "It can run"):
        env.check.that(words in said, f"{words}: {said}")
    env.check.that("alert a: /bin/true cannot" not in said, said)
    status, said = check("/proc/history")
    env.check.equal(status, 1, f"status without a place: {said}")
    env.check.that("could not store anything" in said, said)
    env.check.that(not os.path.exists(store), "nothing is made")
    server.shutdown()


def start_napper(env, group):
    program = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(0.005)"], preexec_fn=lambda: enter_cgroup(group, 0))
    env.running.append(program)
    return program


@case
def agent_group_that_comes_within_a_window(env):
    """The first seconds of a service are recorded though a window is an hour: nobody waits for its end."""
    store, name = env.temporary("history"), f"offcpu-live-{os.getpid()}"
    agent = Agent(env, store, settings=["agent.window=1h", f"record.cgroups={name}"])
    env.check.that(agent.await_log("recording, in"), f"it records: {agent.log()}")
    program = start_napper(env, env.cgroup(name))
    env.check.that(agent.await_log("a control group that is recorded was made"), f"it is seen at once: {agent.log()}")
    env.check.equal(agent.end(), 0, f"status: {agent.log()}")
    program.kill()
    with sqlite3.connect(read_all(env, store)) as db:
        env.check.equal([pid for pid, in db.execute("SELECT DISTINCT pid FROM v_thread")], [program.pid], "whom it recorded")


@case
def agent_group_that_comes_and_goes(env):
    """A control group by its name: it is not there at first, and is another one later, as that of a unit that is started again."""
    store, name, pids = env.temporary("history"), f"offcpu-live-{os.getpid()}", []
    agent = Agent(env, store, settings=[f"record.cgroups={name}"])
    env.check.that(agent.await_log("it is looked for as groups come"), f"it is not there, which is told: {agent.log()}")
    env.check.that(agent.await_log("recording, in"), f"it records all the same: {agent.log()}")
    for cnt in 1, 2:
        group = env.cgroup(name)
        program = start_napper(env, group)
        pids.append(program.pid)
        wait_until(lambda at=cnt: agent.log().count("a control group that is recorded was made") == at, 30)
        seen = len(windows(store))
        env.check.that(agent.await_windows(seen + 2), f"windows come: {agent.log()}")
        program.kill()
        program.wait()
        os.rmdir(group)
        env.cgroups.remove(group)
    env.check.equal(agent.end(), 0, f"status: {agent.log()}")
    env.check.equal([gap[2] for gap in gaps(store)], ["a control group that is recorded was made"] * 2, "gaps")
    with sqlite3.connect(read_all(env, store)) as db:
        env.check.equal([pid for pid, in db.execute("SELECT DISTINCT pid FROM v_thread ORDER BY pid")], sorted(pids), "whom it recorded")
