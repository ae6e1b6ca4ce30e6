/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/services.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_read.h"
#include "base/opener/parser.h"
#include "symbolize/process/fileopen.h"

#define FILE_MAX_BYTES (16u << 20)	/* limit of Podman's list of all containers */
#define PASSWD_MAX_BYTES (4u << 20)
#define HOST_PID 1	/* its root shows the host's files, even from inside a container */
#define NAME_MAX_BYTES 256

/*
 * Paths on the host, with "%s" for the id. The first file that has a name wins. Volatile containers are those of
 * `podman run --rm`, as in Podman's systemd units.
 */
static const char *const places[] = {
	"/var/lib/docker/containers/%s/config.v2.json",
	"/var/snap/docker/common/var-lib-docker/containers/%s/config.v2.json",
	"/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	"/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	"/run/k0s/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	"/var/snap/microk8s/common/run/containerd/io.containerd.runtime.v2.task/k8s.io/%s/config.json",
	"/run/containerd/io.containerd.runtime.v2.task/default/%s/config.json",
	"/run/containers/storage/overlay-containers/%s/userdata/config.json",
	"/var/lib/containers/storage/overlay-containers/containers.json",
	"/var/lib/containers/storage/overlay-containers/volatile-containers.json",
	"/run/containers/storage/overlay-containers/volatile-containers.json",
	"/var/lib/containers/storage/vfs-containers/containers.json",
	"/var/lib/containers/storage/vfs-containers/volatile-containers.json",
};

/* In the home directory of the container's user. */
static const char *const places_at_home[] = {
	"/.local/share/containers/storage/overlay-containers/containers.json",
	"/.local/share/containers/storage/overlay-containers/volatile-containers.json",
	"/.local/share/containers/storage/vfs-containers/containers.json",
	"/.local/share/containers/storage/vfs-containers/volatile-containers.json",
	"/.local/share/docker/containers/%s/config.v2.json",
};

enum fact {
	FACT_NAME,
	FACT_COMPOSE_PROJECT,
	FACT_COMPOSE_SERVICE,
	FACT_SWARM_SERVICE,
	FACT_NAMESPACE,
	FACT_POD,
	FACT_CONTAINER,
	FACTS
};

/* Labels of Docker (which the kubelet uses, too), annotations of the others. */
static const struct {
	const char *key;
	enum fact fact;
} labels[] = {
	{ "com.docker.compose.project", FACT_COMPOSE_PROJECT },
	{ "com.docker.compose.service", FACT_COMPOSE_SERVICE },
	{ "com.docker.swarm.service.name", FACT_SWARM_SERVICE },
	{ "io.kubernetes.cri.sandbox-namespace", FACT_NAMESPACE },
	{ "io.kubernetes.cri.sandbox-name", FACT_POD },
	{ "io.kubernetes.cri.container-name", FACT_CONTAINER },
	{ "io.kubernetes.pod.namespace", FACT_NAMESPACE },
	{ "io.kubernetes.pod.name", FACT_POD },
	{ "io.kubernetes.container.name", FACT_CONTAINER },
	{ "nerdctl/name", FACT_NAME },
};

struct facts {
	char *of[FACTS];
	bool is_other;	/* an entry of a list for another container */
};

static void facts_clear(struct facts *f)
{
	for (int i = 0; i < FACTS; i++)
		g_clear_pointer(&f->of[i], g_free);
}

static void take_fact(struct json_reader *r, struct facts *f, enum fact fact)
{
	g_autoptr(GString) text = g_string_new(NULL);

	if (json_peek(r) != '"') {
		json_skip(r);
		return;
	}
	if (!json_read_string(r, text) || !text->len || text->len > NAME_MAX_BYTES)
		return;
	g_free(f->of[fact]);
	f->of[fact] = g_utf8_make_valid(text->str, (gssize)text->len);
}

static void read_labels(struct json_reader *r, struct facts *f)
{
	g_autoptr(GString) key = g_string_new(NULL);
	bool first = true;

	json_enter(r, '{');
	while (json_next_member(r, &first, key)) {
		size_t i = 0;

		while (i < G_N_ELEMENTS(labels) && strcmp(labels[i].key, key->str) != 0)
			i++;
		if (i < G_N_ELEMENTS(labels))
			take_fact(r, f, labels[i].fact);
		else
			json_skip(r);
	}
}

/* Docker: Name, Config.Labels. */
static void read_config(struct json_reader *r, struct facts *f)
{
	g_autoptr(GString) key = g_string_new(NULL);
	bool first = true;

	json_enter(r, '{');
	while (json_next_member(r, &first, key)) {
		if (strcmp(key->str, "Labels") == 0 && json_peek(r) == '{')
			read_labels(r, f);
		else
			json_skip(r);
	}
}

/* Podman's list: names. */
static void read_names(struct json_reader *r, struct facts *f)
{
	bool first = true;

	json_enter(r, '[');
	while (json_next_element(r, &first)) {
		if (f->of[FACT_NAME])
			json_skip(r);
		else
			take_fact(r, f, FACT_NAME);
	}
}

static void read_container(struct json_reader *r, struct facts *f, const char *id)
{
	g_autoptr(GString) key = g_string_new(NULL), its = g_string_new(NULL);
	bool first = true;

	json_enter(r, '{');
	while (json_next_member(r, &first, key)) {
		char next = json_peek(r);

		if (strcmp(key->str, "annotations") == 0 && next == '{')
			read_labels(r, f);
		else if (strcmp(key->str, "Config") == 0 && next == '{')
			read_config(r, f);
		else if (strcmp(key->str, "Name") == 0 && next == '"')
			take_fact(r, f, FACT_NAME);
		else if (strcmp(key->str, "names") == 0 && next == '[')
			read_names(r, f);
		else if (strcmp(key->str, "id") == 0 && next == '"' && json_read_string(r, its))
			f->is_other = strcmp(its->str, id) != 0;
		else
			json_skip(r);
	}
}

static void read_list(struct json_reader *r, struct facts *f, const char *id)
{
	bool first = true, is_found = false;

	json_enter(r, '[');
	while (!is_found && json_next_element(r, &first)) {
		if (json_peek(r) != '{') {
			json_skip(r);
			continue;
		}
		facts_clear(f);
		f->is_other = true;	/* until its id was read */
		read_container(r, f, id);
		is_found = !f->is_other;
	}
	if (!is_found)
		facts_clear(f);
}

/* Names that Kubernetes generates have no vowels and no 0, 1, 3, so they differ from words. */
static bool is_made_up(const char *text, size_t min, size_t max)
{
	size_t len = strlen(text);

	return len >= min && len <= max && strspn(text, "bcdfghjklmnpqrstvwxz2456789") == len;
}

void container_workload(char *pod)
{
	char *dash = strrchr(pod, '-');

	if (!dash || dash == pod || !is_made_up(dash + 1, 5, 5))
		return;
	*dash = '\0';
	dash = strrchr(pod, '-');
	if (dash && dash != pod && is_made_up(dash + 1, 6, 10))
		*dash = '\0';
}

static char *name_of(struct facts *f)
{
	char **of = f->of;

	if (of[FACT_POD]) {
		container_workload(of[FACT_POD]);
		bool is_told = of[FACT_CONTAINER] && strcmp(of[FACT_CONTAINER], of[FACT_POD]) != 0 &&
			       strcmp(of[FACT_CONTAINER], "POD") != 0;

		return g_strdup_printf("pod:%s%s%s%s%s", of[FACT_NAMESPACE] ? of[FACT_NAMESPACE] : "",
				       of[FACT_NAMESPACE] ? "/" : "", of[FACT_POD], is_told ? "/" : "",
				       is_told ? of[FACT_CONTAINER] : "");
	}
	if (of[FACT_SWARM_SERVICE])
		return g_strdup_printf("container:%s", of[FACT_SWARM_SERVICE]);
	if (of[FACT_COMPOSE_SERVICE])
		return g_strdup_printf("container:%s%s%s", of[FACT_COMPOSE_PROJECT] ? of[FACT_COMPOSE_PROJECT] : "",
				       of[FACT_COMPOSE_PROJECT] ? "/" : "", of[FACT_COMPOSE_SERVICE]);
	if (!of[FACT_NAME])
		return NULL;
	return g_strdup_printf("container:%s", of[FACT_NAME] + (of[FACT_NAME][0] == '/'));
}

char *container_decode(const char *text, size_t len_bytes, const char *id)
{
	struct json_reader r = json_reader_of(text, len_bytes);
	struct facts f = { 0 };
	char *name = NULL;

	if (json_peek(&r) == '[')
		read_list(&r, &f, id);
	else
		read_container(&r, &f, id);
	if (!r.bad)
		name = name_of(&f);
	facts_clear(&f);
	return name;
}

bool container_parse(int fd, const void *id, size_t id_bytes, GByteArray *into)
{
	g_autofree char *wanted = g_strndup(id, id_bytes), *text = NULL, *name = NULL;
	size_t len;

	/* a parser that crashed may have moved the shared file position */
	text = lseek(fd, 0, SEEK_SET) == 0 ? file_read_fd(fd, FILE_MAX_BYTES, &len) : NULL;
	name = text ? container_decode(text, len, wanted) : NULL;
	if (name)
		g_byte_array_append(into, (const guint8 *)name, (guint)strlen(name));
	return name;
}

/* As the host sees it; as we see it if the root of process 1 is inaccessible. owner: of the file, 0 for any. */
static int open_of_host(const char *proc_dir, const char *path, uint32_t owner)
{
	struct stat st;
	int held = file_hold_in_process(proc_dir, HOST_PID, path, &st);

	if (held < 0 && (errno == EACCES || errno == EPERM))
		held = file_hold_here(path, &st);
	if (held < 0 || !owner || st.st_uid == owner)
		return file_open_held(held);
	close(held);
	return -1;
}

static char *ask_file(const char *proc_dir, const char *place, const char *id, uint32_t owner)
{
	g_auto(GStrv) halves = g_strsplit(place, "%s", 2);
	g_autofree char *path = g_strjoinv(id, halves);
	int fd = open_of_host(proc_dir, path, owner);
	g_autoptr(GByteArray) a = NULL;

	if (fd < 0)
		return NULL;
	a = parser_ask_or_do(PARSER_CONTAINER, container_parse, fd, id, strlen(id));
	close(fd);
	return a && a->len ? g_utf8_make_valid((const char *)a->data, a->len) : NULL;
}

char *container_home(const char *passwd, uint32_t uid)
{
	g_auto(GStrv) lines = g_strsplit(passwd, "\n", -1);
	g_autofree char *wanted = g_strdup_printf("%" PRIu32, uid);

	for (char **line = lines; *line; line++) {
		g_auto(GStrv) fields = g_strsplit(*line, ":", 7);	/* name, password, uid, gid, comment, home, shell */

		if (g_strv_length(fields) == 7 && strcmp(fields[2], wanted) == 0)
			return fields[5][0] == '/' ? g_strdup(fields[5]) : NULL;
	}
	return NULL;
}

static char *home_of(const char *proc_dir, uint32_t uid)
{
	int fd = open_of_host(proc_dir, "/etc/passwd", 0);
	g_autofree char *text = NULL;
	size_t len;

	if (fd < 0)
		return NULL;
	text = file_read_fd(fd, PASSWD_MAX_BYTES, &len);
	close(fd);
	return text ? container_home(text, uid) : NULL;
}

char *container_service(const char *proc_dir, const char *id, uint32_t uid)
{
	g_autofree char *home = NULL;
	char *name = NULL;

	for (size_t i = 0; i < G_N_ELEMENTS(places) && !name; i++)
		name = ask_file(proc_dir, places[i], id, 0);
	if (!name && uid)
		home = home_of(proc_dir, uid);
	for (size_t i = 0; home && i < G_N_ELEMENTS(places_at_home) && !name; i++) {
		g_autofree char *place = g_strconcat(home, places_at_home[i], NULL);

		name = ask_file(proc_dir, place, id, uid);
	}
	return name;
}
