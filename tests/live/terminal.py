# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A program on a pseudo terminal: what it wrote, and the screen that this makes (as far as curses' xterm-256color needs)."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

from lib import default_signals

SEQUENCE = re.compile(r"\x1b(?:\[([0-9;?>=!]*)([@-~])|[()][0-9A-Za-z]|[=>78cM])|([\x00-\x1f\x7f])", re.S)


class Screen:
    """A small terminal: cursor, erasing, scrolling; styles are dropped."""

    def __init__(self, rows, columns):
        self.size(rows, columns)

    def size(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.y = self.x = 0
        self.region = (0, rows - 1)
        self.last = " "
        self.main = None
        self.cells = [[" "] * columns for _ in range(rows)]

    def text(self):
        return ["".join(row).rstrip() for row in self.cells]

    def feed(self, text):
        at = 0
        for match in SEQUENCE.finditer(text):
            self._put(text[at:match.start()])
            at = match.end()
            if match.group(3):
                self._control(match.group(3))
            elif match.group(2):
                self._sequence(match.group(1), match.group(2))
        self._put(text[at:])

    def _put(self, text):
        for letter in text:
            if unicodedata.combining(letter):
                continue
            if self.x >= self.columns:
                self.x, self.y = 0, min(self.y + 1, self.rows - 1)
            self.cells[self.y][self.x] = self.last = letter
            self.x += 1

    def _control(self, letter):
        if letter == "\r":
            self.x = 0
        elif letter == "\n":
            if self.y == self.region[1]:
                self._scroll(1)
            self.y = min(self.y + 1, self.rows - 1)
        elif letter == "\b":
            self.x = max(self.x - 1, 0)
        elif letter == "\t":
            self.x = min((self.x // 8 + 1) * 8, self.columns - 1)

    def _scroll(self, cnt):
        top, bottom = self.region
        for _ in range(abs(cnt)):
            if cnt > 0:
                self.cells.insert(bottom + 1, [" "] * self.columns)
                del self.cells[top]
            else:
                del self.cells[bottom]
                self.cells.insert(top, [" "] * self.columns)

    def _sequence(self, parameters, kind):
        numbers = [int(number) if number.isdigit() else 0 for number in parameters.split(";")]
        first = numbers[0] or 1
        if kind == "H":
            self.y = min(first, self.rows) - 1
            self.x = min((numbers[1] if len(numbers) > 1 else 1) or 1, self.columns) - 1
        elif kind == "d":
            self.y = min(first, self.rows) - 1
        elif kind == "G":
            self.x = min(first, self.columns) - 1
        elif kind == "A":
            self.y = max(self.y - first, 0)
        elif kind == "B":
            self.y = min(self.y + first, self.rows - 1)
        elif kind == "C":
            self.x = min(self.x + first, self.columns - 1)
        elif kind == "D":
            self.x = max(self.x - first, 0)
        elif kind == "X":
            for x in range(self.x, min(self.x + first, self.columns)):
                self.cells[self.y][x] = " "
        elif kind == "b":
            self._put(self.last * first)
        elif kind == "P":
            row = self.cells[self.y]
            self.cells[self.y] = row[:self.x] + row[self.x + first:] + [" "] * min(first, self.columns - self.x)
        elif kind == "@":
            row = self.cells[self.y]
            self.cells[self.y] = (row[:self.x] + [" "] * first + row[self.x:])[:self.columns]
        elif kind == "K":
            self._erase_line(numbers[0])
        elif kind == "J":
            self._erase(numbers[0])
        elif kind == "r":
            self.region = (first - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1)
            self.y = self.x = 0
        elif kind in "ST":
            self._scroll(first if kind == "S" else -first)
        elif kind in "hl" and parameters == "?1049":
            self._alternate(kind == "h")
        elif kind in "LM":
            self.region, old = (self.y, self.region[1]), self.region
            self._scroll(first if kind == "M" else -first)
            self.region = old

    def _alternate(self, is_entered):
        """A program's own screen: empty at its begin, and what was there before comes back at its end."""
        if is_entered:
            self.main = (self.cells, self.y, self.x)
            self.cells = [[" "] * self.columns for _ in range(self.rows)]
        elif self.main:
            cells, self.y, self.x = self.main
            self.cells = [(row + [" "] * self.columns)[:self.columns] for row in cells[:self.rows]]
            self.cells += [[" "] * self.columns for _ in range(self.rows - len(self.cells))]
            self.main = None

    def _erase_line(self, what):
        begin, end = (self.x, self.columns) if what == 0 else (0, self.x + 1) if what == 1 else (0, self.columns)
        for x in range(begin, min(end, self.columns)):
            self.cells[self.y][x] = " "

    def _erase(self, what):
        if what == 0:
            self._erase_line(0)
        for y in range(self.y + 1 if what == 0 else 0, self.rows):
            self.cells[y] = [" "] * self.columns


class Terminal:
    """Runs a command on a terminal of its own."""

    def __init__(self, env, command, rows=24, columns=80, variables=None):
        self.screen = Screen(rows, columns)
        self.raw = ""
        self.pending = b""
        held, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.close(go)
            os.read(held, 1)  # until the terminal's size is set and its modes are known
            default_signals()
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a job of nohup ignores it
            os.chdir(env.directory)
            os.execve(command[0], command, {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(variables or {})})
        self.status = None
        self.resize(rows, columns)
        self.modes = termios.tcgetattr(self.fd)
        os.close(held)
        os.close(go)

    def resize(self, rows, columns):
        self.screen.size(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, timeout_s):
        """False: nothing came in that time, or nothing will."""
        ready, _, _ = select.select([self.fd], [], [], timeout_s)
        if not ready:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        self.pending += data
        text = self.pending.decode("utf-8", "ignore" if not data else "strict") if self._is_whole() else None
        if text is None:
            return True
        self.pending = b""
        # a sequence that was cut in two waits for its rest
        cut = text.rfind("\x1b")
        if cut >= 0 and not SEQUENCE.match(text, cut):
            self.pending = text[cut:].encode()
            text = text[:cut]
        self.raw += text
        self.screen.feed(text)
        return bool(data)

    def _is_whole(self):
        try:
            self.pending.decode()
            return True
        except UnicodeDecodeError as error:
            return error.reason != "unexpected end of data"

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def wait_for(self, pattern, timeout_s=15):
        """The screen once a line of it matches; None if none does in that time."""
        end = time.monotonic() + timeout_s
        while True:
            lines = self.screen.text()
            if any(re.search(pattern, line) for line in lines):
                return lines
            if time.monotonic() >= end:
                return None
            self.read(min(0.2, max(end - time.monotonic(), 0.01)))

    def wait(self, timeout_s=15):
        """The status that the program ended with; None: it still runs."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and self.status is None:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
                while self.read(0.1):
                    pass
        return self.status

    def close(self):
        if self.status is None:
            os.kill(self.pid, 9)
            self.status = os.waitpid(self.pid, 0)[1]
        os.close(self.fd)
