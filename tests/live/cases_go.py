# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A server in Go: its scheduler's threads are idle, what its functions wait for is the finding."""

import os
import shutil
import subprocess

from cases_reasons import has_kernel_stack, of_waits
from check import names
from lib import Recorder, Skip, case

SECONDS = 3
# Each request asks another server, under a limit as of a pool of connections, and writes a log that is synced under a lock.
SERVER = """
package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

var lock sync.Mutex
var pool = make(chan int, 2)

func audit(log *os.File) {
	lock.Lock()
	log.Write([]byte("x"))
	log.Sync()
	lock.Unlock()
}

func backend(served net.Conn) {
	one := make([]byte, 1)
	for {
		if _, err := served.Read(one); err != nil {
			return
		}
		time.Sleep(3 * time.Millisecond)
		served.Write(one)
	}
}

func query(address string) {
	pool <- 1
	connection, err := net.Dial("tcp", address)
	if err == nil {
		connection.Write([]byte("q"))
		io.ReadFull(connection, make([]byte, 1))
		connection.Close()
	}
	<-pool
}

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	log, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	database, _ := net.Listen("tcp", "127.0.0.1:0")
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	go func() {
		for {
			served, err := database.Accept()
			if err != nil {
				return
			}
			go backend(served)
		}
	}()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		query(database.Addr().String())
		audit(log)
	})
	go http.Serve(listener, nil)
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var work sync.WaitGroup
	for i := 0; i < 8; i++ {
		work.Add(1)
		go func() {
			defer work.Done()
			for time.Now().Before(end) {
				if answer, err := http.Get("http://" + listener.Addr().String()); err == nil {
					answer.Body.Close()
				}
			}
		}()
	}
	work.Wait()
}
"""


def build(env):
    if not shutil.which("go"):
        raise Skip("go is not installed")
    folder = env.temporary("go")
    os.mkdir(folder)
    with open(os.path.join(folder, "server.go"), "w", encoding="utf-8") as file:
        file.write(SERVER)
    built = subprocess.run(["go", "build", "-o", f"{folder}/server", f"{folder}/server.go"], capture_output=True, text=True, check=False,
                           env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"})
    if built.returncode != 0:
        raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
    return f"{folder}/server"


@case
def go_server_waits_in_its_own_function(env):
    program, log = build(env), env.disk_file()
    env.tolerate_unseen()
    try:
        recorder = Recorder(env, "--exact", command=[program, str(SECONDS), log])
        recorder.wait()
        report = recorder.report(status=0)
    finally:
        if os.path.exists(log):
            os.unlink(log)
    waits = [wait for wait in report.data["waits"] if wait["state"] in "SD" and has_kernel_stack(wait)]
    scheduler = [wait for wait in waits if {"runtime.sysmon", "runtime.findRunnable", "runtime.stopm"} & set(names(wait["user"]))
                 and not {"runtime.lock2", "runtime.stopTheWorldWithSema"} & set(names(wait["user"]))]
    ns = sum(wait["off_cpu_ns"] for wait in scheduler)
    env.check.that(ns >= SECONDS * 10**9, f"threads of the scheduler slept {ns} ns")
    for wait in scheduler:
        env.check.that(wait["idle"] in ("pool", "loop"), f"{wait['reason']}, {wait['idle']}: {names(wait['user'])}")
    found = [(finding["reason"], (finding["function"] or {}).get("name")) for finding in of_waits(report)
             if finding["reason"] != "other"]
    env.check.equal(found[:1], [("disk.sync", "main.audit")], f"the first finding of {found[:4]}")
