/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * speedscope's format: sampled profiles.  Frames may follow the profiles, so the text is parsed twice.  Only a
 * profile's name identifies its thread.  A file of this program begins with a profile of all threads; the others are
 * parts of it.
 */
#include <string.h>

#include "base/json_read.h"
#include "exchange/import.h"

struct scope_frame {
	const char *name, *file; /* interned */
	uint32_t line;
	uint32_t id; /* in the profile, + 1; 0: not used yet */
	bool is_kernel;
};

struct scope {
	struct import im;
	GArray *frames; /* struct scope_frame */
	bool own; /* written by this program */
	bool has_other_unit;
	uint64_t read_cnt; /* number of profiles */
};

/* One profile; the arrays are filled while parsing. */
struct scope_profile {
	GString *name;
	uint64_t unit_ns; /* 0: no unit of time */
	bool is_sampled;
	GArray *nodes; /* uint32_t: user and kernel node of each sample */
	GArray *weights; /* GArray of struct { text, len } */
};

struct number {
	const char *text;
	gsize len;
};

/* An object with a key: JSON text may begin with a name, and a name with a brace. */
bool sniff_speedscope(const char *bytes, gsize len_bytes)
{
	g_autofree char *text = g_strndup(bytes, MIN(len_bytes, 4096));
	char *at = g_strchug(text);

	if (*at != '{')
		return false;
	at = g_strchug(at + 1);
	if (*at != '"')
		return false;
	at += 1 + strcspn(at + 1, "\"\\\n");
	return *at == '"' && *g_strchug(at + 1) == ':';
}

/* "12" or "12.0"; else 0.  Saturates. */
static uint32_t small_number(struct json_reader *r)
{
	const char *text;
	gsize len;
	uint64_t n = 0;

	if (json_peek(r) != 'n') {
		json_skip(r);
		return 0;
	}
	return json_read_number(r, &text, &len) && import_time(text, len, 1, &n) && n < UINT32_MAX ? (uint32_t)n
												   : UINT32_MAX;
}

static void read_frame(struct json_reader *r, struct scope *s, GString *key, GString *text)
{
	struct scope_frame f = { .name = "" };
	bool first = true;

	if (!json_enter(r, '{'))
		return;
	while (json_next_member(r, &first, key)) {
		bool is_name = strcmp(key->str, "name") == 0, is_file = strcmp(key->str, "file") == 0;

		if ((is_name || is_file) && json_peek(r) == '"' && json_read_string(r, text))
			*(is_name ? &f.name : &f.file) = profile_string(s->im.p, text->str);
		else if (strcmp(key->str, "line") == 0)
			f.line = small_number(r);
		else
			json_skip(r);
	}
	g_array_append_val(s->frames, f);
}

static void read_shared(struct json_reader *r, struct scope *s, GString *key, GString *text)
{
	bool first = true;

	if (!json_enter(r, '{'))
		return;
	while (json_next_member(r, &first, key)) {
		bool first_frame = true;

		if (strcmp(key->str, "frames") != 0) {
			json_skip(r);
			continue;
		}
		json_enter(r, '[');
		while (json_next_element(r, &first_frame) && s->frames->len <= PROFILE_ROWS_MAX)
			read_frame(r, s, key, text);
	}
}

static void put_frame(struct scope *s, struct scope_frame *f)
{
	/* A file in brackets, or one without a line that is no source file, is a module. */
	bool module = !f->line && f->file && (f->file[0] == '[' || s->own);
	const struct import_frame frame = {
		.name = f->name,
		.module = module ? f->file : NULL,
		.file = module ? NULL : f->file,
		.line = f->line,
		.is_kernel = import_is_kernel(f->name, f->file),
	};

	f->is_kernel = frame.is_kernel;
	f->id = import_frame(&s->im, &frame) + 1;
}

/* The frames of a sample, outermost first. */
static bool read_sample(struct json_reader *r, struct scope *s, GArray *nodes)
{
	uint32_t at[2] = { 0 };
	bool first = true;

	if (!json_enter(r, '['))
		return false;
	while (json_next_element(r, &first)) {
		uint32_t id = small_number(r);

		if (id >= s->frames->len)
			return false;
		struct scope_frame *f = &g_array_index(s->frames, struct scope_frame, id);

		if (!f->id)
			put_frame(s, f);
		at[f->is_kernel] = import_child(&s->im, at[f->is_kernel], f->id - 1);
	}
	g_array_append_vals(nodes, at, 2);
	return !r->bad;
}

static bool read_samples(struct json_reader *r, struct scope *s, struct scope_profile *profile)
{
	bool first = true, ok = json_enter(r, '[');

	while (ok && json_next_element(r, &first))
		ok = read_sample(r, s, profile->nodes);
	return ok;
}

static void read_weights(struct json_reader *r, struct scope_profile *profile)
{
	bool first = true;

	json_enter(r, '[');
	while (json_next_element(r, &first)) {
		struct number n = { NULL, 0 };

		if (!json_read_number(r, &n.text, &n.len))
			return;
		g_array_append_val(profile->weights, n);
	}
}

static uint64_t unit_of(const char *text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "nanoseconds", 1 }, { "microseconds", 1000 }, { "milliseconds", 1000000 }, { "seconds", 1000000000 } };

	for (size_t i = 0; i < G_N_ELEMENTS(units); i++)
		if (strcmp(text, units[i].name) == 0)
			return units[i].ns;
	return 0;
}

static bool read_profile_members(struct json_reader *r, struct scope *s, struct scope_profile *profile, GString *key,
				 GString *text)
{
	bool first = true, ok = json_enter(r, '{');

	while (ok && json_next_member(r, &first, key)) {
		if (strcmp(key->str, "name") == 0 && json_peek(r) == '"')
			json_read_string(r, profile->name);
		else if (strcmp(key->str, "type") == 0 && json_peek(r) == '"' && json_read_string(r, text))
			profile->is_sampled = strcmp(text->str, "sampled") == 0;
		else if (strcmp(key->str, "unit") == 0 && json_peek(r) == '"' && json_read_string(r, text))
			profile->unit_ns = unit_of(text->str);
		else if (strcmp(key->str, "samples") == 0)
			ok = read_samples(r, s, profile);
		else if (strcmp(key->str, "weights") == 0)
			read_weights(r, profile);
		else
			json_skip(r);
	}
	return ok && !r->bad;
}

static bool add_profile(struct scope *s, struct scope_profile *profile, GError **error)
{
	uint32_t thread;

	if (profile->nodes->len / 2 != profile->weights->len)
		return import_bad(error, "its profile \"%s\" has not as many weights as samples", profile->name->str);
	if (!profile->weights->len)
		return true;
	thread = import_thread_text(&s->im, profile->name->str);
	EACH_ROW(i, const struct number, n, profile->weights) {
		struct wait w = {
			.thread = thread,
			.state = '?',
			.user = g_array_index(profile->nodes, uint32_t, 2 * i),
			.kernel = g_array_index(profile->nodes, uint32_t, 2 * i + 1),
		};

		if (!import_time(n->text, n->len, profile->unit_ns, &w.blocked_ns))
			return import_bad(error, "a weight of its profile \"%s\" is no duration", profile->name->str);
		if (!import_wait(&s->im, &w, error))
			return false;
	}
	s->read_cnt++;
	return true;
}

static bool read_profile(struct json_reader *r, struct scope *s, guint index, GString *key, GString *text,
			 GError **error)
{
	struct scope_profile profile = {
		.name = g_string_new(NULL),
		.nodes = g_array_new(FALSE, FALSE, sizeof(uint32_t)),
		.weights = g_array_new(FALSE, FALSE, sizeof(struct number)),
	};
	bool ok = read_profile_members(r, s, &profile, key, text);

	if (!ok && !r->bad)
		import_bad(error, "a stack of its profile \"%s\" has no such frame", profile.name->str);
	else if (!ok)
		import_bad(error, "it is no valid JSON, or no speedscope profile");
	else if (!profile.unit_ns || !profile.is_sampled)
		s->has_other_unit = true;
	else if (!(s->own && index == 0)) /* the profile of all threads */
		ok = add_profile(s, &profile, error);
	g_string_free(profile.name, TRUE);
	g_array_unref(profile.nodes);
	g_array_unref(profile.weights);
	return ok;
}

static bool read_profiles(struct json_reader *r, struct scope *s, GString *key, GString *text, GError **error)
{
	bool first = true, ok = true;

	json_enter(r, '[');
	for (guint i = 0; ok && json_next_element(r, &first); i++)
		ok = read_profile(r, s, i, key, text, error);
	return ok;
}

/* Parses "offcpu@1.0" or "offcpu@1.0: tasks".  Other exporters do not say what rows are. */
static void take_exporter(struct scope *s, const char *text)
{
	const char *colon = strstr(text, ": ");

	s->own = g_str_has_prefix(text, "offcpu@");
	s->im.is_any_time = !s->own;
	if (s->own && colon)
		s->im.p->info.rows_are = profile_rows_known(colon + 2);
}

static bool read_text(struct json_reader r, struct scope *s, bool frames, GError **error)
{
	g_autoptr(GString) key = g_string_new(NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	bool first = true, ok = true;

	json_enter(&r, '{');
	while (ok && json_next_member(&r, &first, key)) {
		if (frames && strcmp(key->str, "shared") == 0)
			read_shared(&r, s, key, text);
		else if (frames && strcmp(key->str, "exporter") == 0 && json_peek(&r) == '"' &&
			 json_read_string(&r, text))
			take_exporter(s, text->str);
		else if (!frames && strcmp(key->str, "profiles") == 0)
			ok = read_profiles(&r, s, key, text, error);
		else
			json_skip(&r);
	}
	if (ok && r.bad)
		ok = import_bad(error, "it is no valid JSON, or no speedscope profile");
	return ok;
}

bool read_speedscope(struct source *source, const struct import_options *options, struct profile *p, GError **error)
{
	GByteArray *all = source_all(source, error);
	struct scope s = { .frames = NULL };

	if (!all)
		return false;
	struct json_reader r = json_reader_of((const char *)all->data, all->len);

	s.frames = g_array_new(FALSE, FALSE, sizeof(struct scope_frame));
	import_begin(&s.im, p, "speedscope", UNKNOWN_ALL);
	s.im.is_any_time = true;
	bool ok = read_text(r, &s, true, error);

	if (ok && !s.frames->len)
		ok = import_bad(error, "it is JSON, but no speedscope profile");
	ok = ok && read_text(r, &s, false, error);
	if (ok && !s.read_cnt && s.has_other_unit)
		ok = import_bad(error, "it holds no sampled profile in a unit of time");
	g_array_unref(s.frames);
	g_byte_array_unref(all);
	return import_end(&s.im, ok, NULL, error);
}
