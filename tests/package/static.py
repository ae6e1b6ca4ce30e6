# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The static program: what it is, and that it works where there is nothing else."""
import http.server
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from lib import Skip, build_environment, expect, need_root, need_tools, run, same_bytes, clone

MAX_BYTES = 16_000_000
IMAGE_MAX_BYTES = 30_000_000
# In a mount namespace of its own: a folder that holds the program, what it wrote to /tmp, /proc and /sys.
ENTER = 'mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; cd "$1"; shift; exec chroot . "$@"'
# The same, with the capabilities of a list alone: an exec as root leaves those of the bounding set.
ENTER_WITH = """import ctypes, os, subprocess, sys
folder, wanted, *argv = sys.argv[1:]
subprocess.run(["mount", "-t", "proc", "proc", folder + "/proc"], check=True)
subprocess.run(["mount", "--rbind", "/sys", folder + "/sys"], check=True)
os.chroot(folder)
os.chdir("/")
libc = ctypes.CDLL(None)
for number in range(41):
    if str(number) not in wanted.split(","):
        libc.prctl(24, number, 0, 0, 0)     # PR_CAPBSET_DROP
libc.prctl(38, 1, 0, 0, 0)                  # PR_SET_NO_NEW_PRIVS
os.execve(argv[0], argv, {"PATH": "/usr/bin", "LANG": "C.UTF-8"})
"""
CAPABILITIES = {"DAC_READ_SEARCH": 2, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "IPC_LOCK": 14, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYS_NICE": 23,
                "SYS_RESOURCE": 24, "SYSLOG": 34, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
# Its own clock says how long it slept.
SLEEPER = """import time
while True:
    time.sleep(0.05)
"""


def in_folder(folder, *argv, status=0):
    need_root()
    need_tools("unshare", "chroot")
    return run("unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", folder, *argv,
               status=status, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"})


def started(folder, *arguments):
    """The program, begun in such a folder; it is the process that Popen knows, by exec."""
    need_root()
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", folder, "/offcpu", *arguments]
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def lines_until(process, text):
    """What it says up to a line that holds the text."""
    said = ""
    while text not in said:
        line = process.stdout.readline()
        expect(line, f"it ended: {said}")
        said += line
    return said


class Engine:
    """Takes whatever it is sent, by TLS."""
    def __init__(self, certificate, key):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.do_GET()

            def log_message(self, *_words):
                pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self.server.server_address[1]

    def __exit__(self, *_words):
        self.server.shutdown()
        self.server.server_close()


def in_empty_folder(place, *arguments, status=0):
    """What the program says, alone in a folder."""
    folder = place.folder / "empty"
    program = place.need_static()
    if not folder.exists():
        for name in ("proc", "sys", "tmp"):
            (folder / name).mkdir(parents=True)
        shutil.copy(program, folder / "offcpu")
    return in_folder(folder, "/offcpu", *arguments, status=status)


def static_is_built_from_a_clone_by_one_command(place):
    need_tools("meson", "ninja", "readelf", "strip")
    source = clone(place.folder / "static-source")
    said = run("tools/build-static", cwd=source, env=build_environment(place, "CFLAGS"))
    expect((source / "build-static" / "offcpu").exists(), f"there is no build-static/offcpu: {said[-500:]}")
    place.static = source / "build-static"


def static_needs_no_library_and_is_small(place):
    program = place.need_static()
    headers = run("readelf", "--wide", "--program-headers", "--dynamic", program)
    expect("INTERP" not in headers, "it asks for a dynamic linker")
    expect("(NEEDED)" not in headers, "it names a library")
    size = program.stat().st_size
    expect(size <= MAX_BYTES, f"it has {size} bytes, more than {MAX_BYTES}")
    return f"{size / 1e6:.2f} MB"


def static_says_the_version_of_git(place):
    source = place.need_static().parent.parent
    want = run("tools/version", re.search(r"version: '(.*)'", (source / "meson.build").read_text()).group(1), cwd=source)
    expect(in_empty_folder(place, "--version") == f"offcpu {want}", "another version than git's")


def static_knows_in_an_empty_folder_what_a_process_waits_for(place):
    with subprocess.Popen([sys.executable, "-c", SLEEPER]) as sleeper:
        try:
            said = in_empty_folder(place, "trace", "-p", sleeper.pid, "-f", "-d", "1")
        finally:
            sleeper.kill()
    stacks = [re.fullmatch(r"(.*) (\d+)", line).groups() for line in said.splitlines() if re.fullmatch(r".* \d+", line)]
    slept_us = sum(int(us) for stack, us in stacks if "nanosleep" in stack)
    expect(0.9e6 < slept_us < 1.1e6, f"it slept all of a second, and {slept_us} us of sleep were seen:\n{said}")


def static_records_and_reports_in_an_empty_folder(place):
    """What is recorded is the self-test, whose waits the report then has to name by the program's own symbols."""
    said = in_empty_folder(place, "record", "-o", "/tmp/t.offcpu", "--", "/offcpu", "doctor")
    expect("All is well" in said, f"the self-test did not pass: {said[-800:]}")
    report = in_empty_folder(place, "report", "--full", "--top", "99", "/tmp/t.offcpu")
    for function in ("selftest_sleep", "selftest_futex", "selftest_pipe"):
        expect(function in report, f"the report does not name {function}: {report[:1500]}")


def static_agent_keeps_a_history_and_serve_shows_it(place):
    """In the empty folder there is no user to become but the kernel's nobody, and no name service to ask."""
    in_empty_folder(place, "--version")
    folder = place.folder / "empty"
    (folder / "tmp" / "agent.conf").write_text("[agent]\nwindow = 1s\n[store]\ndir = /tmp/history\n")
    with started(folder, "agent", "--config", "/tmp/agent.conf") as agent:
        said = lines_until(agent, "recording")
        time.sleep(3.5)
        agent.send_signal(signal.SIGINT)
        said += agent.stdout.read()
    expect(re.search(r"[1-9]\d* windows stored, 0 lost", said), f"the agent did not keep what it saw: {said}")
    with started(folder, "serve", "--history", "/tmp/history") as server:
        url = re.search(r"http://\S+", lines_until(server, "http://")).group()
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                page = answer.read()
            uids = re.search(r"^Uid:\s+(.*)$", Path(f"/proc/{server.pid}/status").read_text(), re.M).group(1).split()
        finally:
            server.send_signal(signal.SIGINT)
    expect(b"<html" in page[:500], f"not a page: {page[:200]}")
    expect(set(uids) == {"65534"}, f"it is still user {uids}")


def static_pushes_by_its_own_libcurl(place):
    """A host's name by DNS or /etc/hosts, TLS by certificates that --ca names, and an engine that is not there: one sentence."""
    need_tools("openssl")
    in_empty_folder(place, "record", "-d", "0.2", "-o", "/tmp/p.offcpu")
    folder = place.folder / "empty"
    (folder / "etc").mkdir(exist_ok=True)
    (folder / "etc" / "hosts").write_text("127.0.0.1 engine.example other.example\n")
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "tmp" / "key.pem", "-out", folder / "tmp" / "ca.pem", "-days", "2",
        "-subj", "/CN=engine.example", "-addext", "subjectAltName=DNS:engine.example")
    with Engine(folder / "tmp" / "ca.pem", folder / "tmp" / "key.pem") as port:
        push = ["push", "/tmp/p.offcpu", "--wait", "5s", "--ca", "/tmp/ca.pem", "--pyroscope"]
        said = in_empty_folder(place, *push, f"https://engine.example:{port}")
        expect("took" in said, f"the engine has nothing: {said}")
        said = in_empty_folder(place, *push, f"https://other.example:{port}", status=1)
        expect("its certificate is for DNS:engine.example" in said, f"it does not say whose certificate that is: {said}")
        said = in_empty_folder(place, *push[:4], "--pyroscope", f"https://engine.example:{port}", status=1)
        expect("--ca FILE" in said, f"a certificate that nobody trusts: {said}")
    said = in_empty_folder(place, "push", "--clickhouse", "http://127.0.0.1:1", "--wait", "1s", "/tmp/p.offcpu", status=1)
    expect(len(said.strip().splitlines()) == 1, f"not one sentence: {said}")


def agent_in_image(folder, manifests):
    """As the DaemonSet has it: its configuration, arguments and capabilities, and an engine that is not there."""
    text = (manifests / "daemonset.yaml").read_text()
    names = re.search(r"add: \[(.*)\]", text).group(1).split(", ")
    config = Path(folder, "etc", "offcpu")
    config.mkdir(parents=True, exist_ok=True)
    own = (manifests / "agent.conf").read_text().replace("0.0.0.0:9733", "127.0.0.1:0")
    (config / "agent.conf").write_text(own + "[push]\nclickhouse = https://127.0.0.1:1\n")
    (config / "agent.conf.d").mkdir(exist_ok=True)
    (config / "agent.conf.d" / "10-test.conf").write_text("[agent]\nwindow = 1s\n[store]\ndir = /tmp/history\n[push]\nspool = /tmp/spool\n")
    argv = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", ENTER_WITH, folder, ",".join(str(CAPABILITIES[name]) for name in names),
            "/usr/bin/offcpu", "agent", "--config", "/etc/offcpu/agent.conf", "--set", "agent.host=node-7"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as agent:
        said = lines_until(agent, "cannot be reached")
        try:
            url = re.search(r"metrics are at (\S+)", said).group(1)
            until = time.monotonic() + 60
            text = ""
            while 'offcpu_push_up{engine="clickhouse"} 0' not in text:
                expect(time.monotonic() < until, f"an engine that is not there: {text}")
                time.sleep(0.5)
                try:
                    with urllib.request.urlopen(url, timeout=30) as answer:
                        text = answer.read().decode()
                except urllib.error.HTTPError:
                    pass    # the first window is not over
            with urllib.request.urlopen(url.replace("/metrics", "/healthz"), timeout=30) as answer:
                health = answer.read().decode()
            expect(agent.poll() is None, "it ended because an engine cannot be reached")
        finally:
            agent.send_signal(signal.SIGTERM)
            said += agent.stdout.read()
    expect(agent.returncode == 0, f"status {agent.returncode}: {said}")
    expect(health.startswith("ok"), health)
    expect(re.search(r'offcpu_build_info\{version="[^"]+",commit="[^"]*"\} 1', text), f"no version: {text}")


# A cluster of one node, this one, whose container is a control group; the pod is the image, with its manifest's rights.
KUBECTL = """#!/usr/bin/env python3
import os, re, sys
from pathlib import Path
here, words = Path(sys.argv[0]).parent, sys.argv[1:]
if words[0] == "get":
    print("this-node\\nweb containerd://" + (here / "id").read_text())
elif words[0] == "create":
    (here / "manifest").write_text(sys.stdin.read())
elif words[0] == "exec":
    rights = re.search(r"add: \\[(.*)\\]", (here / "manifest").read_text())[1].split(", ")
    command = words[words.index("--") + 1:]
    assert command[0] == "offcpu"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", {enter!r}, {folder!r},
                          ",".join(str({capabilities!r}[right]) for right in rights), "/usr/bin/offcpu", *command[1:]])
"""
SERVICE = """import os
def commit(file):
    os.pwrite(file, b"x", 0)
    os.fsync(file)
file = os.open("journal", os.O_CREAT | os.O_WRONLY)
while True:
    commit(file)
"""


def plugin_in_image(folder, plugin, here):
    """`kubectl offcpu POD` as its users type it; what it starts is the image."""
    mount = next((line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if line.split()[2] == "cgroup2"), None)
    expect(mount, "no cgroup v2 hierarchy is mounted")
    number = f"{os.getpid():064x}"
    group = Path(mount, f"cri-containerd-{number}.scope")
    here.mkdir()
    (here / "kubectl").write_text(KUBECTL.format(enter=ENTER_WITH, folder=str(folder), capabilities=CAPABILITIES))
    (here / "kubectl").chmod(0o755)
    (here / "id").write_text(number)
    group.mkdir()
    try:
        with subprocess.Popen([sys.executable, "-c", SERVICE], cwd=here,
                              preexec_fn=lambda: (group / "cgroup.procs").write_text("0")) as service:
            try:
                said = run(plugin, "web-0", "-d", "1s", cwd=here, env={**os.environ, "PATH": f"{here}:{os.environ['PATH']}"})
            finally:
                service.kill()
    finally:
        group.rmdir()
    expect("fsync" in said and "in commit" in said, f"the pod's wait is not told: {said[:800]}")
    expect(all((here / f"web-0.{kind}").stat().st_size > 10000 for kind in ("offcpu", "html")), "recording or page are not there")


def static_is_a_container_image(place):
    """Built by a container engine; what it would start is tried in the image's folder, since an engine here may not give the rights to trace."""
    context = place.need_static().parent
    need_root()
    need_tools("buildah")
    store = place.folder / "images"
    buildah = ["buildah", "--storage-driver", "vfs", "--root", store / "root", "--runroot", store / "run"]
    run(*buildah, "bud", "--quiet", "--isolation", "chroot", "-f", context.parent / "packaging" / "Containerfile", "-t", "offcpu", context)
    name = run(*buildah, "from", "--pull-never", "localhost/offcpu").split()[-1]
    said = run(*buildah, "run", "--isolation", "chroot", name, "--", "offcpu", "--version")
    expect(said.startswith("offcpu "), f"it does not start in a container: {said}")
    folder = run(*buildah, "mount", name).split()[-1]
    try:
        for directory in ("proc", "sys"):   # an engine makes them
            Path(folder, directory).mkdir(exist_ok=True)
        said = in_folder(folder, "/usr/bin/offcpu", "doctor")
        expect("All is well" in said, f"its self-test did not pass: {said}")
        size = sum(file.lstat().st_size for file in Path(folder).rglob("*") if "proc" not in file.parts and "sys" not in file.parts and file.is_file())
        expect(size <= IMAGE_MAX_BYTES, f"the image has {size} bytes")
        agent_in_image(folder, context.parent / "share" / "kubernetes")
        plugin_in_image(folder, context.parent / "share" / "kubernetes" / "kubectl-offcpu", place.folder / "cluster")
    finally:
        run(*buildah, "umount", name)


def static_sbom_lists_what_is_linked(place):
    document = json.loads((place.need_static().parent / "offcpu.spdx.json").read_text())
    packages = {package["SPDXID"]: package for package in document["packages"]}
    expect(len(packages) == len(document["packages"]), "an SPDXID is there twice")
    for relation in document["relationships"]:
        for end in (relation["spdxElementId"], relation["relatedSpdxElement"]):
            expect(end == "SPDXRef-DOCUMENT" or end in packages, f"a relationship of {end}, which is not there")
    libraries = {p["name"]: p for p in packages.values() if p["primaryPackagePurpose"] == "LIBRARY"}
    for name in ("libbpf", "libelf", "libsqlite3", "libz", "libmicrohttpd", "libc", "libglib-2.0"):
        expect(name in libraries, f"{name} is linked and not listed")
    for name, entry in libraries.items():
        expect(re.match(r"\d", entry.get("versionInfo", "")), f"{name} has no version")
        expect(entry["licenseDeclared"] != "NOASSERTION", f"{name} has no licence: give it one in tools/sbom")
    return f"{len(libraries)} libraries"


def static_has_the_same_bytes_when_built_again(place):
    place.need_static()
    if not place.twice:
        raise Skip("building again takes as long again: tests/package/run.py --twice")
    source = clone(place.folder / "elsewhere" / "another-name")
    run("tools/build-static", cwd=source)
    for name in ("offcpu", "offcpu.spdx.json"):
        same_bytes(place.static / name, source / "build-static" / name)


STATIC_POINTS = [
    static_is_built_from_a_clone_by_one_command, static_needs_no_library_and_is_small, static_says_the_version_of_git,
    static_knows_in_an_empty_folder_what_a_process_waits_for, static_records_and_reports_in_an_empty_folder,
    static_agent_keeps_a_history_and_serve_shows_it,
    static_pushes_by_its_own_libcurl, static_is_a_container_image, static_sbom_lists_what_is_linked, static_has_the_same_bytes_when_built_again,
]
