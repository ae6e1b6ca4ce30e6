/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Tokio's tasks, as they lie in a program's memory. */
#include <dlfcn.h>
#include <fcntl.h>
#include <glib.h>
#include <link.h>
#include <unistd.h>

#include "runtimes/tokio/program.h"
#include "tokio_image.h"

static struct tokio_program program;

static void expect(const enum tokio_task_state *states, unsigned cnt, bool is_cut)
{
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	bool seen_cut;

	g_assert_true(tokio_program_read(&program, tasks, &seen_cut));
	g_assert_cmpuint(tasks->len, ==, cnt);
	g_assert_cmpint(seen_cut, ==, is_cut);
	for (guint i = 0; i < cnt; i++)
		g_assert_cmpint(g_array_index(tasks, struct tokio_task, i).state, ==, states[i]);
	tokio_image_free(&program);
}

#define EXPECT(is_cut, ...)                                                                                           \
	expect((const enum tokio_task_state[]){ __VA_ARGS__ },                                                        \
	       sizeof((const enum tokio_task_state[]){ __VA_ARGS__ }) / sizeof(enum tokio_task_state), is_cut)

static void test_lists(void)
{
	tokio_image_make(&program);
	EXPECT(false, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS, TOKIO_READY);
	/* the second list has no task */
	tokio_image_make(&program);
	tokio_image[TOKIO_OTHER_ENDS] = tokio_image[TOKIO_OTHER_ENDS + 1] = 0;
	EXPECT(false, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS);
	/* what is no end of a list: its first task has one before it */
	tokio_image_make(&program);
	tokio_image[TOKIO_ENDS] = tokio_image_task(1);
	expect(NULL, 0, false);
	/* it changes meanwhile, or is a ring: what was read of it is told; where one alone has its neighbours is not known */
	tokio_image_make(&program);
	tokio_image[TOKIO_ENDS + 1] = tokio_image_task(1);
	EXPECT(true, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS);
	tokio_image_make(&program);
	tokio_image[TOKIO_TASK + 2 * TOKIO_TASK_WORDS + 10] = tokio_image_task(0);
	EXPECT(true, TOKIO_WAITS, TOKIO_RUNS, TOKIO_WAITS);
}

static void check_name(const char *function, const char *name)
{
	g_autofree char *seen = tokio_future_name(function);

	g_assert_cmpstr(seen, ==, name);
}

static void test_names(void)
{
	check_name("tokio::runtime::task::raw::poll::<shop::pay::{closure#0}, alloc::sync::Arc<tokio::Handle>>", "shop::pay::{closure#0}");
	check_name("core::ptr::drop_in_place<tokio::runtime::task::core::Stage<shop::pay::{{closure}}>>", "shop::pay::{{closure}}");
	check_name("core::ptr::drop_in_place<alloc::boxed::Box<tokio::runtime::task::core::Cell<a::B<(u8,u8),fn(u8)->u8>,c::D>>>",
		   "a::B<(u8,u8),fn(u8)->u8>");
	check_name("tokio::runtime::task::raw::poll", NULL);
	check_name("tokio::runtime::task::core::Cell<", NULL);
	check_name("tokio::runtime::task::core::Cell<a<b", NULL);
	check_name("tokio::runtime::task::core::Cell<>", NULL);
	check_name("tokio::runtime::task::core::Cell<T,S>::new", NULL);
}

/* Any word may be any other: nothing is read without end. */
static void test_damaged(void)
{
	g_autoptr(GRand) rand = g_rand_new_with_seed(33);
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	bool is_cut;

	for (unsigned i = 0; i < 20000; i++) {
		tokio_image_make(&program);
		for (unsigned k = g_rand_int_range(rand, 1, 6); k; k--) {
			unsigned to = (unsigned)g_rand_int_range(rand, 0, TOKIO_IMAGE_WORDS);

			tokio_image[to] = g_rand_boolean(rand) ? tokio_image_task(g_rand_int_range(rand, 0, TOKIO_TASK_CNT)) : g_rand_int(rand);
		}
		tokio_program_read(&program, tasks, &is_cut);
		g_assert_cmpuint(tasks->len, <=, TOKIO_TASKS_MAX);
		tokio_image_free(&program);
	}
}

#ifdef __x86_64__
/*
 * As rustc makes them: what polls a task jumps to Tokio's functions, these call the future's own.  One says by today's
 * function that it is over, one by the older text, one has what it awaits of a library within it, and one says nothing.
 */
static const char *code_of_polls =
	".text\\n.macro function name\\n.globl \\\\name\\n.type \\\\name,@function\\n\\\\name:\\n.endm\\n"
	".macro ends name\\n.size \\\\name,.-\\\\name\\n.endm\\n"
	"function panic_const_async_fn_resumed\\nret\\nends panic_const_async_fn_resumed\\n"
	"function _ZN4core9panicking5panic17h0E\\nret\\nends _ZN4core9panicking5panic17h0E\\n"
	"function new_poll\\njmp _ZN5tokio7runtime4task1nE\\nends new_poll\\n"
	"function _ZN5tokio7runtime4task1nE\\ncall _ZN4shop3pay28_$u7b$$u7b$closure$u7d$$u7d$17h0E\\nret\\nends _ZN5tokio7runtime4task1nE\\n"
	"function _ZN4shop3pay28_$u7b$$u7b$closure$u7d$$u7d$17h0E\\nlea other(%rip),%rdi\\nlea text(%rip),%rsi\\ncall *word(%rip)\\n"
	"lea own(%rip),%rdi\\ncall panic_const_async_fn_resumed\\nends _ZN4shop3pay28_$u7b$$u7b$closure$u7d$$u7d$17h0E\\n"
	"function old_poll\\nlea text(%rip),%rdi\\nmov $35,%esi\\nlea own(%rip),%rdx\\ncall _ZN4core9panicking5panic17h0E\\nends old_poll\\n"
	"function twice_poll\\nlea own(%rip),%rdi\\ncall panic_const_async_fn_resumed\\nlea next(%rip),%rdi\\n"
	"call panic_const_async_fn_resumed\\nends twice_poll\\n"
	"function silent_poll\\nlea own(%rip),%rdi\\ncall _ZN4core9panicking5panic17h0E\\nret\\nends silent_poll\\n"
	".data\\n.balign 8\\nword: .quad panic_const_async_fn_resumed\\n"
	"own: .quad file,11\\n.long 31,7\\nnext: .quad file,11\\n.long 40,7\\nother: .quad foreign,18\\n.long 598,1\\n"
	"file: .ascii \"src/shop.rs\"\\nforeign: .ascii \"/registry/tokio.rs\"\\ntext: .ascii \"\\140async fn\\140 resumed after completion\"\\n";

static bool may_read_all(void *ctx, unsigned cnt)
{
	return true;
}

static void check_place(void *library, const struct elf_table *t, uint64_t bias, const char *poll, uint32_t line, bool is_one_of_several)
{
	const struct tokio_place_search search = { (uint32_t)getpid(), t, bias, may_read_all, NULL };
	struct tokio_source_place place;
	bool found = tokio_place_find(&search, (uint64_t)(uintptr_t)dlsym(library, poll), &place);

	g_assert_cmpint(found, ==, line > 0);
	g_assert_cmpstr(place.file, ==, line ? "src/shop.rs" : NULL);
	g_assert_cmpuint(place.line, ==, line);
	g_assert_cmpint(place.is_one_of_several, ==, is_one_of_several);
	g_free(place.file);
}

static void test_places(void)
{
	g_autofree char *dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL), *path = g_build_filename(dir, "a.so", NULL);
	g_autofree char *command =
		g_strdup_printf("cd %s && printf %%b '%s' | cc -shared -nostdlib -Wl,-Bsymbolic,-z,noexecstack -x assembler - -o a.so", dir, code_of_polls);
	const char *argv[] = { "sh", "-c", command, NULL };
	int status = -1, fd;

	if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL) || status) {
		g_test_skip("no compiler");
		rmdir(dir);
		return;
	}
	void *library = dlopen(path, RTLD_NOW);
	struct link_map *map = NULL;

	g_assert_nonnull(library);
	g_assert_cmpint(dlinfo(library, RTLD_DI_LINKMAP, &map), ==, 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_table *t = elf_table_read(fd, NULL);

	close(fd);
	check_place(library, t, map->l_addr, "new_poll", 31, false);
	check_place(library, t, map->l_addr, "old_poll", 31, false);
	check_place(library, t, map->l_addr, "twice_poll", 31, true);
	check_place(library, t, map->l_addr, "silent_poll", 0, false);
	elf_table_free(t);
	dlclose(library);
	unlink(path);
	rmdir(dir);
}
#endif

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tokio/lists", test_lists);
	g_test_add_func("/tokio/names", test_names);
	g_test_add_func("/tokio/damaged", test_damaged);
#ifdef __x86_64__
	g_test_add_func("/tokio/places", test_places);
#endif
	return g_test_run();
}
