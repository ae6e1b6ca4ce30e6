/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Rows of a ClickHouse that lies: any bytes are refused with a reason, or are a valid profile.  Before each row a byte
 * tells how many kinds of rows are left out before it; they come in the order in which fleet.c asks for them.
 */
#include <stdlib.h>

#include "push/fleet_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const fleet_row_fn kinds[] = {
	fleet_window_row,     fleet_thread_row, fleet_state_row, fleet_frame_row, fleet_stack_row,
	fleet_object_row,     fleet_waker_row,  fleet_wait_row,  fleet_wake_row,  fleet_on_cpu_row,
	fleet_population_row, fleet_task_row,	fleet_tcp_row,	 fleet_connection_row, fleet_loss_row,
};

static bool take_rows(struct fleet *f, struct cursor *c, GError **error)
{
	size_t kind = 0;

	while (c->at < c->end) {
		kind += cursor_u8(c);
		if (kind >= G_N_ELEMENTS(kinds))
			return true;
		if (!kinds[kind](f, c, error))
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fleet *f = fleet_new();
	struct cursor c = cursor_of(data, size);
	GError *error = NULL;

	if (take_rows(f, &c, &error) != !error)
		abort();
	if (!error) {
		fleet_end_tasks(f);
		fleet_end_contents(f);
		if (profile_check(f->p, &error) != !error)
			abort();
	}
	g_clear_error(&error);
	fleet_free(f);
	return 0;
}
