// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

// Goroutines whose labels (runtime/pprof) say which route they work for, and whose threads wait for each in another way:
// they sleep, read from a pipe, wait for the lock of a file, and in C with go_routes_c.go.  go_routes TRUTH COUNT: each
// line of the truth has a route, and how long threads waited for it by their own clocks.  "ready", a byte on stdin,
// "done": as programs/truth.h says.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

type line struct {
	Kind   string `json:"kind"`
	Route  string `json:"route"`
	WallNs int64  `json:"wall_ns"`
	CpuNs  int64  `json:"cpu_ns"`
	Waits  int    `json:"waits"`
}

var (
	lines   = map[string]*line{}
	lock    sync.Mutex
	work    sync.WaitGroup
	begin   = make(chan struct{})
	asked   = make(chan struct{}, 8)
	waitInC func()
)

const clockMonotonic, clockThread = 1, 3

func clock(which uintptr) int64 {
	var at syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, which, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano()
}

// The thread's time on CPU is none of the wait; that until Go's scheduler lets it go on is.
func serve(route string, wait func()) {
	wall, cpu := clock(clockMonotonic), clock(clockThread)
	wait()
	cpu = clock(clockThread) - cpu
	wall = clock(clockMonotonic) - wall
	lock.Lock()
	l := lines[route]
	l.WallNs += wall
	l.CpuNs += cpu
	l.Waits++
	lock.Unlock()
}

//go:noinline
func nap() {
	at := syscall.Timespec{Nsec: 4000000}
	syscall.Syscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&at)), 0, 0)
}

// Without labels.
//
//go:noinline
func bare() {
	nap()
}

//go:noinline
func read(fd int) {
	var one [1]byte
	asked <- struct{}{}
	syscall.Syscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&one[0])), 1)
}

//go:noinline
func lockFile(fd int) {
	syscall.Syscall(syscall.SYS_FLOCK, uintptr(fd), syscall.LOCK_EX, 0)
	syscall.Syscall(syscall.SYS_FLOCK, uintptr(fd), syscall.LOCK_UN, 0)
}

// The same label is made anew for each request, with others that say nothing, as a server does; the heap is in use and
// collected meanwhile, so that labels come to lie where others' were.
func do(route string, number int, wait func()) {
	labels := pprof.Labels("request", strconv.Itoa(number), "http.route", strings.Repeat(route, 1), "user", "u"+strconv.Itoa(number%7),
		"trace_id", fmt.Sprintf("%032x", number+1), "span_id", fmt.Sprintf("%016x", number+1))
	pprof.Do(context.Background(), labels, func(ctx context.Context) {
		pprof.Do(ctx, pprof.Labels("part", "wait"), func(context.Context) { serve(route, wait) })
	})
}

func worker(first, count int, routes []string, waits map[string]func()) {
	defer work.Done()
	runtime.LockOSThread()
	<-begin
	for i := first; i < first+count; i++ {
		route := routes[i%len(routes)]
		do(route, i, waits[route])
	}
	serve("", bare)
}

// What the lock is held by, and who writes into the pipe: goroutines without labels.
func others(pipe, held int) {
	go func() {
		for range asked {
			time.Sleep(5 * time.Millisecond)
			syscall.Write(pipe, []byte{1})
		}
	}()
	go func() {
		for {
			syscall.Flock(held, syscall.LOCK_EX)
			time.Sleep(4 * time.Millisecond)
			syscall.Flock(held, syscall.LOCK_UN)
			time.Sleep(time.Millisecond)
		}
	}()
	go func() {
		for kept := [][]byte{}; ; time.Sleep(time.Millisecond) {
			if kept = append(kept, make([]byte, 100000)); len(kept) > 50 {
				kept = nil
			}
		}
	}()
}

func open(path string) int {
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT, 0600)
	if err != nil {
		panic(err)
	}
	return fd
}

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	var pipe [2]int
	if err := syscall.Pipe(pipe[:]); err != nil {
		panic(err)
	}
	runtime.GOMAXPROCS(16)
	path := os.Args[1] + ".lock"
	mine, held := open(path), open(path)
	routes := []string{"POST /order/create", "GET /stock/{id}", "GET /search"}
	waits := map[string]func(){
		routes[0]: nap,
		routes[1]: func() { read(pipe[0]) },
		routes[2]: func() { lockFile(mine) },
	}
	if waitInC != nil {
		routes = append(routes, "PUT /c")
		waits["PUT /c"] = waitInC
	}
	for _, route := range append(routes, "") {
		lines[route] = &line{Kind: "route", Route: route}
	}
	for i := 0; i < 4; i++ {
		work.Add(1)
		go worker(i, count, routes, waits)
	}
	others(pipe[1], held)
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
	for _, l := range lines {
		text, _ := json.Marshal(l)
		fmt.Fprintln(truth, string(text))
	}
	truth.Close()
	os.Stdin.Read(make([]byte, 1))
}
