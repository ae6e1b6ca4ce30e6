// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

// Requests of many goroutines on few threads, until stdin ends.  Each calls itself, sleeps in a system call, and is parked, so that
// it goes on on another thread; a goroutine ends after some, and another one begins with a short stack, which grows in the first.
// Beside them goroutines that end within their only request.
// At the end a line of JSON: of each request CLOCK_MONOTONIC before and within the call, and behind it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const workers = 12
const each = 20 // requests of a goroutine

type times struct {
	Before, Within, After int64
}

var lock sync.Mutex
var all []times

func now() int64 {
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

//go:noinline
func grow(depth int) byte {
	var room [1024]byte
	if depth > 0 {
		room[depth] = grow(depth - 1)
	}
	return room[depth/2] + 1
}

//go:noinline
func handleRequest(t *times, depth int) {
	if depth == 0 {
		t.Within = now()
	}
	if depth < 2 {
		handleRequest(t, depth+1)
		return
	}
	grow(30)
	syscall.Nanosleep(&syscall.Timespec{Nsec: 1000000}, nil)
	time.Sleep(3 * time.Millisecond) // its thread runs others meanwhile
	runtime.Gosched()
}

//go:noinline
func endingRequest() {
	time.Sleep(time.Millisecond)
	runtime.Goexit()
}

func endAgainAndAgain() {
	for {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			endingRequest()
		}()
		<-ended
	}
}

func serve(done chan struct{}) {
	own := make([]times, 0, each)
	for i := 0; i < each; i++ {
		t := times{Before: now()}
		handleRequest(&t, 0)
		t.After = now()
		own = append(own, t)
	}
	lock.Lock()
	all = append(all, own...)
	lock.Unlock()
	done <- struct{}{}
}

func main() {
	runtime.GOMAXPROCS(3)
	fmt.Println("ready")
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(end)
	}()
	go endAgainAndAgain()
	for i := 0; i < workers; i++ {
		go serve(done)
	}
	for running := workers; running > 0; {
		<-done
		select {
		case <-end:
			running--
		default:
			go serve(done)
		}
	}
	json.NewEncoder(os.Stdout).Encode(all)
}
