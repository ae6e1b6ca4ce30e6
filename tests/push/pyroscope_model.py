# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A model of Pyroscope's push.v1: what its validation takes and refuses, and faults that a test orders.

It is no Pyroscope.  The rules are those of its source (pkg/validation, pkg/distributor, pkg/pprof); where it would change a
profile silently (numeric labels, zero samples, mappings) the model refuses it, so that nothing is sent that would be lost.
"""
import gzip
import http.server
import json
import re
import socket
import struct
import threading
import time

SAMPLES_MAX = 16000
BYTES_MAX = 2 << 20
LABELS_MAX = 30
LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.]*\Z")
PATH = "/push.v1.PusherService/Push"


class Bad(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Bad("a varint is cut off")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        shift += 7
        if not byte & 0x80:
            return value, at


def message(data):
    """(field, value) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind, field = key & 7, key >> 3
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            if at + length > len(data):
                raise Bad("a field is cut off")
            value = data[at:at + length]
            at += length
        elif kind == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            raise Bad(f"wire type {kind}")
        yield field, value


def fields(data, number):
    return [value for field, value in message(data) if field == number]


def first(data, number, default=0):
    return next(iter(fields(data, number)), default)


def packed(data, number):
    out = []
    for value in fields(data, number):
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            out.append(one)
    return out


def check_dictionaries(data, strings):
    mappings, locations, functions = fields(data, 3), fields(data, 4), fields(data, 5)
    for what, rows in (("mapping", mappings), ("location", locations), ("function", functions)):
        ids = [first(row, 1) for row in rows]
        if ids != list(range(1, len(ids) + 1)):
            raise Bad(f"ids of {what}s are not 1..n: {ids[:5]}")
    for row in functions:
        if first(row, 2) >= len(strings):
            raise Bad("a function has no name")
    for row in mappings:
        if first(row, 7) and any(not fields(place, 4) for place in locations if first(place, 2) == first(row, 1)):
            raise Bad("a mapping with functions has frames without: their addresses would be zeroed")
    return len(locations)


def check_profile(raw, window):
    """(types, sums, samples, labels) of a pprof; raises Bad where it would not be taken as it is."""
    if raw[:2] != b"\x1f\x8b":
        raise Bad("the profile is not packed")
    data = gzip.decompress(raw)
    if len(data) > BYTES_MAX:
        raise Bad("429", f"a profile of {len(data)} bytes is above the burst")
    strings = [s.decode() for s in fields(data, 6)]
    if not strings or strings[0]:
        raise Bad("string 0 is not empty")
    types = [strings[first(row, 1)] for row in fields(data, 1)]
    if any("-" in name for name in types) or not types:
        raise Bad(f"sample types {types}")
    locations = check_dictionaries(data, strings)
    sums, samples = [0] * len(types), fields(data, 2)
    if len(samples) > SAMPLES_MAX:
        raise Bad(f"{len(samples)} samples")
    stacks = set()
    for sample in samples:
        values, places = packed(sample, 2), packed(sample, 1)
        if len(values) != len(types):
            raise Bad("a sample's values are not as many as its types")
        if not any(values) or any(value >> 63 for value in values):
            raise Bad("a sample is zero or negative, and would be dropped")
        labels = tuple(sorted((strings[first(label, 1)], strings[first(label, 2, 0)]) for label in fields(sample, 3)))
        if any(name.endswith("id") or not value for name, value in labels):
            raise Bad(f"labels without bound: {labels}; each set of them is a series")
        if any(not 1 <= place <= locations for place in places):
            raise Bad("a sample's location is not there")
        if (labels, *places) in stacks:
            raise Bad("two samples have one stack and one route")
        stacks.add((labels, *places))
        sums = [a + b for a, b in zip(sums, values)]
    start_ns = first(data, 9)
    if not window[0] - 3600 * 10**9 <= start_ns <= window[1] + 600 * 10**9:
        raise Bad(f"its time {start_ns} is out of the window that is taken")
    return types, sums, len(samples), start_ns


def check_push(body, window):
    series = fields(body, 1)
    if len(series) != 1:
        raise Bad(f"{len(series)} series in a request: one that is refused would be sent again with the others")
    labels = {}
    for pair in fields(series[0], 1):
        name, value = first(pair, 1, b"").decode(), first(pair, 2, b"").decode()
        if not LABEL_NAME.match(name) or name in labels or len(value) > 2048:
            raise Bad(f"label {name!r}")
        labels[name] = value
    if len(labels) > LABELS_MAX or labels.get("__name__") not in ("off_cpu", "tasks") or not labels.get("service_name"):
        raise Bad(f"labels {labels}")
    if any("pid" in name or "tid" in name for name in labels):
        raise Bad(f"labels without bound: {labels}")
    profiles = fields(series[0], 2)
    if len(profiles) != 1:
        raise Bad(f"{len(profiles)} profiles in a series")
    types, sums, samples, start_ns = check_profile(first(profiles[0], 1, b""), window)
    return {"labels": labels, "types": types, "sums": sums, "samples": samples, "start_ns": start_ns, "bytes": len(body)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def error(self, status, code, words, headers=()):
        self.answer(status, json.dumps({"code": code, "message": words}).encode(), headers)

    def reset(self):
        """An RST in place of an answer."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def do_GET(self):
        self.server.model.asked.append(self.path)
        self.answer(200 if self.server.model.ready else 503, b"ready")

    def do_POST(self):
        model = self.server.model
        length = int(self.headers.get("Content-Length", 0))
        fault = model.take_fault()
        if fault == "reset at once":
            self.reset()
            return
        body = self.rfile.read(length)
        model.requests += 1
        if self.path != PATH or self.headers.get("Content-Type") != "application/proto":
            self.error(404, "not_found", self.path)
        elif model.authorization and self.headers.get("Authorization") != model.authorization:
            self.error(401, "unauthenticated", "no credentials")
        elif model.tenant != self.headers.get("X-Scope-OrgID"):
            self.error(401, "unauthenticated", "no org id")
        elif isinstance(fault, int):
            self.error(fault, "resource_exhausted", "ordered by the test",
                       [("Retry-After", "1")] if fault in (429, 503) else [])
        else:
            self.take(body, fault)

    def take(self, body, fault):
        model = self.server.model
        try:
            push = check_push(body, model.window)
        except Bad as err:
            model.bad.append(str(err))
            self.error(429 if err.args[0] == "429" else 400, "invalid_argument", str(err))
            return
        except Exception as err:    # what is no protobuf or gzip at all
            model.bad.append(repr(err))
            self.error(400, "invalid_argument", repr(err))
            return
        with model.lock:
            model.pushes.append(push)
        if fault == "slow":
            time.sleep(2)
        if fault == "reset after":
            self.reset()
        elif fault == "endless":
            self.answer(200, b"x" * (4 << 20))
        else:
            self.answer(200, b"")


class QuietServer(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_):     # a client that was killed
        pass


class Model:
    """Its faults are taken in order, one a POST: a status, "reset at once", "reset after" (it is taken), "slow", "endless", None."""

    handler = Handler

    def __init__(self, window):
        self.window = window
        self.lock = threading.Lock()
        self.authorization = self.tenant = None
        self.port = 0
        self.server = None
        self.clear()

    def clear(self, faults=()):
        self.faults, self.pushes, self.bad, self.asked, self.requests, self.ready = list(faults), [], [], [], 0, True
        self.metrics, self.takes_metrics = [], True

    def take_fault(self):
        with self.lock:
            return self.faults.pop(0) if self.faults else None

    def start(self):
        self.server = QuietServer(("127.0.0.1", self.port), self.handler)
        self.server.model = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def total(self, which):
        return sum(push["sums"][push["types"].index(which)] for push in self.pushes if which in push["types"])
