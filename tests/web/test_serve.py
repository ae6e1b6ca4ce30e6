#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu serve` as a browser, a program and an attacker see it: test_serve.py OFFCPU MAKE_FLAME MAKE_HISTORY.

Points that need a browser are skipped without a Chromium; requests are made here, byte by byte."""
import gzip
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from browser import CHROMIUM, Browser
from screens import screenshot
from served import Served

OFFCPU = MAKE_FLAME = MAKE_HISTORY = None
START = 1790000000    # of the history: 300 s of a server, a minute of nothing, 60 s of an application, 60 s of the server
SECOND = 10**9
ROUTES = ("", "api/extent", "api/line", "api/requests", "api/incidents", "api/summary", "api/report", "api/flame.html", "services", "api/services", "api/export?format=folded", "debug/pprof/off_cpu")


def at(seconds):
    return (START + seconds) * SECOND


def span(start, end):
    return f"from={at(start)}&to={at(end)}"


def utc(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + seconds))


# Pairs of cells of one row, or of numbers of one cell, whose texts overlap.
COLLIDING = """(() => { const bad = [];
    const box = (node) => { const r = document.createRange(); r.selectNodeContents(node); return r.getBoundingClientRect(); };
    for (const row of document.querySelectorAll('#detail tr:not([hidden]), .key, #findings li')) {
        const cells = [...row.children].filter((c) => c.getClientRects().length && c.textContent.trim()).map((c) => [c.textContent, box(c)]);
        cells.forEach(([a, x], i) => cells.slice(0, i).forEach(([b, y]) => {
            if (Math.min(x.right, y.right) - Math.max(x.left, y.left) > 1 && Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top) > 3) bad.push(a + ' / ' + b);
        }));
    }
    return bad; })()"""


def lab(rgb):
    """CIE Lab of sRGB, by D65."""
    r, g, b = (c / 3294.6 if c <= 10.3 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb)
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


class History(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = {}
        for name in ("server", "sliced", "hostile"):
            cls.files[name] = os.path.join(cls.folder.name, name + ".offcpu")
            subprocess.run([MAKE_FLAME, name, "record=" + cls.files[name]], check=True)
        cls.history = os.path.join(cls.folder.name, "history")
        cls.make(cls.history, START, "server*60", "gap=60", "sliced*12", "server*12")
        cls.served = Served(OFFCPU, "serve", "--history", cls.history)

    @classmethod
    def tearDownClass(cls):
        status, said = cls.served.end()
        cls.folder.cleanup()
        assert (status, said) == (0, ""), (status, said)

    @classmethod
    def make(cls, folder, start, *windows):
        files = [w if w.startswith("gap") else cls.files[w.split("*")[0]] + ("*" + w.split("*")[1] if "*" in w else "") for w in windows]
        subprocess.run([MAKE_HISTORY, folder, str(start), *files], check=True)

    def keep(self, name, start, end):
        subprocess.run([OFFCPU, "agent", "--config", "/dev/null", "--set", "store.dir=" + self.history, "--keep", name, "--from", f"@{START + start}",
                        "--to", f"@{START + end}"], check=True, stdout=subprocess.DEVNULL)

    def ask(self, *args, **more):
        return self.served.ask(*args, **more)

    def get(self, path):
        status, _, body = self.ask(path)
        self.assertEqual(status, 200, (path, body[:200]))
        return json.loads(body)


class Rights(History):
    def test_process(self):
        """It has nothing that a fault could be used for, in any of its threads; and the other tests pass all the same."""
        threads = list(self.served.threads())
        self.assertGreater(len(threads), 1)
        for status in threads:
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
            self.assertEqual(int(status["CapPrm"], 16) & ~(1 << 2), 0, "at most CAP_DAC_READ_SEARCH, where the folder is closed to it")
            if os.getuid() == 0:
                self.assertNotIn("0", status["Uid"].split() + status["Gid"].split() + status["Groups"].split())
        if os.getuid() == 0:
            while "Runs as " not in self.served.text and (line := self.served.process.stdout.readline()):
                self.served.text += line
            self.assertIn("Runs as ", self.served.text)


class Api(History):
    def test_extent(self):
        e = self.get("api/extent")
        self.assertEqual((e["schema"], e["from_unix_ns"], e["to_unix_ns"], e["windows"]), ("offcpu.extent/1", at(0), at(480), 84))
        self.assertEqual(e["history"], self.history)

    def test_incidents(self):
        """What was put aside is listed, the newest first."""
        self.keep("deploy <17>", 60, 120)
        self.keep("later", 200, 210)
        told = [(i["id"], i["start_unix_ns"], i["duration_ns"]) for i in self.get("api/incidents")["incidents"]]
        self.assertEqual(told, [("later", at(200), 10 * SECOND), ("deploy <17>", at(60), 60 * SECOND)])

    def test_line(self):
        """The line adds up to what the report says, and a pause is no quiet time."""
        line = self.get(f"api/line?{span(0, 480)}&step={10 * SECOND}&by=class")
        self.assertEqual((line["from_unix_ns"], line["step_ns"], line["steps"]), (at(0), 10 * SECOND, 48))
        self.assertEqual(line["gaps"], list(range(30, 36)))
        sums = {s["name"]: sum(s["ns"]) for s in line["series"]}
        budget = self.get(f"api/report?{span(0, 480)}")
        threads = budget["threads"]
        self.assertEqual(sums["on CPU"], sum(t["on_cpu_ns"] for t in threads))
        self.assertEqual(sums["blocked"] + sums["idle"], sum(w["blocked_ns"] for w in budget["waits"]))
        self.assertEqual(sums["runnable"], sum(t["runnable_ns"] for t in threads))
        for by in ("process", "service", "reason"):
            self.assertTrue(self.get(f"api/line?{span(0, 480)}&step={10 * SECOND}&by={by}")["series"], by)

    def test_part_of_line(self):
        """What a filter leaves adds up to what the table says of it, in each way of grouping, and by how long waits were."""
        for query in ("process=mariadbd", "reason=lock", "service=(no service)", "grep=fdatasync"):
            query = query.replace(" ", "%20").replace("(", "%28").replace(")", "%29")
            left = self.get(f"api/summary?{span(0, 300)}&rows=1000&{query}")["top"]["sum_ns"]
            self.assertGreater(left, 0)
            # of an idle wait only the time in the queue is in groups
            queued = sum(w["off_cpu_ns"] - w["blocked_ns"] for w in self.get(f"api/report?{span(0, 300)}&{query}")["waits"] if w["idle"])
            for by in ("reason", "process", "service", "duration"):
                line = self.get(f"api/line?{span(0, 300)}&step={10 * SECOND}&series=48&by={by}&{query}")
                self.assertEqual(sum(sum(s["ns"]) for s in line["series"]), left + (queued if by != "duration" else 0), (query, by))
        # a part of one process has no other's time, whichever tier it is read from
        for step in (10, 60, 300):
            line = self.get(f"api/line?{span(0, 480)}&step={step * SECOND}&by=process&process=sysbench")
            self.assertEqual([s["name"] for s in line["series"]], ["sysbench"])
        whole = self.get(f"api/line?{span(0, 300)}&step={10 * SECOND}&by=reason")
        part = self.get(f"api/line?{span(0, 300)}&step={10 * SECOND}&by=reason&process=*")
        self.assertEqual(part, whole)
        durations = self.get(f"api/line?{span(0, 300)}&step={10 * SECOND}&by=duration&series=48")["series"]
        for name in (s["name"] for s in durations):
            self.assertEqual(int(name) & (int(name) - 1), 0)

    def test_report(self):
        """Is the report of the command, and the summary has the same numbers."""
        report, summary = self.get(f"api/report?{span(0, 300)}"), self.get(f"api/summary?{span(0, 300)}&idle=keep&rows=1000")
        self.assertEqual(summary["window"], {"start_unix_ns": at(0), "duration_ns": 300 * SECOND})
        self.assertEqual(summary["top"]["sum_ns"], sum(w["off_cpu_ns"] for w in report["waits"]))
        self.assertEqual(summary["top"]["sum_ns"], sum(r["off_cpu_ns"] for r in summary["top"]["rows"]))
        self.assertEqual(summary["threads"], len(report["threads"]))
        self.assertEqual(summary["findings"][0]["reason"], report["findings"][0]["reason"])
        self.assertEqual(summary["matters_ns"], report["budget"]["matters_ns"])
        if "--history" in subprocess.run([OFFCPU, "report", "--help"], capture_output=True, text=True, check=True).stdout:
            r = subprocess.run([OFFCPU, "report", "--history=" + self.history, "--from", utc(0), "--to", utc(300), "--json"], capture_output=True, check=True)
            self.assertEqual(json.loads(r.stdout), report)

    def test_filters(self):
        whole = self.get(f"api/summary?{span(0, 300)}&rows=1000")["top"]
        for query, keep in (("process=mariadbd", lambda r: r["process"] == "mariadbd"), ("reason=disk", lambda r: r["reason"].startswith("disk.")),
                            ("process=maria*&reason=lock", lambda r: r["process"] == "mariadbd" and r["reason"].startswith("lock."))):
            left = self.get(f"api/summary?{span(0, 300)}&rows=1000&{query}")["top"]
            self.assertEqual(left["sum_ns"], sum(r["off_cpu_ns"] for r in whole["rows"] if keep(r)), query)
            self.assertGreater(left["sum_ns"], 0)
        self.assertEqual(self.get(f"api/summary?{span(0, 300)}&service=nothing*")["top"]["rows"], [])

    def test_diff(self):
        d = self.get(f"api/diff?{span(0, 100)}&before_from={at(360)}&before_to={at(420)}")
        self.assertEqual((d["schema"], d["after"]["start_unix_ns"], d["before"]["start_unix_ns"]), ("offcpu.diff/1", at(0), at(360)))
        self.assertEqual(sorted(d["by"]), ["process", "reason", "stack"])
        self.assertTrue(any(r["time"]["is_change"] for r in d["by"]["process"]["rows"]))
        same = self.get(f"api/diff?{span(0, 100)}&before_from={at(100)}&before_to={at(200)}")
        self.assertFalse(any(r["time"]["is_change"] for r in same["by"]["stack"]["rows"]))
        status, headers, body = self.ask(f"api/diff?{span(0, 100)}&before_from={at(360)}&before_to={at(420)}&format=text")
        self.assertEqual((status, headers["content-type"]), (200, "text/plain; charset=utf-8"))
        self.assertIn(b"BEFORE", body)

    def test_exports(self):
        for name in ("pprof", "folded", "speedscope", "firefox", "perfetto", "json", "csv", "otlp"):
            status, headers, body = self.ask(f"api/export?{span(0, 60)}&format={name}")
            self.assertEqual(status, 200, name)
            self.assertRegex(headers["content-disposition"], r'^attachment; filename="off-cpu-\d+\.[a-z.]+"$')
            self.assertGreater(len(body), 100)
        self.assertEqual(json.loads(self.ask(f"api/export?{span(0, 60)}&format=json")[2]), self.get(f"api/report?{span(0, 60)}"))

    def test_pprof(self):
        status, headers, body = self.ask("debug/pprof/off_cpu?seconds=30")
        self.assertEqual((status, headers["content-type"]), (200, "application/octet-stream"))
        self.assertIn(b"mysql_parse", gzip.decompress(body))
        if shutil.which("go"):
            r = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=3", self.served.url + "debug/pprof/off_cpu?seconds=30"], capture_output=True,
                               text=True, env={**os.environ, "HOME": self.folder.name, "PPROF_TMPDIR": self.folder.name})
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("Type: off_cpu", r.stdout)
            self.assertIn("Duration: 30s", r.stdout)

    def test_headers(self):
        for path in ROUTES:
            status, headers, _ = self.ask(path)
            self.assertEqual(status, 200, path)
            self.assertEqual([headers.get(n) for n in ("x-content-type-options", "referrer-policy", "cache-control", "cross-origin-resource-policy")],
                             ["nosniff", "no-referrer", "no-store", "same-origin"])
            self.assertTrue(headers["content-security-policy"].startswith("default-src 'none'; "))
            self.assertNotIn("access-control-allow-origin", headers)

    def test_hostile_requests(self):
        bad = ("api/line?step=1", "api/line?step=x", "api/line?by=thread", "api/line?series=0", "api/line?series=999999", f"api/line?step={SECOND}&from=1&to=0",
               "api/summary?from=x", "api/summary?from=-1", "api/summary?from=5&to=4", "api/summary?rows=0", "api/summary?rows=99999999", "api/summary?by=x",
               "api/summary?idle=x", "api/summary?reason=x", "api/summary?grep=(", "api/summary?grep=" + "a" * 600, "api/summary?process=%ff%fe",
               "api/report?to=99999999999999999999999", "api/flame.html?from=1e3", "api/diff", "api/diff?before_from=1", "api/diff?before_from=2&before_to=1",
               "api/diff?before_from=1&before_to=2&format=exe", "api/export", "api/export?format=../../etc/passwd", "debug/pprof/off_cpu?seconds=0",
               "debug/pprof/off_cpu?seconds=-1", "debug/pprof/off_cpu?seconds=999999999999")
        for path in bad:
            status, headers, body = self.ask(path)
            self.assertEqual((status, body.count(b"\n"), headers["content-type"]), (400, 1, "text/plain; charset=utf-8"), (path, body))
            self.assertLess(len(body), 700)
        for path in ROUTES:
            self.assertEqual(self.ask("/" + path)[0], 403, path)
            self.assertEqual(self.ask(path, host="evil.example")[0], 403, path)
            self.assertEqual(self.ask(path, Origin="https://evil.example")[0], 403, path)
            self.assertEqual(self.ask(path, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors")[0], 403, path)
            self.assertEqual(self.ask(path, method="POST")[0], 405, path)
            self.assertEqual(self.ask("/" + path, Authorization="Bearer " + self.served.token)[0], 200, path)
        # nothing of it leads to memory or time without end
        self.assertEqual(self.ask("api/line?from=0&to=9223372036854775807")[0], 200)
        self.assertEqual(self.ask("api/summary?from=0&to=1")[0], 404)

    def test_crowd(self):
        """Many that want ranges hold up nobody who wants little; each is answered, or told to come again."""
        answers, slow = [], []

        def heavy(i):
            answers.append(self.ask(f"api/flame.html?{span(i % 7, 200 + i)}")[0])

        threads = [threading.Thread(target=heavy, args=(i,)) for i in range(24)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            began = time.monotonic()
            self.assertEqual(self.ask("api/extent")[0], 200)
            slow.append(time.monotonic() - began)
        for t in threads:
            t.join()
        self.assertEqual(set(answers) | {200, 503}, {200, 503}, answers)
        self.assertGreater(answers.count(200), 2)
        self.assertLess(max(slow), 5)


class Command(History):
    def run_it(self, *args):
        return subprocess.run([OFFCPU, "serve", *args], capture_output=True, text=True, timeout=60)

    def test_bad_options(self):
        token = os.path.join(self.folder.name, "token")
        good = "abcdefghijklmnopqrstuvwxyz"
        for text, mode, word in ((good, 0o644, "others"), ("short", 0o600, "characters"), ("has a blank in it, and more", 0o600, "characters"), ("", 0o600, "no token")):
            with open(token, "w", encoding="ascii") as file:
                file.write(text + "\n")
            os.chmod(token, mode)
            r = self.run_it("--history", self.history, "--token-file", token)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (2, "", 1), r)
            self.assertIn(word, r.stderr)
        with open(token, "w", encoding="ascii") as file:
            file.write(good + "\n")
        for status, word, *args in ((2, "--token-file", "--listen", "192.0.2.1:80"), (2, "--host", "--listen", "0.0.0.0:0", "--token-file", token),
                                    (2, "--listen", "--listen", "nowhere:80"), (2, "plain file", "--token-file", self.folder.name), (2, "--host", "--host", "a b"),
                                    (2, "--history", "/var/lib/offcpu"), (1, "missing", "--history", self.folder.name + "/missing"), (2, "nope", "--nope")):
            r = self.run_it(*args)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (status, "", 1), (args, r))
            self.assertIn(word, r.stderr)

    def test_token_file(self):
        """The token is its first line, and is not printed; a proxy's name is another name."""
        token = os.path.join(self.folder.name, "token2")
        with open(token, "w", encoding="ascii") as file:
            file.write("0123456789abcdef-ABCDEF_\n")
        os.chmod(token, stat.S_IRUSR | stat.S_IWUSR)
        served = Served(OFFCPU, "serve", "--history", self.history, "--token-file", token, "--host", "offcpu.example")
        self.assertNotIn("0123456789abcdef", served.text)
        self.assertEqual(served.ask("")[0], 403)
        served.token = "0123456789abcdef-ABCDEF_"
        self.assertEqual(served.ask("")[0], 200)
        self.assertEqual(served.ask("", host="offcpu.example", Origin="https://offcpu.example")[0], 200)
        self.assertEqual(served.ask("", host="offcpu.example", Origin="https://evil.example")[0], 403)
        self.assertEqual(served.ask("", host="other.example")[0], 403)
        self.assertEqual(served.end(15), (0, ""))


@unittest.skipUnless(CHROMIUM, "no Chromium is installed, and CHROMIUM names none")
class Page(History):
    def setUp(self):
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.may_ask += (self.served.url,)

    def open(self, fragment="", **more):
        self.browser.open(self.served.url, fragment, **more)
        self.settle()

    def settle(self):
        for _ in range(200):
            self.browser.pause(0.05)
            if self.browser.run("document.querySelector('main').getAttribute('aria-busy') === 'false' && !Object.keys(asking).length"):
                return
        raise AssertionError("the page does not settle")

    def text(self, selector):
        return self.browser.run(f"document.querySelector({json.dumps(selector)}).textContent")

    def test_incidents(self):
        """One that is chosen is the range, and its name is text."""
        self.keep("a <b>bold one", 60, 120)
        self.open()
        self.assertEqual(self.browser.run("document.querySelectorAll('#incidents li').length"), 1)
        self.assertIn("offcpu serve --incident 'a <b>bold one'", self.text("#incidents li"))
        self.browser.run("document.querySelector('#incidents').open = true")
        self.browser.run("document.querySelector('#incidents button').click()")
        self.settle()
        self.assertEqual(self.browser.run("S.range"), [(START + 60) * 1000, (START + 120) * 1000])

    def x_of(self, seconds):
        """Where that instant is in the time line, and its middle."""
        return self.browser.run(f"(() => {{ const b = one('#line').getBoundingClientRect(); return [b.x + xOf({(START + seconds) * 1000}), b.y + b.height / 2]; }})()")

    def drag(self, start, end, **more):
        a, b = self.x_of(start), self.x_of(end)
        self.browser.drag(*a, *b, **more)
        self.settle()

    VIEW = f"#view={utc(0)}/{utc(480)}"

    def test_loads(self):
        """Says what stands out at once; nothing breaks a policy; light, dark, wide, narrow."""
        for width, dark in ((1280, False), (1280, True), (400, False), (400, True)):
            self.open(width=width, dark=dark)
            self.assertIn("of history", self.text("#sub"))
            self.assertGreater(self.browser.run("document.querySelectorAll('#findings li').length"), 0)
            self.assertGreater(self.browser.run("document.querySelectorAll('#detail tbody tr').length"), 3)
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
            self.assertEqual(self.browser.run("document.documentElement.dataset.theme"), "dark" if dark else "light")
        self.assertEqual(self.browser.problems, [])

    def test_drag(self):
        """What is dragged over is what the report says of that range."""
        self.open(self.VIEW)
        self.assertEqual(self.browser.run("[...V.line.gaps].filter(Boolean).length * V.line.step"), 60000)
        self.drag(100, 200)
        self.assertEqual(self.browser.run("S.range"), [(START + 100) * 1000, (START + 200) * 1000])
        summary = self.get(f"api/summary?{span(100, 200)}")
        self.assertEqual(self.browser.run("V.summary.top.sum_ns"), summary["top"]["sum_ns"])
        self.assertEqual(self.browser.run("V.summary.window.start_unix_ns"), at(100))
        shown = self.browser.run("[...document.querySelectorAll('#findings .sentence')].map((e) => e.textContent)")
        self.assertEqual(shown, [f["sentence"].split(": ", 1)[1] for f in summary["findings"]])
        self.assertIn(utc(100) + "/" + utc(200), self.browser.run("location.hash"))
        # its end, by the mouse; a click chooses one bar; the page's own step back
        self.drag(200, 250)
        self.assertEqual(self.browser.run("S.range"), [(START + 100) * 1000, (START + 250) * 1000])
        self.browser.click(*self.x_of(45))
        self.settle()
        self.assertEqual(self.browser.run("S.range"), [(START + 40) * 1000, (START + 50) * 1000])
        self.browser.key("Escape")
        self.settle()
        self.assertIsNone(self.browser.run("S.range"))
        self.assertEqual(self.browser.problems, [])

    def test_young(self):
        """Eight minutes of history fill the time line, though an hour is asked for; the link still says an hour."""
        self.open()
        self.assertEqual(self.browser.run("[S.live, S.from, S.to, location.hash]"), [True, START * 1000, (START + 480) * 1000, ""])
        self.open("#last=120s")
        self.assertEqual(self.browser.run("[S.from, location.hash]"), [(START + 360) * 1000, "#last=120s"])

    def test_heat(self):
        """Over the flame graph: when waits of which duration were.  A click chooses a column."""
        for width, dark in ((1280, False), (400, True)):
            self.open(self.VIEW + "&tab=flame&process=mariadbd", width=width, dark=dark)
            self.assertIn("darkest cell", self.text("#heat figcaption"))
            self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
        ns = self.browser.run("V.heat.rows.reduce((sum, r) => sum + r.ns.reduce((a, b) => a + b, 0), 0)")
        self.assertEqual(ns, self.get(f"api/summary?{span(0, 480)}&process=mariadbd&rows=1000")["top"]["sum_ns"])
        self.open(self.VIEW + "&tab=flame")
        self.browser.run("one('#heat').scrollIntoView()")
        column = self.browser.run("heatRange(3)")
        self.browser.click(*self.browser.run("(() => { const b = one('#heat canvas').getBoundingClientRect(); return [b.x + LEFT + heatPlan().wide * 3.5, b.y + 60]; })()"))
        self.settle()
        self.assertEqual(self.browser.run("S.range"), column)
        self.assertEqual(self.browser.problems, [])

    def check_changes_lead(self, diff):
        """Of each table: what changed, the largest first; behind it what has waits of another length, which is said."""
        listed = self.browser.run("[...document.querySelectorAll('#detail table')].map((t) => [...t.querySelectorAll('.name')].map((n) => [n.textContent, n.closest('tr').cells[3].textContent]))")
        for by, rows in zip(("reason", "stack"), listed):
            changes = sorted((r for r in diff["by"][by]["rows"] if r["time"]["is_change"]), key=lambda r: -abs(r["time"]["by_ns"]))
            marks = [text[0] for _, text in rows]
            self.assertEqual(marks, sorted(marks, key=lambda mark: mark == "="))
            if by == "stack":
                self.assertEqual([name for name, _ in rows[:len(changes)]], [r["name"] for r in changes])
                only = [r["name"] for r in diff["by"][by]["rows"] if r["each"]["is_change"] and not r["time"]["is_change"]]
                self.assertEqual(sorted(name for name, text in rows if "each wait" in text), sorted(only))

    def test_compare(self):
        self.open(self.VIEW + f"&range={utc(0)}/{utc(100)}")
        self.drag(360, 420, ctrl=True)
        self.assertEqual(self.browser.run("[S.tab, S.with]"), ["compare", [(START + 360) * 1000, (START + 420) * 1000]])
        d = self.get(f"api/diff?{span(0, 100)}&before_from={at(360)}&before_to={at(420)}")
        # leads with the largest row that is no noise, a stack where it has half of the reason's
        rows = {by: [r for r in d["by"][by]["rows"] if r["time"]["is_change"]] for by in ("reason", "stack")}
        largest = {by: max(r, key=lambda row: abs(row["time"]["by_ns"])) for by, r in rows.items() if r}
        lead = max(largest.values(), key=lambda row: abs(row["time"]["by_ns"]) * (2 if row is largest.get("stack") else 1))
        self.assertIn(lead["name"], self.text(".verdict"))
        self.assertIn(lead["name"], self.text("#detail table + p + table"))
        self.assertGreater(self.browser.run("document.querySelectorAll('td.worse, td.better').length"), 0)
        self.check_changes_lead(d)
        self.browser.key("p")    # with what was before: there is nothing
        self.assertIn("begins", self.text("#said"))
        self.open(self.VIEW + f"&range={utc(100)}/{utc(200)}")
        self.browser.key("p")
        self.settle()
        self.assertEqual(self.browser.run("S.with"), [START * 1000, (START + 100) * 1000])
        self.assertTrue(self.text(".verdict").startswith("Nothing changed"), self.text(".verdict"))
        self.assertEqual(self.browser.problems, [])

    def test_spike(self):
        """One bar far above the others is cut off with a mark, and leaves the others their shape."""
        folder = os.path.join(self.folder.name, "spike")
        self.make(folder, START, "sliced*30", "server", "sliced*30")
        served = Served(OFFCPU, "serve", "--history", folder)
        try:
            self.browser.may_ask += (served.url,)
            self.browser.open(served.url)
            self.settle()
            most, usual, axis = self.browser.run("(() => { const h = V.line.gaps.reduce((all, g, n) => (g ? all : [...all, threads(totalAt(n), n)]), []).sort((a, b) => a - b);"
                                                 "return [h[h.length - 1], h[h.length >> 1], V.axis]; })()")
            self.assertGreater(most, 3 * usual)
            self.assertTrue(usual * 1.2 <= axis <= usual * 3, (most, usual, axis))
            screenshot(self.browser, "serve-spike-light-1400")
        finally:
            served.end()
        self.open(self.VIEW)
        self.assertEqual(self.browser.run("V.axis >= Math.max(...Array.from(V.line.gaps, (_, n) => threads(totalAt(n), n)))"), True)
        self.assertEqual(self.browser.problems, [])

    def test_words(self):
        """The run queue has one name, wherever it is told."""
        self.open(self.VIEW)
        shown = self.browser.run("document.body.innerText").lower() + self.text("#f-reason").lower()
        self.assertIn("run queue", shown)
        for other in ("cpu queue", "cpu.queue", "runnable"):
            self.assertNotIn(other, shown)
        self.open(self.VIEW + "&by=class")
        self.assertIn("run queue", self.text("#legend"))

    def test_colours(self):
        """Any two reasons, and any two processes, differ by a distance in CIE Lab that one sees, and from the ground, light and dark."""
        self.open(self.VIEW)
        for theme, ground in (("light", (255, 255, 255)), ("dark", (21, 24, 31))):
            inks = self.browser.run(f"[...Object.keys(INKS), 'idle'].map((n) => [n, reasonColour(n, '{theme}').match(/\\d+/g).map(Number)])")
            inks.append(["ground", ground])
            wheel = self.browser.run(f"WHEEL.map((w) => wheelColour(w, '{theme}').match(/\\d+/g).map(Number))") + [ground]
            for i, x in enumerate(wheel):
                for y in wheel[:i]:
                    self.assertGreater(sum((p - q) ** 2 for p, q in zip(lab(x), lab(y))) ** 0.5, 35, (theme, x, y))
            for i, (a, x) in enumerate(inks):
                for b, y in inks[:i]:
                    least = 10 if {a, b} == {"idle", "ground"} else 20
                    self.assertGreater(sum((p - q) ** 2 for p, q in zip(lab(x), lab(y))) ** 0.5, least, (theme, a, b))

    def test_order(self):
        """Findings come by their share; waits for a CPU have a box of their own; a process is a name, whatever word it is."""
        self.open(self.VIEW)
        summary = self.browser.run("V.summary")
        one = dict(summary["findings"][0], share_ppm=300000, process="threads", sentence="30% of the time that matters: process threads waits for a mutex")
        findings = [one, dict(one, share_ppm=100000), dict(one, share_ppm=400000, reason="cpu.queue"), dict(one, share_ppm=200000)]
        self.browser.run(f"V.summary.findings = {json.dumps(findings)}; drawFindings()")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('#findings > ol > li:not(.apart) .share')].map((e) => e.textContent)"), ["30%", "20%", "10%"])
        self.assertEqual(self.browser.run("[...document.querySelectorAll('#findings .apart .share')].map((e) => e.textContent)"), ["40%"])
        self.assertEqual(self.browser.run("document.querySelector('#findings .sentence code').textContent"), "threads")
        self.assertEqual(self.text("#findings .sentence"), "process threads waits for a mutex")
        self.assertIn("of the time that matters", self.text("#findings h3"))
        screenshot(self.browser, "serve-findings-light-1400")

    def test_marked_range(self):
        """What is marked is what was read: whole windows."""
        self.open(self.VIEW + f"&range={utc(102)}/{utc(118)}")
        window = self.browser.run("V.summary.window")
        wanted = [window["start_unix_ns"] / 1e6, (window["start_unix_ns"] + window["duration_ns"]) / 1e6]
        self.assertLess(wanted[0], (START + 102) * 1000)
        left, width = self.browser.run("[one('#range').style.left, one('#range').style.width].map(parseFloat)")
        edges = self.browser.run(f"[xOf({wanted[0]}), xOf({wanted[1]})]")
        self.assertAlmostEqual(left, edges[0], delta=1)
        self.assertAlmostEqual(left + width, edges[1], delta=1)
        told = [time.strftime("%H:%M:%S", time.localtime(ms / 1000)) for ms in wanted]
        self.assertIn(f"{told[0]} to {told[1]}", self.text("#when"))

    def test_widths(self):
        """No number runs into its neighbour; on a phone the first finding is on the first screen.  The pictures are for a person."""
        for width, height in ((1400, 900), (1000, 900), (375, 667)):
            for dark in (False, True):
                name = f"serve-{'dark' if dark else 'light'}-{width}"
                self.open(self.VIEW, width=width, height=height, dark=dark)
                screenshot(self.browser, name)
                bottom = self.browser.run("document.querySelector('#findings .evidence').getBoundingClientRect().bottom")
                self.assertLess(bottom, height, name)
                self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.browser.run(COLLIDING), [], name)
                self.open(self.VIEW + f"&range={utc(0)}/{utc(100)}&with={utc(360)}/{utc(420)}&tab=compare", width=width, height=height, dark=dark)
                self.assertEqual(self.browser.run(COLLIDING), [], name)
                self.browser.run("one('#detail').scrollIntoView()")
                screenshot(self.browser, name.replace("serve", "serve-compare"))

    def test_longest(self):
        """Of a row's longest wait which thread it was, when it began and who ended it, as the API says; and a way to that moment."""
        self.open(self.VIEW + f"&range={utc(0)}/{utc(100)}")
        rows = self.get(f"api/summary?{span(0, 100)}&rows=40")["top"]["rows"]
        number, row = next((i, r) for i, r in enumerate(rows) if "longest" in r)
        self.assertLessEqual(at(0), row["longest"]["start_unix_ns"])
        self.browser.run(f"document.querySelectorAll('#detail button.name')[{number}].click()")
        said = self.text("#detail .longest")
        self.assertRegex(said, rf"^Longest \S+ \S+: thread {row['longest']['tid']} {row['longest']['comm']}, began .*\d\d:\d\d:\d\d\.\d\d\d")
        if "waker" in row["longest"]:
            self.assertIn(", woken by " + (row["longest"]["waker"]["irq"] or row["longest"]["waker"]["comm"]), said)
        self.browser.press("#detail .longest button")
        self.settle()
        began = row["longest"]["start_unix_ns"] / 1e6
        chosen = self.browser.run("S.range")
        self.assertTrue(chosen[0] <= began <= began + row["max_ns"] / 1e6 <= chosen[1], (chosen, row))
        self.assertEqual(self.browser.problems, [])

    def test_flame(self):
        """The page of the range, in a frame; it breaks no policy there either."""
        self.open(self.VIEW + f"&range={utc(0)}/{utc(100)}&tab=flame")
        for _ in range(100):
            self.browser.pause(0.1)
            if self.browser.run("one('iframe').contentDocument?.documentElement.dataset.ready || ''"):
                break
        total = self.browser.run("one('iframe').contentWindow.offcpu.V.total")
        report = self.get(f"api/report?{span(0, 100)}")
        busy = sum(w["off_cpu_ns"] - (w["blocked_ns"] if w["idle"] else 0) for w in report["waits"])
        self.assertEqual(total, busy)
        self.assertTrue(self.browser.run("one('iframe').contentWindow.offcpu.S.down"))    # what is widest is next to the words above it
        # it is a part of this page: no second head, and nothing in it scrolls
        for part in ("#title", "#findings", "#theme"):
            self.assertEqual(self.browser.run(f"one('iframe').contentDocument.querySelector('{part}').getClientRects().length"), 0, part)
        for _ in range(50):
            self.browser.pause(0.1)
            if self.browser.run("(() => { const s = one('iframe').contentDocument.querySelector('#scroll'); return s.scrollHeight - s.clientHeight; })()") <= 1:
                break
        self.assertLessEqual(self.browser.run("(() => { const s = one('iframe').contentDocument.querySelector('#scroll'); return s.scrollHeight - s.clientHeight; })()"), 1)
        self.browser.run("one('#detail').scrollIntoView()")
        screenshot(self.browser, "serve-flame-light-1400")
        self.assertEqual(self.browser.problems, [])

    def test_keyboard(self):
        """Everything by keys alone, and a screen reader hears what is chosen."""
        self.open(self.VIEW)
        self.browser.run("one('#line').focus()")
        self.browser.key("ArrowLeft")
        first = self.browser.run("S.range")
        self.assertEqual(first[1], (START + 480) * 1000)
        for _ in range(3):
            self.browser.key("ArrowLeft")
        self.browser.key("ArrowRight", shift=True)
        self.browser.pause(0.4)
        self.settle()
        step = self.browser.run("V.line.step")
        self.assertEqual(self.browser.run("S.range"), [first[0] - 3 * step, first[1] - 2 * step])
        value = self.browser.run("one('#line').getAttribute('aria-valuetext')")
        self.assertRegex(value, r"\d\d:\d\d:\d\d to \d\d:\d\d:\d\d, 20 s")
        self.browser.run("document.activeElement.blur()")
        self.browser.key("2")
        self.assertEqual(self.browser.run("S.tab"), "flame")
        self.browser.key("1")
        self.browser.key("b")
        self.assertEqual(self.browser.run("S.by"), "process")
        self.browser.key("?")
        self.assertFalse(self.browser.run("one('#help').hidden"))
        self.browser.key("Escape")
        self.assertTrue(self.browser.run("one('#help').hidden"))
        self.browser.key("i")
        self.settle()
        self.assertTrue(self.browser.run("S.idle"))
        self.browser.key("z")
        self.settle()
        self.assertLess(self.browser.run("S.to - S.from"), 100000)
        self.browser.key("/")
        self.assertEqual(self.browser.run("document.activeElement.id"), "f-grep")
        self.browser.type("fdatasync")
        self.browser.key("Enter")
        self.settle()
        self.assertEqual(self.browser.run("S.grep"), "fdatasync")
        self.browser.run("one('#detail .name').focus()")
        self.browser.key("Enter")
        self.assertIn("fdatasync", self.browser.run("one('.frames').textContent"))
        roles = {(role, name) for role, name, _ in self.browser.accessible()}
        for wanted in (("slider", "Selected range of time"), ("tab", "Flame graph"), ("button", "Earlier"), ("heading", "Off-CPU history")):
            self.assertIn(wanted, roles)
        # every button has a name
        self.assertEqual([n for r, n, _ in self.browser.accessible() if r == "button" and not n.strip()], [])
        self.assertEqual(self.browser.problems, [])

    def test_permalink(self):
        fragment = (self.VIEW + f"&range={utc(60)}/{utc(120)}&with={utc(0)}/{utc(60)}&by=process&process=mariadbd&reason=lock&grep=a%2Cb%26c&tab=compare&group=object"
                    "&theme=dark&idle=1&off=sysbench,x%2Cy")
        self.open(fragment)
        state = self.browser.run("JSON.stringify({ ...S, off: [...S.off] })")
        self.assertEqual(self.browser.run("location.hash"), fragment)
        self.assertEqual(self.browser.run("[S.grep, [...S.off], S.live]"), ["a,b&c", ["sysbench", "x,y"], False])
        self.open(self.browser.run("location.hash"))
        self.assertEqual(self.browser.run("JSON.stringify({ ...S, off: [...S.off] })"), state)
        # what nobody wrote by hand is as if it were not there
        self.open("#view=x/y&range=9/1&by=zzz&tab=%ff&process=%e0%a4&off=%&last=-5s&theme=pink")
        self.assertTrue(self.browser.run("S.live && S.by === 'reason' && S.tab === 'stacks' && !S.range"))
        self.assertEqual(self.browser.problems, [])

    def test_filters(self):
        self.open(self.VIEW)
        self.browser.press(".process")
        self.settle()
        process = self.browser.run("S.process")
        # the time line is of what is left, too, and the link says so
        self.assertTrue(self.browser.run("V.line.isPart"))
        part = self.get(f"api/line?{span(0, 480)}&step={int(self.browser.run('V.line.step')) * 10**6}&by=reason&series=11&process={process}")
        self.assertEqual(self.browser.run("V.line.series.reduce((sum, s) => sum + s.sum, 0)"), sum(sum(s["ns"]) for s in part["series"]))
        self.assertIn("process=" + process, self.browser.run("location.hash"))
        self.assertEqual(set(self.browser.run("V.summary.top.rows.map((r) => r.process)")), {process})
        self.browser.press("#unfilter")
        self.settle()
        self.browser.press("#findings .plain")
        self.settle()
        self.assertTrue(self.browser.run("S.process && S.reason"))
        self.assertGreater(self.browser.run("V.summary.top.rows.length"), 0)
        # a reason that nothing waited for says so, and an expression that is none
        self.browser.run("setFilter({ ...NO_FILTER, reason: 'memory.swap' })")
        self.settle()
        self.assertIn("No wait is left", self.text("#detail"))
        self.browser.run("setFilter({ ...NO_FILTER })")
        self.settle()
        before = self.text("#detail"), self.text("#findings"), self.text("#legend")
        self.browser.run("setFilter({ ...NO_FILTER, grep: '(' })")
        self.settle()
        self.assertIn("missing", self.text("#fielderror"))
        self.assertEqual(self.browser.run("[one('#f-grep').getAttribute('aria-invalid'), one('#trouble').hidden, one('#f-process').hasAttribute('aria-invalid')]"),
                         ["true", True, False])
        self.assertEqual((self.text("#detail"), self.text("#findings"), self.text("#legend")), before)
        self.browser.run("setFilter({ ...NO_FILTER })")
        self.settle()
        self.assertEqual(self.browser.run("[one('#f-grep').hasAttribute('aria-invalid'), one('#fielderror').hidden]"), [False, True])
        self.browser.problems = [p for p in self.browser.problems if "400" not in p]
        self.assertEqual(self.browser.problems, [])

    def test_print(self):
        self.open(self.VIEW)
        self.assertTrue(self.browser.print().startswith(b"%PDF"))

    def test_hostile_names(self):
        """Names that are markup are text."""
        folder = os.path.join(self.folder.name, "bad")
        self.make(folder, START, "hostile*6")
        served = Served(OFFCPU, "serve", "--history", folder)
        try:
            self.browser.may_ask += (served.url,)
            for fragment in ("", "#by=process", "#tab=flame", f"#tab=compare&range={utc(10)}/{utc(20)}&with={utc(0)}/{utc(10)}"):
                self.browser.open(served.url, fragment)
                self.settle()
            self.browser.open(served.url, "#by=process")
            self.settle()
            self.assertIn("<&\"'>]]>", self.text("#where"))
            # as text tells them: the list that t_safe_text has for C
            with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "hostile_names.txt"), encoding="utf-8") as file:
                names = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
            self.assertGreater(len(names), 10)
            for name, told in names:
                self.assertEqual(self.browser.run(f"make('p', {{}}, {json.dumps(bytes.fromhex(name).decode())}).textContent"), told)
            report = subprocess.run([OFFCPU, "report", self.files["hostile"], "--stacks"], capture_output=True, text=True, check=True).stdout
            self.assertIn("\\u202ereversed\\u202c", report)
            self.browser.run("[...document.querySelectorAll('#detail .name')].forEach((b) => b.click())")
            self.assertIn("\\u202ereversed\\u202c", self.text("#detail"))
            self.assertEqual(self.browser.problems, [])
        finally:
            served.end()

    # Boxes that overlap, and texts that leave theirs.
    OVERLAPS = """(() => { const bad = [], rects = [...document.querySelectorAll('.services .b')].map((b) => b.getBoundingClientRect());
        rects.forEach((x, i) => rects.slice(0, i).forEach((y) => {
            if (Math.min(x.right, y.right) > Math.max(x.left, y.left) && Math.min(x.bottom, y.bottom) > Math.max(x.top, y.top)) bad.push([i, x.top]);
        }));
        for (const g of document.querySelectorAll('.services .n'))
            for (const t of g.querySelectorAll('text'))
                if (t.getBoundingClientRect().right > g.querySelector('.b').getBoundingClientRect().right) bad.push(t.textContent);
        return bad; })()"""

    def services(self, cnt):
        file = os.path.join(self.folder.name, f"services-{cnt}.offcpu")
        subprocess.run([MAKE_FLAME, f"services={cnt}", "record=" + file], check=True)
        folder = os.path.join(self.folder.name, f"services-{cnt}")
        subprocess.run([MAKE_HISTORY, folder, str(START), file + "*6"], check=True)
        served = Served(OFFCPU, "serve", "--history", folder)
        self.addCleanup(served.end)
        self.browser.may_ask += (served.url,)
        return served

    def open_plain(self, url, width=1400, dark=False):
        """A page without a script."""
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.call("Page.navigate", url=url)
        for _ in range(200):
            self.browser.pause(0.05)
            if self.browser.run("location.protocol !== 'about:' && document.readyState === 'complete'"):
                return
        raise AssertionError("the page is not there: " + url)

    def test_services(self):
        """Who waits for whom: all of few services, of many those that matter, and what is folded is said."""
        for cnt in (3, 20, 200):
            served = self.services(cnt)
            graph = json.loads(served.ask("api/services")[2])
            names = [s["name"] for s in graph["services"]]
            edges = [(names[e["from"]], names[e["to"]], e["time_ns"] // 10**6, e["at_most"]) for e in graph["edges"]]
            self.assertEqual(edges[:2], [("cart", "quoter", 28800, False), ("quoter", "ledgerd", 27000, False)])
            self.open_plain(served.url + "services")
            screenshot(self.browser, f"services-{cnt}-light-1400")
            boxes, arrows = self.browser.run("['.n', '.e'].map((c) => document.querySelectorAll('.services ' + c).length)")
            self.assertEqual((boxes, arrows), (sum(s["drawn"] for s in graph["services"]), sum(e["drawn"] for e in graph["edges"])))
            self.assertEqual(self.browser.run(self.OVERLAPS), [])
            if cnt == 3:
                self.assertEqual((boxes, arrows), (3, 2))
                continue
            self.assertIn(("gateway-node", "service-008", True), [(a, b, loop) for a, b, _, loop in edges])
            self.assertIn("10.0.0.5:3306", names)
            self.assertIn('"><script>alert(1)</script>', self.text("table"))
            self.assertEqual(self.browser.run("document.querySelectorAll('script').length"), 0)
            self.assertEqual("are folded" in self.text("body"), cnt == 200)
            self.assertLessEqual(boxes, 24)
        # of one only its neighbours, and in words what it waits for, of a chain with many others beside
        self.open_plain(served.url + "services?of=cart")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('.services .s')].map((t) => t.textContent).sort()"), ["cart", "ledgerd", "quoter"])
        self.assertIn("ledgerd waits for data to be safe on disk (fsync), /var/lib/ledger", self.text(".chain"))
        done = subprocess.run([OFFCPU, "report", "--follow", os.path.join(self.folder.name, "services-200"), "-p", "cart", "--from", utc(0), "--to", utc(30)],
                              capture_output=True, text=True, check=True)    # a folder is a history
        self.assertIn("ledgerd waits for data to be safe on disk", " ".join(done.stdout.split()))
        self.open_plain(served.url + "services?of=%3Cb%3Enobody", width=400, dark=True)
        self.assertIn("<b>nobody", self.text("h1"))
        self.assertEqual(self.browser.problems, [])

    def test_services_tab(self):
        """The picture is a part of the page, with its colours, as high as it is; what is chosen in it stays in it."""
        served = self.services(20)
        self.browser.open(served.url, f"#view={utc(0)}/{utc(30)}&tab=services&theme=dark")
        for _ in range(100):
            self.browser.pause(0.1)
            if self.browser.run("one('iframe')?.contentDocument?.documentElement.dataset.theme || ''"):
                break
        inner = "one('iframe').contentDocument.documentElement"
        self.assertEqual(self.browser.run(inner + ".dataset.theme"), "dark")
        self.assertLessEqual(self.browser.run(f"{inner}.scrollHeight - {inner}.clientHeight"), 0)
        self.browser.run("one('#detail').scrollIntoView()")
        screenshot(self.browser, "serve-services-dark-1400")
        self.browser.run("one('iframe').contentDocument.querySelector('.services a').dispatchEvent(new MouseEvent('click', { bubbles: true, view: one('iframe').contentWindow }))")
        for _ in range(100):
            self.browser.pause(0.1)
            if self.browser.run("one('iframe').contentDocument.querySelector('h2')?.textContent || ''"):
                break
        self.assertEqual(self.browser.run("one('iframe').contentDocument.querySelector('h2').textContent"), "Followed")
        self.assertEqual(self.browser.problems, [])

    def test_services_of_some(self):
        """A reader of one service sees what it waits for, and nobody else's name."""
        self.services(3)
        tokens = os.path.join(self.folder.name, "readers-services")
        with open(os.open(tokens, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write("ops everything-0123456789\nshop shop-0123456789abcdef services=cart\n")
        served = Served(OFFCPU, "serve", "--history", os.path.join(self.folder.name, "services-3"), "--token-file", tokens)
        try:
            body = served.ask("/api/services", Authorization="Bearer shop-0123456789abcdef")[2].decode()
            self.assertEqual([s["name"] for s in json.loads(body)["services"]], ["cart", "127.0.0.1:7001"])
            page = served.ask("/services?of=cart", Authorization="Bearer shop-0123456789abcdef")[2].decode()
            self.assertNotIn("quoter", body + page)
            self.assertIn("quoter", served.ask("/services?of=cart", Authorization="Bearer everything-0123456789")[2].decode())
        finally:
            served.end()

    def test_follows(self):
        """What is written meanwhile appears by itself; without it the page says that nothing comes."""
        folder = os.path.join(self.folder.name, "growing")
        now = int(time.time())
        self.make(folder, now - 600, "server*6")
        served = Served(OFFCPU, "serve", "--history", folder)
        try:
            self.browser.may_ask += (served.url,)
            self.browser.open(served.url)
            self.settle()
            self.assertIn("nothing new", self.text("#sub"))
            # what is added must not grey the page, close a row, or take the focus
            self.browser.run("one('#detail .name').click(); one('#detail .name').focus(); window.greyed = 0;"
                             "new MutationObserver(() => { greyed += one('main').getAttribute('aria-busy') === 'true'; }).observe(one('main'), { attributes: true })")
            self.make(folder, now - 30, "sliced*6")
            for _ in range(300):
                self.browser.pause(0.1)
                if "up to" in self.text("#sub"):
                    break
            self.settle()
            self.assertIn("up to", self.text("#sub"))
            self.assertTrue(self.browser.run("V.line.series.length > 0 && S.live"))
            self.assertEqual(self.browser.run("[greyed, document.activeElement.className]"), [0, "name"])
            self.assertEqual(self.browser.run("one('#detail .name[aria-expanded=true]') !== null"), True)
            self.assertGreater(self.browser.run("S.to"), (now - 10) * 1000)
            self.assertEqual(self.browser.problems, [])
        finally:
            served.end()


def main():
    global OFFCPU, MAKE_FLAME, MAKE_HISTORY
    OFFCPU, MAKE_FLAME, MAKE_HISTORY = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    unittest.main(verbosity=2)


main()
