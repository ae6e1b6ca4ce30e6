/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_X86_VECTORS_BPF_H
#define BPF_X86_VECTORS_BPF_H

/*
 * These report interrupts that have no stack of their own: an interrupt in user mode uses the thread's kernel stack,
 * which is empty then.
 */
#define NOTE_VECTOR(name, what)                                       \
	SEC("tp_btf/" #name "_exit")                                  \
	int BPF_PROG(note_##name##_end, int vector)                   \
	{                                                             \
		struct irq_note *note = my_irq_note();                \
                                                                      \
		if (note)                                             \
			note->vector = OFFCPU_VECTOR_NONE;            \
		return 0;                                             \
	}                                                             \
	SEC("tp_btf/" #name "_entry")                                 \
	int BPF_PROG(note_##name, int vector)                         \
	{                                                             \
		struct irq_note *note = my_irq_note();                \
                                                                      \
		if (note) {                                           \
			note->vector = what;                          \
			note->hard_cnt++;                             \
		}                                                     \
		return 0;                                             \
	}

NOTE_VECTOR(local_timer, OFFCPU_VECTOR_TIMER)
NOTE_VECTOR(call_function, OFFCPU_VECTOR_IPI)
NOTE_VECTOR(call_function_single, OFFCPU_VECTOR_IPI)
NOTE_VECTOR(irq_work, OFFCPU_VECTOR_IRQ_WORK)

#endif
