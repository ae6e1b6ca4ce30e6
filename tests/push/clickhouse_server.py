# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""ClickHouse servers of the test's own, on the loopback interface: npm's chdb, a ClickHouse of today in process, and for what that
lacks, users with passwords, Debian's 18.16, which does not have the tables."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
SHIPPED = HERE.parents[1] / "share" / "clickhouse"
sys.path.insert(0, str(HERE.parent / "exchange"))
import npm  # noqa: E402

CONFIG = """<?xml version="1.0"?>
<yandex>
<logger><level>warning</level><log>{dir}/server.log</log><errorlog>{dir}/error.log</errorlog></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><listen_host>127.0.0.1</listen_host>
<path>{dir}/data/</path><tmp_path>{dir}/tmp/</tmp_path><format_schema_path>{dir}/formats/</format_schema_path>
<users_config>users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><max_concurrent_queries>20</max_concurrent_queries>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex><profiles><default><max_memory_usage>1000000000</max_memory_usage></default></profiles>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<fleet><password>se'c "ret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></fleet>
</users><quotas><default></default></quotas></yandex>
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Running:
    """What both have in common."""

    def __init__(self, folder):
        self.folder = folder
        self.http = free_port()
        self.process = None
        os.makedirs(folder)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http}"

    def schema(self, database="offcpu", keeps="25000 DAY"):
        """The file that is shipped; recordings of a test are older than it keeps rows."""
        text = re.sub("INTERVAL [0-9]+ DAY", f"INTERVAL {keeps}", (SHIPPED / "schema.sql").read_text())
        return text.replace("EXISTS offcpu;", f"EXISTS {database};").replace("offcpu.", f"{database}.")

    def start(self, timeout_s=60):
        """None, or what went wrong."""
        with open(os.path.join(self.folder, "out.log"), "ab") as log:
            self.process = subprocess.Popen(self.words(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder)
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            if self.process.poll() is not None:
                return f"it ended with status {self.process.returncode}"
            try:
                with urllib.request.urlopen(f"{self.url}/ping", timeout=2) as answer:
                    if answer.status == 200:
                        return None
            except OSError:
                pass
            time.sleep(0.1)
        self.stop()
        return f"it was not there in {timeout_s} s"

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def ask(self, sql):
        """The answer's rows, each a list of texts; RuntimeError with the server's words."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(urllib.request.Request(self.url, data=sql.encode()), timeout=600) as answer:
                return [line.split("\t") for line in answer.read().decode().splitlines()]
        except urllib.error.HTTPError as err:
            raise RuntimeError(err.read().decode(errors="replace")[:400]) from None

    def load(self, text):
        """Statements of a file, which a semicolon at the end of a line ends; their answers."""
        lines = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
        return [self.ask(statement) for statement in lines.split(";\n") if statement.strip()]

    def columns(self, table):
        """Those that rows are inserted with."""
        return [row[0] for row in self.ask(f"DESCRIBE TABLE offcpu.{table}") if row[2] != "ALIAS"]

    def begin_anew(self, **options):
        self.ask("DROP DATABASE IF EXISTS offcpu")
        self.load(self.schema(**options))


class Server(Running):
    title = "ClickHouse 18.16"

    def __init__(self, folder):
        super().__init__(folder)
        self.tcp = free_port()
        for name in ("data", "tmp", "formats"):
            os.makedirs(os.path.join(folder, name))
        for name, text in (("config.xml", CONFIG), ("users.xml", USERS)):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text.format(dir=folder, http=self.http, tcp=self.tcp) if name == "config.xml" else text)

    @staticmethod
    def program():
        return shutil.which("clickhouse-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")

    @classmethod
    def why_not(cls):
        return None if cls.program() else "clickhouse-server is not installed"

    def words(self):
        return [self.program(), f"--config-file={self.folder}/config.xml"]


class Chdb(Running):
    title = "chdb 26.7"

    @staticmethod
    def why_not():
        return None if shutil.which("node") and npm.folder_of("chdb") else "it is not there: tests/exchange/npm.py chdb fetches it, 546 MB"

    def words(self):
        return ["node", str(HERE / "chdb_server.js"), str(npm.folder_of("chdb")), self.folder, str(self.http)]
