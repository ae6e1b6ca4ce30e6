#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu view` as a browser, other sites' pages and an attacker see it: test_view.py OFFCPU MAKE_FLAME.

Points that need a browser are skipped without a Chromium; requests are made here, byte by byte."""
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from browser import CHROMIUM, Browser
from served import Served

OFFCPU = MAKE_FLAME = None
SPEEDSCOPE, FIREFOX = "https://www.speedscope.app", "https://profiler.firefox.com"
DATA = {SPEEDSCOPE: "off-cpu.speedscope.json", FIREFOX: "off-cpu.firefox.json"}
PATHS = ("", *DATA.values(), "debug/pprof/off_cpu")


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.recording = os.path.join(cls.folder.name, "db.offcpu")
        subprocess.run([MAKE_FLAME, "server", "record=" + cls.recording], check=True)
        cls.served = Served(OFFCPU, "view", cls.recording)

    @classmethod
    def tearDownClass(cls):
        status, said = cls.served.end()
        cls.folder.cleanup()
        assert (status, said) == (0, ""), (status, said)

    def ask(self, *args, **more):
        return self.served.ask(*args, **more)

    def status(self, *args, **more):
        return self.ask(*args, **more)[0]

    def alive(self):
        self.assertEqual(self.status("debug/pprof/off_cpu"), 200)

    def test_same_as_files(self):
        """What is served is what the commands write."""
        for what, name in (("speedscope", DATA[SPEEDSCOPE]), ("firefox", DATA[FIREFOX]), ("pprof", "debug/pprof/off_cpu")):
            wanted = subprocess.run([OFFCPU, "export", self.recording, "-f", what], capture_output=True, check=True).stdout
            status, headers, body = self.ask(name)
            self.assertEqual(status, 200)
            if what == "firefox":
                self.assertEqual(headers["content-encoding"], "gzip")
            if what != "speedscope":
                wanted, body = gzip.decompress(wanted), gzip.decompress(body)
            self.assertEqual(body, wanted)
        subprocess.run([OFFCPU, "flame", self.recording, "-o", self.folder.name + "/x.html"], check=True)
        with open(self.folder.name + "/x.html", "rb") as file:
            self.assertEqual(self.ask()[2], file.read())

    def test_headers(self):
        for path in (*PATHS, "nope"):
            _, headers, _ = self.ask(path)
            self.assertEqual([headers.get(n) for n in ("x-content-type-options", "referrer-policy", "cache-control", "cross-origin-resource-policy")],
                             ["nosniff", "no-referrer", "no-store", "same-origin"])
            self.assertTrue(headers["content-security-policy"].startswith("default-src 'none'; "))
            self.assertNotIn("access-control-allow-origin", headers)
            self.assertNotIn("server", headers)
        self.assertEqual(self.ask("debug/pprof/off_cpu")[1]["content-type"], "application/octet-stream")
        status, headers, body = self.ask(method="HEAD")
        self.assertEqual((status, body), (200, b""))
        self.assertGreater(int(headers["content-length"]), 10000)

    def test_hostile_requests(self):
        """No token, a wrong one, other hosts, other sites, other methods, paths that lead out."""
        for path in ("/", "/favicon.ico", "/" + "a" * 32 + "/", f"/{self.served.token[:-1]}/", f"/{self.served.token}a/", "/../", "/%2e%2e/etc/passwd",
                     "/" + self.served.token):
            self.assertEqual(self.status(path), 403, path)
        for path in ("../../../../etc/passwd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..", "off-cpu.speedscope.json%00.html/x", "/" * 50):
            self.assertEqual(self.status(f"/{self.served.token}/" + path), 404, path)
        for host in ("evil.example", "evil.example:80", "127.0.0.1:1", "127.0.0.1.evil.example:" + str(self.served.address[1])):
            self.assertEqual(self.status(host=host), 403, host)
        self.assertEqual(self.status(host="localhost:%d" % self.served.address[1]), 200)
        self.assertEqual(self.served.raw(f"GET /{self.served.token}/ HTTP/1.1\r\n\r\n".encode())[0], 400)    # no Host
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"):
            status, headers, _ = self.ask(method=method)
            self.assertEqual((status, headers.get("allow")), (405, "GET, HEAD"), method)
        self.assertEqual(self.ask(method="POST", body=b"x" * 5, Content_Length="5")[0], 405)
        # pprof asks for names of addresses; a body has an end
        self.assertEqual(self.ask("debug/pprof/symbol", method="POST", body=b"0x1+0x2", Content_Length="7")[::2], (200, b""))
        self.assertNotEqual(self.ask("debug/pprof/symbol", method="POST", body=b"x" * (5 << 20), Content_Length=str(5 << 20))[0], 200)
        self.assertEqual(self.ask(body=b"x" * 5, Content_Length="5")[0], 400)
        self.assertEqual(self.ask(body=b"5\r\nxxxxx\r\n0\r\n\r\n", Transfer_Encoding="chunked")[0], 400)
        self.alive()

    def test_other_sites(self):
        for origin, path in DATA.items():
            status, headers, _ = self.ask(path, Origin=origin, Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="cors")
            self.assertEqual((status, headers.get("access-control-allow-origin"), headers.get("vary")), (200, origin, "Origin"))
            for other in (SPEEDSCOPE, FIREFOX, "https://evil.example", "null", origin + ".evil.example", "http" + origin[5:]):
                if other != origin:
                    status, headers, body = self.ask(path, Origin=other)
                    self.assertEqual((status, "access-control-allow-origin" in headers), (403, False), other)
                    self.assertLess(len(body), 100)
            self.assertEqual(self.status("", Origin=origin), 403)
        self.assertEqual(self.status("debug/pprof/off_cpu", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"), 403)
        self.assertEqual(self.status("", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate"), 200)

    @unittest.skipUnless(shutil.which("go"), "no Go is installed")
    def test_go_tool_pprof(self):
        """By its address alone, though some frames have no name, which pprof asks for."""
        r = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=3", self.served.url + "debug/pprof/off_cpu"], capture_output=True, text=True,
                           env={**os.environ, "HOME": self.folder.name, "PPROF_TMPDIR": self.folder.name})
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("Type: off_cpu", r.stdout)
        self.assertIn("__schedule", r.stdout)

    def test_garbage(self):
        head = f"GET /{self.served.token}/ HTTP/1.1\r\nHost: {self.served.host}\r\n".encode()
        for data in (head + b"X: " + b"a" * 100000 + b"\r\n\r\n", head + b"".join(b"X%d: a\r\n" % i for i in range(5000)) + b"\r\n",
                     b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n"):
            self.assertIn(self.served.raw(data)[0], (0, 400, 413, 414, 431))
        for data in (b"\0" * 1000 + b"\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n", b"\r\n" * 1000,
                     b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", head.replace(b"GET", b"G\xffT") + b"\r\n"):
            with self.served.connect() as s:
                try:
                    s.sendall(data)
                    s.shutdown(1)
                    self.assertNotIn(b" 200 ", s.recv(4096))
                except (ConnectionResetError, BrokenPipeError):
                    pass
        self.alive()

    def test_slow_clients(self):
        """Those who send nothing, a byte now and then, or do not read, hold up nobody, and are ended."""
        idle, drops, deaf = self.served.connect(), self.served.connect(), self.served.connect()
        deaf.setsockopt(1, 8, 4096)    # SOL_SOCKET, SO_RCVBUF
        deaf.sendall(f"GET /{self.served.token}/ HTTP/1.1\r\nHost: {self.served.host}\r\n\r\n".encode() * 20)
        began = time.monotonic()
        ended = False
        while not ended and time.monotonic() - began < 60:
            try:
                drops.sendall(b"G")
            except (BrokenPipeError, ConnectionResetError):
                ended = True
            asked = time.monotonic()
            self.alive()
            self.assertLess(time.monotonic() - asked, 5)
            time.sleep(0.5)
        self.assertTrue(ended)
        idle.settimeout(30)
        self.assertEqual(idle.recv(1), b"")
        for s in (idle, drops, deaf):
            s.close()

    def test_a_thousand_connections(self):
        crowd = []
        try:
            for i in range(1000):
                try:
                    crowd.append(self.served.connect())
                except OSError:    # our own limit of files, or the kernel's queue
                    break
                if i % 100 == 99:
                    self.alive()
            self.assertGreater(len(crowd), 400)
            asked = time.monotonic()
            self.alive()
            self.assertLess(time.monotonic() - asked, 10)
        finally:
            for s in crowd:
                s.close()
        self.alive()

    def test_life(self):
        """Ends by itself, says why; a signal is its usual end; a port in use is one sentence."""
        short = Served(OFFCPU, "view", self.recording, "--idle", "1")
        self.assertEqual(short.process.wait(timeout=60), 0)
        self.assertIn("nobody asked", short.end()[1])
        again = Served(OFFCPU, "view", self.recording)
        self.assertNotEqual((again.token, len(again.token)), (self.served.token, 0))
        busy = again.connect()    # it does not wait for those
        self.assertEqual(again.end(15), (0, ""))
        busy.close()
        r = subprocess.run([OFFCPU, "view", self.recording, "--port", str(self.served.address[1])], capture_output=True, text=True)
        self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (1, "", 1))
        for status, *args in ((1, "missing.offcpu"), (2, "a", "b"), (2, "--port", "70000"), (2, "--idle", "x")):
            r = subprocess.run([OFFCPU, "view", *args], capture_output=True, text=True, cwd=self.folder.name)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (status, "", 1), args)

    def check_rights(self, served):
        """It has nothing that a fault could be used for, in any of its threads."""
        self.assertTrue(served.ask()[2])
        threads = list(served.threads())
        self.assertGreater(len(threads), 1)
        for status in threads:
            self.assertEqual((status["NoNewPrivs"], status["Seccomp"], int(status["CapPrm"], 16)), ("1", "2", 0))
            if os.getuid() == 0:
                self.assertNotIn("0", status["Uid"].split() + status["Gid"].split() + status["Groups"].split())

    def test_rights(self):
        self.check_rights(self.served)

    def test_open(self):
        """xdg-open gets a link that works once and is not the token; the token is not on any command line."""
        tool = self.folder.name + "/xdg-open"
        with open(tool, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\necho \"$@\" >{self.folder.name}/opened.new && mv {self.folder.name}/opened.new {self.folder.name}/opened\n")
        os.chmod(tool, 0o755)
        environment = {**os.environ, "DISPLAY": ":99", "PATH": self.folder.name + ":" + os.environ["PATH"]}
        if os.getuid() == 0:    # a browser is never root's: by sudo it is opened as who called that
            environment["SUDO_USER"] = "nobody"
            os.chmod(self.folder.name, 0o777)
        for command in (("view", "--open"), ("flame", "--open", "--title", "a title")):
            served = Served(OFFCPU, *command, self.recording, env=environment)
            for _ in range(200):
                if os.path.exists(self.folder.name + "/opened"):
                    break
                time.sleep(0.05)
            with open(self.folder.name + "/opened", encoding="ascii") as file:
                url = file.read().strip()
            owner = os.stat(self.folder.name + "/opened").st_uid
            os.unlink(self.folder.name + "/opened")
            if os.getuid() == 0:
                self.assertNotEqual(owner, 0)
            path = url.split(served.host)[1]
            self.assertNotIn(served.token, url)
            status, headers, _ = served.ask(path)
            self.assertEqual((status, headers["location"]), (303, served.url))
            self.assertEqual(served.ask(path)[0], 403)
            self.check_rights(served)
            body = served.ask()[2]
            self.assertEqual(b"<title>a title</title>" in body, command[0] == "flame")
            self.assertEqual(served.end(), (0, ""))
        environment = {n: v for n, v in os.environ.items() if n not in ("DISPLAY", "WAYLAND_DISPLAY")}
        served = Served(OFFCPU, "view", "--open", self.recording, env=environment)
        self.assertIn("opened as root" if os.getuid() == 0 else "no display", served.end()[1])

    @unittest.skipUnless(CHROMIUM, "no Chromium is installed, and CHROMIUM names none")
    def test_page(self):
        """It draws, breaks no policy, and asks for nothing else."""
        browser = Browser()
        self.addCleanup(browser.close)
        browser.may_ask += (self.served.url, f"http://{self.served.host}/favicon.ico")
        for dark in (False, True):
            browser.open(self.served.url, "#off=_", dark=dark)
            total = browser.run("offcpu.V.total")
            speedscope = json.loads(self.ask(DATA[SPEEDSCOPE])[2])
            self.assertEqual(total, sum(speedscope["profiles"][0]["weights"]))
        self.assertEqual(browser.problems, [])

    @unittest.skipUnless(CHROMIUM, "no Chromium is installed, and CHROMIUM names none")
    def test_sites_in_a_browser(self):
        """A page of speedscope's origin may read its data, one of another origin nothing: the browser's own verdict."""
        browser = Browser()
        self.addCleanup(browser.close)
        sites = (SPEEDSCOPE, FIREFOX, "https://evil.example")
        browser.may_ask += (*sites, self.served.url)
        browser.answers.update({site + "/": (200, {"Content-Type": "text/html"}, "<p>a site</p>") for site in sites})
        browser.call("Fetch.enable", patterns=[{"urlPattern": site + "/*"} for site in sites])
        # A site asks the user before it may reach this machine; here the user has agreed.
        for name in ("local-network-access", "loopback-network"):
            try:
                browser.call("Browser.setPermission", permission={"name": name}, setting="granted")
            except AssertionError:    # a browser that does not ask
                pass
        for site in sites:
            browser.call("Page.navigate", url=site + "/")
            browser.pause(0.5)
            self.assertEqual(browser.run("location.origin"), site)
            for owner, path in DATA.items():
                script = f"fetch({json.dumps(self.served.url + path)}).then((r) => r.text()).then((t) => t.length, (e) => 'refused')"
                got = browser.run(script)
                self.assertEqual(got == "refused", site != owner, (site, path, got, browser.problems))


def main():
    global OFFCPU, MAKE_FLAME
    OFFCPU, MAKE_FLAME = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


main()
