/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * On arm64 the timer and the CPUs' interrupts among themselves have numbers, as a device's: irq_handler_entry tells of
 * them.
 */
