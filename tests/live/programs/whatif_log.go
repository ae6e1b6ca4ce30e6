// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

// whatif_log SYNC CPU_US SECONDS: two threads that compute and write to a file each, with fsync if SYNC is 1; prints the
// cycles a second.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"
)

var cycles atomic.Int64

func compute(us int) {
	for end := time.Now().Add(time.Duration(us*(500+rand.Intn(1001))) * time.Nanosecond); time.Now().Before(end); {
	}
}

func work(sync bool, us int) {
	runtime.LockOSThread()
	f, err := os.CreateTemp(".", "whatif")
	if err != nil {
		panic(err)
	}
	os.Remove(f.Name())
	for {
		compute(us)
		f.WriteAt([]byte("entry"), 0)
		if sync {
			f.Sync()
		}
		cycles.Add(1)
	}
}

func main() {
	us, _ := strconv.Atoi(os.Args[2])
	seconds, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < 2; i++ {
		go work(os.Args[1] == "1", us)
	}
	time.Sleep(300 * time.Millisecond)
	before, start := cycles.Load(), time.Now()
	time.Sleep(time.Duration(seconds) * time.Second)
	fmt.Println(float64(cycles.Load()-before) / time.Since(start).Seconds())
}
