/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "supply/tables.h"

#include <bpf/bpf.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "abi/space_abi.h"
#include "base/each.h"
#include "base/find.h"
#include "base/proc/status.h"
#include "base/urgency.h"
#include "supply/tables_part.h"

#define SERVED_US 450000	/* a compiler is likely to have ended by then */
#define PAUSE_TIMES 20	/* pause between two readings of a program's mappings, as a multiple of the last one's time */
#define PAUSE_TIMES_RUNTIME 4	/* the same for a search for its runtime, which takes 30 ms for a large one */
#define HEADLESS_US 1000000	/* interval of checks whether a process without its first thread is alive */
#define IDLE_US 1000000	/* interval of checks when nothing happens */

struct program_mapping {
	uint64_t start, end, pgoff;
	struct table_file *file;
};

/* A traced process's program. */
struct program {
	uint32_t pid;
	struct handover handover;
	GArray *mappings;	/* struct program_mapping, by address */
	bool stale;		/* it has mapped more since, or was never read */
	bool is_headless;	/* its first thread has exited, others live: no event reports the last one's exit */
	int64_t due_us;		/* not to be read before: a program may map things without end */
	bool is_new;		/* the mappings were not published since they were read */
	int64_t quiet_until_us;	/* nothing to do before then, unless it maps more; 0: check it in each pass */
	struct runtimes runtimes;
};

enum message_kind {
	MESSAGE_WANT,
	MESSAGE_MMAP,
	MESSAGE_EXIT,
	MESSAGE_FILE,
	MESSAGE_LOSS,
	MESSAGE_FORESEE,
	MESSAGE_FORESEE_COMMAND,
	MESSAGE_BUILT,
	MESSAGE_END,
};

struct message {
	enum message_kind kind;
	uint32_t pid;
	uint64_t space;
	union {
		struct table_file *file;
		char *name;
		struct maps_line *line;	/* with its path, from g_malloc(), too */
		GArray *files;	/* as in tables_want() */
	};
};

struct tables {
	GAsyncQueue *inbox;	/* struct message */
	GThread *supplier;
	volatile uint32_t *epoch;	/* atomic */
	gint languages_fd, contexts_fd;	/* atomic; -1: not there yet */
	gint is_ending;		/* atomic: pending work is of no use */
	gint unfinished;	/* atomic: pending messages, including builds */
	gint published_cnt, refused_cnt;	/* atomic */
	GHashTable *noted;	/* struct noted_file; of the thread that calls tables_note_file() */
	/* the supplier thread's */
	struct slabs *slabs;
	struct table_files *files;
	struct retired_tables *retired;
	int spaces_fd, file_tables_fd;
	unsigned seen_changed_cnt;	/* table_files_changed_cnt() at the last change_epoch() */
	uint32_t epoch_cnt;
	bool hurries;
	GHashTable *programs;	/* pid -> struct program */
	bool changed;		/* some programs are to be checked again */
	bool was_asked;
	int64_t due_us;		/* when the next program is due, or INT64_MAX */
	uint64_t no_room_cnt;	/* for spaces, and for tables of code made at run time */
	GMutex crowded_lock;	/* protects: pid -> number of excess mappings */
	GHashTable *crowded;
};


static void send_message(struct tables *t, const struct message *message)
{
	struct message *copy = g_new(struct message, 1);

	*copy = *message;
	/* a build counts from its start */
	if (message->kind != MESSAGE_BUILT)
		g_atomic_int_inc(&t->unfinished);
	g_async_queue_push(t->inbox, copy);
}

void tables_tell(struct tables *t, volatile uint32_t *epoch, int languages_fd, int contexts_fd)
{
	g_atomic_int_set(&t->contexts_fd, contexts_fd);
	g_atomic_int_set(&t->languages_fd, languages_fd);
	g_atomic_pointer_set(&t->epoch, epoch);
}

void tables_prefetch(struct tables *t, uint32_t pid)
{
	send_message(t, &(struct message){ .kind = MESSAGE_FORESEE, .pid = pid });
}

void tables_prefetch_command(struct tables *t, const char *name)
{
	send_message(t, &(struct message){ .kind = MESSAGE_FORESEE_COMMAND, .name = g_strdup(name) });
}

void tables_want(struct tables *t, uint32_t pid, uint64_t space, GArray *files)
{
	send_message(t, &(struct message){ .kind = MESSAGE_WANT, .pid = pid, .space = space, .files = files });
}

void tables_note_mmap(struct tables *t, uint32_t pid)
{
	send_message(t, &(struct message){ .kind = MESSAGE_MMAP, .pid = pid });
}

void tables_note_exit(struct tables *t, uint32_t pid)
{
	send_message(t, &(struct message){ .kind = MESSAGE_EXIT, .pid = pid });
}

#define NOTED_FOR_US 10000000
#define NOTED_MAX 4096

struct noted_file {
	struct maps_file id;
	int64_t at_us;
};

void tables_note_file(struct tables *t, uint32_t pid, const struct maps_line *line)
{
	const struct noted_file key = { maps_file_of(line), g_get_monotonic_time() };
	struct noted_file *noted = g_hash_table_lookup(t->noted, &key);
	struct maps_line *copy;

	if (noted && key.at_us - noted->at_us < NOTED_FOR_US)
		return;
	if (g_hash_table_size(t->noted) >= NOTED_MAX)
		g_hash_table_remove_all(t->noted);
	g_hash_table_add(t->noted, g_memdup2(&key, sizeof(key)));
	copy = g_memdup2(line, sizeof(*line));
	copy->path = g_strdup(line->path);
	send_message(t, &(struct message){ .kind = MESSAGE_FILE, .pid = pid, .line = copy });
}

void tables_note_loss(struct tables *t)
{
	send_message(t, &(struct message){ .kind = MESSAGE_LOSS });
}

/* In a builder's thread. */
static void on_built(struct table_file *file, void *data)
{
	send_message(data, &(struct message){ .kind = MESSAGE_BUILT, .file = file });
}

bool tables_idle(const struct tables *t)
{
	return g_atomic_int_get(&t->unfinished) == 0;
}

uint64_t tables_published_cnt(const struct tables *t)
{
	return (uint64_t)g_atomic_int_get(&t->published_cnt);
}

uint64_t tables_refused_cnt(const struct tables *t)
{
	return (uint64_t)g_atomic_int_get(&t->refused_cnt);
}

void tables_for_each_crowded(struct tables *t, tables_crowded_fn fn, void *data)
{
	GHashTableIter iter;
	gpointer pid, left_out;

	g_mutex_lock(&t->crowded_lock);
	g_hash_table_iter_init(&iter, t->crowded);
	while (g_hash_table_iter_next(&iter, &pid, &left_out))
		fn(GPOINTER_TO_UINT(pid), GPOINTER_TO_UINT(left_out), data);
	g_mutex_unlock(&t->crowded_lock);
}

/* The rest runs in the supplier's thread. */
static void forget_mappings(struct program *program)
{
	for (guint i = 0; i < program->mappings->len; i++)
		table_file_unuse(g_array_index(program->mappings, struct program_mapping, i).file);
	g_array_set_size(program->mappings, 0);
}

static void program_free(gpointer p)
{
	struct program *program = p;

	forget_mappings(program);
	g_array_unref(program->mappings);
	made_code_free(program->runtimes.made);
	g_free(program);
}

/* Called for each mapping of a process; false: the process has ended. */
typedef void (*mapping_fn)(struct tables *t, uint32_t pid, const struct maps_line *line, void *data);

static bool for_each_mapping(struct tables *t, uint32_t pid, mapping_fn fn, void *data)
{
	g_autofree char *text = living_maps("/proc", pid, MAPS_TEXT_MAX);

	if (!text || !*text)
		return false;
	g_autoptr(GArray) lines = maps_parse(text);

	for (guint i = 0; i < lines->len; i++)
		fn(t, pid, &g_array_index(lines, struct maps_line, i), data);
	return true;
}

/* A build begins with its file's first look-up, and only here. */
static struct table_file *file_of(struct tables *t, uint32_t pid, const struct maps_line *line)
{
	unsigned before = table_files_building(t->files);
	struct table_file *file = table_files_of_mapping(t->files, pid, line);

	g_atomic_int_add(&t->unfinished, (gint)(table_files_building(t->files) - before));
	return file;
}

static void add_mapping(struct tables *t, uint32_t pid, const struct maps_line *m, void *data)
{
	struct program *program = data;

	runtimes_meet(&program->runtimes, m);
	if (!m->is_exec)
		return;
	struct program_mapping mapping = { m->start, m->end, m->pgoff, file_of(t, pid, m) };

	if (!mapping.file)
		return;
	table_file_use(mapping.file);
	g_array_append_val(program->mappings, mapping);
}

/* False when the process has ended. */
static bool read_mappings(struct tables *t, struct program *program)
{
	g_autoptr(GArray) before = program->mappings;
	struct program old = { .mappings = before };

	program->mappings = g_array_new(FALSE, FALSE, sizeof(struct program_mapping));
	program->stale = program->is_headless;
	program->is_new = true;
	int64_t began_us = g_get_monotonic_time();
	program->handover.read_ns = (uint64_t)began_us * 1000;
	runtimes_begin(&program->runtimes);
	bool ok = for_each_mapping(t, program->pid, add_mapping, program);
	int64_t read_us = g_get_monotonic_time();
	runtimes_look(&program->runtimes, program->pid, t->slabs, t->retired);
	program->handover.v8 = program->runtimes.v8;
	int64_t looked_us = g_get_monotonic_time();
	int64_t pause_us = PAUSE_TIMES * (read_us - began_us) + PAUSE_TIMES_RUNTIME * (looked_us - read_us);
	program->due_us = looked_us + MAX(pause_us, program->is_headless ? HEADLESS_US : 0);
	forget_mappings(&old);
	return ok;
}

static bool is_ready(const struct program *program)
{
	return !ANY_ROW(const struct program_mapping, x, program->mappings, x->file->state == TABLE_FILE_QUEUED);
}

/* How many mappings of the same file and offset lie before it; 0: there is one executable segment anyway. */
static size_t earlier_alike(const struct program *program, const struct program_mapping *m)
{
	size_t cnt = 0;

	EACH_IN(i, const struct elf_segment, s, m->file->segments, m->file->segment_cnt)
		cnt += s->is_exec;
	if (cnt < 2)
		return 0;
	cnt = 0;
	EACH_ROW(i, const struct program_mapping, other, program->mappings)
		cnt += other->file == m->file && other->pgoff == m->pgoff && other->start < m->start;
	return cnt;
}

/* The program's mappings whose files have tables. */
static GArray *mappings_with_table(struct program *program)
{
	GArray *all = g_array_new(FALSE, TRUE, sizeof(struct space_mapping));

	EACH_ROW(i, const struct program_mapping, m, program->mappings) {
		const struct table_file *file = m->file;
		uint64_t vaddr;

		if (file->state != TABLE_FILE_READY ||
		    !elf_segments_mapping_vaddr(file->segments, file->segment_cnt, m->pgoff,
						earlier_alike(program, m), &vaddr))
			continue;
		const struct space_mapping mapping = {
			.start = m->start, .end = m->end, .bias = m->start - vaddr + file->base,
			.rows_block = file->table->rows_block, .index_block = file->table->index_block,
			.page_cnt = file->table->page_cnt,
		};
		g_array_append_val(all, mapping);
		runtimes_meet_labels(&program->runtimes, &file->labels, m->start - vaddr);
	}
	if (program->runtimes.made)
		made_code_add_mappings(program->runtimes.made, all);
	return all;
}

static void note_crowded(struct tables *t, uint32_t pid, guint left_out)
{
	gpointer key = GUINT_TO_POINTER(pid);

	g_mutex_lock(&t->crowded_lock);
	if (GPOINTER_TO_UINT(g_hash_table_lookup(t->crowded, key)) < left_out)
		g_hash_table_insert(t->crowded, key, GUINT_TO_POINTER(left_out));
	g_mutex_unlock(&t->crowded_lock);
}

static bool hand_over(const struct program *program, int fd, const void *what)
{
	return fd >= 0 && !bpf_map_update_elem(fd, &program->handover.space, what, BPF_ANY);
}

static void hand_runtimes_over(struct tables *t, struct program *program)
{
	const struct runtimes *r = &program->runtimes;
	struct offcpu_context_place context;

	program->handover.speaks = 0;
	if (r->language.version && hand_over(program, g_atomic_int_get(&t->languages_fd), &r->language))
		program->handover.speaks |= SPACE_HAS_LANGUAGE;
	if (runtimes_context(r, program->pid, &context) &&
	    hand_over(program, g_atomic_int_get(&t->contexts_fd), &context))
		program->handover.speaks |= SPACE_HAS_CONTEXT;
}

/* Lets the programs look up spaces and tables again. */
static void change_epoch(struct tables *t)
{
	volatile uint32_t *epoch = g_atomic_pointer_get(&t->epoch);

	t->seen_changed_cnt = table_files_changed_cnt(t->files);
	if (epoch)
		*epoch = ++t->epoch_cnt;
}

static void publish(struct tables *t, struct program *program)
{
	g_autoptr(GArray) all = mappings_with_table(program);

	if (all->len > SPACE_PARTED_MAX)
		note_crowded(t, program->pid, all->len - SPACE_PARTED_MAX);
	program->is_new = false;
	hand_runtimes_over(t, program);
	if (!handover_put(&program->handover, t->spaces_fd, (const struct space_mapping *)all->data,
			  MIN(all->len, SPACE_PARTED_MAX), (uint32_t)t->published_cnt + 1))
		t->no_room_cnt++;
	g_atomic_int_inc(&t->published_cnt);
	change_epoch(t);
}

static void withdraw(struct tables *t, struct program *program)
{
	if (program->handover.speaks & SPACE_HAS_LANGUAGE)
		bpf_map_delete_elem(g_atomic_int_get(&t->languages_fd), &program->handover.space);
	if (program->handover.speaks & SPACE_HAS_CONTEXT)
		bpf_map_delete_elem(g_atomic_int_get(&t->contexts_fd), &program->handover.space);
	handover_withdraw(&program->handover, t->spaces_fd);
}

/* Until it is read the unwinder uses the kernel's list of its mappings, which costs less than reading it. */
static bool do_suffice(struct tables *t, const GArray *files)
{
	for (guint i = 0; i < files->len; i++)
		if (!table_files_suffice(t->files, &g_array_index(files, struct maps_file, i)))
			return false;
	return true;
}

static void want_program(struct tables *t, const struct message *m)
{
	struct program *program = g_hash_table_lookup(t->programs, GUINT_TO_POINTER(m->pid));

	t->was_asked = true;
	if (program && program->handover.space == m->space)
		return;
	if (program)
		withdraw(t, program);
	program = g_new0(struct program, 1);
	program->pid = m->pid;
	program->handover.space = m->space;
	program->mappings = g_array_new(FALSE, FALSE, sizeof(struct program_mapping));
	program->stale = true;
	program->due_us = m->files && do_suffice(t, m->files) ? g_get_monotonic_time() + SERVED_US : 0;
	g_hash_table_insert(t->programs, GUINT_TO_POINTER(m->pid), program);
	t->changed = true;
}

static void read_again(struct tables *t, struct program *program)
{
	program->stale = t->changed = true;
	program->quiet_until_us = 0;
}

static void note_mmap(struct tables *t, uint32_t pid)
{
	struct program *program = g_hash_table_lookup(t->programs, GUINT_TO_POINTER(pid));

	if (program)
		read_again(t, program);
}

static void note_exit(struct tables *t, uint32_t pid)
{
	struct program *program = g_hash_table_lookup(t->programs, GUINT_TO_POINTER(pid));

	if (!program)
		return;
	if (living_thread("/proc", pid)) {
		program->is_headless = true;
		program->due_us = g_get_monotonic_time() + HEADLESS_US;
		read_again(t, program);
		return;
	}
	withdraw(t, program);
	g_hash_table_remove(t->programs, GUINT_TO_POINTER(pid));
}

/* After lost events everything must be read again. */
static void note_loss(struct tables *t)
{
	EACH_VALUE(struct program, program, t->programs)
		read_again(t, program);
}

static void build_mapped(struct tables *t, uint32_t pid, const struct maps_line *m, void *data)
{
	if (m->is_exec)
		file_of(t, pid, m);
}

/* After the first request by the programs prefetching hardly matters. */
static void prefetch_process(struct tables *t, uint32_t pid)
{
	g_autoptr(GArray) all = NULL;

	if (pid) {
		if (!t->was_asked)
			for_each_mapping(t, pid, build_mapped, NULL);
		return;
	}
	all = process_ids();
	for (guint i = 0; i < all->len; i++) {
		uint32_t found = g_array_index(all, uint32_t, i);

		if (found != (uint32_t)getpid())
			tables_prefetch(t, found);
	}
}

/* Our libc and vdso are likely to be the command's, too. */
static void build_if_common(struct tables *t, uint32_t pid, const struct maps_line *m, void *data)
{
	uint64_t in_libc = (uint64_t)(uintptr_t)getauxval;

	if ((in_libc >= m->start && in_libc < m->end) || strcmp(m->path, "[vdso]") == 0)
		file_of(t, pid, m);
}

static void prefetch_command(struct tables *t, const char *name)
{
	g_autofree char *path = g_find_program_in_path(name);
	g_autofree char *absolute = path ? g_canonicalize_filename(path, NULL) : NULL;
	unsigned before;

	for_each_mapping(t, (uint32_t)getpid(), build_if_common, NULL);
	before = table_files_building(t->files);
	if (absolute)
		table_files_prefetch(t->files, absolute);
	g_atomic_int_add(&t->unfinished, (gint)(table_files_building(t->files) - before));
}

static void handle_message(struct tables *t, const struct message *m)
{
	switch (m->kind) {
	case MESSAGE_WANT:
		want_program(t, m);
		if (m->files)
			g_array_unref(m->files);
		break;
	case MESSAGE_MMAP:
		note_mmap(t, m->pid);
		break;
	case MESSAGE_EXIT:
		note_exit(t, m->pid);
		break;
	case MESSAGE_FILE:
		file_of(t, m->pid, m->line);
		g_free((char *)m->line->path);
		g_free(m->line);
		break;
	case MESSAGE_LOSS:
		note_loss(t);
		break;
	case MESSAGE_FORESEE:
		prefetch_process(t, m->pid);
		break;
	case MESSAGE_FORESEE_COMMAND:
		prefetch_command(t, m->name);
		g_free(m->name);
		break;
	case MESSAGE_BUILT:
		table_files_built(t->files, m->file);
		t->changed = true;
		break;
	case MESSAGE_END:
		break;
	}
}

/* False when nothing is left to do for it. */
static bool look_at_program(struct tables *t, struct program *program, int64_t now_us)
{
	bool is_early = program->stale && program->due_us > now_us;	/* the previous mappings are used until then */

	if (is_early && !program->handover.read_ns) {	/* there are none */
		program->quiet_until_us = program->due_us;
		return true;
	}
	if (program->stale && !is_early && !read_mappings(t, program))
		return false;
	program->quiet_until_us = 0;
	t->due_us = MIN(t->due_us, program->stale ? program->due_us : INT64_MAX);
	if (!is_ready(program))
		return true;
	program->is_new |= program->runtimes.made && made_code_look(program->runtimes.made, &t->no_room_cnt);
	program->is_new |= runtimes_look_again(&program->runtimes, program->pid);
	if (program->is_new)
		publish(t, program);
	program->quiet_until_us = MIN(made_code_due_us(program->runtimes.made), runtimes_due_us(&program->runtimes));
	if (program->stale)
		program->quiet_until_us = MIN(program->quiet_until_us, program->due_us);
	return true;
}

static void look_at_programs(struct tables *t)
{
	int64_t now_us = g_get_monotonic_time();
	GHashTableIter iter;
	gpointer value;

	if (!t->changed && now_us < t->due_us)
		return;
	t->changed = false;
	t->due_us = INT64_MAX;
	g_hash_table_iter_init(&iter, t->programs);
	while (g_hash_table_iter_next(&iter, NULL, &value) && !g_atomic_int_get(&t->is_ending)) {
		struct program *program = value;

		if (now_us >= program->quiet_until_us && !look_at_program(t, program, now_us)) {
			withdraw(t, program);
			g_hash_table_iter_remove(&iter);
		} else if (program->quiet_until_us) {
			t->due_us = MIN(t->due_us, program->quiet_until_us);
		}
	}
}

static struct message *next_message(struct tables *t)
{
	int64_t wait_us = MIN(t->due_us - g_get_monotonic_time(), IDLE_US);

	if (wait_us <= 0)
		return g_async_queue_try_pop(t->inbox);
	return g_async_queue_timeout_pop(t->inbox, (guint64)wait_us);
}

static gpointer run_supplier(gpointer data)
{
	struct tables *t = data;
	bool is_end = false;

	if (t->hurries)
		table_files_hurry();
	while (!is_end) {
		struct message *m = next_message(t);
		gint taken_cnt = 0;

		for (; m; m = g_async_queue_try_pop(t->inbox)) {
			is_end |= m->kind == MESSAGE_END || g_atomic_int_get(&t->is_ending);
			handle_message(t, m);
			taken_cnt++;
			g_free(m);
			if (is_end)
				break;
		}
		look_at_programs(t);
		if (table_files_changed_cnt(t->files) != t->seen_changed_cnt)
			change_epoch(t);
		retired_tables_sweep(t->retired, false);
		if (table_files_sweep(t->files))
			note_loss(t);
		g_atomic_int_set(&t->refused_cnt, (gint)(t->no_room_cnt + table_files_refused_cnt(t->files)));
		g_atomic_int_add(&t->unfinished, -taken_cnt);
	}
	return NULL;
}

/* If the recording fails its maps are freed with it. */
static int create_map(struct bpf_map *map, GError **error)
{
	int fd = slabs_create_map(map, -1), err = fd < 0 ? fd : bpf_map__reuse_fd(map, fd);

	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(-err),
		    "the kernel's room for programs' mappings cannot be made: %s", g_strerror(-err));
	return -1;
}

struct tables *tables_new(struct bpf_map *slabs, struct bpf_map *spaces, struct bpf_map *file_tables, bool hurries,
			  GError **error)
{
	struct slabs *room = slabs_new(slabs, error);
	int spaces_fd = room ? create_map(spaces, error) : -1;
	int file_tables_fd = spaces_fd >= 0 ? create_map(file_tables, error) : -1;
	struct tables *t;

	if (file_tables_fd < 0) {
		if (spaces_fd >= 0)
			close(spaces_fd);
		slabs_free(room);
		return NULL;
	}
	t = g_new0(struct tables, 1);
	t->slabs = room;
	t->spaces_fd = spaces_fd;
	t->file_tables_fd = file_tables_fd;
	t->noted = g_hash_table_new_full(maps_file_hash, maps_file_equal, g_free, NULL);
	t->languages_fd = t->contexts_fd = -1;
	t->due_us = INT64_MAX;
	t->inbox = g_async_queue_new();
	t->programs = g_hash_table_new_full(NULL, NULL, NULL, program_free);
	t->crowded = g_hash_table_new(NULL, NULL);
	t->hurries = hurries;
	t->retired = retired_tables_new(room);
	t->files = table_files_new(room, file_tables_fd, hurries, on_built, t);
	t->supplier = urgency_thread_new("tables", run_supplier, t);
	return t;
}

void tables_free(struct tables *t)
{
	struct message *m;

	if (!t)
		return;
	g_atomic_int_set(&t->is_ending, 1);
	send_message(t, &(struct message){ .kind = MESSAGE_END });
	g_thread_join(t->supplier);
	while ((m = g_async_queue_try_pop(t->inbox))) {
		handle_message(t, m);
		g_free(m);
	}
	g_hash_table_destroy(t->programs);
	retired_tables_free(t->retired);
	if (!table_files_free(t->files))
		return;
	g_async_queue_unref(t->inbox);
	g_hash_table_destroy(t->crowded);
	g_hash_table_destroy(t->noted);
	close(t->file_tables_fd);
	close(t->spaces_fd);
	slabs_free(t->slabs);
	g_free(t);
}
