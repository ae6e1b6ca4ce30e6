/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/stop.h"

#include <signal.h>

#include "cmd/run.h"

static volatile int stop_asked;

static void on_stop(int sig)
{
	(void)sig;
	stop_asked = 1;
}

const volatile int *stop_catch(void)
{
	run_on_signals(on_stop);
	return &stop_asked;
}

void stop_release(void)
{
	run_window_over();
}
