/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/data_symbols.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of this very process. */
int data_test_global = 7;
static char data_test_zeroes[300];

static struct data_symbols *data;

static void find(const void *at, struct data_place *ret)
{
	data_symbols_find(data, (uint32_t)getpid(), 1, (uint64_t)(uintptr_t)at, 0, 0, ret);
}

static void assert_text(const void *at, uint64_t whole_bytes, const char *want)
{
	struct data_place place;

	find(at, &place);
	g_autofree char *text = data_place_text(&place, (uint64_t)(uintptr_t)at, whole_bytes);
	g_assert_cmpstr(text, ==, want);
}

static void test_variables(void)
{
	struct data_place place;

	data_test_zeroes[0] = 1;
	find(&data_test_global, &place);
	g_assert_cmpint(place.kind, ==, DATA_MODULE);
	g_assert_true(g_str_has_suffix(place.module, "t_symbolize_data_symbols"));
	g_assert_cmpuint(place.name_bytes, >=, sizeof(int));	/* more with a sanitizer */
	assert_text(&data_test_global, 0, "data_test_global");
	/* no bytes of the file, a name that is not exported */
	assert_text(data_test_zeroes, 0, "data_test_zeroes");
	assert_text(data_test_zeroes + 0x44, 0, "data_test_zeroes+0x44");
	assert_text(data_test_zeroes + 0x44, 299, "data_test_zeroes+0x44");
	assert_text(data_test_zeroes + 0x44, 4096, "data_test_zeroes");
	/* a library's */
	find((const void *)stderr, &place);
	g_assert_cmpint(place.kind, ==, DATA_MODULE);
	g_assert_nonnull(strstr(place.module, "libc"));
}

static void test_heap(void)
{
	char *small = malloc(100);
	g_autofree char *want = g_strdup_printf("heap 0x%lx", (unsigned long)small);
	struct data_place place;

	/* the heap may have grown since the mappings were read, a moment ago: they are read anew */
	data_symbols_free(data);
	data = data_symbols_new("/proc", "/usr/lib/debug");
	find(small, &place);
	if (place.kind == DATA_ANON)
		g_test_skip("malloc is not glibc's here");
	else
		assert_text(small, 0, want);
	free(small);
}

static void *thread_main(void *arg)
{
	int on_stack = 1;
	struct data_place place;
	g_autofree char *want = g_strdup_printf("stack of thread %ld, 0x%lx", (long)syscall(SYS_gettid), (unsigned long)&on_stack);

	data_symbols_find(data, (uint32_t)getpid(), 2, (uint64_t)(uintptr_t)&on_stack, (uint64_t)(uintptr_t)&on_stack,
			  (uint32_t)syscall(SYS_gettid), &place);
	g_autofree char *text = data_place_text(&place, (uint64_t)(uintptr_t)&on_stack, 0);
	g_assert_cmpstr(text, ==, want);
	return NULL;
}

static void test_stacks(void)
{
	pthread_t thread;
	struct data_place place;
	int here = 0;

	find(&here, &place);
	g_assert_cmpint(place.kind, ==, DATA_STACK);
	g_assert_cmpuint(place.tid, ==, (guint)getpid());
	g_assert_cmpint(pthread_create(&thread, NULL, thread_main, NULL), ==, 0);
	pthread_join(thread, NULL);
}

static void test_mappings(void)
{
	g_autofree char *path = g_build_filename(g_get_tmp_dir(), "offcpu-data-XXXXXX", NULL);
	int fd = g_mkstemp(path);
	char *file, *shared, *anonymous;
	struct data_place place;

	g_assert_cmpint(ftruncate(fd, 3 * 4096), ==, 0);
	file = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	anonymous = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(file != MAP_FAILED && shared != MAP_FAILED && anonymous != MAP_FAILED);
	g_usleep(30000);	/* a mapping that is not known is not looked for at once again */
	g_autofree char *in_file = g_strdup_printf("%s+0x2010", path);
	assert_text(file + 4096 + 16, 64, in_file);
	find(shared + 8, &place);
	g_assert_cmpint(place.kind, ==, DATA_SHARED);
	g_assert_true(place.is_shared);
	g_assert_cmpuint(place.offset, ==, 8);
	g_assert_cmpuint(place.inode, !=, 0);
	find(anonymous, &place);
	g_assert_cmpint(place.kind, ==, DATA_ANON);
	g_assert_false(place.is_shared);
	munmap(file, 8192);
	munmap(shared, 4096);
	munmap(anonymous, 4096);
	close(fd);
	unlink(path);
}

static void test_nothing(void)
{
	struct data_place place;

	assert_text((const void *)16, 0, "0x10");
	data_symbols_find(data, 0x7ffffff0, 3, 4096, 0, 0, &place);
	g_assert_cmpint(place.kind, ==, DATA_UNKNOWN);
	data_symbols_find(data, 0x7ffffff0, 3, UINT64_MAX, 0, 0, &place);
	g_assert_cmpint(place.kind, ==, DATA_UNKNOWN);
}

/* A process that says what it likes of its mappings. */
static void test_forged_maps(void)
{
	g_autofree char *proc = g_dir_make_tmp("offcpu-proc-XXXXXX", NULL);
	g_autofree char *dir = g_build_filename(proc, "7", NULL), *maps = g_build_filename(dir, "maps", NULL);
	struct data_symbols *d = data_symbols_new(proc, "/nowhere");
	struct data_place place;

	g_mkdir(dir, 0700);
	g_assert_true(g_file_set_contents(maps,
					  "nonsense\n"
					  "1000-2000 rw-p 00000000 00:00 0 \n"
					  "2000-3000 rw-p 00005000 08:01 12 /bin/\xff\xfe\n"
					  "3000-4000 rw-p 00000000 00:00 0 \n"
					  "5000-4000 rw-p 00000000 00:00 0 \n"
					  "ffffffffffffe000-ffffffffffffffff rw-s 00000000 00:01 9 /dev/zero (deleted)\n", -1, NULL));
	for (uint64_t addr = 0; addr < 0x6000; addr += 0x7ff) {
		data_symbols_find(d, 7, 1, addr, 0, 0, &place);
		g_autofree char *text = data_place_text(&place, addr, 64);
		g_assert_true(g_utf8_validate(text, -1, NULL));
	}
	data_symbols_find(d, 7, 1, 0xffffffffffffe010, 0, 0, &place);
	g_assert_cmpint(place.kind, ==, DATA_SHARED);
	g_assert_cmpuint(place.offset, ==, 16);
	data_symbols_free(d);
	unlink(maps);
	rmdir(dir);
	rmdir(proc);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	data = data_symbols_new("/proc", "/usr/lib/debug");
	g_test_add_func("/data-symbols/variables", test_variables);
	g_test_add_func("/data-symbols/heap", test_heap);
	g_test_add_func("/data-symbols/stacks", test_stacks);
	g_test_add_func("/data-symbols/mappings", test_mappings);
	g_test_add_func("/data-symbols/nothing", test_nothing);
	g_test_add_func("/data-symbols/forged-maps", test_forged_maps);
	int status = g_test_run();

	data_symbols_free(data);
	return status;
}
