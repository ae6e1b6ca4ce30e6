# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What each wait was for, of a program that knows: files, sockets, pipes, ... and who is at their other ends."""

import os
import shutil

from check import names
from lib import case

ROUNDS = 60
KINDS = 20
SHARE = 0.97  # of the time waited at a site
# A page that is read is waited for in other ways too: a place in the page cache, the file's index.
SHARES = {"wait_fault": 0.6, "wait_fsync": 0.9}  # the journal writes for others, too


def waits_of(report, line):
    return [wait for wait in report.by_thread[line["pid"], line["tid"]]
            if wait["state"] in "SD" and line["site"] in names(wait["user"])]


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
