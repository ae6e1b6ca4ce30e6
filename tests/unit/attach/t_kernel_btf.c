/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <glib.h>
#include <linux/btf.h>
#include <unistd.h>

#include "attach/kernel_btf.h"

/* "\0int\0handler\0run\0": offsets 1, 5, 13 */
static const char strings[] = "\0int\0handler\0run";
enum { INT_NAME = 1, HANDLER_NAME = 5, RUN_NAME = 13 };

static void put(GByteArray *to, const uint32_t *words, unsigned cnt)
{
	g_byte_array_append(to, (const guint8 *)words, cnt * (guint)sizeof(*words));
}
#define PUT(to, ...) put(to, (const uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4)
#define INFO(kind, vlen) ((uint32_t)(kind) << 24 | (vlen))

/* 1 int, 2 a struct, 3 int (*)(int, int) by way of 4, 5 handler, 6 run(). */
static GByteArray *image(void)
{
	GByteArray *types = g_byte_array_new(), *all = g_byte_array_new();

	PUT(types, INT_NAME, INFO(BTF_KIND_INT, 0), 4, 32);
	PUT(types, RUN_NAME, INFO(BTF_KIND_STRUCT, 2), 8, INT_NAME, 1, 0, INT_NAME, 1, 32);
	PUT(types, 0, INFO(BTF_KIND_FUNC_PROTO, 2), 1, 0, 1, 0, 1);
	PUT(types, 0, INFO(BTF_KIND_PTR, 0), 3);
	PUT(types, HANDLER_NAME, INFO(BTF_KIND_TYPEDEF, 0), 4);
	PUT(types, RUN_NAME, INFO(BTF_KIND_FUNC, 0), 3);
	struct btf_header h = {
		.magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(h), .type_len = types->len,
		.str_off = types->len, .str_len = sizeof(strings),
	};
	g_byte_array_append(all, (const guint8 *)&h, sizeof(h));
	g_byte_array_append(all, types->data, types->len);
	g_byte_array_append(all, (const guint8 *)strings, sizeof(strings));
	g_byte_array_unref(types);
	return all;
}

static void test_found(void)
{
	g_autoptr(GByteArray) bytes = image();
	struct kernel_btf btf;

	g_assert_cmpint(kernel_btf_from(bytes->data, bytes->len, &btf), ==, 0);
	g_assert_cmpint(kernel_btf_has_function(&btf, "run"), ==, 0);
	g_assert_cmpint(kernel_btf_has_function(&btf, "handler"), ==, -ENOENT);	/* a type */
	g_assert_cmpint(kernel_btf_has_function(&btf, "ru"), ==, -ENOENT);
	g_assert_cmpint(kernel_btf_has_function(&btf, "un"), ==, -ENOENT);
	g_assert_cmpint(kernel_btf_argument_cnt(&btf, "handler"), ==, 2);
	g_assert_cmpint(kernel_btf_argument_cnt(&btf, "run"), ==, -ENOENT);
	g_assert_cmpint(kernel_btf_id(&btf, "run", BTF_KIND_STRUCT), ==, 2);
	g_assert_cmpint(kernel_btf_id(&btf, "int", BTF_KIND_STRUCT), ==, -ENOENT);
	g_assert_cmpuint(btf.type_cnt, ==, 6);
	g_assert_cmpstr(kernel_btf_string(&btf, HANDLER_NAME), ==, "handler");
	g_assert_null(kernel_btf_string(&btf, sizeof(strings)));
	kernel_btf_close(&btf);
}

/* Cut off anywhere, or with any word changed: an answer or an error. */
static void test_damaged(void)
{
	g_autoptr(GByteArray) bytes = image();
	struct kernel_btf btf;

	for (guint len = 0; len < bytes->len; len++) {
		g_autofree void *copy = g_memdup2(bytes->data, len);
		g_assert_cmpint(kernel_btf_from(copy, len, &btf), <, 0);
	}
	for (guint at = 0; at < bytes->len; at++) {
		g_autofree uint8_t *copy = g_memdup2(bytes->data, bytes->len);

		copy[at] ^= 0xff;
		if (kernel_btf_from(copy, bytes->len, &btf) != 0)
			continue;
		g_assert_cmpint(kernel_btf_has_function(&btf, "run"), <=, 0);
		g_assert_cmpint(kernel_btf_argument_cnt(&btf, "handler"), <=, 0xffff);
		kernel_btf_close(&btf);
	}
}

/* A kind that is newer than we are is no reason to say that something is missing. */
static void test_newer(void)
{
	g_autoptr(GByteArray) bytes = image();
	struct kernel_btf btf;
	struct btf_header *h = (void *)bytes->data;
	uint32_t *info = (void *)(bytes->data + h->hdr_len + 4);

	*info = INFO(31, 0);
	g_assert_cmpint(kernel_btf_from(bytes->data, bytes->len, &btf), ==, -EINVAL);
}

static void test_running_kernel(void)
{
	struct kernel_btf btf;

	if (kernel_btf_open("/sys/kernel/btf/vmlinux", &btf) != 0) {
		g_test_skip("the kernel shows no type information");
		return;
	}
	g_assert_cmpint(kernel_btf_has_function(&btf, "schedule"), ==, 0);
	g_assert_cmpint(kernel_btf_has_function(&btf, "no_such_function"), ==, -ENOENT);
	g_assert_cmpint(kernel_btf_argument_cnt(&btf, "btf_trace_sched_switch"), >=, 4);
	g_assert_cmpint(kernel_btf_id(&btf, "task_struct", BTF_KIND_STRUCT), >, 0);
	kernel_btf_close(&btf);
	g_assert_cmpint(kernel_btf_open("/proc/self/no-such-file", &btf), ==, -ENOENT);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/kernel-btf/found", test_found);
	g_test_add_func("/kernel-btf/damaged", test_damaged);
	g_test_add_func("/kernel-btf/newer", test_newer);
	g_test_add_func("/kernel-btf/running-kernel", test_running_kernel);
	return g_test_run();
}
