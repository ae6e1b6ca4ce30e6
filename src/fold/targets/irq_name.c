/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/wakers/fold.h"

#include <string.h>

/* Kernel functions that identify an interrupt. Those of timers are called only from interrupts. */
static const char *const of_timers[] = { "__hrtimer_run_queues", "call_timer_fn", "__run_timers", NULL };
static const char *const of_timer_interrupts[] = { "sysvec_apic_timer_interrupt", NULL };
static const char *const of_ipis[] = { "sysvec_call_function",
				       "sysvec_reschedule_ipi",
				       "__flush_smp_call_function_queue",
				       "flush_smp_call_function_queue",
				       "generic_smp_call_function",
				       "irq_work_run",
				       NULL };
static const char *const of_irq_work[] = { "irq_work_run", NULL };
static const char *const of_disks[] = { "blk_", "bio_endio", NULL };

static char *softirq_name(const struct profile *p, int nr, uint32_t kernel)
{
	/* include/linux/interrupt.h; in this order since Linux 4.11 */
	static const char *const vectors[] = { "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
					       "TASKLET", "SCHED", "HRTIMER", "RCU" };

	if (profile_stack_names(p, kernel, of_timers) || nr == 1 || nr == 8)
		return g_strdup("timer");
	return nr >= 0 && nr < (int)G_N_ELEMENTS(vectors) ? g_strconcat("softirq:", vectors[nr], NULL) :
							    g_strdup("softirq");
}

/* Without the disk's name. */
static char *plain_irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel)
{
	char device[OFFCPU_IRQ_NAME_LEN + 1] = { 0 };

	memcpy(device, rec->irq_name, OFFCPU_IRQ_NAME_LEN);
	if (rec->kind == OFFCPU_WAKER_SOFTIRQ)
		return softirq_name(p, rec->nr, kernel);
	if (rec->kind == OFFCPU_WAKER_NMI)
		return g_strdup("nmi");
	if (rec->kind == OFFCPU_WAKER_TASK && rec->tid)
		return NULL;
	/*
	 * on arm64 they are numbered like a device's (drivers/clocksource/arm_arch_timer.c, arch/arm64/kernel/smp.c)
	 */
	if (rec->nr >= 0 && !strcmp(device, "arch_timer"))
		return g_strdup("timer");
	if (rec->nr >= 0 && !strcmp(device, "IPI"))
		return g_strdup(profile_stack_names(p, kernel, of_irq_work) ? "irq_work" : "ipi");
	if (rec->nr >= 0)
		return device[0] ? g_strconcat("irq:", device, NULL) : g_strdup_printf("irq:%d", rec->nr);
	if (rec->vector == OFFCPU_VECTOR_TIMER || profile_stack_names(p, kernel, of_timers))
		return g_strdup("timer");
	if (rec->vector == OFFCPU_VECTOR_IRQ_WORK)
		return g_strdup("irq_work");
	if (rec->vector == OFFCPU_VECTOR_IPI)
		return g_strdup("ipi");
	/* after the handler, when ksoftirqd is woken */
	if (profile_stack_names(p, kernel, of_timer_interrupts))
		return g_strdup("timer");
	if (profile_stack_names(p, kernel, of_ipis))
		return g_strdup("ipi");
	/* the idle task, which is no thread, or an interrupt without a number */
	return g_strdup(rec->kind == OFFCPU_WAKER_TASK ? "idle" : "irq");
}

/*
 * An interrupt may wake threads for several reasons. If it is for the disk's request, the block layer is on its
 * stack.
 */
char *irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel)
{
	g_autofree char *name = plain_irq_name(p, rec, kernel);

	if (!name || !rec->comm[0] || (rec->kind != OFFCPU_WAKER_SOFTIRQ && rec->kind != OFFCPU_WAKER_HARDIRQ) ||
	    !profile_stack_names(p, kernel, of_disks))
		return g_steal_pointer(&name);
	return g_strdup_printf("%s(%.*s)", name, OFFCPU_COMM_LEN, rec->comm);
}

/* The kernel's entry of interrupts; on arm64 from the kernel (el1) or from a program. */
static bool is_entry(const char *name)
{
	return g_str_has_prefix(name, "asm_") || (g_str_has_prefix(name, "el") && (g_str_has_suffix(name, "_64_irq") ||
										   g_str_has_suffix(name, "_32_irq")));
}

uint32_t irq_own_stack(struct profile *p, uint32_t kernel)
{
	g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t node = 0;

	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		const char *name = profile_get_frame(p, frame)->name;

		if (!name || !is_entry(name) || !frames->len) {
			g_array_append_val(frames, frame);
			continue;
		}
		for (guint i = frames->len; i-- > 0;)
			node = profile_node(p, node, g_array_index(frames, uint32_t, i));
		profile_stack_end(p, node, STACK_COMPLETE);
		return node;
	}
	return kernel;
}

bool irq_is_handling(const struct profile *p, uint32_t kernel)
{
	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		if (!name)
			continue;
		if (g_str_has_prefix(name, "irqentry_exit") || g_str_has_prefix(name, "arm64_preempt_schedule_irq") ||
		    g_str_has_prefix(name, "exit_to_kernel_mode"))
			return false;
		if (g_str_has_prefix(name, "sysvec_") || g_str_has_prefix(name, "__sysvec_") ||
		    g_str_has_prefix(name, "common_interrupt") || g_str_has_prefix(name, "__common_interrupt") ||
		    g_str_has_prefix(name, "handle_percpu_devid_irq") ||
		    g_str_has_prefix(name, "generic_handle_domain_irq"))
			return true;
	}
	return false;
}
