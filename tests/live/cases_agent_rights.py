# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What `offcpu agent` may do while it records, and that it sees another user's processes all the same."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys

from cases_agent import Agent, children_of, comm_of, read_all, status_of
from lib import case, default_signals, enter_cgroup, wait_until

OWNER, AGENT = 4242, 4343
NEEDED = "bpf,perfmon,sys_admin,sys_ptrace,dac_read_search,checkpoint_restore,syslog,sys_nice,ipc_lock,sys_resource,setpcap,setgid,setuid"
BITS = {"bpf": 39, "perfmon": 38, "sys_resource": 24, "sys_nice": 23, "sys_admin": 21, "sys_ptrace": 19}

# What a service does: waits for a pipe, a socket and for time, below functions of its own.
SERVICE = """
import os, socket, threading, time
ours, theirs = socket.socketpair()
listening = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listening.getsockname())
server = listening.accept()[0]
end, begin = os.pipe()
def wait_for_pipe():
    while os.read(end, 1): pass
def wait_for_peer():
    while client.recv(1): pass
def beat_on():
    while True:
        time.sleep(.02); os.write(begin, b"x"); server.send(b"x")
for one in (wait_for_pipe, wait_for_peer, beat_on):
    threading.Thread(target=one, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""


def as_user(uid, *capabilities):
    words = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
    return words + ([f"--inh-caps={','.join(capabilities)}", f"--ambient-caps={','.join(capabilities)}"] if capabilities else [])


def own_copy(env, folder, program, name):
    """Nobody but its owner may read it."""
    path = os.path.join(folder, name)
    shutil.copy(os.path.realpath(program), path)
    os.chown(path, OWNER, OWNER)
    os.chmod(path, 0o700)
    return path


def bits(text):
    return {bit for bit in range(64) if int(text, 16) >> bit & 1}


def ours():
    return bits(status_of(os.getpid())["CapEff"])


def expected():
    """To trace; and to get a CPU where its limit cannot be raised for later."""
    return {BITS["bpf"], BITS["perfmon"]} | ({BITS["sys_nice"]} & ours() if BITS["sys_resource"] not in ours() else set())


def check_rights(env, agent, has_budget):
    agent_status = status_of(agent.process.pid)
    env.check.equal(bits(agent_status["CapEff"]), expected(), "capabilities of the agent")
    env.check.equal(bits(agent_status["CapPrm"]), expected(), "that it could take again")
    openers = [pid for pid in children_of(agent.process.pid) if comm_of(pid) == "offcpu-opener"]
    env.check.equal(len(openers), 1, "processes that begin those that open")
    openers = children_of(openers[0])
    env.check.equal(len(openers), 1, "processes that open")
    status = status_of(openers[0])
    env.check.that(not bits(status["CapEff"]) & {BITS["bpf"], BITS["perfmon"]}, "it may not trace")
    env.check.equal(BITS["sys_admin"] in bits(status["CapEff"]), has_budget, "the right to count the programs' time")
    env.check.equal((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"), "its bounds")
    return openers[0]


def check_names(env, store, planted):
    with sqlite3.connect(read_all(env, store)) as db:
        frames = {name for name, in db.execute("SELECT DISTINCT name FROM v_frame WHERE why = 'named' AND module = ?", (planted,))}
        functions = {name for name, in db.execute("SELECT DISTINCT name FROM v_frame WHERE name LIKE '%wait_for_p%'")}
        services = {name for name, in db.execute("SELECT DISTINCT service FROM v_thread")}
        objects = {name for name, in db.execute("SELECT DISTINCT object FROM v_wait WHERE comm LIKE 'python3%'")}
        locks = {name for name, in db.execute("SELECT DISTINCT object FROM v_wait WHERE object LIKE '%audit_lock%'")}
    env.check.that("main" in frames, f"functions of a program that only its owner may read: {sorted(frames)[:10]}")
    for name in ("wait_for_pipe", "wait_for_peer"):
        env.check.that(any(name in function for function in functions), f"{name} of its Python program: {functions}")
    env.check.that({"own-service", "container:cache"} <= services, f"services: {services}")
    env.check.that(any("127.0.0.1" in (name or "") for name in objects), f"its connection: {objects}")
    env.check.that(any("pipe" in (name or "") for name in objects), f"its pipe: {objects}")
    env.check.that(locks, "its lock")


def watch(env, before, settings=()):
    folder, store = env.temporary("own"), env.temporary("history")
    os.chmod(env.directory, 0o755)
    for path, uid in ((folder, OWNER), (store, AGENT if before else 0)):
        os.mkdir(path, 0o700)
        os.chown(path, uid, uid)
    python = own_copy(env, folder, sys.executable, "python3")
    planted, _ = (own_copy(env, folder, os.path.join(env.programs, name), name) for name in ("planted", "libplanted_kv.so"))
    data, group = os.path.join(folder, "data"), env.container("cache")
    with open(data, "wb") as file:
        file.write(bytes(4096))
    os.chown(data, OWNER, OWNER)
    service = subprocess.Popen([*as_user(OWNER), python, "-c", SERVICE], stdout=subprocess.PIPE, preexec_fn=default_signals,
                               env={**os.environ, "OTEL_SERVICE_NAME": "own-service"})
    program = subprocess.Popen([*as_user(OWNER), planted, "mutex", "600", data], stdout=subprocess.DEVNULL, preexec_fn=lambda: enter_cgroup(group, 0))
    env.running += [service, program]
    service.stdout.readline()
    agent = Agent(env, store, before=before, settings=settings)
    env.check.that(agent.await_windows(3), f"windows come: {agent.log()}")
    opener = check_rights(env, agent, bool(settings))
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    env.check.that("capabilities: bpf, perfmon" in agent.log(), f"it says what it may: {agent.log()}")
    env.check.that(wait_until(lambda: not os.path.exists(f"/proc/{opener}"), 20), "the process that opens has ended, too")
    for one in (service, program):
        one.kill()
        one.wait()
    check_names(env, store, planted)


@case
def agent_rights(env):
    """As root, with a budget."""
    watch(env, [], ["agent.budget=1%"])


@case
def agent_rights_as_user(env):
    """As the unit runs it: as a user with capabilities."""
    may = [name for name in NEEDED.split(",") if BITS.get(name, 0) in ours() | {0}]
    program = shutil.copy(env.offcpu, env.temporary("offcpu"))
    os.chmod(program, 0o755)
    watch(env, as_user(AGENT, *(f"+{name}" for name in may)))


@case
def agent_opener_killed(env):
    """Without the process that begins those that open it would record without names: it ends, and systemd begins it again."""
    agent = Agent(env, env.temporary("history"))
    env.check.that(agent.await_windows(1), f"windows come: {agent.log()}")
    for pid in children_of(agent.process.pid):
        if comm_of(pid) == "offcpu-opener":
            for one in (pid, *children_of(pid)):
                os.kill(one, signal.SIGKILL)
    env.check.that(agent.await_log("the process that begins those that open"), f"it says why: {agent.log()}")
    env.check.equal(agent.process.wait(timeout=60), 1, "status")
