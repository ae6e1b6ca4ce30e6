# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What each wait was for, of a program that knows: files, sockets, pipes, ... and who is at their other ends."""

import json
import os
import re
import shutil
import subprocess
import sys

from check import names
from lib import Broken, Program, Recorder, Skip, case, nightly

ROUNDS = 60
KINDS = 21
SHARE = 0.97  # of the time waited at a site
# A page that is read is waited for in other ways too: a place in the page cache, the file's index.
SHARES = {"wait_fault": 0.6, "wait_fsync": 0.9}  # the journal writes for others, too


def waits_of(report, line):
    """What a thread waited for at its site, but for its page faults, which the others' mmap() may hold up anywhere."""
    return [wait for wait in report.by_thread[line["pid"], line["tid"]]
            if wait["state"] in "SD" and line["site"] in names(wait["user"])
            and not (wait["object"] or "").startswith("mmap_lock")]


def is_right(wait, line):
    if wait["object"] != line["name"] or wait.get("object_kind") != line["kind"]:
        return False
    return line["peer"] < 0 and wait["peer_pid"] > 0 or wait["peer_pid"] == line["peer"]


def check_line(env, report, line):
    waits = waits_of(report, line)
    if not env.check.that(waits, f"{line['site']}: no wait"):
        return
    whole_ns = sum(wait["blocked_ns"] for wait in waits)
    right_ns = sum(wait["blocked_ns"] for wait in waits if is_right(wait, line))
    seen = sorted({f"{w.get('object_kind')} {w['object']} peer {w.get('peer_pid')}" for w in waits})
    env.check.that(right_ns >= SHARES.get(line["site"], SHARE) * whole_ns,
                   f"{line['site']}: {right_ns} of {whole_ns} ns are {line['kind']} {line['name']} "
                   f"with peer {line['peer']}; seen {seen[:4]}")


@case
def objects_are_named(env):
    """A thread for each kind of object, and the recording names all of them, with the process at the other end."""
    directory = env.disk_file()
    os.mkdir(directory)
    try:
        report, truth, _ = env.record("objects", ROUNDS, directory, extra=("--objects", "--exact"))
    finally:
        shutil.rmtree(directory)
    lines = [line for line in truth if line.get("truth") == "object"]
    env.check.equal(len(lines), KINDS, "objects that the program waited for")
    for line in lines:
        check_line(env, report, line)


def check_shares(env, shares, truth):
    """
    The network's time is not said to be the peer's, nor the peer's the network's, but for 5% or 1 ms a wait; and most of
    both is told.  What neither of both told of, as a busy machine's delays, may be anybody's.
    """
    room_s = truth["count"] * 1e-3
    for who, other in (("peer", "network"), ("network", "peer")):
        claimed_s, own_s, others_s = shares[f"{who}_ns"] / 1e9, truth[f"{who}_s"], truth[f"{other}_s"]
        said = f"port {truth['port']}: {claimed_s:.3f} s are the {who}'s; {truth}, {shares}"
        env.check.that(claimed_s <= (truth["waited_s"] - others_s) * 1.05 + room_s, f"too much: {said}")
        env.check.that(claimed_s >= own_s / 2 - room_s, f"too little: {said}")


@case
def waits_are_followed(env):
    """
    From who asks through two sockets, one of them into another network namespace, to what the last one waits for: by the
    sockets alone, since nobody looks at wakers here.
    """
    if not shutil.which("nsenter") or not shutil.which("ip"):
        raise Skip("no ip or nsenter here")
    report, truth, program = env.record("hops", 40, extra=("--objects", "--exact"))
    told = [h["evidence"] for h in report.data["headlines"] if "load_cart" in h["sentence"]]
    share = 100 * truth[0]["slept_ns"] / truth[0]["waited_ns"]
    parts = re.search(r"at the other end is quoter/\d+, which itself mostly waits for data from the network, 127.0.0.1:7301 \(ledgerd\), "
                      r"in relay_quote, which meanwhile sleeps until a timer in commit_order \((\d+)% of that time\)", told[0] if told else "")
    if env.check.that(parts, f"process {program.pid} is told {told}"):
        env.check.that(float(parts[1]) >= share - 5, f"{parts[1]}% of that time; the program says {share:.0f}%")
    peers = {w["object"] for w in report.waits if "load_cart" in names(w["user"]) and w["state"] == "S"}
    env.check.equal(peers, {"10.254.93.2:7302 (quoter)"}, "what cart waits for")


@case
@nightly
def waits_are_followed_to_other_hosts(env):
    """
    Three services in a network namespace each, recorded as by three hosts: from the first one's recording what the last
    one does is told, with how much of the time it is; without the last one's that nobody is known there.
    """
    if not all(map(shutil.which, ("nsenter", "ip", "unshare"))):
        raise Skip("no ip, nsenter or unshare here")
    program = Program(env, "hops", 40, "apart")
    recorders = []
    for host, pid in zip(("web1", "db1", "mid1"), program.pids):
        before = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', host]
        recorders.append(Recorder(env, "-p", pid, "--objects", "--exact", before=before))
    for recorder in recorders:
        recorder.wait_attached()
    program.go()
    program.wait_done()
    for recorder in recorders:
        env.check.equal(recorder.stop(), 0, f"status of {recorder.line}")
    program.finish()
    truth = program.truth()[0]
    chains = []
    for some in (recorders, recorders[::2]):
        done = subprocess.run([env.offcpu, "report", "--follow", "--json", *(r.out for r in some)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60, check=True)
        chains.append(json.loads(done.stdout)["chains"])
    for chain, end in zip(chains, (None, "Nobody is known who serves 10.254.94.2:7301")):
        if not env.check.equal(len(chain), 1, f"chains of {chains}"):
            return
        hops = [(hop["host"], hop["process"], hop["reason"], hop["found_by"]) for hop in chain[0]["hops"]]
        expected = [("web1", "cart", "network.receive", None), ("mid1", "quoter", "network.receive", "connection"), ("db1", "ledgerd", "sleep", "connection")]
        env.check.equal(hops, expected[:2] if end else expected, "hops")
        env.check.that(not end or chain[0]["end"].startswith(end), f"its end is told as {chain[0]['end']}")
    slept = 100 * truth["slept_ns"] / truth["waited_ns"]
    parts = [hop["percent"] / 100 for hop in chains[0][0]["hops"][1:]]
    env.check.that(abs(100 * parts[0] * parts[1] - slept) < 10, f"ledgerd slept for {slept:.0f}% of what cart waited; told are {parts}")


@case
def loop_that_connects_anew(env):
    """Whom a loop asks whose connections are closed again is told, as the kernel sees what is ready."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "anew.py")
    recorder = Recorder(env, "--objects", "--exact", command=[sys.executable, program, "7711", "1"])
    if recorder.wait():
        raise Broken(f"`{recorder.line}` failed: {recorder.stderr()}")
    sets = {wait["object"] for wait in recorder.report().waits if wait.get("object_kind") == "epoll"}
    env.check.that(any(" -> 127.0.0.1:7711" in name for name in sets), f"its set is called {sets}")


@case
def network_or_peer(env):
    """A server that sleeps, behind a relay that delays or drops segments: whose time the client waits is told."""
    path = env.temporary("relayed.truth")
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relayed.py")
    recorder = Recorder(env, "--exact", command=[sys.executable, program, path])
    status = recorder.wait()
    if status == 2:
        raise Skip("no TUN device, or no network namespace of its own")
    if status:
        raise Broken(f"`{recorder.line}` failed: {recorder.stderr()}")
    rows = recorder.report().data.get("tcp_waits", [])
    with open(path, encoding="ascii") as file:
        truths = json.load(file)
    for truth in truths:
        shares = [row for row in rows if row["direction"] == "receive" and row["object"].split(" ")[0].endswith(f":{truth['port']}")
                  and " from " not in row["object"]]
        if env.check.equal(len(shares), 1, f"rows of port {truth['port']}"):
            check_shares(env, shares[0], truth)
    if len(rows) > 1:
        env.check.that(any(row["resent"] for row in rows), "no segment was sent again")
