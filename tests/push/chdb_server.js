// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// npm's chdb, which is a ClickHouse of today in this process, behind as much of ClickHouse's HTTP interface as offcpu uses:
//
//   node chdb_server.js NODE_MODULES FOLDER PORT
//
// All that is asked is answered by the engine: statements, settings of the address, RowBinary in both directions.  Ours are only the
// HTTP, and the status that goes with the engine's error codes (HTTPHandler's exceptionCodeToHTTPStatus).  It knows no users.
"use strict";
const fs = require("fs");
const http = require("http");
const path = require("path");
const zlib = require("zlib");

const [modules, folder, port] = process.argv.slice(2);
const engine = require(path.join(modules, "chdb", "dist", "loader.js")).loadNative();
const connection = engine.CreateConnection(path.join(folder, "data"));
const OF_HTTP = ["query", "database", "enable_http_compression"];
const STATUS = { 36: 400, 47: 400, 60: 404, 62: 400, 81: 404, 115: 404 };
let last = Promise.resolve();   // one statement at a time
let files = 0;

function settingsOf(params) {
    const words = [...params].filter(([name]) => !OF_HTTP.includes(name)).map(([name, value]) => {
        if (!/^[a-z0-9_]+$/.test(name))
            throw new Error(`Code: 115. DB::Exception: no setting: ${name}`);
        return `${name} = '${value.replace(/[\\']/g, "\\$&")}'`;
    });
    return words.length ? `SETTINGS ${words.join(", ")} ` : "";
}

// Rows go by a file, since the engine's own way for rows behind a statement skips their first bytes where those look like blanks.
async function insert(sql, settings, rows) {
    const file = path.join(folder, `rows-${files++}`);
    const at = sql.lastIndexOf("FORMAT ");
    fs.writeFileSync(file, rows);
    try {
        await engine.QueryAsyncConnection(connection, `${sql.slice(0, at)}FROM INFILE '${file}' ${settings}${sql.slice(at)}`, "TSV");
    } finally {
        fs.unlinkSync(file);
    }
    return Buffer.alloc(0);
}

async function run(url, body) {
    const settings = settingsOf(url.searchParams);
    const sql = url.searchParams.get("query");
    if (sql && body.length)
        return insert(sql, settings, body);
    const answer = await engine.QueryAsyncConnection(connection, sql || body.toString(), "TSV");
    return Buffer.from(answer.bytes);
}

function end(request, response, status, bytes) {
    const packs = request.url.includes("enable_http_compression=1") && /gzip/.test(request.headers["accept-encoding"] || "");
    response.writeHead(status, packs ? { "Content-Encoding": "gzip" } : {});
    response.end(packs ? zlib.gzipSync(bytes, { level: 3 }) : bytes);   // http_zlib_compression_level's default
}

async function answer(request, response, bytes) {
    try {
        const body = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(bytes) : bytes;
        end(request, response, 200, await run(new URL(request.url, "http://chdb/"), body));
    } catch (error) {
        const code = /^Code: (\d+)/.exec(error.message);
        end(request, response, (code && STATUS[code[1]]) || 500, Buffer.from(`${error.message}\n`));
    }
}

http.createServer((request, response) => {
    const parts = [];
    if (request.url === "/ping") {
        end(request, response, 200, Buffer.from("Ok.\n"));
        return;
    }
    request.on("data", part => parts.push(part));
    request.on("end", () => { last = last.then(() => answer(request, response, Buffer.concat(parts))); });
}).listen(Number(port), "127.0.0.1");

process.on("SIGTERM", () => last.then(() => {
    engine.CloseConnection(connection);
    process.exit(0);
}));
