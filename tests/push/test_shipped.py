# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What is shipped for other programs is as they want it: rules of Prometheus, manifests of Kubernetes.  tests/live asks a Prometheus."""
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

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
        rules = SHARE / "prometheus" / "alerts.yml"
        check("alerts.yml: promtool check rules", ["promtool", "check", "rules", str(rules)])
        with tempfile.TemporaryDirectory() as folder:   # promtool looks for the rules beside the test
            for file in (rules, clickhouse_server.HERE / "alerts_test.yml"):
                shutil.copy(file, folder)
            check("alerts.yml: they fire when they are to, as of an agent that died, and not else", ["promtool", "test", "rules", f"{folder}/alerts_test.yml"])
        told = {line.split(":", 1)[1].strip() for line in rules.read_text().splitlines() if "- alert:" in line}
        explained = {line[3:].strip() for line in (SHARE.parent / "docs" / "alerts.md").read_text().splitlines() if line.startswith("## ")}
        point("docs/alerts.md says what to do of each rule", None if told == explained else f"{sorted(told ^ explained)}")
    else:
        point("alerts.yml: promtool check rules", skip="promtool is not installed")
    kubernetes()


STAND_IN = """#!/bin/sh
case "$1" in
get) printf 'node-7.example\\nweb containerd://%064d\\n' 7 ;;
create) cat >"$MANIFEST"; exit 1 ;;
esac
"""


def pod_of_plugin(plugin, place):
    """What `kubectl offcpu` asks for, by a kubectl that refuses to make it."""
    stand_in, manifest = place / "kubectl", place / "kubectl-offcpu.yaml"
    stand_in.write_text(STAND_IN, encoding="ascii")
    stand_in.chmod(0o755)
    done = subprocess.run([plugin, "web-6d4cf56db6-x7k2p", "-d", "2m"], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}", "MANIFEST": str(manifest)})
    point("kubectl offcpu says why no pod could be made", None if b"it must allow privileged pods" in done.stderr else done.stderr.decode())
    text = manifest.read_text(encoding="ascii")
    point("its pod is on the node, and ends by itself", None if "nodeName: node-7.example" in text and "activeDeadlineSeconds: 420" in text else text)
    stand_in.unlink()
    return manifest


def kubernetes():
    """Each manifest, and what kubectl makes of them all."""
    folder = SHARE / "kubernetes"
    modules = [npm.folder_of(package) for package in ("kubernetes-models", "js-yaml")] if shutil.which("node") else [None]
    if not all(modules):
        point("the manifests by Kubernetes' schema", skip="node or npm is not installed, or the packages cannot be had")
        return
    manifests = [file for file in sorted(folder.glob("*.yaml")) if file.name != "kustomization.yaml"]
    with tempfile.TemporaryDirectory() as place:
        manifests.append(pod_of_plugin(folder / "kubectl-offcpu", Path(place)))
        if shutil.which("kubectl"):
            built = Path(place, "kustomized.yaml")
            built.write_bytes(subprocess.run(["kubectl", "kustomize", str(folder)], stdout=subprocess.PIPE, check=True).stdout)
            manifests.append(built)
        for manifest in manifests:
            check(f"{manifest.name} by Kubernetes' schema", ["node", str(clickhouse_server.HERE / "validate_kubernetes.js"), str(manifest)],
                  {"NODE_PATH": ":".join(map(str, modules))})
