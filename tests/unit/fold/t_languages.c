/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* An interpreter's frames take the places of the calls of C that they belong to. */
#include "fold/languages.h"

#include <string.h>
#include <unistd.h>

#define VERSION(minor) OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PYTHON, 3, minor)
#define EVAL "_PyEval_EvalFrameDefault"
#define FILE_NAME "/usr/bin/python3"
#define BARE ""		/* a function of it without a name */
#define OTHER "?"	/* of another file */
#define RUN "[python3]"
#define PERL OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PERL, 5, 36)
#define RUNS "Perl_runops_standard"
#define MAIN { .code = OFFCPU_PERL_MAIN }
#define GONE_PERL "[perl]"
#define GONE "[python]"	/* a frame that cannot be read keeps its place */

static uint32_t spot_of(void *ctx, uint32_t frame)
{
	return frame;
}

static uint32_t frame_of(const void *ctx, uint32_t spot)
{
	return spot;
}

struct merging {
	uint32_t version;
	const char *names[6];	/* of C's frames, innermost first */
	uint32_t sp[6];	/* all 0: not known */
	struct offcpu_language_frame frames[4];	/* code 0: no more */
	const char *merged[8];	/* GONE for each of the interpreter's */
	bool is_lost;
};

#define INNER(number) { .code = 0x1000 * (number) }
#define ENTRY(number, place) { .code = 0x1000 * (number) | OFFCPU_LANGUAGE_ENTRY, .entry_at = place }

static const struct merging mergings[] = {
	/* by place, and by name where there is none */
	{ VERSION(13), { "sleep", EVAL, "vectorcall", EVAL, "main" }, { 0, 100, 200, 300, 400 }, { INNER(1), ENTRY(2, 150), ENTRY(3, 350) },
	  { "sleep", GONE, GONE, "vectorcall", GONE, "main" }, false },
	{ VERSION(11), { "sleep", EVAL, "vectorcall", EVAL, "main" }, { 0 }, { INNER(1), ENTRY(2, 0), ENTRY(3, 0) },
	  { "sleep", GONE, GONE, "vectorcall", GONE, "main" }, false },
	{ VERSION(14), { "sleep", "tail_call", "vectorcall", "main" }, { 0, 100, 200, 300 }, { ENTRY(1, 150) },
	  { "sleep", GONE, "vectorcall", "main" }, false },
	/* a call has just begun, or is about to end */
	{ VERSION(13), { EVAL, "vectorcall", EVAL, "main" }, { 0, 100, 200, 300 }, { ENTRY(1, 250) }, { EVAL, "vectorcall", GONE, "main" }, false },
	{ VERSION(13), { "check", EVAL, "vectorcall", EVAL, "main" }, { 0, 100, 200, 300, 400 }, { ENTRY(1, 350) },
	  { "check", EVAL, "vectorcall", GONE, "main" }, false },
	{ VERSION(11), { EVAL, "vectorcall", EVAL, "main" }, { 0 }, { ENTRY(1, 0) }, { EVAL, "vectorcall", GONE, "main" }, false },
	/* by names it is not known which one has no frame */
	{ VERSION(11), { "sleep", EVAL, "vectorcall", EVAL, "main" }, { 0 }, { ENTRY(1, 0) }, { "sleep", EVAL, "vectorcall", EVAL, "main" }, true },
	/* what lies in no frame of C's */
	{ VERSION(13), { "sleep", EVAL, "main" }, { 0, 100, 200 }, { ENTRY(1, 150), ENTRY(2, 120) }, { "sleep", EVAL, "main" }, true },
	/* a stripped interpreter: what lies between is one frame, and not where it could not be merged, or in other files */
	{ VERSION(11), { BARE, BARE, EVAL, BARE, BARE, OTHER }, { 0 }, { ENTRY(1, 0) }, { RUN, GONE, RUN, "/usr/lib/libx.so" }, false },
	{ VERSION(11), { BARE, EVAL, BARE, "vectorcall", BARE, OTHER }, { 0 }, { ENTRY(1, 0) },
	  { RUN, GONE, RUN, "vectorcall", RUN, "/usr/lib/libx.so" }, false },
	{ VERSION(11), { BARE, BARE, EVAL, EVAL }, { 0 }, { ENTRY(1, 0) }, { FILE_NAME, FILE_NAME, EVAL, EVAL }, true },
	/* Perl's program is no call, and does not run yet while it is compiled */
	{ PERL, { "sleep", RUNS, "Perl_call_sv", RUNS, "perl_run" }, { 0 }, { INNER(1), ENTRY(2, 0), MAIN },
	  { "sleep", GONE_PERL, GONE_PERL, "Perl_call_sv", "{main}", "perl_run" }, false },
	{ PERL, { "sleep", RUNS, "Perl_call_list", "perl_parse" }, { 0 }, { ENTRY(1, 0), MAIN },
	  { "sleep", GONE_PERL, "Perl_call_list", "perl_parse" }, false },
	/* what eval runs anew is of the same call, and no other function between is Perl's for that */
	{ PERL, { "sleep", RUNS, BARE, RUNS, "S_docatch", RUNS }, { 0 }, { INNER(1), INNER(2), MAIN },
	  { "sleep", GONE_PERL, GONE_PERL, "{main}" }, false },
	{ PERL, { "sleep", RUNS, BARE, BARE, RUNS }, { 0 }, { ENTRY(1, 0), MAIN }, { "sleep", GONE_PERL, "[perl]", "{main}" }, false },
	{ PERL, { "sleep", RUNS, "XS_first", RUNS }, { 0 }, { INNER(1), MAIN }, { "sleep", RUNS, "XS_first", RUNS }, true },
};

static bool is_lost(const struct profile *p)
{
	for (guint i = 0; i < p->losses->len; i++)
		if (!strcmp(g_array_index(p->losses, struct profile_loss, i).reason, "interpreter_unmerged"))
			return true;
	return false;
}

static void check_merging(const struct merging *m)
{
	struct profile *p = profile_new();
	struct fold_languages *l = fold_languages_new(p);
	struct offcpu_rec_language rec = { .id = 2, .ustack = 1, .version = m->version, .pid = (uint32_t)getpid() };
	uint32_t spots[6], frames[6], merged[FOLD_LANGUAGE_SPOTS];
	struct fold_stack_spots stack = { .id = 1, .spots = spots, .frames = frames, .sp = m->sp[1] ? m->sp : NULL, .end = STACK_COMPLETE };
	enum stack_end end;
	unsigned cnt, wanted = 0;

	for (; stack.cnt < 6 && m->names[stack.cnt]; stack.cnt++) {
		bool is_other = m->names[stack.cnt][0] == '?', is_bare = is_other || !m->names[stack.cnt][0];
		struct frame f = { .name = is_bare ? NULL : m->names[stack.cnt], .module = is_other ? "/usr/lib/libx.so" : m->version == PERL ? "/usr/bin/perl" : FILE_NAME,
				   .offset = stack.cnt };

		spots[stack.cnt] = frames[stack.cnt] = profile_frame(p, &f);
	}
	while (rec.depth < 4 && m->frames[rec.depth].code) {
		rec.frame[rec.depth] = m->frames[rec.depth];
		rec.depth++;
	}
	fold_languages_native(l, &stack);
	cnt = fold_languages_merge(l, &rec, &(struct fold_spots){ frame_of, spot_of, NULL }, merged, &end);
	for (; wanted < 8 && m->merged[wanted]; wanted++) {
		const struct frame *f = wanted < cnt ? profile_get_frame(p, merged[wanted]) : NULL;

		g_assert_nonnull(f);
		g_assert_cmpstr(f->name ? f->name : f->module, ==, m->merged[wanted]);
	}
	g_assert_cmpuint(cnt, ==, wanted);
	g_assert_cmpint(end, ==, STACK_COMPLETE);
	g_assert_cmpint(is_lost(p), ==, m->is_lost);
	fold_languages_free(l);
	profile_free(p);
}

static void test_merging(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(mergings); i++)
		check_merging(&mergings[i]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/languages/merging", test_merging);
	return g_test_run();
}
