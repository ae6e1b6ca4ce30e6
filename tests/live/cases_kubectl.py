# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`kubectl offcpu` with a kubectl that plays a cluster of this host: what it prints, leaves and removes."""

import json
import os
import signal
import subprocess
import sys
import time

from lib import Skip, case, default_signals, enter_cgroup, wait_until

PLUGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "share", "kubernetes", "kubectl-offcpu")

# A cluster: the pod's container is a control group, the helper's are the rights of its manifest and nothing more.
KUBECTL = """#!/usr/bin/env python3
import json, os, re, sys
words = [word for word in sys.argv[1:] if not word.startswith("--context=")]
here = os.path.dirname(sys.argv[0])
with open(os.path.join(here, "calls"), "a") as f:
    f.write(json.dumps(words) + "\\n")
if words[0] == "get":
    print("this-node\\nweb containerd://" + open(os.path.join(here, "id")).read())
elif words[0] == "create":
    open(os.path.join(here, "manifest"), "w").write(sys.stdin.read())
elif words[0] == "exec":
    manifest = open(os.path.join(here, "manifest")).read()
    rights = re.search(r"add: \\[(.*)\\]", manifest).group(1).lower().replace(" ", "").split(",")
    command = words[words.index("--") + 1:]
    assert command[0] == "offcpu"
    os.execvp("setpriv", ["setpriv", "--bounding-set=-all," + ",".join("+" + right for right in rights), os.environ["OFFCPU"]] + command[1:])
"""

SERVICE = """
import os
def commit(file):
    os.pwrite(file, b"x", 0)
    os.fsync(file)
file = os.open("journal", os.O_CREAT | os.O_WRONLY)
while True:
    commit(file)
"""


def calls(folder):
    with open(os.path.join(folder, "calls"), encoding="ascii") as f:
        return [json.loads(line) for line in f]


def start_plugin(env, folder, *words):
    return subprocess.Popen([PLUGIN, "web-0", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=default_signals, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "OFFCPU": env.offcpu})


@case
def kubectl_plugin_records_a_pod(env):
    if not os.path.exists(PLUGIN):
        raise Skip("the plugin is not here")
    number = f"{os.getpid():064x}"
    group, folder = env.cgroup(f"cri-containerd-{number}.scope"), os.path.join(env.directory, "cluster")
    os.makedirs(folder)
    for name, text in (("kubectl", KUBECTL), ("id", number)):
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)
    os.chmod(os.path.join(folder, "kubectl"), 0o755)
    service = subprocess.Popen([sys.executable, "-c", SERVICE], cwd=env.directory, preexec_fn=lambda: enter_cgroup(group, 0))
    env.running.append(service)
    plugin = start_plugin(env, folder, "-n", "shop", "-d", "1s")
    out, err = plugin.communicate(timeout=60)
    env.check.equal(plugin.returncode, 0, f"status, {err[-400:]}")
    env.check.that("fsync" in out and "in commit" in out, f"the report does not name who waits: {out[:400]} {err[-400:]}")
    for name in ("web-0.offcpu", "web-0.html"):
        env.check.that(os.path.getsize(os.path.join(folder, name)) > 10000, f"{name} is not there")
    env.check.equal(calls(folder)[0][:4], ["get", "pod", "web-0", "--namespace=shop"], "what is asked first")
    env.check.equal(calls(folder)[-1][:2], ["delete", "pod"], "what is asked last")
    os.unlink(os.path.join(folder, "web-0.offcpu"))
    plugin = start_plugin(env, folder, "-d", "1h")
    wait_until(lambda: len([call for call in calls(folder) if call[0] == "exec"]) == 4, 30)
    begun = time.monotonic()
    os.kill(plugin.pid, signal.SIGTERM)
    subprocess.run(["pkill", "-INT", "-f", f"record --cgroup={number}"], check=False)   # the cluster would end it with its pod
    plugin.communicate(timeout=30)
    env.check.equal(plugin.returncode, 143, "status after SIGTERM")
    env.check.that(time.monotonic() - begun < 10, "it goes on")
    env.check.equal(calls(folder)[-1][:2], ["delete", "pod"], "what is asked last")
    left = sorted(name for name in os.listdir(folder) if name.startswith("web-0"))
    env.check.equal(left, ["web-0.html"], "files that are left of what was not finished")
