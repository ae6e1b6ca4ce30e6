// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause

// A wait in C, where the thread runs on the scheduler's own stack: its labels are those of the goroutine that called.
package main

/*
#include <time.h>

static void napInC(long ns)
{
	struct timespec at = {0, ns};

	nanosleep(&at, 0);
}
*/
import "C"

//go:noinline
func napInC() {
	C.napInC(3000000)
}

func init() {
	waitInC = napInC
}
