/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "go_image.h"

#include <elf.h>
#include <string.h>

#define TABLE 0x500000
#define HEAD_BYTES (sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr))

static const char names[] = "\0.text\0.gopclntab\0.shstrtab";

GByteArray *go_image(uint16_t machine, const uint8_t *table, size_t size, const uint8_t *text)
{
	GByteArray *a = g_byte_array_new();
	Elf64_Ehdr eh = { .e_type = ET_EXEC, .e_machine = machine, .e_version = EV_CURRENT, .e_ehsize = sizeof(eh),
			  .e_phoff = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
			  .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3 };
	size_t text_at = HEAD_BYTES, table_at = text_at + GO_TEXT_BYTES, names_at = table_at + size;
	const Elf64_Phdr ph[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = text_at, .p_vaddr = GO_TEXT, .p_filesz = GO_TEXT_BYTES,
		  .p_memsz = GO_TEXT_BYTES },
		{ .p_type = PT_LOAD, .p_flags = PF_R, .p_offset = table_at, .p_vaddr = TABLE, .p_filesz = size, .p_memsz = size },
	};
	const Elf64_Shdr sh[4] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = GO_TEXT,
		  .sh_offset = text_at, .sh_size = GO_TEXT_BYTES },
		{ .sh_name = 7, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = TABLE, .sh_offset = table_at,
		  .sh_size = size },
		{ .sh_name = 18, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = sizeof(names) },
	};

	memcpy(eh.e_ident, ELFMAG, SELFMAG);
	eh.e_ident[EI_CLASS] = ELFCLASS64;
	eh.e_ident[EI_DATA] = ELFDATA2LSB;
	eh.e_ident[EI_VERSION] = EV_CURRENT;
	eh.e_shoff = names_at + sizeof(names);
	g_byte_array_append(a, (const void *)&eh, sizeof(eh));
	g_byte_array_append(a, (const void *)ph, sizeof(ph));
	g_byte_array_append(a, text, GO_TEXT_BYTES);
	g_byte_array_append(a, table, (guint)size);
	g_byte_array_append(a, (const void *)names, sizeof(names));
	g_byte_array_append(a, (const void *)sh, sizeof(sh));
	return a;
}
