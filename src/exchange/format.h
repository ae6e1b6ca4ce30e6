/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXCHANGE_FORMAT_H
#define EXCHANGE_FORMAT_H

#include "analyse/query.h"
#include "exchange/sink.h"
#include "exchange/source.h"
#include "render/text/folded.h"

/*
 * The formats of other tools, out and in: one row each.  This layer opens no file and prints nothing: what is written
 * goes to a sink, what is read comes from a source.
 */

/* Options of `export` that a format may have a place for. */
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

/* What is to be written, beside the profile. */
struct export_plan {
	const struct selection *selection; /* NULL: everything */
	const char *selection_text; /* of it, for people; "" */
	struct folded_options
		folded; /* names, first frame, unit and weight; by_thread and weight are other formats', too */
	bool has_weight; /* folded.weight was asked for */
	/* of firefox: each row is one wait, and stands at its own time (max_start_unix_ns) */
	bool single_waits;
	bool by_comm; /* asked for: a profile a name in place of one a thread */
	bool wakers, wakeup;
	unsigned columns; /* of collapsed text: 1, or 2: waits before the time */
	/* of OTLP: the resource's service.name and offcpu.idle; NULL: "offcpu", not said */
	const char *service, *idle;
	struct folded_result *ret_folded; /* what collapsed text left out; or NULL */
};

/* What the user knows of a file that its format has no place for. */
struct import_options {
	uint64_t unit_ns; /* of the numbers of collapsed stacks and of stacks with sums; 0: the format's usual one */
};

struct format {
	const char *name; /* of -f */
	const char *extension; /* as files of it are usually called, without the dot */
	const char *media_type;
	const char *help; /* who reads it: one line */
	unsigned takes; /* enum format_takes */
	bool gzip; /* files of it are packed */
	bool has_accounts; /* time that no stack lists is told, too */
	bool is_whole; /* it has no place for a selection */
	/*
	 * Appends to the writer's text and flushes; what goes wrong is the writer's to tell.  NULL: the format is
	 * only read.
	 */
	void (*write)(struct writer *w, const struct profile *p, const struct export_plan *plan);
	/*
	 * Are these first bytes of a file of this format?  The rows are asked in their order.  NULL: the format is
	 * only written.
	 */
	bool (*sniff)(const char *bytes, gsize len_bytes);
	/*
	 * Reads all of the source into an empty profile.  False with one sentence, which says what is wrong and not
	 * with which file.
	 */
	bool (*read)(struct source *source, const struct import_options *options, struct profile *p, GError **error);
};

extern const struct format formats[];
extern const size_t formats_cnt;

/* NULL when no format that is written has that name. */
const struct format *format_by_name(const char *name);
/* "folded, json, csv, ..." for messages; free with g_free(). */
char *format_names(void);

bool format_write(const struct format *format, const struct profile *p, const struct export_plan *plan,
		  const struct sink *sink, GError **error);

#define EXCHANGE_ERROR exchange_error_quark()
GQuark exchange_error_quark(void);
enum exchange_error {
	EXCHANGE_ERROR_UNKNOWN, /* of no format that is known */
	EXCHANGE_ERROR_BAD, /* damaged, or it holds no off-CPU time */
	EXCHANGE_ERROR_LINE, /* one line of it, behind which it goes on */
	EXCHANGE_ERROR_TOO_MUCH, /* more than is read of any file */
};

/*
 * Reads a source of any format that is known but recordings, packed or not.  The bytes are untrusted: the result is a
 * valid profile, whose info says what it came from and what is unknown, or NULL with one sentence.  `name` stands for
 * it in messages.
 */
struct profile *exchange_read(struct source *source, const char *name, const struct import_options *options,
			      GError **error);

/* The rows' functions, in a file each. */
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
/* Of what would be collapsed stacks but for a line that ends in no number: which one; 0: it is none. */
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
