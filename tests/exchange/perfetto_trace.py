# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Samples of a Perfetto trace as its trace processor finds them (v58): callstack_iid, callstacks, frames, names."""
import re


def message(lines):
    """{field: [value or message, ...]} of what protoc prints, up to the closing brace."""
    found = {}
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            found.setdefault(line[:-2], []).append(message(lines))
        else:
            name, value = line.split(": ", 1)
            found.setdefault(name, []).append(value)
    return found


def unescape(text):
    """What protoc printed of bytes."""
    return re.sub(rb"\\([0-7]{3}|.)", lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else
                  {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(m[1], m[1]), text[1:-1].encode()).decode(errors="replace")


def samples(lines):
    """(names of the frames, outermost first, and weight) of each sample, and what is wrong with how they are told."""
    tables = {"function_names": {}, "frames": {}, "callstacks": {}, "mappings": {}, "build_ids": {}}
    found, wrong = [], []
    for packet in message(iter(lines))["packet"]:
        for data in packet.get("interned_data", []):
            for name, table in tables.items():
                table.update({m["iid"][0]: m for m in data.get(name, [])})
        for sample in packet.get("stack_sample", []):
            callstack = tables["callstacks"].get(sample.get("callstack_iid", ["0"])[0])
            if not callstack and "callstack_iid" in sample:
                wrong.append(f"callstack {sample['callstack_iid'][0]} was not told")
            frames = [tables["frames"].get(iid, {}) for iid in (callstack or {}).get("frame_ids", [])]
            wrong += [f"frame {f}" for f in frames if "function_name_id" not in f or ("mapping_id" in f) > ("rel_pc" in f)
                      or f.get("mapping_id", ["0"])[0] not in {"0", *tables["mappings"]}]
            names = [unescape(tables["function_names"][f["function_name_id"][0]]["str"][0]) for f in frames]
            found.append((tuple(names), int(sample["primary_weight"][0])))
    return found, wrong
