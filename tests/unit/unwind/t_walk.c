/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Walks of the sleeping threads of a child, and of stacks made by hand. */
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frames.h"
#include "symbolize/elf/table.h"
#include "unwind/arch.h"
#include "unwind/walk.h"

/* The child: a thread for every case, and its main thread waiting. */

static pid_t child;

static G_GNUC_NO_INLINE void child_main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < frames_case_cnt; i++) {
		pthread_attr_t attr;
		pthread_t thread;

		pthread_attr_init(&attr);
		pthread_attr_setstacksize(&attr, 1 << 20);
		if (pthread_create(&thread, &attr, frames_thread, (void *)&frames_cases[i]))
			abort();
	}
	for (;;)
		pause();
}

/* Sleeps for good, not for a moment at its start: the same switch count twice. */
static void wait_asleep(pid_t tid)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/status", child, tid);
	g_autofree char *before = g_strdup("");

	for (unsigned i = 0; i < 500; i++) {
		g_autofree char *now = NULL;
		char *state;

		g_assert_true(g_file_get_contents(path, &now, NULL, NULL));
		state = strstr(now, "\nState:\t");
		if ((state[8] == 'S' || state[8] == 'D') && !strcmp(now, before))
			return;
		g_free(before);
		before = g_steal_pointer(&now);
		g_usleep(20000);
	}
	g_test_fail_printf("thread %d does not go to sleep", tid);
}

static G_GNUC_NO_INLINE void start_child(void)
{
	frames_tids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	g_assert_true(frames_tids != MAP_FAILED);
	g_assert_cmpuint(frames_case_cnt * sizeof(pid_t), <=, 4096);
	child = fork();
	if (!child)
		child_main();
	g_assert_cmpint(child, >, 0);
	for (unsigned i = 0; i < frames_case_cnt; i++) {
		for (unsigned n = 0; !frames_tids[i] && n < 500; n++)
			g_usleep(10000);
		g_assert_cmpint(frames_tids[i], >, 0);
		wait_asleep(frames_tids[i]);
	}
	wait_asleep(child);
}

static void stop_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Its executable mappings, each with the table of its file. */

struct mapping {
	uint64_t start, end;
	struct unwind_mapping m;
	bool is_program;
};

struct space {
	GArray *mappings;
	GPtrArray *tables;
	struct elf_table *symbols;	/* of this program */
	uint64_t program_bias;
};

static void add_vdso(struct space *s, struct mapping *m)
{
	struct unwind_table *t = unwind_table_build_memory((void *)getauxval(AT_SYSINFO_EHDR), m->end - m->start, NULL);

	m->m = (struct unwind_mapping){ t, m->start };
	g_ptr_array_add(s->tables, t);
}

static void add_file(struct space *s, struct mapping *m, const char *path, uint64_t off, const char *self)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table *t = unwind_table_build(fd, NULL);
	struct elf_table *elf = elf_table_read(fd, NULL);
	uint64_t vaddr = 0;

	g_assert_nonnull(elf);
	g_assert_true(elf_table_vaddr(elf, off, &vaddr));
	m->m = (struct unwind_mapping){ t, m->start - vaddr };
	m->is_program = !strcmp(path, self);
	if (t)
		g_ptr_array_add(s->tables, t);
	if (m->is_program) {
		s->symbols = elf;
		s->program_bias = m->m.bias;
	} else {
		elf_table_free(elf);
	}
	close(fd);
}

static void read_space(struct space *s)
{
	g_autofree char *path = g_strdup_printf("/proc/%d/maps", child), *maps = NULL;
	g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
	g_auto(GStrv) lines = NULL;

	*s = (struct space){ g_array_new(FALSE, TRUE, sizeof(struct mapping)),
			     g_ptr_array_new_with_free_func((GDestroyNotify)unwind_table_free), NULL, 0 };
	g_assert_true(g_file_get_contents(path, &maps, NULL, NULL));
	lines = g_strsplit(maps, "\n", 0);
	for (char **l = lines; *l; l++) {
		struct mapping m = { 0 };
		uint64_t off;
		char perms[5], file[4096] = "";

		if (sscanf(*l, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095s", &m.start, &m.end, perms, &off,
			   file) < 4 || perms[2] != 'x')
			continue;
		if (file[0] == '/')
			add_file(s, &m, file, off, self);
		else if (!strcmp(file, "[vdso]"))
			add_vdso(s, &m);
		g_array_append_val(s->mappings, m);
	}
	g_assert_nonnull(s->symbols);
}

static void clear_space(struct space *s)
{
	g_array_unref(s->mappings);
	g_ptr_array_unref(s->tables);
	elf_table_free(s->symbols);
}

static bool find_mapping(void *ctx, uint64_t addr, struct unwind_mapping *ret)
{
	const struct space *s = ctx;

	for (guint i = 0; i < s->mappings->len; i++) {
		const struct mapping *m = &g_array_index(s->mappings, struct mapping, i);

		if (addr < m->start || addr >= m->end)
			continue;
		*ret = m->m;
		return true;
	}
	return false;
}

static bool read_child(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	struct iovec local = { ret, bytes }, remote = { (void *)(uintptr_t)addr, bytes };

	return process_vm_readv(child, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* All registers, by stopping the thread for a moment: its system call goes on afterwards. */
static bool read_regs(pid_t tid, struct unwind_regs *ret)
{
	struct user_regs_struct u;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	g_assert_cmpint(waitpid(tid, NULL, __WALL), ==, tid);
	g_assert_cmpint(ptrace(PTRACE_GETREGS, tid, NULL, &u), ==, 0);
	g_assert_cmpint(ptrace(PTRACE_DETACH, tid, NULL, NULL), ==, 0);
	*ret = (struct unwind_regs){ .ip = u.rip, .known = 0xffff, .reg = {
		u.rax, u.rdx, u.rcx, u.rbx, u.rsi, u.rdi, u.rbp, u.rsp, u.r8, u.r9, u.r10, u.r11, u.r12, u.r13, u.r14,
		u.r15 } };
	return true;
}

/* What /proc tells of a thread in a system call: no frame pointer. */
static void read_syscall(pid_t tid, struct unwind_regs *ret)
{
	static const uint8_t args[] = { X86_64_RDI, X86_64_RSI, X86_64_RDX, X86_64_R10, X86_64_R8, X86_64_R9 };
	g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/syscall", child, tid), *text = NULL;
	g_auto(GStrv) words = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	words = g_strsplit(g_strchomp(text), " ", 0);
	g_assert_cmpuint(g_strv_length(words), ==, 9);
	unwind_regs_set(&unwind_arch_x86_64, g_ascii_strtoull(words[8], NULL, 16), g_ascii_strtoull(words[7], NULL, 16),
			0, ret);
	ret->known &= ~(1u << X86_64_RBP);
	for (unsigned i = 0; i < G_N_ELEMENTS(args); i++) {
		ret->reg[args[i]] = g_ascii_strtoull(words[i + 1], NULL, 16);
		ret->known |= 1u << args[i];
	}
}

static const char *function_at(const struct space *s, uint64_t ip, uint8_t via)
{
	bool is_return = via == UNWIND_VIA_TABLE || via == UNWIND_VIA_FP;
	const struct symtab_entry *e = symtab_find(&s->symbols->symbols, ip - is_return - s->program_bias);

	return e ? symtab_name(&s->symbols->symbols, e) : "?";
}

static bool is_program(const struct space *s, uint64_t ip)
{
	for (guint i = 0; i < s->mappings->len; i++) {
		const struct mapping *m = &g_array_index(s->mappings, struct mapping, i);

		if (ip - 1 >= m->start && ip - 1 < m->end)
			return m->is_program;
	}
	return false;
}

/* The program's own functions of a stack, against what the case should show. */
static void check_functions(const struct space *s, const struct frames_case *c, const struct unwind_stack *stack)
{
	unsigned next = 0;

	for (unsigned i = 0; i < stack->depth && next < G_N_ELEMENTS(c->functions) && c->functions[next]; i++) {
		if (!is_program(s, stack->ip[i]))
			continue;
		g_assert_cmpstr(function_at(s, stack->ip[i], stack->via[i]), ==, c->functions[next]);
		next++;
	}
	g_assert_true(next == G_N_ELEMENTS(c->functions) || !c->functions[next]);
}

static bool has_via(const struct unwind_stack *stack, enum unwind_via via)
{
	return memchr(stack->via, via, stack->depth);
}

/* How the walk must have ended. */
static void check_end(const struct frames_case *c, const struct unwind_stack *stack)
{
	enum unwind_end end = UNWIND_COMPLETE;
	enum unwind_why why = UNWIND_WHY_NONE;
	uint64_t ip = 0;

	if (!strcmp(c->name, "deep")) {
		end = UNWIND_TRUNCATED;
		g_assert_cmpuint(stack->depth, ==, OFFCPU_MAX_DEPTH);
	} else if (!strcmp(c->name, "no_info")) {
		end = UNWIND_BROKEN;
		why = UNWIND_WHY_NO_INFO;
		ip = (uintptr_t)asm_no_info_return;
	} else if (!strcmp(c->name, "complex")) {
		end = UNWIND_BROKEN;
		why = UNWIND_WHY_COMPLEX;
		ip = (uintptr_t)asm_complex_return;
	}
	g_assert_cmpuint(stack->end, ==, end);
	g_assert_cmpuint(stack->why, ==, why);
	g_assert_cmpuint(stack->end_ip, ==, ip);
	g_assert_cmpint(has_via(stack, UNWIND_VIA_SIGNAL), ==, g_str_has_prefix(c->name, "signal"));
	g_assert_cmpint(has_via(stack, UNWIND_VIA_FP), ==, !strcmp(c->name, "jit"));
	g_assert_cmpuint(stack->guess_cnt, ==, 0);
}

static void show(const struct space *s, const struct unwind_stack *stack)
{
	for (unsigned i = 0; i < MIN(stack->depth, 12); i++)
		g_test_message("  %#" PRIx64 " via %u %s", stack->ip[i], stack->via[i],
			       is_program(s, stack->ip[i]) ? function_at(s, stack->ip[i], stack->via[i]) : "");
	g_test_message("  depth %u end %u why %u", stack->depth, stack->end, stack->why);
}

static void walk_child(struct space *s, const struct unwind_regs *regs, struct unwind_stack *ret)
{
	struct unwind_source source = { &unwind_arch_x86_64, find_mapping, read_child, s, OFFCPU_MAX_DEPTH, false };

	unwind_walk(&source, regs, ret);
	show(s, ret);
}

static void test_case(const void *data)
{
	const struct frames_case *c = data;
	struct unwind_stack stack;
	struct unwind_regs regs;
	struct space space;

	read_space(&space);
	/* One that waits for its vfork cannot be stopped. */
	if (!strcmp(c->name, "vfork") || !strcmp(c->name, "clone")) {
		g_test_skip("walked below, without its frame pointer");
	} else if (read_regs(frames_tids[c - frames_cases], &regs)) {
		walk_child(&space, &regs, &stack);
		check_functions(&space, c, &stack);
		check_end(c, &stack);
	} else {
		g_test_skip("no ptrace");
	}
	clear_space(&space);
}

void __asan_init(void) __attribute__((weak));

/* The frame that called sleep_here() is the last one; above it the C library has as many as it likes. */
static void check_last_called_sleep(const struct space *s, const struct unwind_stack *stack, enum unwind_why why)
{
	g_assert_cmpuint(stack->depth, >=, 3);
	g_assert_cmpstr(function_at(s, stack->ip[stack->depth - 2], UNWIND_VIA_TABLE), ==, "sleep_here");
	g_assert_cmpuint(stack->why, ==, why);
}

/*
 * As a tracer would that does not stop the thread: the frame pointer is unknown until a frame
 * has saved it, so only what needs it sooner may fail.
 */
static void test_without_bp(const void *data)
{
	const struct frames_case *c = data;
	struct unwind_stack stack;
	struct unwind_regs regs;
	struct space space;

	if (!strcmp(c->name, "vfork") && __asan_init) {
		g_test_skip("the sanitizer's vfork has no call frame information");
		return;
	}
	read_space(&space);
	read_syscall(frames_tids[c - frames_cases], &regs);
	walk_child(&space, &regs, &stack);
	if (stack.depth == 1 && stack.why == UNWIND_WHY_UNKNOWN_REG) {
		g_test_skip("this C library's own frames need the frame pointer");
	} else if (!strcmp(c->name, "alloca") || !strcmp(c->name, "realigned")) {
		check_last_called_sleep(&space, &stack, UNWIND_WHY_UNKNOWN_REG);
	} else if (!strcmp(c->name, "jit")) {
		check_last_called_sleep(&space, &stack, UNWIND_WHY_NO_INFO);
	} else {
		check_functions(&space, c, &stack);
		/* A sanitizer's own start of a thread may need it. */
		if (stack.why != UNWIND_WHY_UNKNOWN_REG)
			check_end(c, &stack);
	}
	clear_space(&space);
}

/* The frame is sought; what an earlier call left on the stack looks like one, and leads nowhere. */
static void test_sought(void)
{
	unsigned i = 0;
	struct unwind_stack stack;
	struct unwind_regs regs;
	struct space space;
	struct unwind_source source = { &unwind_arch_x86_64, find_mapping, read_child, &space, OFFCPU_MAX_DEPTH, true };

	while (strcmp(frames_cases[i].name, "alloca") != 0)
		i++;
	read_space(&space);
	read_syscall(frames_tids[i], &regs);
	unwind_walk(&source, &regs, &stack);
	show(&space, &stack);
	check_functions(&space, &frames_cases[i], &stack);
	g_assert_cmpuint(stack.end, ==, UNWIND_COMPLETE);
	g_assert_cmpuint(stack.guess_cnt, ==, 1);
	clear_space(&space);
}

static void test_main_thread(void)
{
	static const struct frames_case c = { "main", NULL, { "child_main", "start_child", "main" } };
	struct unwind_stack stack;
	struct unwind_regs regs;
	struct space space;

	read_space(&space);
	if (read_regs(child, &regs)) {
		walk_child(&space, &regs, &stack);
		check_functions(&space, &c, &stack);
		check_end(&c, &stack);
		g_assert_cmpstr(function_at(&space, stack.ip[stack.depth - 1], UNWIND_VIA_TABLE), ==, "_start");
	}
	clear_space(&space);
}

static void test_limit(void)
{
	struct unwind_stack all, stack;
	struct unwind_regs regs;
	struct space space;

	read_space(&space);
	if (!read_regs(frames_tids[0], &regs)) {
		clear_space(&space);
		g_test_skip("no ptrace");
		return;
	}
	walk_child(&space, &regs, &all);
	g_assert_cmpuint(all.end, ==, UNWIND_COMPLETE);
	for (uint32_t max = 0; max <= all.depth + 1; max++) {
		struct unwind_source source = { &unwind_arch_x86_64, find_mapping, read_child, &space, max, false };

		unwind_walk(&source, &regs, &stack);
		g_assert_cmpuint(stack.depth, ==, MIN(max, all.depth));
		g_assert_cmpuint(stack.end, ==, max < all.depth ? UNWIND_TRUNCATED : UNWIND_COMPLETE);
		g_assert_cmpmem(stack.ip, stack.depth * 8, all.ip, stack.depth * 8);
	}
	clear_space(&space);
}

/* Stacks by hand: 0x1000 is code without a table, memory is `words` from 0x8000 on. */

struct made {
	uint64_t words[8];
};

static bool find_made(void *ctx, uint64_t addr, struct unwind_mapping *ret)
{
	*ret = (struct unwind_mapping){ NULL, 0 };
	return addr >= 0x1000 && addr < 0x2000;
}

static bool read_made(void *ctx, uint64_t addr, void *ret, size_t bytes)
{
	const struct made *m = ctx;

	if (addr < 0x8000 || addr + bytes > 0x8000 + sizeof(m->words))
		return false;
	memcpy(ret, (const char *)m->words + (addr - 0x8000), bytes);
	return true;
}

static void check_made(struct made m, uint64_t ip, uint64_t bp, uint32_t depth, enum unwind_end end, enum unwind_why why,
		       uint64_t end_ip)
{
	struct unwind_source source = { &unwind_arch_x86_64, find_made, read_made, &m, 127, false };
	struct unwind_stack stack;
	struct unwind_regs regs;

	unwind_regs_set(&unwind_arch_x86_64, ip, 0x8000, bp, &regs);
	unwind_walk(&source, &regs, &stack);
	g_assert_cmpuint(stack.depth, ==, depth);
	g_assert_cmpuint(stack.end, ==, end);
	g_assert_cmpuint(stack.why, ==, why);
	g_assert_cmphex(stack.end_ip, ==, end_ip);
}

static void test_frame_pointer(void)
{
	check_made((struct made){ { 0 } }, 0x1100, 0, 1, UNWIND_COMPLETE, UNWIND_WHY_NONE, 0);
	check_made((struct made){ { 0x8010, 0x1200, 0, 0x1300 } }, 0x1100, 0x8000, 3, UNWIND_COMPLETE, UNWIND_WHY_NONE, 0);
	/* In a circle, uneven, out of the stack, to data, and from nowhere. */
	check_made((struct made){ { 0x8000, 0x1200 } }, 0x1100, 0x8000, 2, UNWIND_BROKEN, UNWIND_WHY_NO_INFO, 0x1200);
	check_made((struct made){ { 0x8011, 0x1200 } }, 0x1100, 0x8000, 2, UNWIND_BROKEN, UNWIND_WHY_NO_INFO, 0x1200);
	check_made((struct made){ { 0x9000, 0x1200 } }, 0x1100, 0x8000, 2, UNWIND_BROKEN, UNWIND_WHY_NO_INFO, 0x1200);
	check_made((struct made){ { 0x8010, 0x9999 } }, 0x1100, 0x8000, 1, UNWIND_BROKEN, UNWIND_WHY_NOT_MAPPED, 0x9999);
	check_made((struct made){ { 0 } }, 0x9998, 0x8000, 0, UNWIND_BROKEN, UNWIND_WHY_NOT_MAPPED, 0x9998);
	/* The first byte after the mapping is a return address into it, its first is not. */
	check_made((struct made){ { 0, 0x2000 } }, 0x1100, 0x8000, 2, UNWIND_COMPLETE, UNWIND_WHY_NONE, 0);
	check_made((struct made){ { 0, 0x1000 } }, 0x1100, 0x8000, 1, UNWIND_BROKEN, UNWIND_WHY_NOT_MAPPED, 0x1000);
}

int main(int argc, char **argv)
{
	int rc;

	g_test_init(&argc, &argv, NULL);
	start_child();
	for (unsigned i = 0; i < frames_case_cnt; i++) {
		g_autofree char *name = g_strconcat("/unwind/walk/", frames_cases[i].name, NULL);
		g_autofree char *without = g_strconcat("/unwind/walk_without_bp/", frames_cases[i].name, NULL);

		g_test_add_data_func(name, &frames_cases[i], test_case);
		g_test_add_data_func(without, &frames_cases[i], test_without_bp);
	}
	g_test_add_func("/unwind/walk/main_thread", test_main_thread);
	g_test_add_func("/unwind/walk/sought", test_sought);
	g_test_add_func("/unwind/walk/limit", test_limit);
	g_test_add_func("/unwind/walk/frame_pointer", test_frame_pointer);
	rc = g_test_run();
	stop_child();
	return rc;
}
