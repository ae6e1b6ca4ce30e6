/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/refuse.h"
#include "base/urgency.h"
#include "profile/profile.h"
#include "profile/profile_file.h"
#include "profile/profile_rows.h"
#include "profile/profile_schema.h"

static int fill(sqlite3 *db, const struct profile *p, profile_file_more more, void *data)
{
	struct profile plain = *p;
	GArray waits = *p->waits;
	int rc = profile_create_tables(db);

	/* samples have their own table, even after profile_on_cpu_as_waits() */
	while (waits.len && profile_wait(p, waits.len - 1)->state == ON_CPU_STATE)
		waits.len--;
	plain.waits = &waits;
	if (rc == SQLITE_OK)
		rc = profile_write_threads(db, &plain);
	if (rc == SQLITE_OK)
		rc = profile_write_rest(db, &plain);
	if (rc == SQLITE_OK && more)
		rc = more(db, data);
	return rc == SQLITE_OK ? sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) : rc;
}

GBytes *profile_file_bytes(const struct profile *p, profile_file_more more, void *data, GError **error)
{
	sqlite3 *db = NULL;
	sqlite3_int64 len_bytes = 0;
	unsigned char *bytes = NULL;
	int rc = sqlite3_open(":memory:", &db);

	if (rc == SQLITE_OK)
		rc = fill(db, p, more, data);
	if (rc == SQLITE_OK)
		bytes = sqlite3_serialize(db, "main", &len_bytes, 0);
	if (!bytes)
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM, "the recording cannot be made: %s",
			    rc != SQLITE_OK && db ? sqlite3_errmsg(db) : "no memory");
	sqlite3_close(db);
	return bytes ? g_bytes_new_with_free_func(bytes, (gsize)len_bytes, sqlite3_free, bytes) : NULL;
}

/* The paths of a recording. They are in one directory, so that renames are atomic. */
struct target {
	const char *path;
	char *dir, *tmp, *old;
	bool tmp_is_ours;	/* remove it on failure */
	int fd;			/* of tmp */
};

/* Is everything but threads and states known? REST_REFUSED: do not write it. */
enum rest { REST_UNKNOWN, REST_KNOWN, REST_REFUSED };

/*
 * State of the temporary file. Abandoning waits while it is being created, and nothing is created or renamed
 * afterwards.
 */
enum stage { STAGE_NO_FILE, STAGE_BEING_MADE, STAGE_MADE, STAGE_ABANDONED, STAGE_BEING_PLACED };
#define BEING_MADE_STEP_NS 200000

struct profile_file {
	const struct profile *profile;
	struct target to;	/* used by the thread until it ends */
	GThread *thread;
	GError *unsound;	/* the error of profile_check() */
	gint stage;		/* enum stage; atomic */
	GMutex lock;		/* protects the following */
	GCond rest_is_known;
	enum rest rest;
};

static bool fail(const struct target *to, GError **error, int errnum, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
static bool fail(const struct target *to, GError **error, int errnum, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	g_autofree char *what = g_strdup_vprintf(format, ap);
	va_end(ap);
	return refuse(error, G_FILE_ERROR, (int)g_file_error_from_errno(errnum), "cannot write '%s': %s", to->path,
		      what);
}

static void target_init(struct target *to, const char *path)
{
	g_autofree char *dir = g_path_get_dirname(path), *base = g_path_get_basename(path);

	/* never a name that SQLite could take for a URI */
	to->dir = g_path_is_absolute(dir) ? g_steal_pointer(&dir) : g_strdup_printf("./%s", dir);
	to->path = path;
	to->tmp = g_strdup_printf("%s/.%s.tmp-%ld", to->dir, base, (long)getpid());
	to->old = g_strconcat(path, ".old", NULL);
	to->tmp_is_ours = false;
	to->fd = -1;
}

static void target_clear(struct target *to)
{
	if (to->fd >= 0)
		close(to->fd);
	if (to->tmp_is_ours)
		unlink(to->tmp);
	g_free(to->dir);
	g_free(to->tmp);
	g_free(to->old);
}

/* An existing file must be one that may be renamed. */
static bool check_target(const struct target *to, GError **error)
{
	struct stat st;

	if (stat(to->path, &st) == 0 && !S_ISREG(st.st_mode))
		return fail(to, error, EISDIR, S_ISDIR(st.st_mode) ? "it is a directory" : "it is not a regular file");
	if (lstat(to->old, &st) == 0 && S_ISDIR(st.st_mode) && access(to->path, F_OK) == 0)
		return fail(to, error, EISDIR, "the older recording cannot be kept: '%s' is a directory", to->old);
	return true;
}

#define LEFT_AFTER_S 60
#define LEAST_BYTES (152 * 1024)	/* size of an empty recording */

/* Some file systems do not report their size, and root may use their reserve. */
static bool is_full(const char *dir)
{
	struct statvfs fs;

	return statvfs(dir, &fs) == 0 && fs.f_blocks &&
	       (uint64_t)(geteuid() ? fs.f_bavail : fs.f_bfree) * fs.f_frsize < LEAST_BYTES;
}

/*
 * Removes the temporary file of a killed process. A live writer holds the file's lock, whatever its pid namespace; a
 * new file may not be locked yet.
 */
static void left_tmp_remove(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_mtim.tv_sec < g_get_real_time() / G_USEC_PER_SEC - LEFT_AFTER_S && flock(fd, LOCK_EX | LOCK_NB) == 0)
		unlink(path);
	close(fd);
}

/* Removes leftover temporary files of this recording's path. */
static void left_tmps_remove(const struct target *to)
{
	GDir *dir = g_dir_open(to->dir, 0, NULL);
	g_autofree char *base = g_path_get_basename(to->path), *prefix = g_strdup_printf(".%s.tmp-", base);
	const char *name;

	while (dir && (name = g_dir_read_name(dir))) {
		const char *id = name + strlen(prefix);
		g_autofree char *path = g_strdup_printf("%s/%s", to->dir, name);

		if (g_str_has_prefix(name, prefix) && *id && strspn(id, "0123456789") == strlen(id))
			left_tmp_remove(path);
	}
	g_clear_pointer(&dir, g_dir_close);
}

bool profile_file_may_write(const char *path, GError **error)
{
	struct target to;
	bool may;

	target_init(&to, path);
	may = check_target(&to, error);
	/* better to fail now than after a long window */
	if (may && faccessat(AT_FDCWD, to.dir, W_OK | X_OK, AT_EACCESS) != 0)
		may = fail(&to, error, errno, "no file can be made in '%s': %s", to.dir, g_strerror(errno));
	if (may && is_full(to.dir))
		may = fail(&to, error, ENOSPC, "there is no room for a recording in '%s': %s", to.dir, g_strerror(ENOSPC));
	if (may)
		left_tmps_remove(&to);
	target_clear(&to);
	return may;
}

static bool create_tmp(struct target *to, GError **error)
{
	for (int i = 0; i < 2 && to->fd < 0; i++) {
		/* private like perf.data: it describes other users' processes */
		to->fd = open(to->tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		/* Left by a killed process with our pid. */
		if (to->fd < 0 && (errno != EEXIST || unlink(to->tmp) != 0))
			break;
	}
	if (to->fd >= 0)
		flock(to->fd, LOCK_EX | LOCK_NB);	/* held while this process lives: left_tmp_remove() */
	if (to->fd < 0)
		return fail(to, error, errno, "no file can be made in '%s': %s", to->dir, g_strerror(errno));
	to->tmp_is_ours = true;
	return true;
}

int profile_create_tables(sqlite3 *db)
{
	/* Nobody uses the file until it is renamed: no journal, no sync, no locks. */
	g_autofree char *pragmas = g_strdup_printf("PRAGMA page_size=4096; PRAGMA journal_mode=OFF;"
						   "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
						   "PRAGMA encoding='UTF-8'; PRAGMA cache_size=-8192; BEGIN;"
						   "PRAGMA application_id=%d; PRAGMA user_version=%d;",
						   PROFILE_FILE_APPLICATION_ID, PROFILE_FILE_SCHEMA);
	int rc = sqlite3_exec(db, pragmas, NULL, NULL, NULL);

	for (int i = 0; rc == SQLITE_OK && i < TABLE_CNT; i++) {
		g_autofree char *sql = profile_table_sql(&profile_tables[i]);

		rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, profile_views, NULL, NULL, NULL);
	return rc;
}

/* The error is errno's if the system failed, else SQLite's. */
static bool fail_db(const struct target *to, sqlite3 *db, int rc, GError **error)
{
	int errnum = 0;

	/* not sqlite3_system_errno(): later calls overwrite it */
	if (db)
		sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &errnum);
	if ((rc & 0xff) == SQLITE_FULL)
		errnum = ENOSPC;
	if (errnum && ((rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_FULL || (rc & 0xff) == SQLITE_CANTOPEN))
		return fail(to, error, errnum, "%s", g_strerror(errnum));
	return fail(to, error, EIO, "%s", db ? sqlite3_errmsg(db) : sqlite3_errstr(rc));
}

/* False: the file must not be written. */
static bool await_rest(struct profile_file *f)
{
	g_mutex_lock(&f->lock);
	while (f->rest == REST_UNKNOWN)
		g_cond_wait(&f->rest_is_known, &f->lock);
	bool is_known = f->rest == REST_KNOWN;

	g_mutex_unlock(&f->lock);
	return is_known;
}

/*
 * SQLite opens the file by its name. In a folder of another user that name may now be another file, or a link to one
 * of ours. Then our own file is open only once. This is checked before anything is written.
 */
static bool is_opened_twice(const struct target *to)
{
	GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
	const char *name;
	unsigned cnt = 0;
	struct stat ours, st;

	if (!dir || fstat(to->fd, &ours) != 0) {
		g_clear_pointer(&dir, g_dir_close);
		return false;
	}
	while ((name = g_dir_read_name(dir)))
		cnt += fstat((int)g_ascii_strtoll(name, NULL, 10), &st) == 0 && st.st_dev == ours.st_dev &&
		       st.st_ino == ours.st_ino;
	g_dir_close(dir);
	return cnt == 2;
}

static bool number_of(const char *name, unsigned *ret)
{
	const char *text = g_getenv(name);
	guint64 number;

	if (!text || !g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT32 - 1, &number, NULL))
		return false;
	*ret = (unsigned)number;
	return true;
}

/* In a folder of the user who called sudo the recording is theirs. Done last: nobody changes a partial one. */
static void give_to_caller(const struct target *to)
{
	struct stat dir;
	unsigned uid, gid;

	if (geteuid() == 0 && number_of("SUDO_UID", &uid) && number_of("SUDO_GID", &gid) && stat(to->dir, &dir) == 0 &&
	    dir.st_uid == uid && fchown(to->fd, uid, gid) != 0)
		g_debug("%s: it stays root's: %s", to->path, g_strerror(errno));
}

static bool fill_tmp(struct profile_file *f, GError **error)
{
	sqlite3 *db = NULL;
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX;
	int rc = sqlite3_open_v2(f->to.tmp, &db, flags, "unix-none");
	bool ok = true;

	if (rc == SQLITE_OK && !is_opened_twice(&f->to)) {
		sqlite3_close(db);
		return fail(&f->to, error, EPERM, "somebody has exchanged the file that is being written");
	}
	if (rc == SQLITE_OK)
		rc = profile_create_tables(db);
	if (rc == SQLITE_OK)
		rc = profile_write_threads(db, f->profile);
	if (rc == SQLITE_OK && await_rest(f))
		rc = profile_write_rest(db, f->profile);
	if (rc == SQLITE_OK)
		rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	if (rc != SQLITE_OK)
		ok = fail_db(&f->to, db, rc, error);
	rc = sqlite3_close(db);
	if (ok && rc != SQLITE_OK)
		ok = fail_db(&f->to, NULL, rc, error);
	if (ok)
		give_to_caller(&f->to);
	if (ok && await_rest(f) && fsync(f->to.fd) != 0)
		ok = fail(&f->to, error, errno, "%s", g_strerror(errno));
	return ok;
}

static bool enter_stage(struct profile_file *f, enum stage from, enum stage to)
{
	return g_atomic_int_compare_and_exchange(&f->stage, (gint)from, (gint)to);
}

static bool fail_abandoned(const struct profile_file *f, GError **error)
{
	return fail(&f->to, error, EINTR, "it was abandoned");
}

static bool make_file(struct profile_file *f, GError **error)
{
	bool ok;

	if (!enter_stage(f, STAGE_NO_FILE, STAGE_BEING_MADE))
		return fail_abandoned(f, error);
	ok = create_tmp(&f->to, error);
	g_atomic_int_set(&f->stage, ok ? STAGE_MADE : STAGE_NO_FILE);
	return ok;
}

static gpointer write_file(gpointer data)
{
	struct profile_file *f = data;
	GError *error = NULL;

	if (check_target(&f->to, &error) && make_file(f, &error))
		fill_tmp(f, &error);
	return error;
}

/* Without atomic exchange (NFS and others), PATH is missing for a moment. */
static bool replace_by_two_renames(struct target *to, GError **error)
{
	if (rename(to->path, to->old) != 0)
		return fail(to, error, errno, "the older recording cannot be kept as '%s': %s", to->old,
			    g_strerror(errno));
	if (rename(to->tmp, to->path) != 0) {
		int errnum = errno;

		rename(to->old, to->path);
		return fail(to, error, errnum, "%s", g_strerror(errnum));
	}
	to->tmp_is_ours = false;
	return true;
}

/*
 * Renames tmp to PATH and an existing PATH to PATH.old. The exchange comes first, because it can be undone: PATH is
 * always a complete recording, and if the second step fails, everything is as before.
 */
static bool replace(struct target *to, GError **error)
{
	if (renameat2(AT_FDCWD, to->tmp, AT_FDCWD, to->path, RENAME_EXCHANGE) != 0) {
		if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
			return replace_by_two_renames(to, error);
		return fail(to, error, errno, "%s", g_strerror(errno));
	}
	/* now tmp is the older recording: do not remove it */
	to->tmp_is_ours = false;
	if (rename(to->tmp, to->old) == 0)
		return true;

	int errnum = errno;

	to->tmp_is_ours = renameat2(AT_FDCWD, to->tmp, AT_FDCWD, to->path, RENAME_EXCHANGE) == 0;
	return fail(to, error, errnum, "the older recording cannot be kept as '%s': %s", to->old,
		    g_strerror(errnum));
}

static bool put_in_place(struct target *to, GError **error)
{
	struct stat st;

	if (lstat(to->path, &st) == 0) {
		if (!replace(to, error))
			return false;
	} else if (rename(to->tmp, to->path) == 0) {
		to->tmp_is_ours = false;
	} else {
		return fail(to, error, errno, "%s", g_strerror(errno));
	}
	/* The names are in place. A file system that cannot sync directories is no error. */
	int fd = open(to->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	return true;
}

struct profile_file *profile_file_begin(const struct profile *p, const char *path)
{
	struct profile_file *f = g_new0(struct profile_file, 1);

	f->profile = p;
	target_init(&f->to, path);
	g_mutex_init(&f->lock);
	g_cond_init(&f->rest_is_known);
	f->thread = urgency_thread_new("writer", write_file, f);
	return f;
}

bool profile_file_abandon(struct profile_file *f)
{
	const struct timespec step = { .tv_nsec = BEING_MADE_STEP_NS };

	while (!enter_stage(f, STAGE_NO_FILE, STAGE_ABANDONED)) {
		if (enter_stage(f, STAGE_MADE, STAGE_ABANDONED)) {
			unlink(f->to.tmp);
			return true;
		}
		if (g_atomic_int_get(&f->stage) != STAGE_BEING_MADE)
			return g_atomic_int_get(&f->stage) == STAGE_ABANDONED;
		nanosleep(&step, NULL);
	}
	return true;
}

void profile_file_complete(struct profile_file *f)
{
	/* never write what the reader would refuse */
	bool is_sound = profile_check(f->profile, &f->unsound);

	g_mutex_lock(&f->lock);
	f->rest = is_sound ? REST_KNOWN : REST_REFUSED;
	g_cond_signal(&f->rest_is_known);
	g_mutex_unlock(&f->lock);
}

bool profile_file_end(struct profile_file *f, void (*at_last)(void), GError **error)
{
	GError *failure = g_thread_join(f->thread);
	bool ok = !failure && !f->unsound;

	if (f->unsound) {
		g_propagate_prefixed_error(error, f->unsound, "cannot write '%s': ", f->to.path);
		g_clear_error(&failure);
	} else if (failure) {
		g_propagate_error(error, failure);
	}
	if (at_last)
		at_last();
	if (ok && !enter_stage(f, STAGE_MADE, STAGE_BEING_PLACED))
		ok = fail_abandoned(f, error);
	ok = ok && put_in_place(&f->to, error);
	target_clear(&f->to);
	g_mutex_clear(&f->lock);
	g_cond_clear(&f->rest_is_known);
	g_free(f);
	return ok;
}

bool profile_file_write(const struct profile *p, const char *path, GError **error)
{
	struct profile_file *f = profile_file_begin(p, path);

	profile_file_complete(f);
	return profile_file_end(f, NULL, error);
}
