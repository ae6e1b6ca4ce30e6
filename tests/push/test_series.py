# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Pushing to models of an OpenTelemetry collector and of Parca: all of it arrives once, and each answer is understood."""
import base64
import json
import shutil
import subprocess
from pathlib import Path

from clickhouse_server import npm
from pyroscope_model import check_profile
from series_models import OtlpHandler, ParcaHandler, model_of
from tap import contains, point, same


def check_rules(program, recordings, model, name, option):
    for kind, r in recordings.items():
        model.clear()
        status, _, err = program.run("push", r.path, option, model.url)
        same(f"{name}, {kind}: exit status", (status, model.bad), (0, []))
        same(f"{name}, {kind}: all of it is there, once", model.total("off_cpu"), r.off_cpu_ns)
        same(f"{name}, {kind}: waits", model.total("events"), r.waits)
        series = [(tuple(p["types"]), *sorted(p["labels"].items())) for p in model.pushes]
        same(f"{name}, {kind}: a series a request", len(series), len(set(series)))
        contains(f"{name}, {kind}: it is said", err, f"{name} at", "took")


def check_otlp_requests(program, r, model):
    """Latencies and what they were spent on are metrics; a collector that takes none gets its profiles all the same."""
    words = ("push", r.path, "--otlp", model.url)
    model.clear()
    status, _, _ = program.run(*words)
    same("OTLP, requests: exit status", (status, model.bad), (0, []))
    asked = {request["name"]: request for request in r.requests if request["count"]}
    got = {push["metrics"]["offcpu.request.duration"]["offcpu.request"]: push["metrics"] for push in model.metrics}
    same("OTLP, requests: names, but those without any", sorted(got), sorted(asked))
    for name, request in asked.items():
        duration = got[name]["offcpu.request.duration"]
        same(f"OTLP, {name}: how many, how long", (duration["count"], round(duration["sum"] * 1e9), round(duration["max"] * 1e9)),
             (request["count"], request["wall_ns"], request["max_ns"]))
        point(f"OTLP, {name}: buckets", None if duration["buckets"][0][0] == 2**14 / 1e9 and len(duration["buckets"]) == 16 else duration)
        times = {row["offcpu.reason"]: row["value"] for row in got[name]["offcpu.request.time"]}
        slowest = {row["offcpu.reason"]: row["value"] for row in got[name].get("offcpu.request.slowest.time", [])}
        point(f"OTLP, {name}: what they spent it on", None if times["on_cpu"] > 0 and all(times[k] >= slowest[k] for k in slowest) else (times, slowest))
        (some,) = got[name]["offcpu.request.slowest"]
        point(f"OTLP, {name}: the slowest", None if 0 < some["value"] <= request["count"] else some)
    model.clear()
    model.takes_metrics = False
    status, _, err = program.run(*words)
    same("OTLP, no metrics: its profiles are there", model.total("off_cpu"), r.off_cpu_ns)
    contains("OTLP, no metrics: it is said", err, "takes no metrics", "/v1/metrics")


def check_otlp(program, r, model):
    words = ("push", r.path, "--otlp", model.url)
    model.clear(["warning"])
    status, _, _ = program.run(*words)
    same("OTLP, a warning: exit status", (status, model.total("off_cpu")), (0, r.off_cpu_ns))
    model.clear(["partial"])
    status, _, err = program.run(*words)
    same("OTLP, two of its profiles dropped: not sent again", (status, model.requests), (1, 1))
    contains("OTLP, two of its profiles dropped: it is said", err, "refuses it", "no room for two")
    model.clear([503])
    status, _, _ = program.run(*words)
    same("OTLP, 503: exit status", (status, model.total("off_cpu")), (0, r.off_cpu_ns))
    model.clear([400])
    status, _, err = program.run(*words)
    same("OTLP, refused: not sent again", (status, model.requests), (1, 1))
    contains("OTLP, refused: the words of its status", err, "status 400: ordered by the test")


def check_parca(program, r, model):
    words = ("push", r.path, "--parca", model.url)
    for code, name in ((8, "resource exhausted"), (14, "unavailable")):
        model.clear([(code,)])
        status, _, _ = program.run(*words)
        same(f"Parca, {name}: exit status", (status, model.total("off_cpu")), (0, r.off_cpu_ns))
    for fault, name in (((3,), "an invalid argument"), ((13,), "an internal error"), ("nothing", "no status at all")):
        model.clear([fault])
        status, _, err = program.run(*words)
        same(f"Parca, {name}: not sent again", (status, model.requests, len(model.pushes)), (1, 1, 0))
        if fault != "nothing":
            contains(f"Parca, {name}: its words", err, "ordered by the test")
    model.stop()
    status, _, err = program.run(*words, "--wait", "0")
    same("Parca, an outage: exit status", status, 1)
    contains("Parca, an outage: it is said", err, "cannot be reached")


def check_parca_client(model):
    """Parca's own client reads what the model has taken last."""
    name = "Parca's own client"
    modules = npm.folder_of("@parca/client") if shutil.which("node") else None
    if not modules:
        point(name, skip="node or npm is not installed, or the package cannot be had")
        return
    program = Path(__file__).with_name("parca_client.mjs")
    done = subprocess.run(["node", program, modules], input=model.last_message, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    if done.returncode:
        point(name, done.stderr.decode())
        return
    (series,) = json.loads(done.stdout)
    types, sums, _, _ = check_profile(base64.b64decode(series["profiles"][0]), model.window)
    same(f"{name}: labels, types and sums", {"labels": series["labels"], "types": types, "sums": sums}, model.pushes[-1])
    same(f"{name}: one profile, normalized", (len(series["profiles"]), series["normalized"]), (1, True))


def run(program, recordings, _folder):
    everything = recordings.values()
    window = (min(r.start_ns for r in everything), max(r.end_ns for r in everything))
    otlp = model_of(OtlpHandler, window).start()
    check_rules(program, recordings, otlp, "OTLP", "--otlp")
    check_otlp(program, recordings["before"], otlp)
    check_otlp_requests(program, recordings["requests"], otlp)
    otlp.stop()
    parca = model_of(ParcaHandler, window).start()
    check_rules(program, recordings, parca, "Parca", "--parca")
    check_parca_client(parca)
    check_parca(program, recordings["before"], parca)
