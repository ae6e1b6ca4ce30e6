/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/irq_name.h"

#include <string.h>

/* Does a frame of the kernel stack have a name that begins so? */
static bool stack_names(const struct profile *p, uint32_t node, const char *prefix)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *fr = profile_get_frame(p, profile_get_node(p, node)->frame);

		if (fr->name && g_str_has_prefix(fr->name, prefix))
			return true;
	}
	return false;
}

/* What runs a thread in the kernel has none of; outside of these two no interrupt is a timer. */
static bool is_timer(const struct profile *p, uint32_t kernel)
{
	return stack_names(p, kernel, "__hrtimer_run_queues") || stack_names(p, kernel, "call_timer_fn") ||
	       stack_names(p, kernel, "__run_timers");
}

static char *softirq_name(const struct profile *p, int nr, uint32_t kernel)
{
	/* include/linux/interrupt.h; in this order since Linux 4.11 */
	static const char *const vectors[] = { "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
					       "TASKLET", "SCHED", "HRTIMER", "RCU" };

	if (is_timer(p, kernel) || nr == 1 || nr == 8)
		return g_strdup("timer");
	return nr >= 0 && nr < (int)G_N_ELEMENTS(vectors) ? g_strconcat("softirq:", vectors[nr], NULL) :
							    g_strdup("softirq");
}

/* Without the disk. */
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
	if (rec->nr >= 0)
		return device[0] ? g_strconcat("irq:", device, NULL) : g_strdup_printf("irq:%d", rec->nr);
	if (rec->vector == OFFCPU_VECTOR_TIMER || is_timer(p, kernel))
		return g_strdup("timer");
	if (rec->vector == OFFCPU_VECTOR_IRQ_WORK)
		return g_strdup("irq_work");
	if (rec->vector == OFFCPU_VECTOR_IPI)
		return g_strdup("ipi");
	/* behind its handler, as it wakes ksoftirqd */
	if (stack_names(p, kernel, "sysvec_apic_timer_interrupt"))
		return g_strdup("timer");
	if (stack_names(p, kernel, "sysvec_call_function") || stack_names(p, kernel, "sysvec_reschedule_ipi") ||
	    stack_names(p, kernel, "__flush_smp_call_function_queue") ||
	    stack_names(p, kernel, "flush_smp_call_function_queue") ||
	    stack_names(p, kernel, "generic_smp_call_function") || stack_names(p, kernel, "irq_work_run"))
		return g_strdup("ipi");
	/* the idle thread, which is no thread, or an interrupt without a number */
	return g_strdup(rec->kind == OFFCPU_WAKER_TASK ? "idle" : "irq");
}

/* An interrupt may go on to wake for other reasons; what is done for the disk's request has the block layer on its stack. */
char *irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel)
{
	g_autofree char *name = plain_irq_name(p, rec, kernel);

	if (!name || !rec->comm[0] || (rec->kind != OFFCPU_WAKER_SOFTIRQ && rec->kind != OFFCPU_WAKER_HARDIRQ) ||
	    !(stack_names(p, kernel, "blk_") || stack_names(p, kernel, "bio_endio")))
		return g_steal_pointer(&name);
	return g_strdup_printf("%s(%.*s)", name, OFFCPU_COMM_LEN, rec->comm);
}

uint32_t irq_own_stack(struct profile *p, uint32_t kernel)
{
	g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t node = 0;

	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		const char *name = profile_get_frame(p, frame)->name;

		if (!name || !g_str_has_prefix(name, "asm_") || !frames->len) {
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
		if (g_str_has_prefix(name, "irqentry_exit"))
			return false;
		if (g_str_has_prefix(name, "sysvec_") || g_str_has_prefix(name, "__sysvec_") ||
		    g_str_has_prefix(name, "common_interrupt") || g_str_has_prefix(name, "__common_interrupt"))
			return true;
	}
	return false;
}
