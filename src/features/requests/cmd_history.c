/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/range.h"

#include <unistd.h>

#include "cmd/cmd.h"
#include "render/json/json.h"
#include "render/text/text.h"
#include "store/line.h"
#include "store/store.h"

#define SECOND_NS UINT64_C(1000000000)
#define STEPS 20

/* The shortest usual unit of time that is not shorter. */
static uint64_t step_of(uint64_t least_ns)
{
	static const unsigned seconds[] = { 1,    2,    5,    10,   20,    30,    60,    120,   300,   600,
					    1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 604800 };

	for (size_t i = 0; i < G_N_ELEMENTS(seconds); i++)
		if (seconds[i] * SECOND_NS >= least_ns)
			return seconds[i] * SECOND_NS;
	return (least_ns / (86400 * SECOND_NS) + 1) * (86400 * SECOND_NS);
}

static struct request_line *read_by(uint64_t from_ns, uint64_t to_ns, uint64_t step_ns, GError **error)
{
	return request_line_read(history_dir(), from_ns - from_ns % step_ns, to_ns, step_ns, error);
}

/* A step is at least as long as a window, because steps without a window's middle would be empty. */
static struct request_line *read_line(const struct range_args *range, GError **error)
{
	uint64_t from_ns, to_ns, step_ns, row_ns;
	struct store_extent extent;
	struct request_line *l;

	if (!history_range(range->from, range->to, &from_ns, &to_ns, error) ||
	    !store_extent(history_dir(), &extent, error))
		return NULL;
	if (from_ns < extent.to_unix_ns && to_ns > extent.from_unix_ns) {
		from_ns = MAX(from_ns, extent.from_unix_ns);
		to_ns = MIN(to_ns, extent.to_unix_ns);
	}
	step_ns = step_of((to_ns - from_ns) / STEPS);
	l = read_by(from_ns, to_ns, step_ns, error);
	row_ns = l ? l->longest_row_ns : 0;
	if (row_ns <= step_ns + SECOND_NS / 2)	/* windows end by the clock, to within a second */
		return l;
	request_line_free(l);
	return read_by(from_ns, to_ns, step_of(row_ns - SECOND_NS / 2), error);
}

int history_requests(const struct range_args *range, bool is_json)
{
	const struct text_options text = { .colour = cmd_stdout_has_colour(),
					   .width = isatty(STDOUT_FILENO) ? cmd_stdout_width() : 0 };
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	struct request_line *l = read_line(range, &error);

	if (l && !l->series->len) {
		cmd_error("report", "--requests: '%s' has none in that time: [request NAME] in the agent's configuration "
				    "says what is one (offcpu-agent.conf(5))", history_dir());
		request_line_free(l);
		return EXIT_FAILED;
	}
	if (l)
		(is_json ? json_latency(out, l) : latency_text(out, l, &text));
	request_line_free(l);
	if (!error && cmd_write_output(NULL, out->str, out->len, &error))
		return EXIT_OK;
	return cmd_failed("report", "%s", error->message);
}

double history_request_rate(const struct range_args *range, const char *name)
{
	struct request_line *l = read_line(range, NULL);
	const struct request_series *series = NULL;
	double rate = 0;

	if (l && name)
		series = request_line_find(l, name);
	else if (l && l->series->len == 1)
		series = &g_array_index(l->series, struct request_series, 0);
	if (series && series->all->observed_ns)
		rate = (double)series->all->sum.all.count * 1e9 / (double)series->all->observed_ns;
	request_line_free(l);
	return rate;
}
