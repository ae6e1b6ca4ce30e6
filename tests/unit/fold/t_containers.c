/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Files of container runtimes, as these wrote them, cut down to what stands around what is sought. */

#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "fold/services.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *text, *name;
} files[] = {
	/* Docker */
	{ "{\"StreamConfig\":{},\"State\":{\"Running\":true,\"Pid\":1234},\"ID\":\"" HEX "\",\"Created\":\"2026-01-02T03:04:05Z\",\"Args\":[\"1000\"],"
	  "\"Config\":{\"Hostname\":\"0123456789ab\",\"Cmd\":[\"sleep\"],\"Labels\":{}},\"Name\":\"/eager_hopper\",\"Driver\":\"overlay2\"}", "container:eager_hopper" },
	{ "{\"Config\":{\"Labels\":{\"com.docker.compose.project\":\"shop\",\"com.docker.compose.oneoff\":\"False\",\"com.docker.compose.service\":\"web\"}},"
	  "\"Name\":\"/shop-web-1\"}", "container:shop/web" },
	{ "{\"Config\":{\"Labels\":{\"com.docker.swarm.service.name\":\"shop_web\",\"com.docker.swarm.task.name\":\"shop_web.1.x9\"}},\"Name\":\"/shop_web.1.x9\"}",
	  "container:shop_web" },
	{ "{\"Config\":{\"Labels\":null},\"Name\":\"/a\"}", "container:a" },
	/* the kubelet by way of Docker */
	{ "{\"Name\":\"/k8s_app_checkout-0\",\"Config\":{\"Labels\":{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"checkout-0\","
	  "\"io.kubernetes.pod.namespace\":\"shop\"}}}", "pod:shop/checkout-0/app" },
	/* containerd */
	{ "{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"/app\"],\"env\":[\"A=b\"]},\"hostname\":\"x\",\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
	  "\"io.kubernetes.cri.container-type\":\"container\",\"io.kubernetes.cri.sandbox-name\":\"checkout-6d4cf56db6-x7k2p\","
	  "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"},\"linux\":{}}", "pod:shop/checkout/app" },
	{ "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"checkout\",\"io.kubernetes.cri.sandbox-name\":\"checkout-6d4cf56db6-x7k2p\","
	  "\"io.kubernetes.cri.sandbox-namespace\":\"shop\"}}", "pod:shop/checkout" },
	{ "{\"annotations\":{\"io.kubernetes.cri.container-type\":\"sandbox\",\"io.kubernetes.cri.sandbox-name\":\"fluentd-x7k2p\","
	  "\"io.kubernetes.cri.sandbox-namespace\":\"kube-system\"}}", "pod:kube-system/fluentd" },
	{ "{\"annotations\":{\"nerdctl/name\":\"cache\",\"nerdctl/namespace\":\"default\"}}", "container:cache" },
	/* CRI-O; its sandbox is a container called POD */
	{ "{\"annotations\":{\"io.kubernetes.container.name\":\"POD\",\"io.kubernetes.pod.name\":\"db-0\",\"io.kubernetes.pod.namespace\":\"shop\"}}", "pod:shop/db-0" },
	/* Podman */
	{ "[{\"id\":\"" OTHER "\",\"names\":[\"other\"],\"image\":\"\"},{\"id\":\"" HEX "\",\"names\":[\"web\",\"alias\"],\"metadata\":\"{}\"}]", "container:web" },
	{ "[{\"id\":\"" HEX "\",\"names\":[\"web\"],\"image\":\"5376\",\"layer\":\"00c8\",\"metadata\":\"{\\\"image-name\\\":\\\"localhost/tiny:latest\\\","
	  "\\\"name\\\":\\\"web\\\"}\",\"created\":\"2026-11-27T06:59:17.933360063Z\",\"flags\":{\"MountLabel\":\"\",\"ProcessLabel\":\"\"}}]", "container:web" },
	{ "[{\"id\":\"" OTHER "\",\"names\":[\"other\"]}]", NULL },
	{ "[{\"names\":[\"other\"]}]", NULL },
	{ "[1,null,[],{\"id\":\"" HEX "\",\"names\":[]}]", NULL },
	{ "{\"ociVersion\":\"1.0.2\",\"annotations\":{\"io.container.manager\":\"libpod\"}}", NULL },
	/* none of ours */
	{ "", NULL }, { "{}", NULL }, { "[]", NULL }, { "null", NULL }, { "{\"Name\":\"", NULL }, { "{\"Name\":\"/a\"", NULL },
	{ "{\"Name\":7,\"annotations\":[],\"Config\":\"x\",\"names\":{}}", NULL },
};

static void test_files(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		g_autofree char *name = container_decode(files[i].text, strlen(files[i].text), HEX);

		g_assert_cmpstr(name, ==, files[i].name);
	}
}

static void test_damaged(void)
{
	for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
		size_t len = strlen(files[i].text);

		for (unsigned k = 0; len && k < 3000; k++) {
			g_autofree char *own = g_memdup2(files[i].text, len), *name = NULL;

			for (unsigned n = 0; n < 3; n++)
				own[g_test_rand_int_range(0, (gint32)len)] = (char)g_test_rand_int();
			name = container_decode(own, (size_t)g_test_rand_int_range(0, (gint32)len + 1), HEX);
			g_assert_true(!name || g_utf8_validate(name, -1, NULL));
		}
	}
}

static void test_workload(void)
{
	static const char *const cases[][2] = {
		{ "checkout-6d4cf56db6-x7k2p", "checkout" }, { "web-front-5d9f7c6b4d-zz2lm", "web-front" }, { "fluentd-x7k2p", "fluentd" },
		{ "db-0", "db-0" },	{ "etcd-node1", "etcd-node1" }, { "nightly-28123456-x7k2p", "nightly-28123456" },
		{ "web-front", "web-front" }, { "x7k2p", "x7k2p" }, { "-x7k2p", "-x7k2p" }, { "", "" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *pod = g_strdup(cases[i][0]);

		container_workload(pod);
		g_assert_cmpstr(pod, ==, cases[i][1]);
	}
}

static void write_file(const char *root, const char *folder, const char *name, const char *text)
{
	g_autofree char *dir = g_build_filename(root, folder, NULL), *path = g_build_filename(dir, name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(dir, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

/* By way of a process's control group; a container that nobody names has its number, as before. */
static void test_places(void)
{
	g_autofree char *proc = g_dir_make_tmp("containers-XXXXXX", NULL), *root = g_build_filename(proc, "1/root", NULL);
	g_autofree char *command = g_strdup_printf("rm -r %s", proc);
	struct profile *p = profile_new();
	struct fold_services *s = fold_services_new(p, proc);
	const char *comm = profile_string(p, "x");

	write_file(root, "data/docker/containers/" HEX, "config.v2.json", "{\"Name\":\"/web\"}");
	write_file(root, "var/lib", "none", "");
	g_autofree char *link = g_build_filename(root, "var/lib/docker", NULL);

	g_assert_cmpint(symlink("/data/docker", link), ==, 0);	/* as the host reads it */
	write_file(proc, "7", "cgroup", "0::/system.slice/docker-" HEX ".scope\n");
	write_file(proc, "8", "cgroup", "0::/system.slice/docker-" OTHER ".scope\n");
	write_file(proc, "9", "cgroup", "0::/kubepods/burstable/pod0a1b2c3d-1111-2222-3333-444455556666/" OTHER "\n");
	g_assert_cmpstr(fold_services_name(s, 7, 1, comm, 0, false), ==, "container:web");
	g_assert_cmpstr(fold_services_name(s, 8, 1, comm, 0, false), ==, "container:1123456789ab");
	g_assert_cmpstr(fold_services_name(s, 9, 1, comm, 0, false), ==, "pod:0a1b2c3d/1123456789ab");
	/* It is read once; its name stays when the profile's strings go. */
	g_assert_cmpint(unlink(link), ==, 0);
	struct profile_compact *c = profile_compact_begin(p);

	fold_services_keep(s, c);
	profile_compact_end(c);
	g_assert_cmpstr(fold_services_name(s, 7, 2, profile_string(p, "x"), 0, false), ==, "container:web");
	fold_services_free(s);
	profile_free(p);
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

static void check_groups(const char *proc, const char *mount, const char *name, const char *expected)
{
	g_autofree char *alike = NULL;
	g_autoptr(GPtrArray) paths = service_groups_find(proc, mount, name, &alike);
	g_autoptr(GString) text = g_string_new(NULL);

	for (guint i = 0; i < paths->len; i++)
		g_string_append_printf(text, "%s%s", i ? " " : "", (char *)g_ptr_array_index(paths, i) + strlen(mount));
	if (!paths->len)
		g_string_append_printf(text, "? %s", alike ?: "");
	g_assert_cmpstr(text->str, ==, expected);
}

static void test_groups(void)
{
	g_autofree char *proc = g_dir_make_tmp("containers-XXXXXX", NULL), *root = g_build_filename(proc, "1/root", NULL);
	g_autofree char *mount = g_build_filename(proc, "mount", NULL), *command = g_strdup_printf("rm -r %s", proc);

	write_file(root, "var/lib/docker/containers/" HEX, "config.v2.json",
		   "{\"Config\":{\"Labels\":{\"com.docker.compose.project\":\"shop\",\"com.docker.compose.oneoff\":\"False\","
		   "\"com.docker.compose.service\":\"web\"}},\"Name\":\"/shop-web-1\"}");
	write_file(mount, "system.slice/docker-" HEX ".scope/init", "cgroup.procs", "");
	write_file(mount, "system.slice/docker-" OTHER ".scope", "cgroup.procs", "");
	write_file(mount, "system.slice/nginx.service/worker", "cgroup.procs", "");
	for (const char *const *name = (const char *const[]){ "web", "shop/web", "container:shop/web", "0123456", HEX, NULL }; *name; name++)
		check_groups(proc, mount, *name, "/system.slice/docker-" HEX ".scope");
	check_groups(proc, mount, "container:1123456789ab", "/system.slice/docker-" OTHER ".scope");
	check_groups(proc, mount, "nginx", "/system.slice/nginx.service");
	check_groups(proc, mount, "nginx.service", "/system.slice/nginx.service");
	check_groups(proc, mount, "worker", "/system.slice/nginx.service/worker");
	check_groups(proc, mount, "nginxx.service", "? nginx.service");
	check_groups(proc, mount, "01234", "? container:0123456789ab");
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

static void test_home(void)
{
	static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n+::::::\nbroken\nalice:x:1000:1000:A, B:/home/alice:/bin/sh\n"
				     "bob:x:10001:100::home/bob:/bin/sh\ncarol:x:1001:1001::/srv/carol:";
	static const struct {
		uint32_t uid;
		const char *home;
	} cases[] = { { 0, "/root" }, { 1000, "/home/alice" }, { 1001, "/srv/carol" }, { 10001, NULL }, { 100, NULL }, { UINT32_MAX, NULL } };

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *home = container_home(passwd, cases[i].uid);

		g_assert_cmpstr(home, ==, cases[i].home);
	}
}

#define AT_HOME ".local/share/containers/storage/overlay-containers"

static const char *service_in(const char *proc, const char *path)
{
	struct profile *p = profile_new();
	struct fold_services *s = fold_services_new(p, proc);
	g_autofree char *text = g_strdup_printf("0::%s\n", path);
	const char *name;

	write_file(proc, "7", "cgroup", text);
	name = g_intern_string(fold_services_name(s, 7, 1, profile_string(p, "x"), 0, false));
	fold_services_free(s);
	profile_free(p);
	return name;
}

/* A user's own Podman and Docker; another user's list is not asked, nor one that the user does not own. */
static void test_users(void)
{
	g_autofree char *proc = g_dir_make_tmp("containers-XXXXXX", NULL), *root = g_build_filename(proc, "1/root", NULL);
	g_autofree char *command = g_strdup_printf("rm -r %s", proc), *passwd = NULL, *its = NULL, *other = NULL, *list = NULL;
	const uint32_t uid = getuid() ? getuid() : 1000;

	passwd = g_strdup_printf("root:x:0:0::/root:/bin/sh\nalice:x:%u:100::/home/alice:/bin/sh\nbob:x:%u:100::/home/alice:/bin/sh\n", uid, uid + 1);
	its = g_strdup_printf("/user.slice/user-%u.slice/user@%u.service/user.slice/libpod-" HEX ".scope/container", uid, uid);
	other = g_strdup_printf("/user.slice/user-%u.slice/user@%u.service/user.slice/docker-" HEX ".scope", uid + 1, uid + 1);
	list = g_build_filename(root, "home/alice/" AT_HOME "/volatile-containers.json", NULL);
	write_file(root, "etc", "passwd", passwd);
	g_assert_cmpstr(service_in(proc, its), ==, "container:0123456789ab");
	write_file(root, "home/alice/" AT_HOME, "containers.json", "[]");
	write_file(root, "home/alice/" AT_HOME, "volatile-containers.json", "[{\"id\":\"" HEX "\",\"names\":[\"db\"]}]");
	if (!getuid()) {
		g_assert_cmpstr(service_in(proc, its), ==, "container:0123456789ab");	/* root's file */
		g_assert_cmpint(chown(list, uid, 100), ==, 0);
	}
	g_assert_cmpstr(service_in(proc, its), ==, "container:db");
	g_assert_cmpstr(service_in(proc, other), ==, "container:0123456789ab");
	g_assert_cmpstr(service_in(proc, "/machine.slice/libpod-" HEX ".scope/container"), ==, "container:0123456789ab");
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/containers/files", test_files);
	g_test_add_func("/containers/damaged", test_damaged);
	g_test_add_func("/containers/workload", test_workload);
	g_test_add_func("/containers/places", test_places);
	g_test_add_func("/containers/groups", test_groups);
	g_test_add_func("/containers/home", test_home);
	g_test_add_func("/containers/users", test_users);
	return g_test_run();
}
