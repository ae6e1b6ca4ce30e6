/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What no compiler writes. */
	.text

/* No call frame information, and the frame pointer holds something else. */
	.balign 64
	.skip 64, 0x90
	.globl asm_no_info, asm_no_info_return
	.type asm_no_info, @function
asm_no_info:
	push %rbp
	sub $16, %rsp
	mov $3, %ebp
	call *%rdi
asm_no_info_return:
	add $16, %rsp
	pop %rbp
	ret
	.size asm_no_info, . - asm_no_info
	.skip 64, 0x90

/* A CFA that is right but cannot be compiled: rsp + lit16 + lit16. */
	.globl asm_complex, asm_complex_return
	.type asm_complex, @function
asm_complex:
	.cfi_startproc
	sub $24, %rsp
	.cfi_escape 0x0f, 0x05, 0x77, 0x00, 0x40, 0x40, 0x22
	call *%rdi
asm_complex_return:
	add $24, %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size asm_complex, . - asm_complex

/* Spins where the CFA is known by r10 only, as in the prologue of a realigned stack. */
	.globl asm_signal_spin
	.type asm_signal_spin, @function
asm_signal_spin:
	.cfi_startproc
	lea 8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	and $-64, %rsp
	movl $1, (%rdi)
1:	pause
	jmp 1b
	.cfi_endproc
	.size asm_signal_spin, . - asm_signal_spin

	.section .note.GNU-stack, "", @progbits
