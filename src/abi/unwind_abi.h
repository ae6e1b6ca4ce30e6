/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef UNWIND_ABI_H
#define UNWIND_ABI_H

/*
 * The unwind tables, as user space compiles them from .eh_frame and the BPF unwinder reads
 * them.  A table is an array of rows sorted by pc, and a page index into it.
 *
 * A look-up of ELF virtual address `vaddr` in a table with base `base`:
 *   pc = vaddr - base; page = pc >> UNWIND_PAGE_SHIFT;
 *   page >= page_cnt: no information; else the row is the last one with row.pc <= pc, which
 *   is one of rows[index[page]] ... rows[index[page + 1]], both included.
 * So rows[index[page]].pc <= page << UNWIND_PAGE_SHIFT holds always, and the index has
 * page_cnt + 1 entries.  For a return address look up the address before it, which lies in
 * the call; for the innermost frame and the frame a signal interrupted, the ip itself.
 */

#ifndef __bpf__	/* BPF programs have them from ktypes.h */
#include <linux/types.h>
#endif

#define UNWIND_PAGE_SHIFT 12
#define UNWIND_MAX_ROWS (4u << 20)

/* Holds from pc (relative to the table's base) to the next row's pc. */
struct unwind_row {
	__u32 pc;
	__u32 rule;
};

/*
 * The rule, x86-64:
 *
 *   31......22 21..20 19....16 15...............0
 *   bp offset  bp     cfa      cfa argument
 *
 *   cfa        enum unwind_cfa: how the canonical frame address (CFA) is found; the caller's
 *              stack pointer is the CFA
 *   argument   of the CFA, by kind: see enum unwind_cfa
 *   bp         enum unwind_bp: where the caller's frame pointer is
 *   bp offset  signed, in units of 8 bytes
 *
 * The return address is at CFA - 8 unless the kind says otherwise.  GAP, END and COMPLEX have
 * no other bits set, so "no information" is 0.
 */
enum unwind_cfa {
	UNWIND_CFA_GAP = 0,	/* no information here: try the frame pointer */
	UNWIND_CFA_END = 1,	/* outermost frame: the return address is undefined */
	UNWIND_CFA_COMPLEX = 2,	/* the rule does not fit 32 bits: the walk ends here */
	UNWIND_CFA_SP = 3,	/* sp + arg * 8, arg signed */
	UNWIND_CFA_BP = 4,	/* bp + arg * 8, arg signed */
	UNWIND_CFA_DEREF_SP = 5,	/* *(sp + off) + extra * 8: packed argument, see below */
	UNWIND_CFA_DEREF_BP = 6,	/* *(bp + off) + extra * 8 */
	UNWIND_CFA_REG = 7,	/* register number `extra` + off */
	UNWIND_CFA_RA_REG = 8,	/* sp + off; the return address is in register `extra` */
	UNWIND_CFA_PLT = 9,	/* sp + low byte of arg, 8 more when (ip & 15) >= high byte */
	UNWIND_CFA_SIGNAL = 10,	/* a ucontext lies at sp + arg * 8: all registers from there */
	UNWIND_CFA_BP_SWITCH = 11,	/* as BP, but the frame may be on another stack, above or below this one */
	UNWIND_CFA_INTERPRETED = 12,	/* a frame of HotSpot's interpreter, see below */
};

/*
 * Packed argument: off signed in units of 8 bytes in bits 15..4, extra unsigned in bits 3..0. Register numbers are
 * DWARF's: 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8 r8 ... 15 r15. Registers other than bp and sp are known
 * only in the innermost frame and in one that a signal interrupted.
 */
enum unwind_bp {
	UNWIND_BP_SAME = 0,	/* the frame has not changed it */
	UNWIND_BP_AT_CFA = 1,	/* saved at CFA + bp offset * 8 */
	UNWIND_BP_AT_BP = 2,	/* saved at bp + bp offset * 8 */
	UNWIND_BP_LOST = 3,	/* undefined, or too complex: unknown in all outer frames */
};

/*
 * The rule on arm64: the same fields, but the frame pointer is x29, and the kinds are GAP, END, COMPLEX, SP, BP,
 * SIGNAL and BP_SWITCH. Bits 21..20 and 31..22 say where the caller's x29 and the return address are:
 */
enum unwind_arm64_saved {
	UNWIND_ARM64_LINK = 0,	/* neither is saved: the return address is in x30 */
	UNWIND_ARM64_RECORD = 1,	/* x29 at the offset, the return address in the next word */
	UNWIND_ARM64_RETURN = 2,	/* the return address at the offset; x29 is the caller's */
	UNWIND_ARM64_RETURN_LOST = 3,	/* the return address at the offset; x29 is unknown in all outer frames */
};

/*
 * An offset below 0 is from the CFA, others are from the register that the CFA is found by: compilers save registers
 * at either end of the frame. A return address may be signed (pointer authentication): the bits beyond those of an
 * address are ignored.
 */

/* Offsets in arm64's struct ucontext, and of that in a signal frame. */
#define UNWIND_ARM64_UCONTEXT_X29 416
#define UNWIND_ARM64_UCONTEXT_SP 432
#define UNWIND_ARM64_UCONTEXT_PC 440
#define UNWIND_ARM64_SIGNAL_FRAME 128

/* Offsets in x86-64's struct ucontext. */
#define UNWIND_UCONTEXT_RBP 120
#define UNWIND_UCONTEXT_RSP 160
#define UNWIND_UCONTEXT_RIP 168

/*
 * A frame of HotSpot's interpreter on x86-64, found by the frame pointer. It has the caller and its frame pointer as
 * usual, the stack pointer of compiled code that called it, the method, and the position in its bytecode. All
 * interpreter code looks alike, so method and bytecode replace the frame's address in a stack: bits 63 and 62 are 1
 * and 0, as in no address, 61 to 46 the low bits of the bytecode's address, the rest half the Method's.
 */
#define UNWIND_INTERPRETED_SP (-8)
#define UNWIND_INTERPRETED_METHOD (-24)
#define UNWIND_INTERPRETED_BYTECODE (-64)
#define UNWIND_METHOD_BITS 47	/* of a Method's address: all of user space with 4-level page tables */

static inline __u64 unwind_method_mark(__u64 method, __u64 bytecode)
{
	return 1ull << 63 | (bytecode & 0xffff) << (UNWIND_METHOD_BITS - 1) |
	       (method & ((1ull << UNWIND_METHOD_BITS) - 1)) >> 1;
}

static inline int unwind_is_method(__u64 ip)
{
	return ip >> 62 == 2;
}

/* For addresses in that space that are multiples of 8. */
static inline __u64 unwind_method_of(__u64 ip)
{
	return (ip & ((1ull << (UNWIND_METHOD_BITS - 1)) - 4)) << 1;
}

/* The low 16 bits of the bytecode's address. */
static inline __u32 unwind_bytecode_of(__u64 ip)
{
	return ip >> (UNWIND_METHOD_BITS - 1) & 0xffff;
}

/*
 * A frame of a JavaScript function in V8, found by the frame pointer. Interpreted code all looks alike, and other code
 * moves. So the entry in the stack names the function, as above: its SharedFunctionInfo, which rarely moves. In place
 * of a bytecode's address it has the low bits of the function's number in its script, so user space can check that the
 * same function is still there. Both are reached through the JSFunction. Frames without a function have a small even
 * number in place of their context.
 */
#define UNWIND_V8_CONTEXT (-8)
#define UNWIND_V8_FUNCTION (-16)

/*
 * Where the function has compiled code (which lies in no file), the preceding entry is its address, if user space asks
 * for it, to find inlined functions. Only in the first half of a stack, to leave room for callers.
 */
#define UNWIND_METHOD_HAS_CODE 1

static inline int unwind_has_code(__u64 ip)
{
	return unwind_is_method(ip) && (ip & UNWIND_METHOD_HAS_CODE);
}

/* Offset of SharedFunctionInfo in a JSFunction, and of its 4-byte number: both below 32 KiB. */
#define UNWIND_V8_WANTS_CODE (1u << 31)

static inline __u32 unwind_v8_offsets(__u32 shared_at, __u32 number_at, int wants_code)
{
	return shared_at | number_at << 16 | (wants_code ? UNWIND_V8_WANTS_CODE : 0);
}

static inline __u32 unwind_v8_shared_at(__u32 offsets)
{
	return offsets & 0xffff;
}

static inline __u32 unwind_v8_number_at(__u32 offsets)
{
	return offsets >> 16 & 0x7fff;
}

#define UNWIND_RA_OFFSET (-8)	/* of the return address from the CFA, on x86-64 */

/* A gap where no file is mapped: never in a table, only used by the walk. */
#define UNWIND_RULE_NO_FILE 1

/* Bits 19..16: enum unwind_cfa. */
static inline __u32 unwind_rule_cfa(__u32 rule)
{
	return rule >> 16 & 15;
}

/* Bits 15..0, signed, in bytes: CFA_SP, CFA_BP, CFA_SIGNAL, CFA_BP_SWITCH. */
static inline __s32 unwind_rule_offset(__u32 rule)
{
	return (__s32)(rule << 16) >> 13 & ~7;
}

/* Bits 15..4, signed, in bytes: CFA_DEREF_SP, CFA_DEREF_BP, CFA_REG, CFA_RA_REG. */
static inline __s32 unwind_rule_packed_offset(__u32 rule)
{
	return (__s32)(rule << 16) >> 17 & ~7;
}

/* Bits 3..0: a register number, or what is added after reading, in units of 8 bytes. */
static inline __u32 unwind_rule_extra(__u32 rule)
{
	return rule & 15;
}

/* Bits 7..0: bytes from sp to the CFA at the start of a PLT entry. */
static inline __u32 unwind_rule_plt_offset(__u32 rule)
{
	return rule & 255;
}

/* Bits 15..8: from this offset in the 16 bytes of a PLT entry, 8 bytes more. */
static inline __u32 unwind_rule_plt_from(__u32 rule)
{
	return rule >> 8 & 255;
}

/* Bits 21..20: enum unwind_bp. */
static inline __u32 unwind_rule_bp(__u32 rule)
{
	return rule >> 20 & 3;
}

/* Bits 31..22, signed, in bytes: BP_AT_CFA, BP_AT_BP. */
static inline __s32 unwind_rule_bp_offset(__u32 rule)
{
	return (__s32)rule >> 19 & ~7;
}

#endif
