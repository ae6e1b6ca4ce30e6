/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/process/maps.h"

#include <elf.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "base/opener/opener.h"
#include "symbolize/process/fileopen.h"
#include "symbolize/runtime/memory.h"

#define AUXV_MAX_BYTES 4096

char *program_path(const char *proc_dir, uint32_t pid)
{
	g_autofree char *link = g_strdup_printf("%s/%" PRIu32 "/exe", proc_dir, pid);

	return opener_link(link);
}

/* Where the kernel put the path given to execve(). 0: unknown. */
static uint64_t address_of_path(const char *dir)
{
	g_autofree char *path = g_strconcat(dir, "/auxv", NULL);
	size_t len = 0;
	g_autofree char *text = opener_text(path, AUXV_MAX_BYTES, &len);
	Elf64_auxv_t entry;

	for (size_t at = 0; text && at + sizeof(entry) <= len; at += sizeof(entry)) {
		memcpy(&entry, text + at, sizeof(entry));
		if (entry.a_type == AT_EXECFN)
			return entry.a_un.a_val;
	}
	return 0;
}

static bool is_plain_text(const char *text)
{
	if (!*text || !g_utf8_validate(text, -1, NULL))
		return false;
	for (; *text; text++)
		if (g_ascii_iscntrl(*text))
			return false;
	return true;
}

static char *given_path(uint32_t pid, const char *dir)
{
	g_autofree char *cwd_link = g_strconcat(dir, "/cwd", NULL), *cwd = NULL;
	char text[PATH_MAX] = "";
	uint64_t addr = address_of_path(dir);

	if (!addr || !memory_text(pid, addr, text, sizeof(text)) || !is_plain_text(text))
		return NULL;
	if (text[0] == '/')
		return g_strdup(text);
	cwd = opener_link(cwd_link);
	return cwd ? g_canonicalize_filename(text, cwd) : NULL;
}

char *executed_path(const char *proc_dir, uint32_t pid, const char *program, const struct maps_line *line)
{
	g_autofree char *dir = g_strdup_printf("%s/%" PRIu32, proc_dir, pid), *path = NULL, *own = NULL, *given = NULL;

	if (!program || strcmp(program, line->path) != 0 || !(path = given_path(pid, dir)))
		return NULL;
	own = g_path_get_basename(line->path);
	given = g_path_get_basename(path);
	if (strcmp(own, given) == 0 || !file_leads_to_line(proc_dir, pid, path, line))
		return NULL;
	return g_steal_pointer(&path);
}
