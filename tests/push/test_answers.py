# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a user is told when it does not work: one line, and what to do.  An answer's text may be empty, a page, or anything."""
import http.server
import threading

from tap import point

ENGINES = ("pyroscope", "clickhouse", "otlp", "parca")
PAGE = b"  <html><head><title>404</title></head><body>nginx</body></html>"
NO_TABLES = b"Code: 81. DB::Exception: Database offcpu does not exist. (UNKNOWN_DATABASE)"
OTHER_TABLES = b"Code: 16. DB::Exception: No such column looks_rounds in table offcpu.windows. (NO_SUCH_COLUMN_IN_TABLE)"
CASES = [   # status, text, of which engines, what they are told
    (401, b"", ENGINES, ("status 401", "--credentials FILE")),
    (403, b"no", ENGINES, ("status 403: no", "--credentials FILE")),
    (404, b"", ENGINES, ("status 404", "is it ")),
    (404, PAGE, ENGINES, ("status 404: a web page", "is it ")),
    (301, b"", ENGINES, ("status 301", "redirects")),
    (503, b"", ENGINES, ("status 503",)),
    (200, PAGE, ENGINES, ("is it ",)),
    (200, b"", ("clickhouse", "parca"), ("does not say",)),
    (404, NO_TABLES, ("clickhouse",), ("does not exist", "schema.sql makes its tables")),
    (500, OTHER_TABLES, ("clickhouse",), ("looks_rounds", "another version of offcpu")),
]
ADDRESSES = [   # address, exit status, what is said
    ("localhost:8123", 2, "http://HOST:PORT"),
    ("ftp://x", 2, "http://HOST:PORT"),
    ("http://h:1/?a=b", 2, "without a query"),
    ("http://127.0.0.1:1", 1, "cannot be reached"),
]


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.text)))
        self.end_headers()
        self.wfile.write(self.server.text)


def told(name, result, status, *words):
    lines = result[2].strip().splitlines()
    well = result[0] == status and len(lines) == 1 and lines[0].startswith("offcpu push: ") and all(word in lines[0] for word in words)
    point(name, None if well else f"{result[0]} {result[2]}")


def run(program, recordings, _folder):
    path = recordings["plain"].path
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    host = f"127.0.0.1:{server.server_address[1]}"
    for server.status, server.text, engines, words in CASES:
        for engine in engines:
            told(f"told of {server.status} {server.text[:12]!r} by {engine}",
                 program.run("push", path, f"--{engine}", f"http://{host}", "--wait", "0"), 1, *words)
    told("told of https where there is none", program.run("push", path, "--otlp", f"https://{host}", "--wait", "0"), 1, "http:// there?")
    for address, status, words in ADDRESSES:
        told(f"told of {address}", program.run("push", path, "--clickhouse", address, "--wait", "0"), status, words)
    server.shutdown()
    server.server_close()
