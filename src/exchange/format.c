/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/format.h"

#include <string.h>

#include "base/refuse.h"

G_DEFINE_QUARK(exchange - error, exchange_error)

/* In order of detection: formats with a signature come before text formats, which are guessed from their structure. */
const struct format formats[] = {
	{ .name = "folded",
	 .extension = "folded",
	 .media_type = "text/plain",
	 .takes = TAKES_EVERYTHING,
	 .help = "collapsed stacks: flamegraph.pl, inferno, speedscope",
	 .write = write_folded },
	{ .name = "json",
	 .extension = "json",
	 .media_type = "application/json",
	 .has_accounts = true,
	 .help = "everything, schema 1, in integer nanoseconds",
	 .write = write_json },
	{ .name = "csv",
	 .extension = "csv",
	 .media_type = "text/csv",
	 .takes = TAKES_NAMES,
	 .has_accounts = true,
	 .help = "a row a wait, for spreadsheets and databases",
	 .write = write_csv },
	{ .name = "jsonl",
	 .extension = "jsonl",
	 .media_type = "application/jsonl",
	 .has_accounts = true,
	 .help = "a JSON object a line: the recording, threads, waits, losses",
	 .write = write_jsonl },
	{ .name = "pprof",
	 .extension = "pb.gz",
	 .media_type = "application/octet-stream",
	 .takes = TAKES_WEIGHT,
	 .gzip = true,
	 .help = "go tool pprof, Pyroscope, Parca, speedscope",
	 .write = write_pprof,
	 .sniff = sniff_pprof,
	 .read = read_pprof },
	{ .name = "speedscope",
	 .extension = "speedscope.json",
	 .media_type = "application/json",
	 .takes = TAKES_WEIGHT | TAKES_BY,
	 .help = "speedscope.app: a profile of all, and one a thread",
	 .write = write_speedscope,
	 .sniff = sniff_speedscope,
	 .read = read_speedscope },
	{ .name = "firefox",
	 .extension = "json.gz",
	 .media_type = "application/json",
	 .gzip = true,
	 .help = "profiler.firefox.com: a track a thread, a marker a row of waits",
	 .write = write_firefox },
	{ .name = "perfetto",
	 .extension = "pftrace",
	 .media_type = "application/octet-stream",
	 .help = "ui.perfetto.dev: tracks of processes and threads, stacks by their time",
	 .write = write_perfetto },
	{ .name = "otlp",
	 .extension = "otlp.pb",
	 .media_type = "application/x-protobuf",
	 .takes = TAKES_WEIGHT,
	 .help = "OpenTelemetry profiles, the body of an export request",
	 .write = write_otlp },
	{ .name = "perf-script",
	 .extension = "perf.txt",
	 .media_type = "text/plain",
	 .help = "what perf script prints: stackcollapse-perf.pl, FlameScope",
	 .write = write_perf_script,
	 .sniff = sniff_perf_script,
	 .read = read_perf_script },
	{ .name = "sqlite",
	 .extension = "offcpu",
	 .media_type = "application/vnd.sqlite3",
	 .has_accounts = true,
	 .is_whole = true,
	 .help = "a recording with its findings and reasons as tables, for SQL",
	 .write = write_sqlite },
	{ .name = "gdb",
	 .extension = "txt",
	 .media_type = "text/plain",
	 .help = "what gdb prints for thread apply all bt",
	 .sniff = sniff_gdb,
	 .read = read_gdb },
	{ .name = "procstat",
	 .extension = "txt",
	 .media_type = "text/plain",
	 .help = "what FreeBSD's procstat -ka prints",
	 .sniff = sniff_procstat,
	 .read = read_procstat },
	{ .name = "simpleperf",
	 .extension = "txt",
	 .media_type = "text/plain",
	 .help = "what simpleperf report-sample --show-callchain prints",
	 .sniff = sniff_simpleperf,
	 .read = read_simpleperf },
	{ .name = "stacks",
	 .extension = "txt",
	 .media_type = "text/plain",
	 .help = "what offcputime, offwaketime, wakeuptime, bpftrace, DTrace and SystemTap print",
	 .sniff = sniff_stack_text,
	 .read = read_stack_text },
	{ .name = "collapsed",
	 .extension = "folded",
	 .media_type = "text/plain",
	 .takes = TAKES_EVERYTHING,
	 .help = "the same as folded",
	 .write = write_folded,
	 .sniff = sniff_collapsed,
	 .read = read_collapsed },
};
const size_t formats_cnt = G_N_ELEMENTS(formats);

const struct format *format_by_name(const char *name)
{
	for (size_t i = 0; i < formats_cnt; i++)
		if (formats[i].write && g_strcmp0(formats[i].name, name) == 0)
			return &formats[i];
	return NULL;
}

char *format_names(void)
{
	GString *s = g_string_new(NULL);

	for (size_t i = 0; i < formats_cnt; i++)
		if (formats[i].write)
			g_string_append_printf(s, "%s%s", s->len ? ", " : "", formats[i].name);
	return g_string_free(s, FALSE);
}

bool format_write(const struct format *format, const struct profile *p, const struct export_plan *plan,
		  const struct sink *sink, GError **error)
{
	const struct selection *chosen = plan->selection;

	if (format->is_whole && chosen && (!chosen->whole || chosen->without_idle))
		return refuse(error, EXCHANGE_ERROR, EXCHANGE_ERROR_UNKNOWN, "%s writes all of a recording: nothing may be filtered",
			      format->name);
	struct writer *w = writer_new(sink, format->gzip);


	format->write(w, p, plan);
	return writer_end(w, error);
}

static const struct format *sniff_as(const char *bytes, gsize len_bytes, bool is_binary)
{
	/* names may look like another format's signature, and most lines here begin with a name */
	if (!is_binary && sniff_collapsed(bytes, len_bytes))
		return format_by_name("collapsed");
	for (size_t i = 0; i < formats_cnt; i++) {
		if (is_binary && g_str_has_prefix(formats[i].media_type, "text/"))
			continue;
		if (formats[i].sniff && formats[i].sniff(bytes, len_bytes))
			return &formats[i];
	}
	return NULL;
}

/* A text that a 0 byte got into is still a text, unless it is another format. */
static const struct format *sniff(const char *bytes, gsize len_bytes)
{
	const bool is_binary = memchr(bytes, 0, len_bytes);
	const struct format *format = sniff_as(bytes, len_bytes, is_binary);

	return format || !is_binary ? format : sniff_as(bytes, len_bytes, false);
}

struct profile *exchange_read(struct source *source, const char *name, const struct import_options *options,
			      GError **error)
{
	g_autoptr(GError) why = NULL;
	gsize len_bytes = 0;
	uint64_t odd;
	const char *bytes = source_peek(source, &len_bytes, &why);
	const struct format *format = bytes ? sniff(bytes, len_bytes) : NULL;
	struct profile *p = format ? profile_new() : NULL;

	if (bytes && !len_bytes)
		g_set_error(&why, EXCHANGE_ERROR, EXCHANGE_ERROR_UNKNOWN, "'%s' is empty, not a recording", name);
	else if (bytes && !format && (odd = collapsed_odd_line(bytes, len_bytes)))
		g_set_error(&why, EXCHANGE_ERROR, EXCHANGE_ERROR_UNKNOWN,
			    "'%s' is not an offcpu recording; as collapsed stacks its line %" G_GUINT64_FORMAT
			    " does not end in a whole number", name, odd);
	else if (bytes && !format)
		g_set_error(&why, EXCHANGE_ERROR, EXCHANGE_ERROR_UNKNOWN,
			    "'%s' is not an offcpu recording, and of no other format that is read", name);
	else if (p && format->read(source, options, p, &why) && profile_check(p, &why))
		return p;
	else
		g_prefix_error(&why, "'%s': ", name);
	g_propagate_error(error, g_steal_pointer(&why));
	profile_free(p);
	return NULL;
}
