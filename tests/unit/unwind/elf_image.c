/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "elf_image.h"

#include <elf.h>
#include <string.h>

#include "abi/unwind_abi.h"

void put_u8(GByteArray *a, unsigned v)
{
	uint8_t byte = (uint8_t)v;

	g_byte_array_append(a, &byte, 1);
}

void put_u32(GByteArray *a, uint32_t v)
{
	v = GUINT32_TO_LE(v);
	g_byte_array_append(a, (uint8_t *)&v, 4);
}

void put_u64(GByteArray *a, uint64_t v)
{
	v = GUINT64_TO_LE(v);
	g_byte_array_append(a, (uint8_t *)&v, 8);
}

void put_bytes(GByteArray *a, const char *bytes, size_t cnt)
{
	g_byte_array_append(a, (const uint8_t *)bytes, (guint)cnt);
}

/* Fills in the length of the entry that begins at `at`, padded to 4 bytes as linkers do. */
static void close_entry(GByteArray *a, uint32_t at)
{
	uint32_t bytes;

	while ((a->len - at) % 4)
		put_u8(a, 0);
	bytes = GUINT32_TO_LE(a->len - at - 4);
	memcpy(a->data + at, &bytes, 4);
}

uint32_t put_cie_of(GByteArray *a, const char *augmentation, const char *augmentation_data, size_t data_bytes,
		    unsigned code_align, const char *init, size_t init_bytes)
{
	uint32_t at = a->len;

	put_u32(a, 0);
	put_u32(a, 0);
	put_u8(a, 1);
	put_bytes(a, augmentation, strlen(augmentation) + 1);
	put_u8(a, code_align);
	put_u8(a, 0x78);	/* -8 */
	put_u8(a, 16);
	if (augmentation[0] == 'z') {
		put_u8(a, (unsigned)data_bytes);
		put_bytes(a, augmentation_data, data_bytes);
	}
	put_bytes(a, init, init_bytes);
	close_entry(a, at);
	return at;
}

uint32_t put_cie(GByteArray *a)
{
	return put_cie_of(a, "zR", "\x1b", 1, 1, "\x0c\x07\x08\x90\x01", 5);
}

void put_fde(GByteArray *a, uint32_t cie, uint32_t start, uint32_t bytes, const char *program, size_t program_bytes)
{
	uint32_t at = a->len;

	put_u32(a, 0);
	put_u32(a, at + 4 - cie);
	put_u32(a, IMAGE_TEXT + start - (IMAGE_FRAME + a->len));
	put_u32(a, bytes);
	put_u8(a, 0);
	put_bytes(a, program, program_bytes);
	close_entry(a, at);
}

#define HDR_OFFSET 0x200
#define FRAME_OFFSET 0x240
static const char section_names[] = "\0.eh_frame\0.debug_frame\0.shstrtab";

static void put_headers(GByteArray *a, enum image_kind kind, uint64_t frame_bytes, uint64_t sections_at)
{
	Elf64_Ehdr eh = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = kind == IMAGE_SEGMENT ? 3 : 2 };
	Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = IMAGE_TEXT, .p_memsz = IMAGE_TEXT_BYTES },
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = HDR_OFFSET,
		  .p_vaddr = IMAGE_FRAME - FRAME_OFFSET + HDR_OFFSET,
		  .p_filesz = frame_bytes + FRAME_OFFSET - HDR_OFFSET, .p_memsz = frame_bytes + FRAME_OFFSET - HDR_OFFSET },
		{ .p_type = PT_GNU_EH_FRAME, .p_flags = PF_R, .p_offset = HDR_OFFSET,
		  .p_vaddr = IMAGE_FRAME - FRAME_OFFSET + HDR_OFFSET, .p_filesz = 12, .p_memsz = 12 },
	};

	if (kind != IMAGE_SEGMENT) {
		eh.e_shoff = sections_at;
		eh.e_shentsize = sizeof(Elf64_Shdr);
		eh.e_shnum = 4;
		eh.e_shstrndx = 3;
	}
	memcpy(a->data, &eh, sizeof(eh));
	memcpy(a->data + sizeof(eh), ph, sizeof(ph));
	/* .eh_frame_hdr: version, pointer by pc-relative 4 bytes, no table. */
	memcpy(a->data + HDR_OFFSET, "\x01\x1b\xff\xff", 4);
	*(uint32_t *)(void *)(a->data + HDR_OFFSET + 4) = GUINT32_TO_LE(FRAME_OFFSET - HDR_OFFSET - 4);
}

GByteArray *image_of(enum image_kind kind, const GByteArray *frame, const GByteArray *more)
{
	GByteArray *a = g_byte_array_new();
	uint64_t more_at, names_at;
	Elf64_Shdr sh[4] = { { 0 } };

	g_byte_array_set_size(a, FRAME_OFFSET);
	memset(a->data, 0, a->len);
	g_byte_array_append(a, frame->data, frame->len);
	more_at = a->len;
	if (more)
		g_byte_array_append(a, more->data, more->len);
	names_at = a->len;
	put_bytes(a, section_names, sizeof(section_names));
	while (a->len % 8)
		put_u8(a, 0);
	put_headers(a, kind, frame->len, a->len);
	if (kind == IMAGE_SEGMENT)
		return a;
	sh[1] = (Elf64_Shdr){ .sh_name = kind == IMAGE_DEBUG ? 11 : 1, .sh_type = SHT_PROGBITS, .sh_addr = IMAGE_FRAME,
			      .sh_offset = FRAME_OFFSET, .sh_size = frame->len };
	sh[2] = (Elf64_Shdr){ .sh_name = 11, .sh_type = more ? SHT_PROGBITS : SHT_NULL, .sh_offset = more_at,
			      .sh_size = names_at - more_at };
	sh[3] = (Elf64_Shdr){ .sh_name = 24, .sh_type = SHT_STRTAB, .sh_offset = names_at,
			      .sh_size = sizeof(section_names) };
	g_byte_array_append(a, (uint8_t *)sh, sizeof(sh));
	return a;
}

char *rule_text(uint32_t rule)
{
	static const char *const regs[] = { "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10",
					    "r11", "r12", "r13", "r14", "r15" };
	int off = unwind_rule_offset(rule), packed = unwind_rule_packed_offset(rule);
	unsigned extra = unwind_rule_extra(rule);
	GString *s = g_string_new(NULL);

	switch (unwind_rule_cfa(rule)) {
	case UNWIND_CFA_GAP:
		g_string_append(s, "gap");
		break;
	case UNWIND_CFA_END:
		g_string_append(s, "end");
		break;
	case UNWIND_CFA_COMPLEX:
		g_string_append(s, "complex");
		break;
	case UNWIND_CFA_SP:
		g_string_append_printf(s, "sp%+d", off);
		break;
	case UNWIND_CFA_BP:
	case UNWIND_CFA_BP_SWITCH:
		g_string_append_printf(s, "bp%+d", off);
		break;
	case UNWIND_CFA_DEREF_SP:
		g_string_append_printf(s, "[sp%+d]%+d", packed, (int)extra * 8);
		break;
	case UNWIND_CFA_DEREF_BP:
		g_string_append_printf(s, "[bp%+d]%+d", packed, (int)extra * 8);
		break;
	case UNWIND_CFA_REG:
		g_string_append_printf(s, "%s%+d", regs[extra], packed);
		break;
	case UNWIND_CFA_RA_REG:
		g_string_append_printf(s, "sp%+d ra=%s", packed, regs[extra]);
		break;
	case UNWIND_CFA_PLT:
		g_string_append_printf(s, "plt %u,%u", unwind_rule_plt_offset(rule), unwind_rule_plt_from(rule));
		break;
	case UNWIND_CFA_SIGNAL:
		g_string_append_printf(s, "signal%+d", off);
		break;
	default:
		g_string_append(s, "?");
	}
	switch (unwind_rule_bp(rule)) {
	case UNWIND_BP_AT_CFA:
		g_string_append_printf(s, " bp=cfa%+d", unwind_rule_bp_offset(rule));
		break;
	case UNWIND_BP_AT_BP:
		g_string_append_printf(s, " bp=bp%+d", unwind_rule_bp_offset(rule));
		break;
	case UNWIND_BP_LOST:
		g_string_append(s, " bp lost");
		break;
	}
	return g_string_free(s, FALSE);
}
