# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Pushing to a model of Pyroscope: what it takes, and that nothing counts twice whatever goes wrong."""
import os
import shutil
import signal
import ssl
import subprocess
import time

import pyroscope_model
from tap import contains, point, same


def once(name, model, *recordings):
    same(f"{name}: all of it is there, once", model.total("off_cpu"), sum(r.off_cpu_ns for r in recordings))


def check_rules(program, recordings, model):
    for kind, r in recordings.items():
        model.clear()
        status, _, err = program.run("push", r.path, "--pyroscope", model.url)
        same(f"Pyroscope, {kind}: exit status", (status, model.bad), (0, []))
        once(f"Pyroscope, {kind}", model, r)
        same(f"Pyroscope, {kind}: waits", model.total("events"), r.waits)
        same(f"Pyroscope, {kind}: types", {tuple(p["types"]) for p in model.pushes}, {("events", "off_cpu"), ("tasks", "task_time")} if kind == "tasks" else {("events", "off_cpu")})
        same(f"Pyroscope, {kind}: instance", {p["labels"]["instance"] for p in model.pushes}, {r.host})
        series = [tuple(sorted(p["labels"].items())) for p in model.pushes]
        same(f"Pyroscope, {kind}: a series a request", len(series), len(set(series)))
        contains(f"Pyroscope, {kind}: it is said", err, "Pyroscope at", "took")


def check_faults(program, r, model):
    model.clear([429, 503])
    status, _, _ = program.run("push", r.path, "--pyroscope", model.url)
    same("Pyroscope, 429 and 503: exit status", status, 0)
    once("Pyroscope, 429 and 503", model, r)

    model.clear(["reset after"])
    status, _, err = program.run("push", r.path, "--pyroscope", model.url)
    same("Pyroscope, reset instead of an answer: exit status", status, 1)
    same("Pyroscope, reset instead of an answer: sent once", (len(model.pushes), model.requests), (1, 1))
    contains("Pyroscope, reset instead of an answer: it is said", err, "it may have taken it")

    model.clear(["endless", "slow"])
    status, _, _ = program.run("push", r.path, "--pyroscope", model.url)
    same("Pyroscope, slow, and an answer of megabytes: exit status", status, 0)
    once("Pyroscope, slow, and an answer of megabytes", model, r)

    model.clear([500])
    status, _, err = program.run("push", r.path, "--pyroscope", model.url)
    same("Pyroscope, status 500: not sent again", (status, model.requests), (1, 1))
    contains("Pyroscope, status 500: its words", err, "status 500: ordered by the test")

    model.clear([400])
    status, _, err = program.run("push", r.path, "--pyroscope", model.url)
    same("Pyroscope, refused: exit status", (status, model.requests), (1, 1))


def check_spool(program, r, other, model, folder):
    spool = os.path.join(folder, "spool")
    words = ("--pyroscope", model.url, "--spool", spool)

    model.clear([None, 400, "reset after"])
    status, _, err = program.run("push", r.path, *words)
    sent = len(model.pushes)
    series = sent + 1
    same("spool, one refused and one unsure: exit status", status, 1)
    same("spool, one refused and one unsure: each was sent once", model.requests, series)
    contains("spool, one refused and one unsure: both are said", err, "refused", "might count twice")
    contains("spool, after an unsure one it is asked whether it is there", str(model.asked), "/ready")
    same("spool: nothing is left", [name for name in os.listdir(os.path.join(spool, "pyroscope")) if name != "lock"], [])

    model.stop()
    status, _, err = program.run("push", r.path, *words, "--wait", "3s")
    same("spool, an outage: exit status", status, 1)
    contains("spool, an outage: it is said", err, "cannot be reached", "wait in")
    files = os.listdir(os.path.join(spool, "pyroscope"))
    same("spool, an outage: only whole files", [name for name in files if not name.endswith(".push") and name != "lock"], [])
    model.clear()
    model.start()
    status, _, _ = program.run("push", other.path, *words)
    same("spool, after the outage: exit status", status, 0)
    once("spool, after the outage", model, r, other)

    model.clear(["slow"])
    process = subprocess.Popen([program.offcpu, "push", r.path, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 20
    while not model.pushes and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    status, _, err = program.run("push", other.path, *words)
    once("spool, killed while it was sending", model, r, other)
    contains("spool, killed while it was sending: what is in doubt is said", err, "as the last process ended")


def check_who(program, r, model, folder):
    status, _, err = program.run("push", r.path, "--pyroscope", model.url.replace("//", "//me:secret@"))
    same("a password in the address: exit status", status, 2)
    point("a password in the address is not printed", "secret" in err and err)
    secrets = os.path.join(folder, "secrets")
    with open(secrets, "w", encoding="utf-8") as file:
        file.write("# of the test\ntoken abc.def\n")
    os.chmod(secrets, 0o644)
    model.clear()
    model.authorization, model.tenant = "Bearer abc.def", "team 1"
    words = ("push", r.path, "--pyroscope", model.url, "--tenant", "team 1", "--credentials", secrets)
    status, _, err = program.run(*words)
    same("credentials that others may read: exit status", status, 2)
    contains("credentials that others may read: what to do", err, "chmod 600")
    os.chmod(secrets, 0o600)
    status, _, _ = program.run(*words)
    same("token and tenant: exit status", status, 0)
    once("token and tenant", model, r)
    status, _, err = program.run(*words[:-2], "--wait", "0")
    same("without the token: exit status", status, 1)
    contains("without the token: its words", err, "401", "no credentials")
    status, _, _ = program.run(*words[:-2], env={"OFFCPU_PUSH_TOKEN": "abc.def"})
    same("the token from the environment: exit status", status, 0)
    model.authorization = model.tenant = None


def check_https(program, r, model, folder):
    if not shutil.which("openssl"):
        point("https is verified", skip="openssl is not installed")
        return
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
    secure = pyroscope_model.Model(model.window).start()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    secure.server.socket = context.wrap_socket(secure.server.socket, server_side=True)
    url = secure.url.replace("http:", "https:")
    status, _, err = program.run("push", r.path, "--pyroscope", url, "--wait", "0")
    same("https, a certificate of nobody: exit status", (status, secure.requests), (1, 0))
    contains("https, a certificate of nobody: it is said", err, "certificate")
    status, _, _ = program.run("push", r.path, "--pyroscope", url, "--ca", cert)
    same("https, a certificate that is trusted: exit status", status, 0)
    once("https", secure, r)
    secure.stop()


def check_metrics(program, r):
    status, text, _ = program.run("push", r.path, "--metrics", "-")
    same("metrics: exit status", status, 0)
    rows = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("offcpu_wait_seconds_total{")]
    same("metrics: time off CPU adds up", sum(int(value.replace(".", "")) for _, value in rows), r.off_cpu_ns)
    if not shutil.which("promtool"):
        point("promtool check metrics", skip="promtool is not installed")
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    point("promtool check metrics", done.stdout.decode() if done.returncode else None)


def run(program, recordings, folder):
    check_metrics(program, recordings["wakers"])
    everything = recordings.values()
    window = (min(r.start_ns for r in everything), max(r.end_ns for r in everything))
    model = pyroscope_model.Model(window).start()
    check_rules(program, recordings, model)
    check_faults(program, recordings["before"], model)
    check_spool(program, recordings["wakers"], recordings["crowd"], model, folder)
    check_who(program, recordings["plain"], model, folder)
    check_https(program, recordings["plain"], model, folder)
    model.stop()
