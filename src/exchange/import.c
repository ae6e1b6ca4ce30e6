/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/import.h"

#include <string.h>

#include "base/hash.h"
#include "base/refuse.h"
#include "exchange/parts.h"
#include "symbolize/names/demangle.h"

struct import_key {
	const char *comm; /* interned */
	uint32_t pid, tid;
};

HASH_KEY(key, struct import_key, comm, pid, tid)

void import_begin(struct import *im, struct profile *p, const char *format, uint32_t unknown)
{
	im->p = p;
	im->threads = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	im->names = g_hash_table_new(NULL, NULL);
	im->is_any_time = false;
	im->skipped_cnt = 0;
	im->skipped_why = NULL;
	p->info.imported = profile_string(p, format);
	p->info.unknown = unknown;
}

bool import_skip(struct import *im, GError **why)
{
	if (!g_error_matches(*why, EXCHANGE_ERROR, EXCHANGE_ERROR_BAD) &&
	    !g_error_matches(*why, EXCHANGE_ERROR, EXCHANGE_ERROR_LINE))
		return false;
	if (!im->skipped_cnt++)
		im->skipped_why = g_strdup((*why)->message);
	g_clear_error(why);
	return true;
}

char *import_line(struct import *im, struct source *source, gsize *ret_len_bytes, GError **why)
{
	char *line;

	do
		line = source_line(source, ret_len_bytes, why);
	while (!line && g_error_matches(*why, EXCHANGE_ERROR, EXCHANGE_ERROR_LINE) && import_skip(im, why));
	return line;
}

bool import_lines(struct import *im, struct source *source, import_take_fn take, void *reader, GError **why)
{
	bool ok = true;
	char *line;
	gsize len;

	while (ok && (line = import_line(im, source, &len, why)))
		ok = take(reader, line, why) || import_skip(im, why);
	return ok && !*why;
}

/* Whether threads stop in most of these stacks.  Stacks sampled by a CPU or a clock end anywhere. */
static bool has_waits(const struct profile *p)
{
	double all_ns = 0, stopped_ns = 0;

	EACH_ROW(i, const struct wait, w, p->waits) {
		all_ns += (double)wait_off_cpu_ns(w);
		stopped_ns += kernel_part_stops(p, w->kernel) ? (double)wait_off_cpu_ns(w) : 0;
	}
	return stopped_ns > all_ns / 2;
}

bool import_end(struct import *im, bool ok, GError *why, GError **error)
{
	if (why)
		g_propagate_error(error, why);
	if (ok && im->is_any_time && !has_waits(im->p))
		im->p->info.rows_are = ROWS_SAMPLES;
	g_hash_table_unref(im->threads);
	g_hash_table_unref(im->names);
	if (ok && im->skipped_cnt && im->p->waits->len)
		profile_add_loss(im->p, "not_readable", "lines that make no sense, which are left out", im->skipped_cnt, 0);
	if (ok && !im->p->waits->len)
		ok = import_bad(error, "read as %s, it holds no time%s%s", im->p->info.imported,
				im->skipped_why ? ": " : "", im->skipped_why ? im->skipped_why : "");
	g_clear_pointer(&im->skipped_why, g_free);
	return ok;
}

uint32_t import_thread(struct import *im, uint32_t pid, uint32_t tid, const char *comm)
{
	struct import_key key = { profile_string(im->p, comm ? comm : ""), pid, tid };
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(im->threads, &key));

	if (known)
		return known - 1;
	struct thread t = { .pid = pid, .tid = tid, .comm = key.comm, .process = key.comm };
	uint32_t id = profile_add_thread(im->p, &t);

	g_hash_table_insert(im->threads, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(id + 1));
	return id;
}

/* Start of the digits that end at `end` and follow `mark`; NULL: none. */
static char *digits_before(char *from, char *end, char mark)
{
	char *at = end;

	while (at > from && g_ascii_isdigit(at[-1]))
		at--;
	return at < end && at > from && at[-1] == mark ? at : NULL;
}

uint32_t import_thread_text(struct import *im, const char *text)
{
	g_autofree char *comm = g_strdup(text);
	char *tid = digits_before(comm, comm + strlen(comm), '/');
	char *pid = tid ? digits_before(comm, tid - 1, '-') : NULL;
	uint64_t ids[2] = { 0 };

	if (pid && g_ascii_string_to_unsigned(tid, 10, 0, G_MAXINT32, &ids[1], NULL)) {
		tid[-1] = '\0';
		if (g_ascii_string_to_unsigned(pid, 10, 0, G_MAXINT32, &ids[0], NULL)) {
			pid[-1] = '\0';
			im->p->info.unknown &= ~(uint32_t)UNKNOWN_IDS;
			return import_thread(im, (uint32_t)ids[0], (uint32_t)ids[1], comm);
		}
	}
	return import_thread(im, 0, 0, text);
}

bool import_is_kernel(const char *name, const char *module)
{
	static const char *const of_processes[] = {
		"[vdso]", "[vsyscall]", "[anon", "[jit]", "[heap]", "[stack", "[unknown]", "[inlined]",
		"[python]", "[ruby]", "[php]", "[perl]", "[javascript]", NULL
	};

	if (!module || !*module)
		return name && HAS_PREFIX(name, "-> ");
	if (module[0] != '[' || module[1] == '\0')
		return false;
	for (const char *const *m = of_processes; *m; m++)
		if (g_str_has_prefix(module, *m))
			return false;
	return true;
}

/* Demangles: most tools print "_ZN3THD4killEv".  Kernel names are never mangled. */
static const char *name_for_people(struct import *im, const struct import_frame *f)
{
	if (f->is_kernel || !f->name || f->name[0] != '_' || (f->name[1] != 'Z' && f->name[1] != 'R'))
		return f->name;
	const char *name = profile_string(im->p, f->name), *known = g_hash_table_lookup(im->names, name);

	if (!known) {
		g_autofree char *text = demangle(name);

		known = text ? profile_string(im->p, text) : name;
		g_hash_table_insert(im->names, (gpointer)name, (gpointer)known);
	}
	return known;
}

static bool is_full(const struct profile *p)
{
	return p->nodes->len > PROFILE_NODES_MAX || p->frames->len > PROFILE_ROWS_MAX;
}

uint32_t import_frame(struct import *im, const struct import_frame *f)
{
	struct frame frame = {
		.name = name_for_people(im, f),
		.module = f->module && *f->module ? f->module : NULL,
		.offset = f->offset,
		.file = f->file && *f->file ? f->file : NULL,
		.line = f->line,
		.kind = f->is_kernel ? FRAME_KERNEL : FRAME_USER,
		.why = f->name ? FRAME_NAMED : FRAME_NO_SYMBOLS,
		.is_inline = f->is_inline,
	};

	return is_full(im->p) ? 0 : profile_frame(im->p, &frame);
}

uint32_t import_child(struct import *im, uint32_t parent, uint32_t frame)
{
	return is_full(im->p) ? parent : profile_node(im->p, parent, frame); /* import_wait() reports it */
}

uint32_t import_node(struct import *im, uint32_t parent, const struct import_frame *f)
{
	uint32_t frame = import_frame(im, f);

	return import_child(im, parent, frame);
}

bool import_wait(struct import *im, const struct wait *w, GError **error)
{
	struct profile *p = im->p;

	if (profile_most_rows(p) > PROFILE_ROWS_MAX)
		return refuse(error, EXCHANGE_ERROR, EXCHANGE_ERROR_TOO_MUCH,
			"it holds more threads, frames or stacks than a recording can");
	struct thread *t = &g_array_index(p->threads, struct thread, w->thread);

	profile_add(&t->blocked_ns, w->blocked_ns);
	profile_add(&t->runnable_ns, w->runnable_ns);
	profile_add(&t->preempted_ns, w->preempted_ns);
	profile_add(&t->to_ns, wait_off_cpu_ns(w));
	profile_add_wait(p, w);
	return true;
}

bool import_single_wait(struct import *im, const struct wait *w, GError **error)
{
	struct wait one = *w;

	one.count = 1;
	one.max_ns = wait_off_cpu_ns(w);
	one.hist[profile_hist_slot(one.max_ns)] = 1;
	return import_wait(im, &one, error);
}

bool import_samples(struct import *im, const GArray *samples, GError **error)
{
	if (samples->len > PROFILE_ROWS_MAX)
		return refuse(error, EXCHANGE_ERROR, EXCHANGE_ERROR_TOO_MUCH, "it holds more samples than are read");
	EACH_ROW(i, const struct import_sample, one, samples) {
		const struct wait w = { .thread = one->thread, .state = '?', .user = one->user, .kernel = one->kernel,
					.count = 1, .blocked_ns = one->ns };

		if (!import_wait(im, &w, error))
			return false;
	}
	return true;
}

bool import_time(const char *text, gsize len_bytes, uint64_t unit_ns, uint64_t *ret_ns)
{
	uint64_t ns = 0, part_ns = unit_ns;
	bool has_point = false, has_digit = false;

	for (gsize i = 0; i < len_bytes; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (text[i] == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (digit > 9 || ns > PROFILE_NS_MAX / 10)
			return false;
		has_digit = true;
		if (has_point) {
			part_ns /= 10;
			ns += digit * part_ns;
		} else {
			ns = ns * 10 + digit * unit_ns;
		}
	}
	*ret_ns = ns;
	return has_digit && ns <= PROFILE_NS_MAX;
}

const char *import_unit_name(uint64_t unit_ns)
{
	return unit_ns == 1         ? "nanoseconds"
	       : unit_ns == 1000    ? "microseconds"
	       : unit_ns == 1000000 ? "milliseconds"
				    : "seconds";
}
