/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/incidents/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/order.h"
#include "store/blob.h"
#include "store/file.h"
#include "store/store.h"

#define FOLDER "incidents"
#define ABOUT "about"
#define LOCK ".lock"
#define RECORDING "recording.offcpu"
#define GROUP "incident"
#define DIR_MODE 0750
#define FILE_MODE 0640
#define ABOUT_MAX_BYTES 65536
#define FILES_MAX 1000		/* per incident; a folder with more is not ours */
#define TEXT_MAX_BYTES 1000

static char *folder_of(const char *dir)
{
	return g_build_filename(dir ? dir : STORE_DIR_DEFAULT, FOLDER, NULL);
}

char *incident_dir(const char *dir, const char *name)
{
	return g_build_filename(dir ? dir : STORE_DIR_DEFAULT, FOLDER, name, NULL);
}

char *incident_recording(const char *dir, const char *name)
{
	return g_build_filename(dir ? dir : STORE_DIR_DEFAULT, FOLDER, name, RECORDING, NULL);
}

bool incident_check_name(const char *name, GError **error)
{
	const char *why = NULL;

	if (!*name || strlen(name) > INCIDENT_NAME_MAX_BYTES)
		why = "it has 1 to " G_STRINGIFY(INCIDENT_NAME_MAX_BYTES) " bytes";
	else if (!g_utf8_validate(name, -1, NULL))
		why = "it is UTF-8";
	else if (*name == '.')
		why = "it does not begin with a dot";
	for (const char *at = name; !why && *at; at = g_utf8_next_char(at))
		if (*at == '/' || !g_unichar_isprint(g_utf8_get_char(at)))
			why = "it has no slash and nothing that cannot be printed";
	return !why || store_fail(error, STORE_ERROR_FILE, "that is no name of an incident: %s", why);
}

char *incident_name_of(const char *text)
{
	char *valid = g_utf8_make_valid(text, -1);
	g_autoptr(GString) s = g_string_new(NULL);

	for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
		gunichar c = g_utf8_get_char(at);

		if (s->len + 6 > INCIDENT_NAME_MAX_BYTES)
			break;
		g_string_append_unichar(s, c == '/' || !g_unichar_isprint(c) || (c == '.' && !s->len) ? '_' : c);
	}
	g_free(valid);
	return g_string_free(g_steal_pointer(&s), FALSE);
}

FREES_DATA(incident_free, struct incident, i, g_free(i->name); g_free(i->said); g_free(i->headline); g_free(i->damage))

/* ---- folders of files, without subfolders */

typedef void (*file_fn)(const char *path, void *data);

static void each_file(const char *dir, file_fn fn, void *data)
{
	GDir *d = g_dir_open(dir, 0, NULL);
	const char *name;

	for (int i = 0; d && i < FILES_MAX && (name = g_dir_read_name(d)); i++) {
		g_autofree char *path = g_build_filename(dir, name, NULL);

		fn(path, data);
	}
	g_clear_pointer(&d, g_dir_close);
}

static void add_bytes(const char *path, void *data)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		*(uint64_t *)data += (uint64_t)st.st_size;
}

static void remove_file(const char *path, void *data)
{
	unlink(path);
}

/* Other files in it keep the folder. */
static void remove_folder(const char *dir)
{
	each_file(dir, remove_file, NULL);
	rmdir(dir);
}

/* If root keeps an incident for the agent, the agent must be able to remove it. */
static void give_to_agent(const char *path, void *data)
{
	const struct stat *owner = data;

	if (lchown(path, owner->st_uid, owner->st_gid))
		return;
}

static void sync_path(const char *path, void *data)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

/* ---- the file `about` */

static char *read_about(const char *path, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char *text = g_malloc(ABOUT_MAX_BYTES + 1);
	ssize_t n = fd < 0 ? -1 : read(fd, text, ABOUT_MAX_BYTES);
	int err = errno;

	if (fd >= 0)
		close(fd);
	if (n < 0) {
		store_fail(error, STORE_ERROR_FILE, "cannot read '%s': %s", path, g_strerror(err));
		g_free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

static char *text_of(GKeyFile *file, const char *key)
{
	char *text = g_key_file_get_string(file, GROUP, key, NULL);

	if (text && strlen(text) > TEXT_MAX_BYTES) {
		char *end = g_utf8_find_prev_char(text, text + TEXT_MAX_BYTES);

		text[end ? end - text : 0] = '\0';
	}
	return text ? text : g_strdup("");
}

static uint64_t number_of(GKeyFile *file, const char *key)
{
	return g_key_file_get_uint64(file, GROUP, key, NULL);
}

static void take_about(struct incident *i, const char *dir)
{
	g_autofree char *path = g_build_filename(dir, ABOUT, NULL);
	g_autoptr(GError) error = NULL;
	g_autofree char *text = read_about(path, &error);
	g_autoptr(GKeyFile) file = g_key_file_new();

	if (text && g_key_file_load_from_data(file, text, strlen(text), G_KEY_FILE_NONE, &error)) {
		i->from_unix_ns = number_of(file, "from_unix_ns");
		i->to_unix_ns = number_of(file, "to_unix_ns");
		i->made_unix_ns = number_of(file, "made_unix_ns");
		i->windows = number_of(file, "windows");
		i->minutes = number_of(file, "minutes");
		i->hours = number_of(file, "hours");
		if (i->from_unix_ns >= i->to_unix_ns || i->to_unix_ns > PROFILE_NS_MAX)
			store_fail(&error, STORE_ERROR_DAMAGED, "'%s' does not say from when to when it is", path);
	}
	i->said = text_of(file, "said");
	i->headline = text_of(file, "headline");
	if (!error)
		return;
	i->from_unix_ns = i->to_unix_ns = 0;
	i->damage = g_strdup(error->message);
}

static bool write_about(const struct incident *i, const char *dir, GError **error)
{
	g_autofree char *path = g_build_filename(dir, ABOUT, NULL);
	g_autoptr(GKeyFile) file = g_key_file_new();

	g_key_file_set_string(file, GROUP, "said", i->said ? i->said : "");
	g_key_file_set_string(file, GROUP, "headline", i->headline ? i->headline : "");
	g_key_file_set_uint64(file, GROUP, "from_unix_ns", i->from_unix_ns);
	g_key_file_set_uint64(file, GROUP, "to_unix_ns", i->to_unix_ns);
	g_key_file_set_uint64(file, GROUP, "made_unix_ns", i->made_unix_ns);
	g_key_file_set_uint64(file, GROUP, "windows", i->windows);
	g_key_file_set_uint64(file, GROUP, "minutes", i->minutes);
	g_key_file_set_uint64(file, GROUP, "hours", i->hours);
	return g_key_file_save_to_file(file, path, error) &&
	       (chmod(path, FILE_MODE) == 0 ||
		store_fail(error, STORE_ERROR_FILE, "cannot write '%s': %s", path, g_strerror(errno)));
}

/* ---- listing */

static bool has_recording(const char *dir)
{
	g_autofree char *path = g_build_filename(dir, RECORDING, NULL);
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

ORDER_POINTERS(by_time, struct incident, ORDER_LOW(from_unix_ns) ORDER_TEXT(name))

GPtrArray *incident_list(const char *dir, GError **error)
{
	g_autofree char *folder = folder_of(dir);
	GPtrArray *all = g_ptr_array_new_with_free_func(incident_free);
	g_autoptr(GError) why = NULL;
	GDir *d = g_dir_open(folder, 0, &why);
	const char *name;

	while (d && all->len < INCIDENTS_MAX && (name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);
		struct stat st;

		if (!incident_check_name(name, NULL) || lstat(path, &st) || !S_ISDIR(st.st_mode))
			continue;
		struct incident *i = g_new0(struct incident, 1);

		i->name = g_strdup(name);
		each_file(path, add_bytes, &i->bytes);
		take_about(i, path);
		i->has_recording = has_recording(path);
		g_ptr_array_add(all, i);
	}
	g_clear_pointer(&d, g_dir_close);
	if (why && !g_error_matches(why, G_FILE_ERROR, G_FILE_ERROR_NOENT)) {
		store_fail(error, STORE_ERROR_FILE, "cannot read the incidents in '%s': %s", folder, why->message);
		g_clear_pointer(&all, g_ptr_array_unref);
	} else {
		g_ptr_array_sort(all, by_time);
	}
	return all;
}

/* ---- making */

struct incident_copy {
	const struct store_choice *c;
	const char *dir;		/* of the copy */
	struct store_file *to;		/* NULL: none is open */
	struct incident *about;
};

/* The copy's file for that tier and day, whichever part the row is in. */
static struct store_file *file_to(struct incident_copy *k, enum store_tier tier, int64_t day, GError **error)
{
	const struct store_name name = { .tier = tier, .day = day };

	if (k->to && store_name_compare(store_file_name(k->to), &name) == 0)
		return k->to;
	store_file_close(k->to);
	k->to = store_file_create(k->dir, &name, error);
	return k->to;
}

/* Copies it unchanged, without rounding or folding again. */
static bool copy_row(struct incident_copy *k, const struct store_row *row, GError **error)
{
	struct store_file *from = store_choice_file(k->c, row);
	struct merger *m = merge_new();
	const GPtrArray *names = store_file_names(from, error);
	bool ok = names && store_file_load(from, row->seq, m, error);
	struct profile *p = ok ? merge_end(m) : NULL;

	store_file_leave(from);		/* the next row goes to another profile */
	struct small_rows beside = { line_sums_new(), cells_new(), NULL };

	if (!ok)
		merge_free(m);
	if (ok && (!p || !small_rows_add(&beside, from, row, names)))
		ok = store_fail(error, STORE_ERROR_DAMAGED, "the history in '%s' is damaged", k->c->dir);
	struct store_file *to = ok ? file_to(k, row->in.tier, row->in.day, error) : NULL;

	ok = to && store_file_add(to, row, p, beside.line, beside.cells, beside.requests, error);
	profile_free(p);
	small_rows_free(&beside);
	return ok;
}

static void count(struct incident *i, const struct store_row *row)
{
	uint64_t *const of[TIER_CNT] = { &i->windows, &i->minutes, &i->hours };

	++*of[row->in.tier];
	i->from_unix_ns = i->from_unix_ns ? MIN(i->from_unix_ns, row->start_unix_ns) : row->start_unix_ns;
	i->to_unix_ns = MAX(i->to_unix_ns, store_row_end_ns(row));
}

static bool copy_gaps(struct incident_copy *k, GError **error)
{
	EACH_ROW(i, const struct store_gap, gap, k->c->gaps) {
		struct store_file *f = file_to(k, TIER_HOUR, store_day_of(gap->from_unix_ns), error);

		if (!f || !store_file_add_gap(f, gap, error))
			return false;
	}
	return true;
}

static int by_tier(gconstpointer a, gconstpointer b)
{
	const struct store_row *x = a, *y = b;

	if (x->in.tier != y->in.tier || x->in.day != y->in.day)
		return store_name_compare(&x->in, &y->in);
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* File by file, so that only one is open at a time. */
static bool copy_rows(struct incident_copy *k, GError **error)
{
	g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(struct store_row));
	bool ok = true;

	g_array_append_vals(order, k->c->rows->data, k->c->rows->len);
	g_array_sort(order, by_tier);
	for (guint i = 0; i < order->len && ok; i++) {
		const struct store_row *row = &g_array_index(order, struct store_row, i);

		ok = copy_row(k, row, error);
		count(k->about, row);
	}
	ok = ok && copy_gaps(k, error);
	g_clear_pointer(&k->to, store_file_close);
	return ok && write_about(k->about, k->dir, error);
}

/* Removes the oldest, but never the new one: whoever asked for it must find it. */
static void keep_within(const struct incident_options *o, const char *folder, const char *name)
{
	g_autoptr(GPtrArray) all = incident_list(o->dir, NULL);
	uint64_t bytes = 0;

	for (guint i = 0; all && i < all->len; i++)
		bytes += ((const struct incident *)all->pdata[i])->bytes;
	for (guint i = 0; all && i < all->len && bytes > o->max_bytes; i++) {
		const struct incident *one = all->pdata[i];
		g_autofree char *path = g_build_filename(folder, one->name, NULL);

		if (strcmp(one->name, name) == 0)
			continue;
		remove_folder(path);
		bytes -= one->bytes;
	}
}

/* Removes what a killed process left unfinished. */
static void remove_halves(const char *folder)
{
	GDir *d = g_dir_open(folder, 0, NULL);
	const char *name;

	while (d && (name = g_dir_read_name(d))) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		if (name[0] == '.' && strcmp(name, LOCK) != 0)
			remove_folder(path);
	}
	g_clear_pointer(&d, g_dir_close);
}

static int take_lock(const char *folder, const struct stat *owner, GError **error)
{
	g_autofree char *path = g_build_filename(folder, LOCK, NULL);
	int fd = -1;

	if (mkdir(folder, DIR_MODE) == 0)
		give_to_agent(folder, (void *)(uintptr_t)owner);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
	if (fd < 0) {
		store_fail(error, STORE_ERROR_FILE, "cannot write in '%s': %s", folder, g_strerror(errno));
		return -1;
	}
	give_to_agent(path, (void *)(uintptr_t)owner);
	TEMP_FAILURE_RETRY(flock(fd, LOCK_EX));
	return fd;
}

/*
 * Moves the new recording, or keeps that of the incident being replaced.  The file stays in place until everything has
 * succeeded.
 */
static bool take_recording(const struct incident_options *o, const char *half, const char *before, GError **error)
{
	g_autofree char *to = g_build_filename(half, RECORDING, NULL), *old = g_build_filename(before, RECORDING, NULL);

	if (o->recording && link(o->recording, to) == 0)
		return true;
	if ((o->recording && errno != ENOENT) || (link(old, to) && errno != ENOENT))
		return store_fail(error, STORE_ERROR_FILE, "cannot make '%s': %s", to, g_strerror(errno));
	return true;
}

static bool put_in_place(const struct incident_options *o, const char *half, const char *path, GError **error)
{
	g_autofree char *old = g_strconcat(half, ".old", NULL);
	bool is_there = g_file_test(path, G_FILE_TEST_EXISTS);

	if (is_there && o->may_replace)
		rename(path, old);
	if (rename(half, path))
		return store_fail(error, STORE_ERROR_FILE, "cannot make '%s': %s", path, g_strerror(errno));
	if (is_there)
		remove_folder(old);
	return true;
}

static bool has_room(const char *dir, GError **error)
{
	struct statvfs disk;

	if (statvfs(dir, &disk) || (uint64_t)disk.f_bavail * disk.f_frsize >= STORE_ROOM_MIN_BYTES)
		return true;
	return store_fail(error, STORE_ERROR_FILE, "cannot write in '%s': the disk is full", dir);
}

static bool keep_locked(const struct incident_options *o, const char *folder, const struct store_choice *c,
			struct stat *owner, struct incident *about, GError **error)
{
	g_autofree char *half = g_build_filename(folder, ".making", NULL);
	g_autofree char *path = g_build_filename(folder, about->name, NULL);
	struct incident_copy k = { .c = c, .dir = half, .about = about };

	remove_halves(folder);
	if (!o->may_replace && g_file_test(path, G_FILE_TEST_EXISTS))
		return store_fail(error, STORE_ERROR_BUSY, "there is an incident called '%s' already", about->name);
	if (mkdir(half, DIR_MODE))
		return store_fail(error, STORE_ERROR_FILE, "cannot make '%s': %s", half, g_strerror(errno));
	bool ok = copy_rows(&k, error) && take_recording(o, half, path, error);

	if (ok) {
		each_file(half, give_to_agent, owner);
		give_to_agent(half, owner);
		each_file(half, sync_path, NULL);
		sync_path(half, NULL);
		each_file(half, add_bytes, &about->bytes);
		if (about->bytes > o->max_bytes)
			ok = store_fail(error, STORE_ERROR_TOO_MUCH,
					"it would take more than all incidents may ([store] incidents): ask for less time");
	}
	ok = ok && put_in_place(o, half, path, error);
	if (!ok)
		remove_folder(half);
	sync_path(folder, NULL);
	if (ok && o->recording)
		unlink(o->recording);
	if (ok)
		keep_within(o, folder, about->name);
	return ok;
}

bool incident_keep(const struct incident_options *o, uint64_t from_unix_ns, uint64_t to_unix_ns, struct incident *about,
		   GError **error)
{
	const char *dir = o->dir ? o->dir : STORE_DIR_DEFAULT;
	g_autofree char *folder = folder_of(dir);
	struct stat owner;
	bool ok = false;

	if (!o->max_bytes)
		return store_fail(error, STORE_ERROR_FILE, "no incidents are kept here ([store] incidents = 0)");
	if (!incident_check_name(about->name, error) || !has_room(dir, error))
		return false;
	struct store_choice *c = store_choose(dir, from_unix_ns, to_unix_ns, 0, true, error);

	if (!c)
		return false;
	about->windows = about->minutes = about->hours = about->bytes = 0;
	about->from_unix_ns = about->to_unix_ns = 0;
	about->made_unix_ns = (uint64_t)g_get_real_time() * 1000;
	if (!c->rows->len) {
		store_fail(error, STORE_ERROR_EMPTY, "there is nothing of that time in the history in '%s'", dir);
	} else if (stat(dir, &owner)) {
		store_fail(error, STORE_ERROR_FILE, "cannot read '%s': %s", dir, g_strerror(errno));
	} else {
		int lock = take_lock(folder, &owner, error);

		ok = lock >= 0 && keep_locked(o, folder, c, &owner, about, error);
		if (lock >= 0)
			close(lock);
	}
	store_choice_free(c);
	return ok;
}
