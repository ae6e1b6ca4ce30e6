/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_FORMAT_H
#define EXCHANGE_FORMAT_H

#include "analyse/query.h"
#include "exchange/sink.h"
#include "exchange/source.h"
#include "render/text/folded.h"

/*
 * Formats of other tools, to write and to read, one row each.  This layer opens no file and prints nothing: it writes
 * to a sink and reads from a source.
 */

/* Options of `export` that a format may support. */
enum format_takes {
	TAKES_WEIGHT = 1 << 0,
	TAKES_BY = 1 << 1,
	TAKES_UNIT = 1 << 2,
	TAKES_WAKERS = 1 << 3, /* --wakers, --wakeup */
	TAKES_DELIMITER = 1 << 4,
	TAKES_NAMES = 1 << 5, /* --annotate, --lines */
	TAKES_COLUMNS = 1 << 6,
	TAKES_EVERYTHING = (1 << 7) - 1,
};

/* What to write, beside the profile. */
struct export_plan {
	const struct selection *selection; /* NULL: everything */
	const char *selection_text; /* description of the selection; "" */
	struct folded_options
		folded; /* names, first frame, unit and weight; other formats use by_thread and weight too */
	bool has_weight; /* folded.weight was given */
	/* firefox: each row is one wait at its own time (max_start_unix_ns) */
	bool single_waits;
	bool by_comm; /* one profile per name instead of per thread */
	bool wakers, wakeup;
	unsigned columns; /* collapsed text: 1, or 2 to put the waits before the time */
	/* OTLP: the resource's service.name and offcpu.idle; NULL: "offcpu", absent */
	const char *service, *idle;
	struct folded_result *ret_folded; /* receives what collapsed text left out; or NULL */
};

/* What the user knows about a file and its format does not state. */
struct import_options {
	uint64_t unit_ns; /* unit of collapsed stacks and of stacks with sums; 0: the format's default */
};

struct format {
	const char *name; /* argument of -f */
	const char *extension; /* usual extension, without the dot */
	const char *media_type;
	const char *help; /* which tools read it: one line */
	unsigned takes; /* enum format_takes */
	bool gzip; /* files are compressed */
	bool has_accounts; /* supports time that no stack accounts for */
	bool is_whole; /* cannot be restricted to a selection */
	/* Appends to the writer's text and flushes; the writer keeps errors.  NULL: the format can only be read. */
	void (*write)(struct writer *w, const struct profile *p, const struct export_plan *plan);
	/*
	 * Whether these are the first bytes of such a file.  Rows are tried in order.  NULL: the format can only be
	 * written.
	 */
	bool (*sniff)(const char *bytes, gsize len_bytes);
	/* Reads the source into an empty profile.  False on error; the message does not name the file. */
	bool (*read)(struct source *source, const struct import_options *options, struct profile *p, GError **error);
};

extern const struct format formats[];
extern const size_t formats_cnt;

/* NULL: no format with that name can be written. */
const struct format *format_by_name(const char *name);
/* "folded, json, csv, ..." for messages.  Free with g_free(). */
char *format_names(void);

bool format_write(const struct format *format, const struct profile *p, const struct export_plan *plan,
		  const struct sink *sink, GError **error);

#define EXCHANGE_ERROR exchange_error_quark()
GQuark exchange_error_quark(void);
enum exchange_error {
	EXCHANGE_ERROR_UNKNOWN, /* not a known format */
	EXCHANGE_ERROR_BAD, /* damaged, or without off-CPU time */
	EXCHANGE_ERROR_LINE, /* a single line is bad; reading may continue after it */
	EXCHANGE_ERROR_TOO_MUCH, /* exceeds the limit for any file */
};

/*
 * Reads any known format but recordings, compressed or not.  The bytes are untrusted: the result is a valid profile,
 * whose info says where it is from and what is unknown.  NULL on error.  `name` stands for the source in messages.
 */
struct profile *exchange_read(struct source *source, const char *name, const struct import_options *options,
			      GError **error);

/* Functions for the table's rows, a file each. */
void write_folded(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_json(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_csv(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_jsonl(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_pprof(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_speedscope(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_firefox(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_perfetto(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_otlp(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_sqlite(struct writer *w, const struct profile *p, const struct export_plan *plan);
void write_perf_script(struct writer *w, const struct profile *p, const struct export_plan *plan);

bool sniff_collapsed(const char *bytes, gsize len_bytes);
/*
 * The number of the line without a trailing number that keeps a text from being collapsed stacks; 0: it is not such a
 * text.
 */
uint64_t collapsed_odd_line(const char *bytes, gsize len_bytes);
bool read_collapsed(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_stack_text(const char *bytes, gsize len_bytes);
bool read_stack_text(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_pprof(const char *bytes, gsize len_bytes);
bool read_pprof(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_speedscope(const char *bytes, gsize len_bytes);
bool read_speedscope(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_gdb(const char *bytes, gsize len_bytes);
bool read_gdb(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_procstat(const char *bytes, gsize len_bytes);
bool read_procstat(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_simpleperf(const char *bytes, gsize len_bytes);
bool read_simpleperf(struct source *source, const struct import_options *options, struct profile *p, GError **error);
bool sniff_perf_script(const char *bytes, gsize len_bytes);
bool read_perf_script(struct source *source, const struct import_options *options, struct profile *p, GError **error);

#endif
