/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/services.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc/mount_point.h"
#include "base/hash.h"
#include "base/opener/opener.h"
#include "symbolize/process/process_context.h"

#define ENVIRON_MAX_BYTES (64 << 10)
#define CGROUP_MAX_BYTES (16 << 10)
#define CGROUPS_MAX 16384	/* limit of cached ids; then the cache is cleared */
#define ID_SHORT 12		/* digits of a container id as container tools show it */
#define ROOT_CGROUP 1
#define CONTEXT_WINDOWS_MAX 16

struct process_key {
	uint64_t start_ns;
	const char *process;	/* an exec changes the program */
	uint32_t pid;
};

struct process {
	struct process_key key;
	const char *name;	/* NULL: unknown */
	bool is_seen;		/* used in this window */
	bool names_itself;
	uint8_t window_cnt;	/* windows in which it was used, up to CONTEXT_WINDOWS_MAX */
};

struct fold_services {
	struct profile *profile;
	char *proc_dir;
	int mount_fd;		/* of the version 2 hierarchy; -1: not open, or none */
	bool has_looked_for_mount;
	unsigned read_cnt;	/* processes read in this window */
	GHashTable *processes;	/* struct process_key -> struct process */
	GHashTable *cgroups;	/* uint64_t id -> the profile's string, or NULL */
	GHashTable *containers;	/* id of 64 digits -> the profile's string, or NULL: no runtime has its name */
};

HASH_KEY(key, struct process_key, start_ns, pid, process)

static GHashTable *processes_new(void)
{
	return g_hash_table_new_full(key_hash, key_equal, NULL, g_free);
}

struct fold_services *fold_services_new(struct profile *profile, const char *proc_dir)
{
	struct fold_services *s = g_new0(struct fold_services, 1);

	s->profile = profile;
	s->proc_dir = g_strdup(proc_dir);
	s->mount_fd = -1;
	s->processes = processes_new();
	s->cgroups = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	s->containers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	return s;
}

void fold_services_free(struct fold_services *s)
{
	if (!s)
		return;
	if (s->mount_fd >= 0)
		close(s->mount_fd);
	g_hash_table_destroy(s->processes);
	g_hash_table_destroy(s->cgroups);
	g_hash_table_destroy(s->containers);
	g_free(s->proc_dir);
	g_free(s);
}

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!g_ascii_isxdigit(text[i]))
			return false;
	return len > 0;
}

/* "docker-0123....scope", "cri-containerd-0123....scope", "0123...": 64 digits after a prefix. */
static const char *container_id(const char *part)
{
	const char *dash = strrchr(part, '-'), *id = dash ? dash + 1 : part;
	size_t len = strspn(id, "0123456789abcdef");

	return len == CONTAINER_ID_DIGITS && (!id[len] || strcmp(id + len, ".scope") == 0) ? id : NULL;
}

/* "pod0a1b..." or "kubepods-burstable-pod0a1b....slice": the pod's id. */
static const char *pod_id(const char *part)
{
	const char *pod = g_str_has_prefix(part, "pod") ? part : strstr(part, "-pod");

	if (!pod)
		return NULL;
	pod += *pod == '-' ? 4 : 3;
	return strlen(pod) >= 32 && is_hex(pod, 8) ? pod : NULL;
}

static char *of_pod(char **parts, unsigned first, const char *host_name)
{
	const char *pod = NULL, *container = NULL;

	if (host_name)
		return g_strdup_printf("pod:%s", host_name);
	for (unsigned i = first; parts[i]; i++) {
		pod = pod_id(parts[i]) ? pod_id(parts[i]) : pod;
		container = container_id(parts[i]) ? container_id(parts[i]) : container;
	}
	if (!pod)
		return NULL;
	return container ? g_strdup_printf("pod:%.8s/%.*s", pod, ID_SHORT, container)
			 : g_strdup_printf("pod:%.8s", pod);
}

static char *of_machine(const char *part)
{
	if (g_str_has_prefix(part, "lxc.payload."))
		return g_strdup_printf("container:%s", part + strlen("lxc.payload."));
	if (g_str_has_prefix(part, "machine-") && g_str_has_suffix(part, ".scope"))
		return g_strdup_printf("machine:%.*s", (int)(strlen(part) - strlen("machine-.scope")),
				       part + strlen("machine-"));
	return NULL;
}

/*
 * The innermost unit. user@1000.service contains everything a user started and says nothing, unless a scope in it has
 * a name: a terminal, a desktop program.
 */
static char *of_unit(char **parts, unsigned cnt)
{
	static const char *const kinds[] = { ".service", ".scope", ".service", ".slice" };

	for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
		for (unsigned i = cnt; i-- > 0;)
			if (g_str_has_suffix(parts[i], kinds[k]) && (k > 0 || !g_str_has_prefix(parts[i], "user@")))
				return g_strdup(parts[i]);
	return NULL;
}

char *service_container_id(const char *path)
{
	g_auto(GStrv) parts = g_strsplit(path, "/", 64);
	const char *id = NULL;

	for (char **part = parts; *part; part++)
		id = container_id(*part) ? container_id(*part) : id;
	return id ? g_strndup(id, CONTAINER_ID_DIGITS) : NULL;
}

char *service_of_cgroup(const char *path, const char *host_name)
{
	g_auto(GStrv) parts = g_strsplit(path + (*path == '/'), "/", 64);
	unsigned cnt = g_strv_length(parts);
	char *name = NULL;

	for (unsigned i = 0; i < cnt && !name; i++)
		if (g_str_has_prefix(parts[i], "kubepods"))
			name = of_pod(parts, i, host_name);
	for (unsigned i = cnt; i-- > 0 && !name;)
		if (container_id(parts[i]))
			name = g_strdup_printf("container:%.*s", ID_SHORT, container_id(parts[i]));
	for (unsigned i = 0; i < cnt && !name; i++)
		name = of_machine(parts[i]);
	if (!name)
		name = of_unit(parts, cnt);
	if (!name && cnt && *parts[0])
		name = g_strdup_printf("cgroup:%s%s", *path == '/' ? "" : "/", path);
	return name;
}

/* service.name of "key=value,key=value". */
static char *of_attributes(const char *text)
{
	g_auto(GStrv) pairs = g_strsplit(text, ",", 256);

	for (char **pair = pairs; *pair; pair++)
		if (g_str_has_prefix(g_strstrip(*pair), "service.name=") && (*pair)[strlen("service.name=")])
			return g_uri_unescape_string(*pair + strlen("service.name="), NULL);
	return NULL;
}

char *service_of_environ(const char *bytes, gsize len_bytes, char **ret_host_name)
{
	g_autofree char *host_name = NULL, *attributes = NULL;
	const char *end = bytes + len_bytes;
	bool is_in_pod = false;
	char *name = NULL;

	/* The last variable may be truncated, which would change the name. */
	for (const char *at = bytes, *stop; (stop = memchr(at, 0, (size_t)(end - at))); at = stop + 1) {
		if (g_str_has_prefix(at, "OTEL_SERVICE_NAME=") && at[18] && !name)
			name = g_strdup(at + 18);
		else if (g_str_has_prefix(at, "OTEL_RESOURCE_ATTRIBUTES=") && !attributes)
			attributes = of_attributes(at + 25);
		else if (g_str_has_prefix(at, "KUBERNETES_SERVICE_HOST="))
			is_in_pod = true;
		else if (g_str_has_prefix(at, "HOSTNAME=") && at[9] && !host_name)
			host_name = g_strdup(at + 9);
	}
	*ret_host_name = is_in_pod ? g_steal_pointer(&host_name) : NULL;
	return name ? name : g_steal_pointer(&attributes);
}

char *service_cgroup_path(const char *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", 64);
	const char *path = NULL;

	for (char **line = lines; *line; line++) {
		const char *named = strstr(*line, ":name=systemd:");

		if (g_str_has_prefix(*line, "0::/") && (*line)[4])
			return g_strdup(*line + 3);
		if (named && g_ascii_isdigit(**line))
			path = named + strlen(":name=systemd:");
	}
	return path && path[0] == '/' && path[1] ? g_strdup(path) : NULL;
}

/* Up to a number of bytes of a file in /proc. */
static char *read_some(const struct fold_services *s, uint32_t pid, const char *name, gsize max_bytes, gsize *ret_len)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/%s", s->proc_dir, pid, name);

	return opener_text(path, max_bytes, ret_len);
}

static const char *keep_name(struct fold_services *s, char *name)
{
	const char *own;

	if (!name)
		return NULL;
	if (strlen(name) > SERVICE_NAME_MAX)
		name[SERVICE_NAME_MAX] = '\0';
	own = profile_string(s->profile, name);
	g_free(name);
	return own;
}

uint32_t service_uid_of_cgroup(const char *path)
{
	const char *slice = strstr(path, "/user-");
	uint64_t uid = slice ? g_ascii_strtoull(slice + strlen("/user-"), NULL, 10) : 0;

	return uid < UINT32_MAX ? (uint32_t)uid : 0;
}

/* NULL: not a container, or its name is unknown. */
static const char *name_of_container(struct fold_services *s, const char *path)
{
	g_autofree char *id = service_container_id(path);
	gpointer known;
	const char *name;

	if (!id)
		return NULL;
	if (g_hash_table_lookup_extended(s->containers, id, NULL, &known))
		return known;
	if (g_hash_table_size(s->containers) >= CGROUPS_MAX)
		g_hash_table_remove_all(s->containers);
	name = keep_name(s, container_service(s->proc_dir, id, service_uid_of_cgroup(path)));
	g_hash_table_insert(s->containers, g_steal_pointer(&id), (gpointer)name);
	return name;
}

static const char *name_of_path(struct fold_services *s, const char *path, const char *host_name)
{
	const char *name = name_of_container(s, path);

	return name ? name : keep_name(s, service_of_cgroup(path, host_name));
}

/* The path of the group with this id, below the mount. NULL: it is gone, or access is denied. */
static char *path_of_id(struct fold_services *s, uint64_t id)
{
	g_autofree char *link = NULL, *path = NULL, *mount = NULL, *mount_link = NULL;
	int fd;

	if (!s->has_looked_for_mount) {
		g_autofree char *dir = cgroup_mount("/proc", NULL);

		s->mount_fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	}
	s->has_looked_for_mount = true;
	if (s->mount_fd < 0)
		return NULL;
	fd = opener_cgroup(s->mount_fd, id);
	if (fd < 0)
		return NULL;
	link = g_strdup_printf("/proc/self/fd/%d", fd);
	mount_link = g_strdup_printf("/proc/self/fd/%d", s->mount_fd);
	path = g_file_read_link(link, NULL);
	mount = g_file_read_link(mount_link, NULL);
	close(fd);
	if (!path || !mount || !g_str_has_prefix(path, mount) || path[strlen(mount)] != '/')
		return NULL;
	return g_strdup(path + strlen(mount));
}

static const char *name_of_id(struct fold_services *s, uint64_t id)
{
	g_autofree char *path = NULL;
	gpointer known;
	const char *name;

	if (id <= ROOT_CGROUP)
		return NULL;
	if (g_hash_table_lookup_extended(s->cgroups, &id, NULL, &known))
		return known;
	if (g_hash_table_size(s->cgroups) >= CGROUPS_MAX)
		g_hash_table_remove_all(s->cgroups);
	path = path_of_id(s, id);
	name = path ? name_of_path(s, path, NULL) : NULL;
	g_hash_table_insert(s->cgroups, g_memdup2(&id, sizeof(id)), (gpointer)name);
	return name;
}

static const char *look_up_service(struct fold_services *s, uint32_t pid, uint64_t cgroup_id, bool has_ended,
				   bool *ret_names_itself)
{
	g_autofree char *bytes = NULL, *host_name = NULL, *text = NULL, *path = NULL;
	gsize len = 0;
	char *name;

	bytes = has_ended ? NULL : read_some(s, pid, "environ", ENVIRON_MAX_BYTES, &len);
	name = bytes ? service_of_environ(bytes, len, &host_name) : NULL;
	*ret_names_itself = name;
	if (name)
		return keep_name(s, name);
	if (cgroup_id > ROOT_CGROUP && !host_name)
		return name_of_id(s, cgroup_id);
	text = read_some(s, pid, "cgroup", CGROUP_MAX_BYTES, &len);
	path = text ? service_cgroup_path(text) : NULL;
	return path ? name_of_path(s, path, host_name) : NULL;
}

/*
 * An SDK publishes it some time after the process started, so it is tried several times. Short-lived processes have
 * none.
 */
static void look_for_context(struct fold_services *s, struct process *p)
{
	char *name;

	if (p->names_itself || p->window_cnt == CONTEXT_WINDOWS_MAX)
		return;
	p->window_cnt++;
	if ((p->window_cnt != 1 && p->window_cnt != 4 && p->window_cnt != CONTEXT_WINDOWS_MAX) ||
	    s->read_cnt >= SERVICES_A_WINDOW)
		return;
	s->read_cnt++;
	name = process_context_service(s->proc_dir, p->key.pid);
	if (!name)
		return;
	p->name = keep_name(s, name);
	p->names_itself = true;
}

const char *fold_services_name(struct fold_services *s, uint32_t pid, uint64_t proc_start_ns, const char *process,
			       uint64_t cgroup_id, bool has_ended)
{
	const struct process_key key = { .pid = pid, .start_ns = proc_start_ns, .process = process };
	struct process *p = g_hash_table_lookup(s->processes, &key);

	if (!p && s->read_cnt >= SERVICES_A_WINDOW)
		return name_of_id(s, cgroup_id);
	if (!p) {
		s->read_cnt++;
		p = g_new(struct process, 1);
		*p = (struct process){ .key = key };
		p->name = look_up_service(s, pid, cgroup_id, has_ended, &p->names_itself);
		g_hash_table_insert(s->processes, &p->key, p);
	} else if (!p->is_seen) {
		look_for_context(s, p);
	}
	p->is_seen = true;
	return p->name;
}

static gboolean is_forgotten(gpointer key, gpointer value, gpointer data)
{
	struct process *p = value;
	bool was_seen = p->is_seen;

	p->is_seen = false;
	return !was_seen;
}

void fold_services_next_window(struct fold_services *s)
{
	s->read_cnt = 0;
	g_hash_table_foreach_remove(s->processes, is_forgotten, NULL);
}

/* The key contains a string of the profile. */
static void keep_processes(struct fold_services *s, struct profile_compact *c)
{
	g_autoptr(GHashTable) old = s->processes;
	GHashTableIter iter;
	gpointer value;

	s->processes = processes_new();
	g_hash_table_iter_init(&iter, old);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		struct process *p = value;

		g_hash_table_iter_steal(&iter);
		p->key.process = profile_compact_string(c, p->key.process);
		p->name = profile_compact_string(c, p->name);
		g_hash_table_insert(s->processes, &p->key, p);
	}
}

static void keep_names(GHashTable *names, struct profile_compact *c)
{
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, names);
	while (g_hash_table_iter_next(&iter, NULL, &name))
		g_hash_table_iter_replace(&iter, (gpointer)profile_compact_string(c, name));
}

void fold_services_keep(struct fold_services *s, struct profile_compact *c)
{
	keep_processes(s, c);
	keep_names(s->cgroups, c);
	keep_names(s->containers, c);
}
