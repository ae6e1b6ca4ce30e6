/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/services.h"

#include <string.h>

#include "base/text.h"

#define UNIT_SUFFIX ".service"
#define DEPTH_MAX 32
#define GROUPS_MAX 65536
#define ID_DIGITS_MIN 6	/* of a container id */
#define ALIKE_MOST 5

struct search {
	const char *proc_dir, *mount, *name;
	GPtrArray *paths;
	GPtrArray *names;	/* names of all groups seen, to suggest similar ones */
	unsigned left;
};

/* "web" matches web.service, container:web, container:shop/web and pod:shop/web; "shop/web" matches the last two. */
static bool is_called(const char *service, const char *name)
{
	const char *bare = strchr(service, ':');
	size_t len = strlen(service), name_len = strlen(name);

	if (strcmp(service, name) == 0 || (bare && strcmp(bare + 1, name) == 0))
		return true;
	if (g_str_has_prefix(service, name) && strcmp(service + name_len, UNIT_SUFFIX) == 0)
		return true;
	return len > name_len && strcmp(service + len - name_len, name) == 0 && service[len - name_len - 1] == '/';
}

static bool is_id(const char *name, const char *id)
{
	return strlen(name) >= ID_DIGITS_MIN && g_str_has_prefix(id, name);
}

/* path: relative to the mount. */
static bool is_meant(struct search *s, const char *path, const char *base)
{
	g_autofree char *id = service_container_id(base), *service = NULL;

	if (strcmp(base, s->name) == 0 || (id && is_id(s->name, id)))
		return true;
	if (id)
		service = container_service(s->proc_dir, id, service_uid_of_cgroup(path));
	if (!service)
		service = service_of_cgroup(path, NULL);
	/* groups inside of a unit or container have the same service name, and the outer one was found first */
	if (!service || (g_str_has_suffix(service, UNIT_SUFFIX) && strcmp(service, base) != 0))
		return false;
	if (is_called(service, s->name))
		return true;
	g_ptr_array_add(s->names, g_steal_pointer(&service));
	return false;
}

static void search_below(struct search *s, const char *path, unsigned depth)
{
	g_autofree char *whole = g_strconcat(s->mount, path, NULL);
	g_autoptr(GDir) dir = depth < DEPTH_MAX ? g_dir_open(whole, 0, NULL) : NULL;
	const char *base;

	while (dir && s->left && (base = g_dir_read_name(dir))) {
		g_autofree char *below = g_strconcat(path, "/", base, NULL), *absolute = g_strconcat(s->mount, below, NULL);

		if (!g_file_test(absolute, G_FILE_TEST_IS_DIR))
			continue;
		s->left--;
		if (is_meant(s, below, base))
			g_ptr_array_add(s->paths, g_steal_pointer(&absolute));
		else
			search_below(s, below, depth + 1);
	}
}

GPtrArray *service_groups_find(const char *proc_dir, const char *mount, const char *name, char **ret_alike)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
	struct search s = {
		.proc_dir = proc_dir, .mount = mount, .name = name, .names = names, .left = GROUPS_MAX,
		.paths = g_ptr_array_new_with_free_func(g_free),
	};

	search_below(&s, "", 0);
	*ret_alike = s.paths->len ? NULL : alike_list(names, name, ALIKE_NOT - 1, ALIKE_MOST);
	return s.paths;
}
