// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

// Goroutines that wait in known ways and time it themselves.  Each line on stdin is answered by one of JSON: the time so far, and
// how long workers were in which wait, those that still are included.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const workers = 40

// What each worker does (0: sleeps, 1: receives), since when, and how long it did either before.
type account struct {
	lock  sync.Mutex
	doing int
	since time.Time
	spent [2]time.Duration
}

var accounts [workers]account

func (a *account) begin(doing int) {
	now := time.Now()
	a.lock.Lock()
	a.spent[a.doing] += now.Sub(a.since)
	a.doing, a.since = doing, now
	a.lock.Unlock()
}

//go:noinline
func napper(a *account, i int) {
	a.begin(0)
	time.Sleep(time.Duration(300+7*i) * time.Millisecond)
}

//go:noinline
func receiver(a *account, c chan int) {
	a.begin(1)
	<-c
}

func worker(i int) {
	a, c := &accounts[i], make(chan int)
	a.begin(0)
	time.Sleep(time.Duration(i*29) * time.Millisecond) // so that they are not in step
	for {
		go func() {
			time.Sleep(time.Duration(500+11*i) * time.Millisecond)
			c <- 1
		}()
		receiver(a, c)
		napper(a, i)
	}
}

//go:noinline
func producer(c chan int) {
	c <- 1
}

//go:noinline
func locker(l *sync.Mutex) {
	l.Lock()
}

func spawn(count int) {
	c, l := make(chan int), &sync.Mutex{}
	l.Lock()
	for i := 0; i < count; i++ {
		go producer(c)
	}
	for i := 0; i < 7; i++ {
		go locker(l)
	}
}

//go:noinline
func routed(c chan int) {
	<-c
}

// Requests of two routes, each with a number that says nothing, and one without a label.
func serve() {
	c := make(chan int)
	for i, route := range []string{"/order/{id}", "/order/{id}", "/order/{id}", "/stock", "/stock", ""} {
		labels := pprof.Labels("number", strconv.Itoa(i))
		if route != "" {
			labels = pprof.Labels("http.route", route, "number", strconv.Itoa(i), "enduser", "x")
		}
		go pprof.Do(context.Background(), labels, func(context.Context) { routed(c) })
	}
}

var turns int64

// Changes all the time.
func busy(a, b chan int) {
	for {
		b <- <-a
		atomic.AddInt64(&turns, 1)
	}
}

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	begun := time.Now()
	for i := range accounts {
		accounts[i].since = begun
		go worker(i)
	}
	spawn(count)
	serve()
	if len(os.Args) > 2 {
		a, b := make(chan int), make(chan int)
		go busy(a, b)
		go busy(b, a)
		a <- 1
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var spent [2]time.Duration
		now := time.Now()
		for i := range accounts {
			a := &accounts[i]
			a.lock.Lock()
			spent[0] += a.spent[0]
			spent[1] += a.spent[1]
			spent[a.doing] += now.Sub(a.since)
			a.lock.Unlock()
		}
		text, _ := json.Marshal(map[string]int64{"ns": int64(now.Sub(begun)), "sleep": int64(spent[0]), "chan receive": int64(spent[1]),
			"turns": atomic.LoadInt64(&turns)})
		fmt.Println(string(text))
	}
}
