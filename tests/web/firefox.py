# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A headless Firefox driven by Marionette, its own remote protocol: real keys and clicks, pictures, the console.

A message is its length, a colon and JSON over a socket on the loopback device, so Python's standard library is all that it takes."""
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

NAMES = ("firefox-esr", "firefox")
FIREFOX = os.environ.get("FIREFOX") or next(filter(None, map(shutil.which, NAMES)), None)
# It is to ask nobody for anything: no updates, no addons, no telemetry.
PREFERENCES = {
    "marionette.port": 0, "browser.shell.checkDefaultBrowser": False, "browser.startup.page": 0, "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.unified": False, "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "extensions.update.enabled": False, "services.settings.server": "data:,#remote-settings-dummy/v1",
    "browser.safebrowsing.update.enabled": False, "layout.css.devPixelsPerPx": "1.0", "ui.prefersReducedMotion": 1,
}
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "ArrowLeft": "\ue012", "ArrowUp": "\ue013", "ArrowRight": "\ue014",
        "ArrowDown": "\ue015", "PageUp": "\ue00e", "PageDown": "\ue00f", "Home": "\ue011", "Delete": "\ue017"}
CONTROL = "\ue009"
START_S = 60    # on a busy machine
# What pages of ours said on the console; the browser's own troubles have other addresses.
PROBLEMS = """return Services.console.getMessageArray().filter((m) => m instanceof Ci.nsIScriptError && !(m.flags & Ci.nsIScriptError.warningFlag) &&
	/^(file|data|blob):/.test(m.sourceName || '')).map((m) => m.errorMessage);"""


class Firefox:
    def __init__(self):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        profile = pathlib.Path(self.home.name)
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(n)}, {json.dumps(v)});\n" for n, v in PREFERENCES.items()), encoding="ascii")
        self.process = subprocess.Popen([FIREFOX, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote", "--profile", self.home.name],
                                        env=dict(os.environ, HOME=self.home.name, MOZ_CRASHREPORTER_DISABLE="1"), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        try:
            self.socket = self.connect(profile / "MarionetteActivePort")
            self.rest, self.number = b"", 0
            self.read()    # its greeting
            self.call("WebDriver:NewSession", strictFileInteractability=False)
        except BaseException:
            self.kill()
            raise

    def connect(self, port):
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            if port.exists() and port.read_text(encoding="ascii").strip():
                return socket.create_connection(("127.0.0.1", int(port.read_text(encoding="ascii"))), timeout=START_S)
            time.sleep(0.05)
        raise AssertionError("Firefox does not listen")

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.home.cleanup()

    def close(self):
        self.socket.close()
        self.kill()

    def read(self):
        while True:
            length, colon, body = self.rest.partition(b":")
            if colon and len(body) >= int(length):
                self.rest = body[int(length):]
                return json.loads(body[:int(length)])
            part = self.socket.recv(1 << 20)
            if not part:
                raise AssertionError("Firefox is gone")
            self.rest += part

    def call(self, command, **params):
        self.number += 1
        text = json.dumps([0, self.number, command, params]).encode()
        self.socket.sendall(b"%d:%s" % (len(text), text))
        _, number, error, result = self.read()
        if number != self.number or error:
            raise AssertionError(f"{command}: {error}")
        return result

    def open(self, path, fragment="", width=1400, height=900):
        self.call("WebDriver:SetWindowRect", width=width, height=height)
        self.call("WebDriver:Navigate", url="about:blank")
        self.call("WebDriver:Navigate", url="file://" + os.path.abspath(path) + fragment)
        for _ in range(600):
            if self.run("document.documentElement.dataset.ready || ''"):
                return
            time.sleep(0.05)
        raise AssertionError("the page did not start: " + "; ".join(self.problems()))

    def run(self, script):
        """The value of an expression."""
        return self.call("WebDriver:ExecuteScript", script="return " + script, args=[], newSandbox=False, sandbox=None)["value"]

    def ask_browser(self, script):
        """What a script of the browser's own returns."""
        self.call("Marionette:SetContext", value="chrome")
        found = self.call("WebDriver:ExecuteScript", script=script, args=[])["value"]
        self.call("Marionette:SetContext", value="content")
        return found

    def problems(self):
        """Uncaught exceptions, and what a Content-Security-Policy refused."""
        return self.ask_browser(PROBLEMS)

    def forget_problems(self):
        self.ask_browser("Services.console.reset();")

    def act(self, kind, *actions, **more):
        self.call("WebDriver:PerformActions", actions=[{"type": kind, "id": kind, "actions": list(actions), **more}])
        time.sleep(0.1)

    def keys(self, *keys):
        for key in keys:
            value = KEYS.get(key, key)
            self.act("key", {"type": "keyDown", "value": value}, {"type": "keyUp", "value": value})

    def mouse(self, x, y, *actions):
        self.act("pointer", {"type": "pointerMove", "x": round(x), "y": round(y), "duration": 0}, *actions, parameters={"pointerType": "mouse"})

    def click(self, x, y, button=0):
        self.mouse(x, y, {"type": "pointerDown", "button": button}, {"type": "pointerUp", "button": button})

    def drag(self, x, y, to_x, to_y, ctrl=False):
        if ctrl:
            self.act("key", {"type": "keyDown", "value": CONTROL})
        self.mouse(x, y, {"type": "pointerDown", "button": 0},
                   {"type": "pointerMove", "x": round((x + to_x) / 2), "y": round((y + to_y) / 2), "duration": 20},
                   {"type": "pointerMove", "x": round(to_x), "y": round(to_y), "duration": 20}, {"type": "pointerUp", "button": 0})
        if ctrl:
            self.act("key", {"type": "keyUp", "value": CONTROL})

    def centre(self, selector):
        return self.run(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                        "return [b.x + b.width / 2, b.y + b.height / 2]; })()")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("WebDriver:TakeScreenshot", full=False)["value"]))
