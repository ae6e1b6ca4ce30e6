# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Engines that are away while an agent records windows of 1 s: tracing goes on, and everything arrives once."""
import os

import clickhouse_server
from outage import Outage
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
        point("an outage of 30 s: no gap", f"{outage.gaps()}\n{outage.log()}" if outage.gaps() else None)
        same("an outage of 30 s: all of them arrived, once", [w for w in outage.arrived() if w[0] < until], [w for w in stored if w[0] < until])
        kept = outage.sums(until, "--history", outage.store)
        same("an outage of 30 s: sums in ClickHouse are the history's", outage.sums(until, "--clickhouse", outage.server.url), kept)
        until = outage.first_waiting("pyroscope")
        same("an outage of 30 s: Pyroscope has the same, once", outage.pushed_off_cpu(until),
             outage.sums(until, "--history", outage.store)["off_cpu_ns"])
        same("an outage of 30 s: nothing was dropped", (outage.dropped("clickhouse"), outage.dropped("pyroscope")), (0, 0))
    finally:
        outage.stop()


def run(program, _recordings, folder):
    if clickhouse_server.Chdb.why_not() or os.geteuid():
        point("an agent and engines that are away", skip=clickhouse_server.Chdb.why_not() or "it needs root")
        return
    home = os.path.join(folder, "agent-outage")
    os.mkdir(home)
    check_once(program, home)
