# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A headless Chromium driven over its DevTools pipe: real keys and clicks, the accessibility tree, pictures, prints.

The protocol is JSON between zero bytes, so Python's standard library is all that it takes."""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ("--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
         "--disable-sync --hide-scrollbars --remote-debugging-pipe").split()
KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35,
        "PageUp": 33, "PageDown": 34, "Tab": 9, " ": 32}


class Browser:
    def __init__(self):
        self.home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_child, self.output = os.pipe()
        self.input, from_child = os.pipe()

        def place():
            """The pipe is fd 3 and 4 there."""
            a, b = os.dup(to_child), os.dup(from_child)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen([CHROMIUM, *FLAGS, "--user-data-dir=" + self.home.name], preexec_fn=place, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.rest, self.number, self.session, self.problems = b"", 0, None, []
        self.may_ask, self.answers = ("file:", "data:", "about:", "blob:"), {}    # addresses; url -> (status, headers, body) made up here
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.output)
        os.close(self.input)
        self.home.cleanup()

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.input, 1 << 20)
            if not part:
                raise AssertionError("the browser is gone")
            self.rest += part
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description") or str(params))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif message.get("method") == "Page.javascriptDialogOpening":
            self.problems.append("dialog: " + params["message"])
            raise AssertionError(self.problems[-1])
        elif message.get("method") == "Network.requestWillBeSent" and not params["request"]["url"].startswith(self.may_ask):
            self.problems.append("request: " + params["request"]["url"])
        elif message.get("method") == "Fetch.requestPaused":
            status, headers, body = self.answers.get(params["request"]["url"], (404, {}, ""))
            self.send("Fetch.fulfillRequest", requestId=params["requestId"], responseCode=status, body=base64.b64encode(body.encode()).decode(),
                      responseHeaders=[{"name": n, "value": v} for n, v in headers.items()])

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **params):
        number = self.send(method, **params)
        while True:
            answer = self.read()
            if answer.get("id") == number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def open(self, path, fragment="", width=1400, height=900, dark=False, ratio=1, still=True):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                                                         {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}])
        self.call("Page.navigate", url="about:blank")
        url = path if path.startswith("http:") else "file://" + os.path.abspath(path)
        self.call("Page.navigate", url=url + fragment)
        for _ in range(1200):
            if self.run("location.protocol != 'about:' && document.documentElement?.dataset.ready || ''"):
                return
            time.sleep(0.05)
        raise AssertionError("the page did not start: " + "; ".join(self.problems))

    def run(self, script):
        """The value of an expression, which may be a promise."""
        r = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise AssertionError(r["exceptionDetails"].get("exception", {}).get("description", str(r)))
        return r["result"].get("value")

    def pause(self, seconds=0.05):
        time.sleep(seconds)
        return self.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

    def key(self, key, ctrl=False, shift=False):
        modifiers = 2 * ctrl + 8 * (shift or len(key) == 1 and key.isupper())
        press = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": KEYS.get(key, ord(key.upper()[0]))}
        if len(key) == 1 and not ctrl:
            press["text"] = key
        elif key == "Enter":
            press["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **press)
        press.pop("text", None)
        self.call("Input.dispatchKeyEvent", type="keyUp", **press)
        self.pause()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.pause()

    def mouse(self, kind, x, y, button="left", ctrl=False, shift=False, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, modifiers=2 * ctrl + 8 * shift, **more)

    def click(self, x, y, button="left", **more):
        self.mouse("mouseMoved", x, y, "none")
        self.mouse("mousePressed", x, y, button, clickCount=1, **more)
        self.mouse("mouseReleased", x, y, button, clickCount=1, **more)
        self.pause()

    def drag(self, x, y, to_x, to_y, **more):
        self.mouse("mouseMoved", x, y, "none")
        self.mouse("mousePressed", x, y, clickCount=1, **more)
        for i in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * i / 5, y + (to_y - y) * i / 5, buttons=1, **more)
        self.mouse("mouseReleased", to_x, to_y, clickCount=1, **more)
        self.pause()

    def centre(self, selector):
        return self.run(f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                        "return [b.x + b.width / 2, b.y + b.height / 2]; })()")

    def press(self, selector, **more):
        """A click on an element."""
        self.click(*self.centre(selector), **more)

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def print(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, landscape=True)["data"])

    def accessible(self):
        """(role, name, properties) of every node of the accessibility tree that is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", ""), {p["name"]: p["value"].get("value") for p in n.get("properties", [])})
                for n in nodes if not n.get("ignored")]
