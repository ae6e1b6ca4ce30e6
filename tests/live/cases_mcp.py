# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu mcp` records: what it says of a real program, and that nothing goes on after it was cancelled."""

import os
import subprocess
import sys
import time

from lib import case, wait_until

CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mcp")   # guests have none

FSYNC = """
import os
def commit(file):
    os.pwrite(file, b"x", 0)
    os.fsync(file)
file = os.open("log", os.O_CREAT | os.O_WRONLY)
while True:
    commit(file)
"""


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return f.read().split()


@case
def mcp_record_and_cancel(env):
    sys.path.insert(0, CLIENT)
    from client import Client
    program = subprocess.Popen([sys.executable, "-c", FSYNC], cwd=env.directory)
    client = Client(env.offcpu, "--allow-record", cwd=env.directory)
    try:
        result = client.call("record", target=str(program.pid), seconds=1)
        answer = result.get("structuredContent", {})
        env.check.that(any("log" in told["sentence"] and "fsync" in told["sentence"] for told in answer.get("headlines", [])),
                       f"it does not tell of fsync: {str(result)[:400]}")
        number = client.begin("record", token="t", target=str(program.pid), seconds=60)
        while not client.notes:
            client.ask("ping")
            time.sleep(0.05)
        env.check.equal(len(children_of(client.process.pid)), 1, "recorders")
        client.send("notifications/cancelled", {"requestId": number}, number=0)
        begun = time.monotonic()
        wait_until(lambda: not children_of(client.process.pid), 5)
        env.check.that(time.monotonic() - begun < 2, "a cancelled recording goes on")
        env.check.equal(client.leave()[0], 0, "exit status")
        env.check.that(not os.path.exists(answer.get("file", "/")), "a recording is left")
    finally:
        for process in (program, client.process):
            process.kill()
            process.wait()
