/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What processes do that are not recorded: at the other ends of pipes, one or two hops on, and children that are asked by
 * an event loop over their standard input. Who waits for them cannot know why they are slow; looks from outside tell.
 */
#include "fold/targets/part.h"

#include <string.h>

#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/status.h"
#include "fold/limits/does.h"
#include "fold/limits/limits.h"
#include "profile/limits.h"

#define ENDS_MAX 24
#define HELPERS_MAX 16	/* children of one process */
#define HOPS_MAX 4
#define LOOKS_FEW 3
#define LAST_LOOKS 5
#define LAST_PAUSE_US 20000

struct end {
	uint32_t pid, asker;	/* 0: it is no helper of anybody's */
	uint32_t next;	/* the process that it waits for; 0: unknown */
	unsigned access;	/* what that one has open: enum fd_access, and which pipe or socket; 0: unknown */
	uint64_t peer_ino;
	unsigned hops, looks, busy;
	unsigned seen[CHILD_DOES_COUNT];
	char *name, there[64];
};

struct ends {
	char *proc_dir;
	GArray *rows;	/* struct end */
	GHashTable *askers;	/* processes whose children are known */
	struct pace pace;
};

static void clear_end(void *data)
{
	g_free(((struct end *)data)->name);
}

struct ends *ends_new(const char *proc_dir)
{
	struct ends *e = g_new0(struct ends, 1);

	e->proc_dir = g_strdup(proc_dir);
	e->rows = g_array_new(FALSE, TRUE, sizeof(struct end));
	g_array_set_clear_func(e->rows, clear_end);
	e->askers = g_hash_table_new(NULL, NULL);
	return e;
}

FREES(ends_free, struct ends, e, g_free(e->proc_dir); g_array_unref(e->rows); g_hash_table_unref(e->askers))

static void note(struct ends *e, uint32_t pid, uint32_t asker, unsigned hops)
{
	struct end row = { .pid = pid, .asker = asker, .hops = hops };

	if (!pid || hops > HOPS_MAX || ANY_ROW(const struct end, x, e->rows, x->pid == pid))
		return;
	for (guint i = e->rows->len; e->rows->len >= ENDS_MAX && i; i--)
		if (process_has_ended(g_array_index(e->rows, struct end, i - 1).pid))
			g_array_remove_index(e->rows, i - 1);
	if (e->rows->len >= ENDS_MAX)
		return;
	row.name = process_called(e->proc_dir, pid);
	if (!row.name)
		return;
	g_strstrip(g_strdelimit(row.name, "\n", ' '));
	g_array_append_val(e->rows, row);
}

void ends_note(struct ends *e, uint32_t pid)
{
	note(e, pid, 0, 0);
}

struct ends_of_asker {
	const char *link;
	bool has;
};

static bool take_end(const struct opener_entry *entry, void *data)
{
	struct ends_of_asker *ends = data;

	ends->has = ends->has || strcmp(entry->link, ends->link) == 0;
	return !ends->has;
}

/* Is the other end of its standard input the asker's? */
static bool is_helper(const struct ends *e, struct net_tables *nets, uint32_t asker, uint32_t child)
{
	static const char socket[] = "socket:[";
	g_autofree char *path = g_strdup_printf("%s/%u/fd/0", e->proc_dir, child), *link = opener_link(path);
	g_autofree char *fds = g_strdup_printf("%s/%u/fd", e->proc_dir, asker), *there = NULL;

	if (link && g_str_has_prefix(link, socket)) {
		const GArray *locals = net_tables_unix(nets);
		const struct unix_socket *s =
			locals ? unix_table_find(locals, g_ascii_strtoull(link + strlen(socket), NULL, 10)) : NULL;

		there = s && s->peer ? g_strdup_printf("socket:[%" G_GUINT64_FORMAT "]", s->peer) : NULL;
	} else if (link && g_str_has_prefix(link, "pipe:[")) {
		there = g_strdup(link);
	}
	struct ends_of_asker ends = { .link = there };

	return there && opener_list(fds, true, take_end, &ends) && ends.has;
}

void ends_note_helpers(struct ends *e, struct net_tables *nets, uint32_t pid)
{
	if (!g_hash_table_add(e->askers, GUINT_TO_POINTER(pid)))
		return;
	g_autoptr(GArray) below = processes_below(e->proc_dir, pid, HELPERS_MAX + 1);

	for (guint i = 1; i < below->len; i++)
		if (is_helper(e, nets, pid, g_array_index(below, uint32_t, i)))
			note(e, g_array_index(below, uint32_t, i), pid, 0);
}

/* A helper at its standard input has nothing to do. */
static bool is_busy(const struct looked *at)
{
	static const enum child_does busy[] = {
		CHILD_RUNS, CHILD_DISK, CHILD_SLEEPS, CHILD_PIPE, CHILD_PIPE_FULL, CHILD_FILE_LOCK, CHILD_NETWORK,
	};

	return at->fd != 0 && ANY(x, busy, *x == at->does);
}

static void look_at(struct ends *e, struct end *row, struct net_tables *nets)
{
	const struct looker l = { nets, NULL, e->proc_dir };
	struct looked at;

	if (!looker_look(&l, row->pid, &at))
		return;
	row->looks++;
	row->busy += is_busy(&at);
	row->seen[at.does]++;
	if (at.there[0])
		g_strlcpy(row->there, at.there, sizeof(row->there));
	if (!at.peer_ino)
		return;
	row->peer_ino = at.peer_ino;
	row->access = at.does == CHILD_PIPE_FULL ? FD_READS : at.does == CHILD_PIPE ? FD_WRITES : FD_READS | FD_WRITES;
}

/* False: of one that is waited for it is not known which process that is. */
static bool find_next(struct ends *e, const struct fd_owners *owners)
{
	bool is_known = true;

	for (guint i = 0; i < e->rows->len; i++) {
		struct end *row = &g_array_index(e->rows, struct end, i);
		unsigned others;
		const uint32_t next =
			row->peer_ino ? fd_owners_find(owners, row->peer_ino, row->access, row->pid, &others) : 0;

		row->next = next ?: row->next;
		is_known = is_known && (next || !row->peer_ino);
		note(e, next, 0, row->hops + 1);	/* may move the row */
	}
	return is_known;
}

static void look_at_all(struct ends *e, const struct client_search *s)
{
	struct net_tables *nets = net_tables_new(e->proc_dir);	/* connections may be short */

	EACH_ROW(i, struct end, row, e->rows)
		look_at(e, row, nets);
	find_next(e, s->owners);
	net_tables_free(nets);
}

void ends_look(struct ends *e, const struct client_search *s)
{
	if (e->rows->len && s->owners && pace_is_due(&e->pace))
		look_at_all(e, s);
}

static enum child_does most_seen(const struct end *row)
{
	unsigned most = 0;

	for (unsigned i = 1; i < CHILD_DOES_COUNT; i++)
		most = row->seen[i] > row->seen[most] ? i : most;
	return (enum child_does)most;
}

void ends_put(struct ends *e, struct profile *p, const struct client_search *s)
{
	if (e->rows->len && !find_next(e, s->owners) && fd_owners_read(s->owners, true))
		find_next(e, s->owners);
	/* whoever was found late, as a wait tells its pipe when it ends */
	for (unsigned i = 0; i < LAST_LOOKS && ANY_ROW(const struct end, x, e->rows, x->looks < LOOKS_FEW); i++) {
		g_usleep(LAST_PAUSE_US);
		look_at_all(e, s);
	}
	EACH_ROW(i, const struct end, row, e->rows) {
		/* others are there to be named */
		if (!row->looks && !ANY_ROW(const struct end, x, e->rows, x->looks && x->next == row->pid))
			continue;
		const enum child_does does = most_seen(row);
		g_autofree char *text = limit_end_text(&(struct limit_end){
			.busy = row->busy, .seen = row->seen[does], .looks = row->looks, .does = does,
			.next = row->next,
			.there = *row->there ? row->there : NULL, .name = row->name });

		profile_add_limit(p, LIMIT_END, row->pid, row->asker, text);
	}
	g_array_set_size(e->rows, 0);
	g_hash_table_remove_all(e->askers);
	e->pace = (struct pace){ 0 };
}
