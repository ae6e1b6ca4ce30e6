/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who has the file lock, or the database of SQLite, for which others wait, as it was seen at moments of the recording.
 * Who handed it on last may have had it for a moment only, after a queue behind another program.
 */
#include "explain/limits.h"

#include <string.h>

#include "base/find.h"
#include "explain/findings_part.h"
#include "explain/sentence.h"
#include "explain/text.h"

#define LOOKS_MIN 2	/* at which anyone waited: one alone is chance */

static bool is_sqlite_rule(const struct rule *rule)
{
	return rule && g_str_has_prefix(rule->name, "sqlite-locked");
}

/* The last name: the path. */
static const char *path_in(const struct profile_limit *l)
{
	const char *at = strrchr(l->text, '\t');

	return at ? at + 1 : "";
}

/* Of a file that was closed again only the last part of its path is known. */
static bool is_whole_path(const char *name)
{
	return *name && !g_str_has_prefix(name, ".../");
}

static bool ends_in(const char *path, const char *name)
{
	return !*name || g_str_has_suffix(path, name + strlen("..."));
}

/* Is the limit of what this row, or only this wait, is for?  A file is known by its path, a database by who sleeps. */
static bool is_of(const struct findings *f, const struct profile_limit *l, const struct finding *row, uint32_t wait,
		  bool sqlite)
{
	const struct wait *w = profile_wait(f->profile, wait);
	const struct object *o = profile_wait_object(f->profile, w);
	const struct thread *t = profile_thread(f->profile, w->thread);

	if (sqlite)
		return l->pid == t->pid || (row && finding_has_process(f, row, l->pid));
	if (o && is_whole_path(o->name))
		return strcmp(path_in(l), o->name) == 0;
	return g_strcmp0(finding_process_name(f, l->pid), t->process) == 0 && (!o || ends_in(path_in(l), o->name));
}

/* Who had it at half of these looks and more.  The names are in the result; NULL: nobody. */
static char **find(const struct findings *f, const struct finding *row, uint32_t wait, struct limit_locked *ret)
{
	const struct rule *rule = reasons_rule(f->reasons, wait);
	const bool sqlite = is_sqlite_rule(rule);
	char **most = NULL;

	if (!sqlite && (!rule || strcmp(rule->name, "file-lock") != 0))
		return NULL;
	EACH_ROW(i, const struct profile_limit, l, f->profile->limits) {
		struct limit_locked k;
		char **names;

		if (l->kind != LIMIT_LOCKED || !is_of(f, l, row, wait, sqlite))
			continue;
		if (limit_locked_read(l, &k, &names) && k.is_sqlite == sqlite && k.seen >= LOOKS_MIN &&
		    k.held * 2 >= k.seen &&
		    (!most || k.held > ret->held)) {
			*ret = k;
			g_strfreev(most);
			most = names;
		} else {
			g_strfreev(names);
		}
	}
	return most;
}

/* Those of a queue that have had it in turn are told by who ends the waits, and what the others do by these. */
static char **find_other(const struct findings *f, const struct finding *row, struct limit_locked *ret)
{
	const struct profile_limit *l = row->limit.limit;
	char **names = row->deadlock || (l && l->kind == LIMIT_GONE) ? NULL : find(f, row, row->wait, ret);

	if (names && !ret->is_sqlite && finding_has_process(f, row, ret->holder))
		g_clear_pointer(&names, g_strfreev);
	return names;
}

/* What the holder is known to wait for from the recording is more. */
static bool is_known(const struct finding *row, const struct limit_locked *k)
{
	return row->by.comm && row->by.pid == k->holder && row->by.does_ns && row->by.does != REASON_CHILD_EXIT;
}

void locked_take_over(const struct findings *f, struct finding *row)
{
	struct limit_locked k;
	g_auto(GStrv) names = find_other(f, row, &k);

	if (names && !k.is_sqlite && !row->is_told_elsewhere && !is_known(row, &k))
		row->by = (struct finding_by){ .frame = -1, .does_frame = -1 };
}

static bool tells_doing(const struct limit_locked *k)
{
	return k->doer && k->does != CHILD_GONE && k->does != CHILD_OTHER && k->does != CHILD_WAITS &&
	       k->does != CHILD_SEVERAL;
}

/* "backup.pl/4711", "worker.py processes" */
static void append_holder(GString *s, const struct limit_locked *k)
{
	if (k->holders <= 1) {
		text_who(s, k->name, k->holder, FINDING_NAME_COLUMNS);
		return;
	}
	text_safe_cut(s, k->name, FINDING_NAME_COLUMNS);
	g_string_append(s, " processes");
}

static void append_looks(GString *s, const struct limit_locked *k)
{
	g_string_append_printf(s, " at %" PRIu32 " of %" PRIu32 " looks", k->held, k->seen);
	if (!tells_doing(k))
		return;
	if (k->holders > 1 && k->doer != k->holder) {
		g_string_append(s, ", each with a child, ");
		text_safe_cut(s, *k->doer_name ? k->doer_name : "process", FINDING_NAME_COLUMNS);
		g_string_append(s, ", that meanwhile ");
	} else if (k->holders > 1) {
		g_string_append(s, ", each of which meanwhile ");
	} else if (k->doer != k->holder) {
		g_string_append(s, ", whose child ");
		text_who(s, *k->doer_name ? k->doer_name : "process", k->doer, FINDING_NAME_COLUMNS);
		g_string_append(s, " meanwhile ");
	} else {
		g_string_append(s, ", and meanwhile ");
	}
	child_append_does(s, k->does, *k->where ? k->where : k->does == CHILD_NETWORK ? "the network" : NULL);
}

bool locked_append_evidence(GString *s, const struct findings *f, const struct finding *row)
{
	struct limit_locked k;
	g_auto(GStrv) names = find_other(f, row, &k);

	if (!names || (!k.is_sqlite && row->by.comm))
		return false;
	g_string_append(s, "; ");
	const bool is_own = finding_pid(f, row) == k.holder;

	if (is_own)
		g_string_append(s, "another connection of its own process");
	else
		append_holder(s, &k);
	g_string_append(s, " had ");
	if (k.is_sqlite) {
		text_safe_cut(s, k.path, FINDING_NAME_COLUMNS);
		g_string_append(s, " locked");
	} else {
		g_string_append(s, "it");
	}
	k.doer = is_own ? 0 : k.doer;	/* it waits itself */
	append_looks(s, &k);
	return true;
}

void locked_append_of_wait(GString *s, const struct findings *f, uint32_t wait)
{
	struct limit_locked k;
	g_auto(GStrv) names = find(f, NULL, wait, &k);

	if (!names || k.holder == profile_thread(f->profile, profile_wait(f->profile, wait)->thread)->pid)
		return;
	g_string_append(s, ", which ");
	append_holder(s, &k);
	g_string_append(s, " had");
	append_looks(s, &k);
}

static const char *advice_of(const struct limit_locked *k)
{
	switch (tells_doing(k) ? k->does : CHILD_OTHER) {
	case CHILD_FIFO:
		return "Who has the lock goes on when somebody opens the other end of that named pipe: start who should, or "
		       "end it. A time limit bounds such waits (timeout 60 COMMAND; flock -w, -n).";
	case CHILD_STOPPED:
		return "Who has the lock is stopped: continue it (kill -CONT), or detach its debugger.";
	case CHILD_SLEEPS:
		return k->is_sqlite ? "Let that program commit before it pauses, or pause before it writes: its transaction keeps "
				      "others from the database until it ends." :
				      "That program pauses with the lock: let go of it before, and take it anew for each part, or "
				      "have a lock of its own for that job.";
	case CHILD_NETWORK:
		if (!k->is_sqlite)
			return "That program waits for an answer with the lock: let it ask before it takes the lock, or after "
			       "it has let go.";
		G_GNUC_FALLTHROUGH;
	default:
		return k->is_sqlite ?
			       "Let that program commit sooner: prepare outside of the transaction what is written in it, as what "
			       "it asks others for. WAL (PRAGMA journal_mode=WAL) keeps writers from readers only." :
			       "That program has the lock for all of its work: let it do that outside of the lock (on a copy), or in "
			       "parts, or by a lock of its own.";
	}
}

const char *locked_advice_of(const struct findings *f, const struct finding *row)
{
	struct limit_locked k;
	g_auto(GStrv) names = find_other(f, row, &k);

	if (names && (k.is_sqlite ? finding_pid(f, row) != k.holder : !row->by.comm))
		return row->unended && (!tells_doing(&k) || (k.does != CHILD_FIFO && k.does != CHILD_STOPPED)) ?
			       NULL :
			       advice_of(&k);
	if (names || !row->by.does_ns || !row->by.does_wait || !finding_mostly_does(row))
		return NULL;
	g_auto(GStrv) theirs = find(f, NULL, row->by.does_wait - 1, &k);

	return theirs ? advice_of(&k) : NULL;
}
