# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Engines that are away while an agent records windows of 1 s: tracing goes on, everything arrives once, and what is dropped is counted."""
import os
import re

import clickhouse_server
from outage import Outage, sleep_until
from tap import point, same

SETTINGS = ["record.comm=python3"]      # this test itself: small windows, whatever else the machine does


def check_once(program, folder):
    outage = Outage(program.offcpu, folder, settings=SETTINGS)
    try:
        outage.start()
        outage.watch(4)
        outage.away(30)
        point("an outage of 30 s: it is over in the end", None if outage.drain(180) is not None else outage.log())
        same("an outage of 30 s: the agent's exit status", outage.end(), 0)
        stored, until = outage.windows(), outage.first_waiting("clickhouse")
        point("an outage of 30 s: windows", None if len(stored) >= 30 else outage.log())
        same("an outage of 30 s: no gap", outage.gaps(), [])
        same("an outage of 30 s: all of them arrived, once", [w for w in outage.arrived() if w[0] < until], [w for w in stored if w[0] < until])
        kept = outage.sums(until, "--history", outage.store)
        same("an outage of 30 s: sums in ClickHouse are the history's", outage.sums(until, "--clickhouse", outage.server.url), kept)
        until = outage.first_waiting("pyroscope")
        same("an outage of 30 s: Pyroscope has the same, once", outage.pushed_off_cpu(until),
             outage.sums(until, "--history", outage.store)["off_cpu_ns"])
        same("an outage of 30 s: nothing was dropped", (outage.dropped("clickhouse"), outage.dropped("pyroscope")), (0, 0))
    finally:
        outage.stop()


def check_bound(program, folder):
    """A spool of 1 MiB: what it holds stays within, and what went is as many as the journal says."""
    outage = Outage(program.offcpu, folder, "1M", SETTINGS)
    try:
        outage.start()
        outage.server.stop()
        sleep_until(lambda: outage.watch(2) and outage.dropped("clickhouse") >= 3, 120)
        error = outage.server.start()
        point("a full spool: the server is back", error)
        outage.drain(120)
        outage.end()
        until, arrived = outage.first_waiting("clickhouse"), set(outage.arrived())
        missing = [w for w in outage.windows() if w[0] < until and w not in arrived]
        too_large = re.findall("are lost from now on", outage.log())
        if too_large:
            point("a full spool: dropped as told", skip="windows of this machine are above 1 MiB")
            return
        point("a full spool: something was dropped", None if missing else outage.log())
        same("a full spool: dropped as told", outage.dropped("clickhouse"), len(missing))
        point("a full spool: it keeps its bound", None if outage.most["clickhouse"] <= 1 << 20 else outage.most)
    finally:
        outage.stop()


def run(program, _recordings, folder):
    if clickhouse_server.Server.why_not() or os.geteuid():
        point("an agent and engines that are away", skip=clickhouse_server.Server.why_not() or "it needs root")
        return
    for name, check in (("once", check_once), ("bound", check_bound)):
        home = os.path.join(folder, f"outage-{name}")
        os.mkdir(home)
        check(program, home)
