# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What is told of a recording first: to people by `offcpu report`, to an assistant by `offcpu mcp`."""

import json
import os
import subprocess
import sys

CALLS_MAX, BYTES_MAX = 3, 24 << 10
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mcp")   # guests have none


class Assistant:
    """A client with one recording and a way to go about it: the findings, the first one in full, and all stacks if that did not tell."""

    def __init__(self, env, path, pid):
        self.of = {"file": path, **({"process": str(pid)} if pid else {})}
        self.env, self.client, self.texts = env, None, []
        if os.path.isdir(CLIENT):
            sys.path.insert(0, CLIENT)
            from client import Client
            self.client = Client(env.offcpu, cwd=env.directory)
            env.running.append(self.client.process)

    def ask(self, tool, **more):
        result = self.client.call(tool, **self.of, **more)
        text = result["content"][0]["text"]
        self.env.check.that(not result["isError"], f"{tool}: {text}")
        self.texts.append(text)
        return result.get("structuredContent", {})

    def diagnose(self, words, culprits):
        """The words are in the first headline, or in what is said in place of headlines, the culprits in any of the answers."""
        answer = self.ask("findings")
        first = (answer.get("headlines") or [{"little": answer.get("little")}])[0]
        self.env.check.that(all(word in json.dumps(first, ensure_ascii=False) for word in words), f"an assistant is told {first}, not {words}")
        if "id" in first:
            self.ask("explain", id=first["id"])
        if self.lacks(culprits):
            self.ask("stacks")
        size = sum(len(text.encode()) for text in self.texts)
        self.env.check.that(not self.lacks(culprits), f"an assistant is never told of {self.lacks(culprits)}: {self.texts}")
        self.env.check.that(len(self.texts) <= CALLS_MAX and size <= BYTES_MAX, f"{len(self.texts)} calls, {size} bytes")

    def lacks(self, words):
        return [word for word in words if not any(word in text for text in self.texts)]


class Told:
    """pid: only of that process of the recording."""

    def __init__(self, env, path, pid=None):
        self.env, self.path, self.pid = env, path, pid
        of = ["-p", str(pid)] if pid else []
        shown = subprocess.run([env.offcpu, "report", *of, path], capture_output=True, text=True, check=True).stdout
        self.shown = " ".join(shown.split("\n1. ", 1)[-1].split("\n2. ")[0].split())

    def names(self, *words, culprits=()):
        """The first finding has these words, whoever asks; an assistant finds the culprits, too, in few calls."""
        self.env.check.that(all(word in self.shown for word in words), f"the first one shown: {self.shown}")
        assistant = Assistant(self.env, self.path, self.pid)
        if assistant.client:
            assistant.diagnose(words, culprits)
            assistant.client.leave()

    def is_healthy(self):
        """An assistant is told so, too."""
        assistant = Assistant(self.env, self.path, self.pid)
        if assistant.client:
            answer = assistant.ask("findings")
            self.env.check.that("little" in answer and not answer.get("headlines"), f"an assistant is told {answer}")
            assistant.client.leave()
