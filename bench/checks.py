# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What must hold for a number to mean something.  A measurement that fails one gives no number."""
import statistics
import time
from contextlib import contextmanager
from pathlib import Path

# A load is at saturation while no more than this share of the CPUs idles.
IDLE_MAX = 0.10
# And the host takes no more than this share away.
STOLEN_MAX = 0.05
# Half of a tool's readings lie within so much of each other, or something else was going on.
SPREAD_MAX = 0.15
ALTERNATIONS_MIN = 7


def in_turn(names, turns):
    """Each name once a turn, beginning with another one each time."""
    names = list(names)
    for turn in range(turns):
        at = turn % len(names)
        yield from names[at:] + names[:at]


class Doubtful(RuntimeError):
    """The machine was not as it has to be."""


class Stolen(Doubtful):
    """The host was not; it may be again."""


def cpu_ticks():
    """(all, idle, stolen) clock ticks of the whole machine so far."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields), fields[3] + fields[4], fields[7]


@contextmanager
def saturated(what, idle_max=IDLE_MAX, stolen_max=STOLEN_MAX):
    """The CPUs must be busy from begin to end, and with this machine's work, not another's."""
    before = cpu_ticks()
    yield
    total, idle, stolen = (after - b for after, b in zip(cpu_ticks(), before))
    if not total:
        return
    if idle > idle_max * total:
        raise Doubtful(f"{what}: the CPUs were idle for {100 * idle / total:.0f}% of the reading: the load does not "
                       f"saturate them (at most {100 * idle_max:.0f}%)")
    if stolen > stolen_max * total:
        raise Stolen(f"{what}: the host took {100 * stolen / total:.0f}% of the CPU time away")


def spread(values):
    """Half of the values lie within this, as a share of their median."""
    if len(values) < 4:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4)
    return (high - low) / statistics.median(values)


def unsteady(what, values, spread_max=SPREAD_MAX):
    """Readings of one thing on one load must agree; sentences that say otherwise."""
    if spread(values) <= spread_max:
        return []
    text = ", ".join(f"{value:.0f}" for value in values)
    return [f"{what}: the readings disagree by {100 * spread(values):.0f}% ({text})"]


def foreign_cpu_share(seconds=1.0):
    """How busy the machine is before any load is started."""
    before = cpu_ticks()
    time.sleep(seconds)
    total, idle, _ = (after - b for after, b in zip(cpu_ticks(), before))
    return 1 - idle / total if total else 0.0


def require_quiet(other_tracers):
    """Before anything: nobody else traces, nothing else runs."""
    if other_tracers:
        raise Doubtful(f"{other_tracers} tracing programs of others are loaded: they run in the same tracepoints")
    share = foreign_cpu_share()
    if share > 0.10:
        raise Doubtful(f"the machine is {100 * share:.0f}% busy before any load is started")
