# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Models of a collector of OpenTelemetry profiles and of Parca: what their validation takes, and faults that a test orders.

They are neither.  The rules of the first are those of opentelemetry-proto 1.11 (profiles, v1development) and of OTLP/HTTP; those of the
second are those of its source (pkg/normalizer) behind gRPC-Web.
"""
import gzip
import struct

from pyroscope_model import Bad, Handler, Model, check_profile, fields, first, message, packed

OTLP_PATH = "/v1development/profiles"
METRICS_PATH = "/v1/metrics"
PARCA_PATH = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"


def varint(number):
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A number, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def check_tables(dictionary):
    """Strings of a dictionary of which every index is in its table, and element 0 of each is the empty one."""
    tables = {name: fields(dictionary, number) for number, name in
              enumerate(("mappings", "locations", "functions", "links", "strings", "attributes", "stacks"), 1)}
    for name, table in tables.items():
        if not table or (name == "strings" and table[0]) or (name in ("stacks", "locations") and list(message(table[0]))):
            raise Bad(f"element 0 of {name} is not the empty one")
    strings = [text.decode() for text in tables["strings"]]
    for row in tables["functions"]:
        if max(first(row, 1), first(row, 3)) >= len(strings):
            raise Bad("a function's name is not there")
    for row in tables["locations"]:
        if first(row, 1) >= len(tables["mappings"]):
            raise Bad("a location's mapping is not there")
        if any(first(line, 1) >= len(tables["functions"]) for line in fields(row, 3)):
            raise Bad("a location's function is not there")
    for row in tables["stacks"]:
        if any(not 0 < index < len(tables["locations"]) for index in packed(row, 1)):
            raise Bad("a stack's location is not there")
    return strings, tables


def check_otlp_profile(profile, strings, tables, window):
    kind = first(profile, 1, b"")
    name, unit = strings[first(kind, 1)], strings[first(kind, 2)]
    total, stacks = 0, set()
    for sample in fields(profile, 2):
        stack, values = first(sample, 1), packed(sample, 4)
        if not 0 < stack < len(tables["stacks"]) or stack in stacks:
            raise Bad(f"stack {stack} of a sample is not there, or twice")
        if any(index >= len(tables["attributes"]) for index in packed(sample, 2)):
            raise Bad("an attribute of a sample is not there")
        if len(values) != 1 or values[0] == 0:
            raise Bad(f"values {values}")
        stacks.add(stack)
        total += values[0]
    start_ns = first(profile, 3)
    if not window[0] <= start_ns <= window[1] + 10**9:
        raise Bad(f"its time is {start_ns}")
    return name, unit, total


def check_otlp(body, window):
    strings, tables = check_tables(first(body, 2, b""))
    resources = fields(body, 1)
    if len(resources) != 1:
        raise Bad(f"{len(resources)} resources")
    labels = {first(pair, 1, b"").decode(): first(first(pair, 2, b""), 1, b"").decode()
              for pair in fields(first(resources[0], 1, b""), 1)}
    scopes = fields(resources[0], 2)
    if len(scopes) != 1 or not fields(scopes[0], 1):
        raise Bad("a resource without its scope")
    found = [check_otlp_profile(profile, strings, tables, window) for profile in fields(scopes[0], 2)]
    if sorted(row[:2] for row in found) not in ([("events", "count"), ("off_cpu", "nanoseconds")], [("task_time", "nanoseconds"), ("tasks", "count")]):
        raise Bad(f"types {[row[:2] for row in found]}")
    if not labels.get("service.name") or not labels.get("host.name") or labels.get("offcpu.idle") not in ("yes", "no"):
        raise Bad(f"resource {labels}")
    return {"labels": labels, "types": [row[0] for row in found], "sums": [row[2] for row in found]}


def double(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def strings_of(message_, number):
    return {first(pair, 1, b"").decode(): first(first(pair, 2, b""), 1, b"").decode() for pair in fields(message_, number)}


def check_point(point, window, attribute):
    start_ns, end_ns = first(point, 2), first(point, 3)
    if not window[0] <= start_ns < end_ns <= window[1] + 10**9:
        raise Bad(f"a point's time is {start_ns} to {end_ns}")
    return strings_of(point, attribute)


def check_histogram(data, window):
    (point,) = fields(data, 1)
    counts = [bits for (bits,) in struct.iter_unpack("<Q", first(point, 6, b""))]
    bounds = [value for (value,) in struct.iter_unpack("<d", first(point, 7, b""))]
    if len(counts) != len(bounds) + 1 or sorted(set(bounds)) != bounds:
        raise Bad(f"{len(counts)} buckets have bounds {bounds}")
    if sum(counts) != first(point, 4):
        raise Bad(f"buckets have {sum(counts)} of {first(point, 4)}")
    return {"count": first(point, 4), "sum": double(first(point, 5)), "max": double(first(point, 12)),
            "buckets": list(zip(bounds, counts)), **check_point(point, window, 9)}


def check_sum(data, window):
    points = fields(data, 1)
    if first(data, 3) != 1 or not points:
        raise Bad("a sum is not monotonic, or has no points")
    return [{"value": double(first(point, 4)) if first(point, 4) else first(point, 6), **check_point(point, window, 7)} for point in points]


def check_metrics(body, window):
    """Of ExportMetricsServiceRequest, opentelemetry-proto 1.11: each resource's attributes and metrics by their names."""
    found = []
    for resource in fields(body, 1):
        labels = strings_of(first(resource, 1, b""), 1)
        (scope,) = fields(resource, 2)
        metrics = {}
        for metric in fields(scope, 2):
            name, histogram, total = first(metric, 1, b"").decode(), first(metric, 9, b""), first(metric, 7, b"")
            if not name or name in metrics or not first(metric, 3, b"") or bool(histogram) == bool(total):
                raise Bad(f"metric {name}")
            if first(histogram or total, 2) != 1:
                raise Bad(f"{name} does not say that it is a delta")
            metrics[name] = check_histogram(histogram, window) if histogram else check_sum(total, window)
        if not labels.get("service.name") or not labels.get("host.name") or not metrics:
            raise Bad(f"resource {labels}")
        found.append({"labels": labels, "metrics": metrics})
    return found


class OtlpHandler(Handler):
    def do_POST(self):
        model = self.server.model
        if self.path == METRICS_PATH and not model.takes_metrics:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.answer(404)
            return
        fault = model.take_fault()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        model.requests += 1
        if self.path == METRICS_PATH:
            self.take_metrics(gzip.decompress(body))
            return
        if self.path != OTLP_PATH or self.headers.get("Content-Type") != "application/x-protobuf":
            self.answer(404)
        elif self.headers.get("Content-Encoding") != "gzip":
            self.status(400, "the body is not packed")
        elif isinstance(fault, int):
            self.status(fault, "ordered by the test")
        else:
            self.take(gzip.decompress(body), fault)

    def take_metrics(self, body):
        model = self.server.model
        try:
            model.metrics += check_metrics(body, model.window)
            self.answer(200)
        except (Bad, ValueError) as err:
            model.bad.append(f"metrics: {err}")
            self.status(400, str(err))

    def status(self, code, words):
        """A google.rpc.Status."""
        self.answer(code, field(1, 14) + field(2, words.encode()))

    def take(self, body, fault):
        model = self.server.model
        try:
            push = check_otlp(body, model.window)
        except Bad as err:
            model.bad.append(str(err))
            self.status(400, str(err))
            return
        if fault == "partial":
            self.answer(200, field(1, field(1, 2) + field(2, b"no room for two")))
            return
        model.pushes.append(push)
        self.answer(200, field(1, field(2, b"a warning, and nothing dropped")) if fault == "warning" else b"")


def check_parca(body, window):
    if body[0] != 0 or struct.unpack(">I", body[1:5])[0] != len(body) - 5:
        raise Bad("it is no frame of gRPC-Web")
    series = fields(body[5:], 2)
    if len(series) != 1 or not first(body[5:], 3):
        raise Bad(f"{len(series)} series, normalized {first(body[5:], 3)}")
    labels = {}
    for pair in fields(first(series[0], 1, b""), 1):
        name = first(pair, 1, b"").decode()
        if name in labels:
            raise Bad(f"label {name} twice")
        labels[name] = first(pair, 2, b"").decode()
    if not labels.get("__name__"):
        raise Bad("missing __name__ label")
    types, sums, _, _ = check_profile(first(first(series[0], 2, b""), 1, b""), window)
    return {"labels": labels, "types": types, "sums": sums}


class ParcaHandler(Handler):
    def do_POST(self):
        model = self.server.model
        fault = model.take_fault()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        model.requests += 1
        if self.path != PARCA_PATH or self.headers.get("Content-Type") != "application/grpc-web+proto":
            self.answer(404)
        elif isinstance(fault, tuple):      # a status of gRPC, where improbable-eng's wrapper has it when there is no message
            self.answer(200, b"", [("Grpc-Status", str(fault[0])), ("Grpc-Message", "ordered by the test")])
        elif fault == "nothing":
            self.answer(200, b"")
        else:
            self.take(body)

    def take(self, body):
        model = self.server.model
        try:
            model.pushes.append(check_parca(body, model.window))
            model.last_message = body[5:]
            trailer = b"grpc-status: 0\r\n"
        except Bad as err:
            model.bad.append(str(err))
            trailer = f"grpc-status: 3\r\ngrpc-message: {err}\r\n".encode()
        self.answer(200, b"\0" + struct.pack(">I", 0) + b"\x80" + struct.pack(">I", len(trailer)) + trailer)


def model_of(handler, window):
    model = Model(window)
    model.handler = handler
    return model
