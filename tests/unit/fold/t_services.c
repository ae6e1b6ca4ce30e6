/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/process_context.h"
#include "fold/services.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <glib/gstdio.h>

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_cgroups(void)
{
	static const struct {
		const char *path, *host_name, *name;
	} cases[] = {
		{ "/system.slice/mariadb.service", NULL, "mariadb.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/dbus.service", NULL, "dbus.service" },
		{ "/user.slice/user-1000.slice/session-3.scope", NULL, "session-3.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox-42.scope", NULL, "app-firefox-42.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/shop.service/worker", NULL, "shop.service" },
		{ "/user.slice/user-1000.slice/user@1000.service", NULL, "user@1000.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice", NULL, "user@1000.service" },
		{ "/init.scope", NULL, "init.scope" },
		{ "/system.slice", NULL, "system.slice" },
		{ "/docker/" HEX, NULL, "container:0123456789ab" },
		{ "/system.slice/docker-" HEX ".scope", NULL, "container:0123456789ab" },
		{ "/machine.slice/libpod-" HEX ".scope/container", NULL, "container:0123456789ab" },
		{ "/lxc.payload.web/system.slice/nginx.service", NULL, "container:web" },
		{ "/machine.slice/machine-deb12.scope", NULL, "machine:deb12" },
		{ "/kubepods/burstable/pod0a1b2c3d-1111-2222-3333-444455556666/" HEX, NULL, "pod:0a1b2c3d/0123456789ab" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0a1b2c3d_1111_2222_3333_444455556666.slice/cri-containerd-" HEX ".scope",
		  NULL, "pod:0a1b2c3d/0123456789ab" },
		{ "/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice/crio-" HEX ".scope", "checkout-5d9f-x2", "pod:checkout-5d9f-x2" },
		{ "/batch/job7", NULL, "cgroup:/batch/job7" },
		{ "batch", NULL, "cgroup:/batch" },
		{ "/", NULL, NULL },
		{ "", NULL, NULL },
		{ "/kubepods", NULL, "cgroup:/kubepods" },
		{ "/kubepods/burstable/podx", NULL, "cgroup:/kubepods/burstable/podx" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *name = service_of_cgroup(cases[i].path, cases[i].host_name);

		g_assert_cmpstr(name, ==, cases[i].name);
	}
}

#define ENVIRON(text) text, sizeof(text) - 1

static void test_environ(void)
{
	static const struct {
		const char *bytes;
		gsize len;
		const char *name, *host_name;
	} cases[] = {
		{ ENVIRON("A=b\0OTEL_SERVICE_NAME=checkout\0C=d\0"), "checkout", NULL },
		{ ENVIRON("OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=cart%20x,c=d\0"), "cart x", NULL },
		{ ENVIRON("OTEL_RESOURCE_ATTRIBUTES=service.name=cart\0OTEL_SERVICE_NAME=checkout\0"), "checkout", NULL },
		{ ENVIRON("OTEL_SERVICE_NAME=\0X=1\0"), NULL, NULL },
		{ ENVIRON("OTEL_RESOURCE_ATTRIBUTES=service.name=\0"), NULL, NULL },
		{ ENVIRON("HOSTNAME=web-1\0"), NULL, NULL },
		{ ENVIRON("HOSTNAME=web-1\0KUBERNETES_SERVICE_HOST=10.0.0.1\0"), NULL, "web-1" },
		{ ENVIRON("XOTEL_SERVICE_NAME=no\0"), NULL, NULL },
		{ ENVIRON("OTEL_SERVICE_NAME=cut o"), NULL, NULL },
		{ ENVIRON(""), NULL, NULL },
		{ ENVIRON("\0\0\0"), NULL, NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *host_name = NULL, *name = service_of_environ(cases[i].bytes, cases[i].len, &host_name);

		g_assert_cmpstr(name, ==, cases[i].name);
		g_assert_cmpstr(host_name, ==, cases[i].host_name);
	}
}

static void test_path(void)
{
	static const struct {
		const char *text, *path;
	} cases[] = {
		{ "0::/system.slice/a.service\n", "/system.slice/a.service" },
		{ "9:name=systemd:/b.slice\n1:cpu:/\n0::/\n", "/b.slice" },
		{ "9:name=systemd:/\n0::/\n", NULL },
		{ "4:memory:/x\n", NULL },
		{ "", NULL },
		{ "0::", NULL },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *path = service_cgroup_path(cases[i].text);

		g_assert_cmpstr(path, ==, cases[i].path);
	}
}

static void write_file(const char *proc, unsigned pid, const char *name, const char *bytes, gssize len)
{
	g_autofree char *folder = g_strdup_printf("%s/%u", proc, pid), *path = g_build_filename(folder, name, NULL);

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	g_assert_true(g_file_set_contents(path, bytes, len, NULL));
}

static void test_processes(void)
{
	g_autofree char *proc = g_dir_make_tmp("services-XXXXXX", NULL), *long_name = g_strnfill(5000, 'n');
	g_autofree char *long_path = g_strdup_printf("0::/%s.service\n", long_name);
	struct profile *p = profile_new();
	struct fold_services *s = fold_services_new(p, proc);
	const char *comm = profile_string(p, "x");

	write_file(proc, 7, "environ", ENVIRON("OTEL_SERVICE_NAME=checkout\0"));
	write_file(proc, 7, "cgroup", "0::/a.service\n", -1);
	write_file(proc, 8, "cgroup", "0::/a.service\n", -1);
	write_file(proc, 9, "cgroup", long_path, -1);
	g_assert_cmpstr(fold_services_name(s, 7, 1, comm, 0, false), ==, "checkout");
	g_assert_cmpstr(fold_services_name(s, 8, 1, comm, 0, false), ==, "a.service");
	g_assert_cmpuint(strlen(fold_services_name(s, 9, 1, comm, 0, false)), ==, SERVICE_NAME_MAX);
	g_assert_null(fold_services_name(s, 10, 1, comm, 0, false));
	/* It is looked at once; another one with its number, and another program of it, is another one. */
	write_file(proc, 8, "cgroup", "0::/b.service\n", -1);
	g_assert_cmpstr(fold_services_name(s, 8, 1, comm, 0, false), ==, "a.service");
	g_assert_cmpstr(fold_services_name(s, 8, 2, comm, 0, false), ==, "b.service");
	/* Asked for in the window before: known.  Not in that: looked at anew. */
	fold_services_next_window(s);
	g_assert_cmpstr(fold_services_name(s, 8, 1, comm, 0, false), ==, "a.service");
	fold_services_next_window(s);
	fold_services_next_window(s);
	g_assert_cmpstr(fold_services_name(s, 8, 1, comm, 0, false), ==, "b.service");
	/* No more than so many a window. */
	for (unsigned i = 0; i < SERVICES_A_WINDOW; i++)
		fold_services_name(s, 1000 + i, 1, comm, 0, false);
	g_assert_null(fold_services_name(s, 7, 1, comm, 0, false));
	fold_services_next_window(s);
	g_assert_cmpstr(fold_services_name(s, 7, 1, comm, 0, false), ==, "checkout");
	/* The profile's strings go; what is known of processes stays. */
	struct profile_compact *c = profile_compact_begin(p);

	fold_services_keep(s, c);
	profile_compact_end(c);
	write_file(proc, 7, "environ", ENVIRON("OTEL_SERVICE_NAME=another\0"));
	g_assert_cmpstr(fold_services_name(s, 7, 1, profile_string(p, "x"), 0, false), ==, "checkout");
	fold_services_free(s);
	profile_free(p);
	g_autofree char *command = g_strdup_printf("rm -r %s", proc);
	g_assert_true(g_spawn_command_line_sync(command, NULL, NULL, NULL, NULL));
}

/* A message's field with a length: all of ours are short. */
static void put_field(GString *to, unsigned number, const GString *bytes)
{
	g_string_append_c(to, (char)(number << 3 | 2));
	g_string_append_c(to, (char)bytes->len);
	g_string_append_len(to, bytes->str, (gssize)bytes->len);
}

static void put_text(GString *to, unsigned number, const char *text)
{
	g_autoptr(GString) bytes = g_string_new(text);

	put_field(to, number, bytes);
}

static void put_attribute(GString *to, const char *key, const char *text)
{
	g_autoptr(GString) value = g_string_new(NULL), attribute = g_string_new(NULL);

	put_text(value, 1, text);
	put_text(attribute, 1, key);
	put_field(attribute, 2, value);
	put_field(to, 1, attribute);
}

static GString *resource_of(const char *service)
{
	GString *resource = g_string_new(NULL);

	put_attribute(resource, "host.name", "db1");
	put_attribute(resource, "service.name", service);
	g_string_append(resource, "\x10\x01");	/* dropped_attributes_count */
	return resource;
}

static void test_context(void)
{
	g_autoptr(GString) resource = resource_of("checkout"), context = g_string_new(NULL), none = g_string_new(NULL);
	g_autoptr(process_context) of_resource = process_context_decode(resource->str, resource->len);
	g_autoptr(process_context) of_context = NULL;

	put_field(context, 1, resource);
	put_attribute(none, "service.namespace", "shop");
	of_context = process_context_decode(context->str, context->len);
	g_assert_cmpstr(of_resource->service, ==, "checkout");
	g_assert_cmpstr(of_context->service, ==, "checkout");
	g_assert_null(process_context_decode(none->str, none->len));
	g_assert_null(process_context_decode("", 0));
	for (gsize cut = 0; cut < context->len - 4; cut++) {
		g_autofree char *own = g_memdup2(context->str, cut + 1);

		process_context_free(process_context_decode(own, cut));
	}
	for (unsigned i = 0; i < 20000; i++) {
		g_autofree char *own = g_memdup2(context->str, context->len);
		g_autoptr(process_context) found = NULL;

		for (unsigned k = 0; k < 3; k++)
			own[g_test_rand_int_range(0, (gint32)context->len)] = (char)g_test_rand_int();
		found = process_context_decode(own, context->len);
		g_assert_true(!found || !found->service || g_utf8_validate(found->service, -1, NULL));
	}
}

struct context_header {
	char signature[8];
	uint32_t version, payload_bytes;
	uint64_t published_at_ns, payload;
};

/* As an SDK does it; read as that of another process is. */
static void test_published_context(void)
{
	struct context_header *header;
	g_autoptr(GString) resource = resource_of("published"), payload = g_string_new(NULL);
	const uint32_t pid = (uint32_t)getpid();
	struct profile *p = profile_new();
	struct fold_services *s = fold_services_new(p, "/proc");
	const char *comm = profile_string(p, "x");
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	g_assert_cmpint(ftruncate(fd, 4096), ==, 0);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	g_assert_true(header != MAP_FAILED);
	close(fd);
	put_field(payload, 1, resource);
	header->version = 2;
	header->payload_bytes = (uint32_t)payload->len;
	header->payload = (uintptr_t)payload->str;
	memcpy(header->signature, "OTEL_CTX", 8);
	/* it is being written; so it is looked for again later */
	for (unsigned i = 0; i < 4; i++) {
		g_assert_cmpstr(fold_services_name(s, pid, 1, comm, 0, false), !=, "published");
		fold_services_next_window(s);
	}
	header->published_at_ns = 1;
	g_assert_cmpstr(fold_services_name(s, pid, 1, comm, 0, false), ==, "published");
	header->payload = 8;
	g_assert_null(process_context_service("/proc", pid));
	header->payload = (uintptr_t)payload->str;
	header->version = 1;
	g_assert_null(process_context_service("/proc", pid));
	munmap(header, 4096);
	fold_services_free(s);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/services/cgroups", test_cgroups);
	g_test_add_func("/services/environ", test_environ);
	g_test_add_func("/services/path", test_path);
	g_test_add_func("/services/processes", test_processes);
	g_test_add_func("/services/context", test_context);
	g_test_add_func("/services/published-context", test_published_context);
	return g_test_run();
}
