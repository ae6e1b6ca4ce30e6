// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Are all objects of a file what Kubernetes' own schema wants?  And does the schema refuse what is made wrong?
//
//   NODE_PATH=... node validate_kubernetes.js FILE
"use strict";
const fs = require("fs");
const { loadAll } = require("js-yaml");
const { DaemonSet } = require("kubernetes-models/apps/v1/DaemonSet");
const kinds = {
    DaemonSet,
    Pod: require("kubernetes-models/v1/Pod").Pod,
    Namespace: require("kubernetes-models/v1/Namespace").Namespace,
    ConfigMap: require("kubernetes-models/v1/ConfigMap").ConfigMap,
};

function fails(object) {
    const Kind = kinds[object.kind];
    if (!Kind)
        return `it is a ${object.kind}, of which this test does not know`;
    try {
        new Kind(object).validate();
    } catch (error) {
        return error.message;
    }
    return null;
}

/* What a schema does not say: names of volumes and ports that are used are there. */
function failsTogether(set) {
    const { volumes, containers: [container] } = set.spec.template.spec;
    const unknown = container.volumeMounts.filter(mount => !volumes.some(volume => volume.name === mount.name));
    const probes = [container.startupProbe, container.livenessProbe];
    if (unknown.length)
        return `no volume ${unknown[0].name}`;
    return probes.every(probe => container.ports.some(port => port.name === probe.httpGet.port)) ? null : "a probe of a port that is not there";
}

const objects = loadAll(fs.readFileSync(process.argv[2], "utf8"));
const errors = objects.map(fails);
for (const set of objects.filter(object => object.kind === "DaemonSet")) {
    const wrong = structuredClone(set);
    wrong.spec.template.spec.containers[0].securityContext.runAsUser = "root";
    errors.push(failsTogether(set), fails(wrong) ? null : "the schema takes anything");
}
const error = errors.find(Boolean) || (objects.length ? null : "it is empty");
console.log(error || "valid");
process.exit(error ? 1 : 0);
