// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// What Parca's own client makes of a request: node parca_client.mjs NODE_MODULES <MESSAGE prints JSON, and fails at a field it does not know.
import { register } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

// The package is meant for bundlers: its files import each other without ".js".
const suffix = 'export async function resolve(s, c, next) { try { return await next(s, c); } catch { return next(s + ".js", c); } }';
register('data:text/javascript,' + encodeURIComponent(suffix));

const file = process.argv[2] + '/@parca/client/dist/parca/profilestore/v1alpha1/profilestore.js';
const { WriteRawRequest } = await import(pathToFileURL(file));
const request = WriteRawRequest.fromBinary(readFileSync(0), { readUnknownField: 'throw' });
console.log(JSON.stringify(request.series.map((series) => ({
  normalized: request.normalized,
  labels: Object.fromEntries(series.labels.labels.map((label) => [label.name, label.value])),
  profiles: series.samples.map((sample) => Buffer.from(sample.rawProfile).toString('base64')),
}))));
