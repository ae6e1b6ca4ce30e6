/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* On arm64 timer and inter-processor interrupts have numbers like devices: irq_handler_entry reports them. */
