// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Is a DaemonSet one by Kubernetes' own schema?  And does the schema refuse what it is made wrong?
//
//   NODE_PATH=... node validate_kubernetes.js FILE
"use strict";
const fs = require("fs");
const { load } = require("js-yaml");
const { DaemonSet } = require("kubernetes-models/apps/v1/DaemonSet");

function fails(set) {
    try {
        new DaemonSet(set).validate();
    } catch (error) {
        return error.message;
    }
    return null;
}

const set = load(fs.readFileSync(process.argv[2], "utf8"));
const wrong = structuredClone(set);
wrong.spec.template.spec.containers[0].securityContext.runAsUser = "root";
const { volumes, containers: [container] } = set.spec.template.spec;
const unknown = container.volumeMounts.filter(mount => !volumes.some(volume => volume.name === mount.name));
const error = fails(set) || (fails(wrong) ? null : "the schema takes anything") || (unknown.length ? `no volume ${unknown[0].name}` : null);
console.log(error || "valid");
process.exit(error ? 1 : 0);
