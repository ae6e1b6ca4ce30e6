#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu mcp` as its clients see it: every tool over the golden recordings, hostile messages, recordings that are cancelled.

    run.py OFFCPU MAKE_RECORDING

Prints TAP.
"""
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "exchange"))

from client import Client, HttpClient  # noqa: E402
from schema import walk_schema  # noqa: E402

BYTES_MAX, LIST_BYTES_MAX = 8192, 16384
RECORDINGS = ("trace", "crowd", "before", "after", "tasks", "requests", "hostile", "wakers")
TOOLS = ["findings", "explain", "stacks", "compare", "requests", "history", "incidents", "doctor"]
OF_HISTORY = ["findings", "explain", "stacks", "compare", "history", "incidents"]
PAST = {"from_": "2025-11-25T14:45", "to": "2025-11-25T14:50"}


class Suite:
    def __init__(self, offcpu, folder):
        self.offcpu, self.folder = offcpu, folder
        self.schemas = {}
        self.wrong = []

    def that(self, is_well, what):
        if not is_well:
            self.wrong.append(what)

    def client(self, *words, env=None):
        return Client(self.offcpu, *words, cwd=self.folder, env=env)

    def answer(self, client, tool, **arguments):
        """What a tool gives, held to all that is promised of it."""
        return self.answer_of(client.call(tool, **arguments), tool, arguments)

    def answer_of(self, result, tool, arguments):
        where = f"{tool} {arguments}"
        text = result["content"][0]["text"]
        if result["isError"]:
            self.that(False, f"{where}: {text}")
            return {}
        answer = result["structuredContent"]
        self.that(json.loads(text) == answer, f"{where}: other JSON as text")
        self.that(len(text.encode()) <= BYTES_MAX, f"{where}: {len(text.encode())} bytes")
        self.wrong += [f"{where}: {line}" for line in walk_schema(self.schemas[tool], answer)]
        return answer

    def error(self, client, tool, words, **arguments):
        result = client.call(tool, **arguments)
        text = result["content"][0]["text"]
        self.that(result.get("isError") and "structuredContent" not in result, f"{tool} {arguments} is no error: {text[:200]}")
        self.that(words in text and "\n" not in text and len(text.encode()) <= 1000, f"{tool} {arguments}: {text!r}")


def initialize(client, revision="2025-11-25"):
    return client.ask("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})


def hello(t, client):
    for asked, given in (("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25"), ("2024-11-05", "2025-11-25"),
                         ("nonsense", "2025-11-25")):
        result = initialize(client, asked)["result"]
        t.that(result["protocolVersion"] == given, f"{asked}: {result}")
    client.send("notifications/initialized", number=0)
    t.that(client.ask("ping")["result"] == {}, "ping")
    result = client.ask("tools/list")["result"]
    t.that(len(json.dumps(result, separators=(",", ":"))) <= LIST_BYTES_MAX, "the list of tools is long")
    t.that([tool["name"] for tool in result["tools"]] == TOOLS, "other tools")
    for tool in result["tools"]:
        t.schemas[tool["name"]] = tool["outputSchema"]
        t.that(tool["inputSchema"]["type"] == tool["outputSchema"]["type"] == "object", f"{tool['name']}: schemas")
        t.that(tool["annotations"]["readOnlyHint"] is True, f"{tool['name']} is not said to be harmless")
    t.schemas["record"] = t.schemas["findings"]


def resources(t, client):
    listed = client.ask("resources/list")["result"]["resources"]
    t.that(len({row["uri"] for row in listed}) == len(listed) > 20, "few resources, or two of one name")
    for row in (listed[0], listed[-1]):
        contents = client.ask("resources/read", {"uri": row["uri"]})["result"]["contents"]
        t.that(len(contents[0]["text"].encode()) == row["size"] and contents[0]["text"].startswith("## "), f"{row}")
    t.that(client.ask("resources/read", {"uri": "file:///etc/passwd"})["error"]["code"] == -32002, "a file is a resource")
    t.that(client.ask("resources/read", {})["error"]["code"] == -32002, "no uri")


def recordings(t, client):
    asked = {name: client.begin("findings", file=f"{name}.offcpu") for name in RECORDINGS}    # all at once
    for name, number in asked.items():
        answer = t.answer_of(client.take(number)["result"], "findings", name)
        t.that(answer.get("headlines") or answer.get("little"), f"{name}: no finding")
        kinds = {}
        for items in answer.values():
            for item in items if isinstance(items, list) else []:
                if isinstance(item, dict) and "id" in item:
                    kinds.setdefault(item["id"].partition("-")[0], item["id"])
        for one in kinds.values():
            t.that(t.answer(client, "explain", id=one, file=f"{name}.offcpu").get("id") == one, f"{name}: {one}")
    t.that("deeper" not in answer and "more" not in answer, "commands for who has no shell")


def pages(t, client):
    seen, cursor = [], 0
    while cursor is not None:
        answer = t.answer(client, "stacks", file="before.offcpu", cursor=cursor)
        seen += [row["id"] for row in answer.get("stacks", [])]
        cursor = answer.get("next", {}).get("cursor")
    t.that(len(seen) == len(set(seen)) > 2, f"stacks {seen}")
    t.error(client, "stacks", "ends before that", file="before.offcpu", cursor=4000)
    filtered = t.answer(client, "stacks", file="wakers.offcpu", process="server", grep="fsync")
    t.that([row["process"] for row in filtered.get("stacks", [])] == ["server"], f"filters: {filtered}")


def incidents(t, client):
    t.that("none" in t.answer(client, "incidents"), "incidents before there are any")
    subprocess.run([t.offcpu, "agent", "--config", "/dev/null", "--set", f"store.dir={t.folder}/history", "--keep", "deploy 17",
                    "--from", PAST["from_"], "--to", PAST["to"]], check=True, stdout=subprocess.DEVNULL)
    one = t.answer(client, "incidents")["incidents"][0]
    t.that(one["id"] == "deploy 17" and one["headline"] and not one["said"], f"an incident: {one}")
    found = t.answer(client, "findings", incident=one["id"])
    t.that("file" not in found and t.answer(client, "explain", incident=one["id"], id=found["headlines"][0]["id"]), "its findings")
    t.error(client, "findings", "there is no incident called", incident="nope")
    t.error(client, "findings", "no name of an incident", incident="../history")


def others(t, client):
    t.that(t.answer(client, "requests", file="requests.offcpu").get("requests"), "no requests")
    t.that("none" in t.answer(client, "requests", file="trace.offcpu"), "requests of none")
    change = t.answer(client, "compare", before="before.offcpu", after="after.offcpu")
    t.that("7.2% more" in change.get("finding", ""), f"{change}")
    rows = t.answer(client, "compare", before="before.offcpu", after="after.offcpu", id="by_reason").get("by_reason", [])
    t.that(len(rows) > len(change["by_reason"]), "all rows are not more")
    t.that(t.answer(client, "compare", before="before.offcpu", after="after.offcpu", id=rows[0]["id"]).get("by"), "a row")
    t.that("7.2% more" in t.answer(client, "compare", before_from="2025-11-25T14:15", **PAST)["finding"], "of the history")
    past = t.answer(client, "history", **PAST)
    one = past["headlines"][0]["id"]
    t.that(t.answer(client, "explain", file="history", id=one, **PAST)["id"] == one, "explain of the history")
    t.error(client, "history", "there is nothing from")
    t.that("may_record" in t.answer(client, "doctor"), "doctor")
    incidents(t, client)
    t.that(t.answer(client, "doctor", process=str(os.getpid()))["pid"] == os.getpid(), "doctor of a process")


def bad_arguments(t, client):
    t.error(client, "explain", "id is wanted")
    t.error(client, "explain", "nothing in the recording has that id", id="wait-0000000000")
    t.error(client, "findings", "No such file", file="missing.offcpu")
    t.error(client, "findings", "known are", nonsense=1)
    t.error(client, "findings", "a string is wanted", file=7)
    t.error(client, "findings", "control characters", file="a\nb")
    t.error(client, "findings", "control characters", file="a\u0000b" * 2000)
    t.error(client, "stacks", "a whole number", cursor=-1)
    t.error(client, "findings", "offcpu", file="garbage.offcpu")
    for name in ("-", "--history", "/dev/stdin", "/proc/self/mem", "."):
        result = client.call("findings", file=name)
        t.that(result["isError"], f"{name} is read: {result}")
    t.that(client.ask("tools/call", {"name": "record", "arguments": {"seconds": 1}})["error"]["code"] == -32602, "record is there")
    t.that(client.ask("tools/call", {"name": "no"})["error"]["code"] == -32602, "an unknown tool")
    t.that(client.ask("no/method")["error"]["code"] == -32601, "an unknown method")
    t.that(client.ask("tools/list", {"cursor": "x"})["error"]["code"] == -32602, "a cursor of nobody")


def hostile_lines(t, client):
    request = b'{"jsonrpc":"2.0","id":1,"method":"ping"'
    lines = [
        (b"{", -32700), (b"nonsense", -32700), (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, -32700), (b"[" * 200000, -32700), (b"x" * 700000, -32700),
        (b"[" + request + b"}]", -32600), (b"[]", -32600), (b"7", -32600), (b"null", -32600), (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":"' + b"x" * 1000 + b'","method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600), (request + b',"params":[]}', -32602),
        (request + b"} trailing", -32700), (request + b',"params":{"a":01}}', -32700), (request + b"\x00}", -32700),
    ]
    for line, code in lines:
        client.write(line)
        answer = client.read()
        t.that(answer.get("error", {}).get("code") == code, f"{line[:60]}: {answer}")
    quiet = [b"", b"\r", b'{"jsonrpc":"2.0","id":99,"result":{}}', b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
             b'{"jsonrpc":"2.0","method":"notifications/nonsense"}', b'{"jsonrpc":"2.0","method":"tools/call"}',
             b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}',
             b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}']
    for line in quiet:
        client.write(line)
    client.write(b'{"jsonrpc":"2.0","id":"\\u00e9 \\"q\\"","method":"ping","extra":[{"a":[]}]}\r')
    t.that(client.read() == {"jsonrpc": "2.0", "id": 'é "q"', "result": {}}, "an answer to what needs none, or another id")


def crowd(t, client):
    """More calls than run at once, two of one id, one cancelled while it waits."""
    asked = [client.begin("findings", file="before.offcpu") for _ in range(12)]
    client.send("tools/call", {"name": "doctor"}, number=asked[-2])
    client.send("notifications/cancelled", {"requestId": asked[-1]}, number=0)
    t.that(client.take(asked[-2]).get("error", {}).get("code") == -32600, "two calls of one id")
    for number in asked[:-1]:
        t.that(not client.take(number)["result"]["isError"], f"call {number}")
    client.ask("ping")
    t.that(asked[-1] not in client.early, "what was cancelled is answered")


def folder_of(t):
    return os.listdir(os.path.join(t.folder, "run"))


def recorder(t, how):
    words = [sys.executable, str(HERE / "recorder.py"), os.path.join(t.folder, "wakers.offcpu"), how]
    client = t.client("--allow-record", "--record-with", shlex.join(words), env={"XDG_RUNTIME_DIR": os.path.join(t.folder, "run")})
    initialize(client)
    tool = client.ask("tools/list")["result"]["tools"][-1]
    t.that(tool["name"] == "record" and not tool["annotations"]["readOnlyHint"], "record is not there, or said to be harmless")
    return client


def recording(t, _):
    client = recorder(t, "plain")
    answer = t.answer(client, "record", token="p", target="server", seconds=2)
    t.that(answer.get("headlines") and os.path.exists(answer.get("file", "")), f"{answer}")
    t.that(os.stat(os.path.dirname(answer["file"])).st_mode & 0o777 == 0o700, "others may look into the folder")
    told = [note["params"] for note in client.notes]
    t.that(told and told[0]["progressToken"] == "p" and told[0]["progress"] == 1 and told[0]["total"] == 2, f"progress {told}")
    t.that(t.answer(client, "stacks").get("file") == answer["file"], "the last recording is not what is read")
    t.error(client, "record", "no such process", target="nobody", seconds=1)
    t.error(client, "record", "from 1 to 60", seconds=61)
    t.error(client, "record", "seconds is wanted")
    cancelled = client.begin("record", token="c", seconds=60)
    t.error(client, "record", "is being made", seconds=1)
    begun = time.monotonic()
    client.send("notifications/cancelled", {"requestId": cancelled}, number=0)
    while client.call("record", target="nobody", seconds=1)["content"][0]["text"].startswith("a recording is being made"):
        time.sleep(0.05)
    t.that(time.monotonic() - begun < 2 and cancelled not in client.early, "it goes on, or is answered")
    told = len(client.notes)
    time.sleep(1.1)
    client.ask("ping")
    t.that(len(client.notes) == told, "progress of what was cancelled")
    client.begin("record", seconds=60)
    begun = time.monotonic()
    status, rest = client.leave()
    t.that(status == 0 and not rest and time.monotonic() - begun < 3, f"left with {status}, {rest}")
    t.that(not folder_of(t), f"it leaves {folder_of(t)}")


def deaf(t, _):
    client = recorder(t, "deaf")
    client.begin("record", seconds=60)
    client.ask("ping")
    begun = time.monotonic()
    client.process.send_signal(signal.SIGTERM)
    t.that(client.process.wait(10) == 0 and time.monotonic() - begun < 3, "a recorder that hears nothing is waited for")
    t.that(not folder_of(t), f"it leaves {folder_of(t)}")
    client.process.stdin.close()
    client.process.stdout.close()


def leaving(t, client):
    number = client.begin("findings", file="before.offcpu")
    status, rest = client.leave()
    t.that(status == 0 and json.loads(rest).get("id") == number, f"status {status}, {rest[:100]}")
    done = subprocess.run([t.offcpu, "mcp", "--record-with", "sudo"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    t.that(done.returncode == 2 and b"--allow-record" in done.stderr and not done.stdout, f"{done}")


def over_http(t, _):
    """The history's tools of a server that can open nothing else; what was put aside before is there, too."""
    client = HttpClient(t.offcpu, "--history", "history", cwd=t.folder)
    try:
        t.that(initialize(client, "2025-06-18")["result"]["protocolVersion"] == "2025-06-18", "another revision")
        tools = client.ask("tools/list")["result"]["tools"]
        t.that([tool["name"] for tool in tools] == OF_HISTORY, f"other tools: {[tool['name'] for tool in tools]}")
        t.that(not any({"file", "before", "after"} & set(tool["inputSchema"]["properties"]) for tool in tools), "files are offered")
        same = t.client("--history", "history")
        for tool, arguments in (("history", PAST), ("stacks", PAST), ("findings", {**PAST, "process": "server,mysql*"}),
                                ("incidents", {}), ("findings", {"incident": "deploy 17"}),
                                ("compare", {"before_from": "2025-11-25T14:15", **PAST})):
            over_stdin = {"file": "history"} if tool == "stacks" or "process" in arguments else {}
            one = without(t.answer(client, tool, **arguments))
            other = without(t.answer(same, tool, **arguments, **over_stdin))
            t.that(one == other, f"{tool} differs in {[key for key in {**one, **other} if one.get(key) != other.get(key)]}")
        same.leave()
        one = t.answer(client, "history", **PAST)["headlines"][0]["id"]
        t.that(t.answer(client, "explain", file="history", id=one, **PAST)["id"] == one, "explain")
        t.error(client, "findings", "no files are read here", file="trace.offcpu")
        t.error(client, "findings", "there is no", incident="nope")
        t.error(client, "findings", "no name of an incident", incident="../history")
        t.error(client, "history", "is no time", from_="tomorrow")
        t.error(client, "compare", "before_from is wanted")
        for name in ("record", "doctor", "requests", "no"):
            t.that(client.ask("tools/call", {"name": name})["error"]["code"] == -32602, f"{name} is there")
        refused(t, client)
    finally:
        t.that(client.end() == 0, "it does not end well")


def without(answer):
    """How the two say what was asked."""
    return {key: value for key, value in answer.items() if key not in ("file", "before", "after")}


def refused(t, client):
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    told = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    port = client.url.split("/")[2].rpartition(":")[2]
    for status, how in ((200, {"body": ping}), (202, {"body": told}), (405, {"body": None, "method": "GET"}),
                        (405, {"body": ping, "method": "DELETE"}), (400, {"body": ping, "MCP_Protocol_Version": "2024-11-05"}),
                        (403, {"body": ping, "Origin": "https://evil.example"}), (403, {"body": ping, "Host": "evil.example"}),
                        (403, {"body": ping, "url": f"http://127.0.0.1:{port}/mcp"}), (413, {"body": ping + b" " * 300000}),
                        (405, {"body": ping, "url": client.url.removesuffix("mcp")})):
        got, headers, body = client.post(**how)
        t.that(got == status and (got != 202 or not body), f"{got} for {how}"[:200])
        t.that(got != 405 or headers["Allow"] in ("POST", "GET, HEAD"), f"Allow {headers['Allow']}")
    for body in (b"", b"nonsense", b"[]", b"[" * 100000, b"{}", ping[:-1] + b"\x00}"):
        got, _, answer = client.post(body=body)
        t.that(got == 200 and json.loads(answer)["error"]["code"] in (-32700, -32600), f"{body[:20]}: {got} {answer[:200]}")


def main():
    offcpu, make = (os.path.abspath(word) for word in sys.argv[1:3])
    parts = (hello, resources, recordings, pages, others, bad_arguments, hostile_lines, crowd, recording, deaf, over_http, leaving)
    failed = 0
    print(f"1..{len(parts)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in RECORDINGS:
            subprocess.run([make, os.path.join(folder, f"{name}.offcpu")] + ([] if name == "trace" else [name]), check=True)
        subprocess.run([make, os.path.join(folder, "history"), "history"], check=True)
        pathlib.Path(folder, "garbage.offcpu").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 20)
        os.mkdir(os.path.join(folder, "run"))
        t = Suite(offcpu, folder)
        client = t.client("--history", "history")
        for number, part in enumerate(parts, 1):
            t.wrong = []
            try:
                part(t, client)
            except (AssertionError, KeyError, IndexError, OSError, ValueError) as error:
                t.wrong.append(f"{type(error).__name__}: {error}")
            failed += bool(t.wrong)
            print(f"{'not ' if t.wrong else ''}ok {number} {part.__name__}", flush=True)
            for line in t.wrong[:10]:
                print(f"# {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
