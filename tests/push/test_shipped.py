# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What is shipped for other programs is as they want it: rules of Prometheus, a DaemonSet of Kubernetes.  tests/live asks a Prometheus."""
import os
import shutil
import subprocess

import clickhouse_server
from clickhouse_server import npm
from tap import point

SHARE = clickhouse_server.SHIPPED.parent


def check(name, words, env=None):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})},
                          check=False)
    point(name, done.stdout.decode() if done.returncode else None)


def run(_program, _recordings, _folder):
    if shutil.which("promtool"):
        check("alerts.yml: promtool check rules", ["promtool", "check", "rules", str(SHARE / "prometheus" / "alerts.yml")])
    else:
        point("alerts.yml: promtool check rules", skip="promtool is not installed")
    modules = [npm.folder_of(package) for package in ("kubernetes-models", "js-yaml")] if shutil.which("node") else [None]
    if all(modules):
        check("the DaemonSet by Kubernetes' schema", ["node", str(clickhouse_server.HERE / "validate_kubernetes.js"),
                                                      str(SHARE / "kubernetes" / "offcpu-agent.yaml")], {"NODE_PATH": ":".join(map(str, modules))})
    else:
        point("the DaemonSet by Kubernetes' schema", skip="node or npm is not installed, or the packages cannot be had")
