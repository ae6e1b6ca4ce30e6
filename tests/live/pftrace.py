# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A Perfetto trace as protoc reads it: packets as dicts of lists, switches of each CPU, states of each thread, slices."""
import re
import shutil
import subprocess
from pathlib import Path

from lib import Skip

PROTO = Path(__file__).resolve().parent.parent / "exchange" / "proto"
STATES = {0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 0x10: "X", 0x40: "P", 0x80: "I", 0x100: "R"}


def message(lines):
    """{field: [value or message, ...]} up to the closing brace."""
    found = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            found.setdefault(line[:-2], []).append(message(lines))
        else:
            name, value = line.split(": ", 1)
            found.setdefault(name, []).append(value[1:-1] if value.startswith('"') else
                                              value if value in ("true", "false") else int(value))
    return found


def one(of, name, default=None):
    return of.get(name, [default])[0]


class Trace:
    """What is told of CPUs (switches and wakings by time), and slices of tracks."""

    def __init__(self, path):
        if not shutil.which("protoc"):
            raise Skip("protoc is not installed")
        with open(path, "rb") as file:
            text = subprocess.run(["protoc", f"--proto_path={PROTO}", "--decode=perfetto.Trace", "perfetto.proto"], stdin=file,
                                  stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
        self.unknown = re.findall(r"^\s*\d+[:\s].*", text, re.M)
        self.packets = message(iter(text.splitlines()))["packet"]
        self.ftrace = sorted(((one(e, "timestamp"), one(bundle, "cpu"), e) for p in self.packets
                              for bundle in p.get("ftrace_events", []) for e in bundle["event"]), key=lambda e: e[:2])
        self.has_lost = any(one(b, "lost_events") for p in self.packets for b in p.get("ftrace_events", []))
        self.names = {one(t, "tid"): one(t, "name") for p in self.packets for tree in p.get("process_tree", [])
                      for t in tree.get("threads", [])}
        self.processes = {one(t, "tid"): one(t, "tgid") for p in self.packets for tree in p.get("process_tree", [])
                          for t in tree.get("threads", [])}
        self.tracks = {one(d, "uuid"): one(one(d, "thread"), "tid") for p in self.packets
                       for d in p.get("track_descriptor", []) if "thread" in d}
        self._find_stacks()
        self._find_slices()

    def _find_stacks(self):
        names, frames, self.stacks = {}, {}, {}
        for data in (one(p, "interned_data") for p in self.packets if "interned_data" in p):
            names |= {one(f, "iid"): one(f, "str") for f in data.get("function_names", [])}
            frames |= {one(f, "iid"): one(f, "function_name_id") for f in data.get("frames", [])}
            self.stacks |= {one(s, "iid"): [names[frames[f]] for f in s["frame_ids"]] for s in data.get("callstacks", [])}

    def _find_slices(self):
        """Waits: {tid, start, end, arguments, from (start of the slice within), by (tid of the arrow's begin)}."""
        events = sorted(((one(p, "timestamp"), i, one(p, "track_event")) for i, p in enumerate(self.packets)
                         if "track_event" in p), key=lambda e: e[:2])
        stacks, begins, self.waits, self.arrows = {}, {}, [], {}
        for at, _, e in events:
            stack, tid = stacks.setdefault(one(e, "track_uuid"), []), self.tracks.get(one(e, "track_uuid"))
            if one(e, "type") == 3:
                begins |= {flow: (tid, at) for flow in e.get("flow_ids", [])}
                self.arrows |= {flow: (begins.get(flow), (tid, at)) for flow in e.get("terminating_flow_ids", [])}
            elif one(e, "type") == 1:
                arguments = {one(a, "name"): one(a, "string_value", one(a, "uint_value"))
                             for a in e.get("debug_annotations", [])}
                stack.append({"tid": tid, "start": at, "name": one(e, "name"), "stack": one(e, "callstack_iid"), **arguments})
                for flow in e.get("terminating_flow_ids", []):
                    self.arrows[flow] = (begins.get(flow), (tid, at))
                    stack[-1]["by"] = begins.get(flow, (None,))[0]
            else:
                done = stack.pop()
                # the viewer draws an arrow to where the slice begins, whichever of its events has it
                self.arrows |= {flow: (begins.get(flow), (tid, done["start"])) for flow in e.get("terminating_flow_ids", [])}
                done["end"] = at
                if stack:
                    stack[-1] |= {"woken": done["start"], "by": done.get("by")}
                else:
                    self.waits.append(done)
        self.begins = begins

    def broken_cpus(self):
        """Switches from another thread than the one before was to."""
        on, broken = {}, []
        for at, cpu, e in self.ftrace:
            switch = one(e, "sched_switch")
            if switch:
                if on.get(cpu, one(switch, "prev_pid")) != one(switch, "prev_pid"):
                    broken.append((at, cpu, on[cpu], one(switch, "prev_pid")))
                on[cpu] = one(switch, "next_pid")
        return broken

    def off_cpu(self):
        """[(tid, start, end, state, woken or None, by)] of each wait that begins and ends in the trace, by switches alone."""
        out, found = {}, []
        for at, _, e in self.ftrace:
            switch, waking = one(e, "sched_switch"), one(e, "sched_waking")
            if waking and one(waking, "pid") in out:
                out[one(waking, "pid")][2:] = [at, one(e, "pid")]
            if not switch:
                continue
            wait = out.pop(one(switch, "next_pid"), None)
            if wait and one(switch, "next_pid"):
                found.append((one(switch, "next_pid"), wait[0], at, *wait[1:]))
            if one(switch, "prev_pid"):
                out[one(switch, "prev_pid")] = [at, STATES[one(switch, "prev_state")], None, None]
        return found
