// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

// Goroutines that hold a thread of their own and wait in known ways, among others that the runtime schedules.
// go_waits TRUTH COUNT: each line of the truth has the thread, its chain of functions from the outermost, the lines
// that these stood at, and how often it slept there.  "ready", a byte on stdin, "done": as programs/truth.h says.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type line struct {
	Pid   int      `json:"pid"`
	Tid   int      `json:"tid"`
	Kind  string   `json:"kind"`
	Chain []string `json:"chain"`
	Lines []int    `json:"lines"`
	Slept int      `json:"slept"`
}

var (
	lines []line
	lock  sync.Mutex
	work  sync.WaitGroup
	begin = make(chan struct{})
)

// Where its caller stands; the line of the wait is the one behind the call.
//
//go:noinline
func here() int {
	_, _, at, _ := runtime.Caller(1)
	return at + 1
}

//go:noinline
func napInner(at []int) {
	nap := syscall.Timespec{Nsec: 4000000}
	at[2] = here()
	syscall.Nanosleep(&nap, nil)
}

//go:noinline
func napMiddle(at []int) {
	at[1] = here()
	napInner(at)
	at[0]++
}

//go:noinline
func readInner(fd int, at []int) {
	var one [1]byte
	at[2] = here()
	syscall.Syscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&one[0])), 1)
}

//go:noinline
func readMiddle(fd int, at []int) {
	at[1] = here()
	readInner(fd, at)
	at[0]++
}

// Runs wait() so often on a thread of its own.
func onThread(kind string, chain []string, count int, wait func(at []int)) {
	work.Add(1)
	go func() {
		defer work.Done()
		runtime.LockOSThread()
		at := make([]int, 3)
		<-begin
		for i := 0; i < count; i++ {
			wait(at)
		}
		lock.Lock()
		defer lock.Unlock()
		lines = append(lines, line{os.Getpid(), syscall.Gettid(), kind, chain, at[1:], at[0]})
	}()
}

// What the runtime's scheduler waits for on behalf of goroutines: channel, mutex, sleep, network.
func scheduled(count int) {
	numbers := make(chan int)
	var held sync.Mutex
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	work.Add(5)
	go func() {
		defer work.Done()
		for range numbers {
		}
	}()
	go func() {
		defer work.Done()
		defer close(numbers)
		<-begin
		for i := 0; i < count; i++ {
			time.Sleep(3 * time.Millisecond)
			numbers <- i
		}
	}()
	go func() {
		defer work.Done()
		<-begin
		for i := 0; i < count; i++ {
			held.Lock()
			time.Sleep(2 * time.Millisecond)
			held.Unlock()
			runtime.Gosched()
		}
	}()
	go func() {
		defer work.Done()
		served, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		<-begin
		for i := 0; i < count; i++ {
			held.Lock()
			held.Unlock()
			time.Sleep(time.Millisecond)
			served.Write([]byte{1})
		}
		served.Close()
	}()
	go func() {
		defer work.Done()
		client, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			panic(err)
		}
		one := make([]byte, 1)
		for {
			if _, err := client.Read(one); err != nil {
				return
			}
		}
	}()
}

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	scheduled(count)
	onThread("nap", []string{"main.napMiddle", "main.napInner"}, count, func(at []int) { napMiddle(at) })
	onThread("read", []string{"main.readMiddle", "main.readInner"}, count, func(at []int) { readMiddle(pipe[0], at) })
	onThread("feed", nil, count, func(at []int) {
		time.Sleep(5 * time.Millisecond)
		syscall.Write(pipe[1], []byte{1})
	})
	time.Sleep(50 * time.Millisecond)
	fmt.Println("ready", os.Getpid())
	os.Stdin.Read(make([]byte, 1))
	close(begin)
	work.Wait()
	fmt.Println("done")
	truth, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	for i := range lines {
		text, _ := json.Marshal(lines[i])
		fmt.Fprintln(truth, string(text))
	}
	truth.Close()
	os.Stdin.Read(make([]byte, 1))
}
