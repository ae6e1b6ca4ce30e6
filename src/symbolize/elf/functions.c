/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/elf/functions.h"

#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

#include "base/each.h"
#include "base/elf_file.h"
#include "base/go_table.h"
#include "base/order.h"
#include "symbolize/dwarf/find.h"
#include "symbolize/names/demangle.h"
#include "symbolize/process/fileopen.h"

#define DEBUG_DIR "/usr/lib/debug"
#define TABLE_MAX_BYTES (UINT64_C(1) << 30)
#define NAME_MAX_BYTES 4096
#define SECTIONS_MAX 65536
#define FOUND_MAX 65536
#define CALLERS_MAX 3
#define INLINED_STEPS_MAX (DWARF_STEPS_MAX / 4)	/* a second or two */
#define PROBES_LISTED_MAX 256

bool elf_function_is_glob(const char *pattern)
{
	return strpbrk(pattern, "*?[") != NULL;
}

/* The end of the name, before its parameters. */
static size_t name_length(const char *whole)
{
	int depth = 0;

	for (const char *p = whole; *p; p++) {
		if (g_str_has_prefix(p, "(anonymous namespace)")) {
			p += strlen("(anonymous namespace)") - 1;
		} else if (g_str_has_prefix(p, "operator")) {
			p += strlen("operator");
			while (*p && strchr("<>()-=+*/%^&|~!,[]", *p) && (*p != '(' || p[1] == ')'))
				p++;
			p--;
		} else if (*p == '<') {
			depth++;
		} else if (*p == '>') {
			depth--;
		} else if (*p == '(' && depth == 0) {
			return (size_t)(p - whole);
		}
	}
	return strlen(whole);
}

/* "void A::f<int>(int) [clone .x]" -> "A::f<int>". */
static char *without_parameters(const char *whole)
{
	g_autofree char *name = g_strndup(whole, name_length(whole));
	const char *start = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (g_str_has_prefix(p, "operator"))
			break;
		depth += (*p == '<') - (*p == '>');
		if (*p == ' ' && depth == 0)
			start = p + 1;
	}
	return g_str_has_prefix(start, "namespace)") ? g_strdup(name) : g_strdup(start);
}

/* "A::f<int>" -> "A::f". */
static char *without_template(const char *name)
{
	size_t len = strlen(name);
	int depth = 0;

	if (!len || name[len - 1] != '>' || strstr(name, "operator"))
		return NULL;
	for (size_t i = len; i-- > 0;) {
		depth += (name[i] == '>') - (name[i] == '<');
		if (depth == 0)
			return i ? g_strndup(name, i) : NULL;
	}
	return NULL;
}

static bool is_match(const char *pattern, bool is_glob, const char *name)
{
	return name && (is_glob ? fnmatch(pattern, name, 0) == 0 : strcmp(pattern, name) == 0);
}

/* The last word of the pattern, which a matching symbol contains however it is mangled. */
static char *needle_of(const char *pattern)
{
	size_t end = name_length(pattern), start;

	if (elf_function_is_glob(pattern) || strstr(pattern, "operator") || strchr(pattern, '~'))
		return g_strdup("");
	if (memchr(pattern, '<', end))
		end = (size_t)((const char *)memchr(pattern, '<', end) - pattern);
	for (start = end; start && (g_ascii_isalnum(pattern[start - 1]) || pattern[start - 1] == '_'); start--)
		;
	return g_strndup(pattern + start, end - start);
}

struct search {
	struct elf_functions *to;
	const char *pattern;
	char *needle;
	bool is_glob;
	const struct elf_segment *segments;
	size_t segment_cnt;
};

static bool offset_of(const struct elf_segment *segments, size_t cnt, uint64_t addr, uint64_t *ret_off)
{
	for (size_t i = 0; i < cnt; i++) {
		if (addr < segments[i].vaddr || addr - segments[i].vaddr >= segments[i].size)
			continue;
		*ret_off = addr - segments[i].vaddr + segments[i].off;
		return true;
	}
	return false;
}

/* The linkage name without version. NULL: part of a function, or none. */
static char *linkers_name(const char *raw)
{
	const char *at = strchr(raw + 1, '@'), *dot = strchr(raw + 1, '.');
	char *name;

	if (!raw[0] || raw[0] == '.' || strstr(raw, ".cold") || strstr(raw, ".part.") || strlen(raw) > NAME_MAX_BYTES)
		return NULL;
	name = at ? g_strndup(raw, (size_t)(at - raw)) : g_strdup(raw);
	/* GCC's clones of a function, ".isra.0", ".constprop.0"; Go's names contain dots everywhere */
	if (dot && (g_str_has_prefix(dot, ".isra.") || g_str_has_prefix(dot, ".constprop.") ||
		    g_str_has_prefix(dot, ".lto_priv.")))
		name[dot - raw] = 0;
	return name;
}

/* Does it match? Free the names in either case. */
static bool is_wanted(const struct search *s, const char *raw, char **ret_name, char **ret_whole)
{
	g_autofree char *linkers = NULL, *plain = NULL;

	if (!strstr(raw, s->needle) || !(linkers = linkers_name(raw)))
		return false;
	*ret_whole = demangle(linkers);
	if (!*ret_whole)
		*ret_whole = g_strdup(linkers);
	*ret_name = without_parameters(*ret_whole);
	plain = without_template(*ret_name);
	return is_match(s->pattern, s->is_glob, linkers) || is_match(s->pattern, s->is_glob, *ret_whole) ||
	       is_match(s->pattern, s->is_glob, *ret_name) || is_match(s->pattern, s->is_glob, plain);
}

static void take_symbol(struct search *s, const GElf_Sym *sym, const char *raw)
{
	g_autofree char *whole = NULL, *name = NULL;
	struct elf_function f = { .addr = sym->st_value, .size = sym->st_size };

	if (s->to->list->len >= FOUND_MAX || !is_wanted(s, raw, &name, &whole))
		return;
	if (GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC) {
		s->to->is_ifunc = true;
		return;
	}
	if (!offset_of(s->segments, s->segment_cnt, f.addr, &f.off))
		return;
	f.name = g_steal_pointer(&name);
	f.whole = g_steal_pointer(&whole);
	g_array_append_val(s->to->list, f);
}

/* Searches a symbol table. False: damaged, or too large. */
static bool search_symbols(struct search *s, const struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Scn *names_scn = elf_getscn(file->elf, sh->sh_link);
	Elf_Data *data, *names;
	GElf_Shdr names_sh;
	size_t cnt;

	if (!names_scn || !gelf_getshdr(names_scn, &names_sh) || sh->sh_size > TABLE_MAX_BYTES ||
	    names_sh.sh_size > TABLE_MAX_BYTES || (sh->sh_flags | names_sh.sh_flags) & SHF_COMPRESSED)
		return false;
	data = elf_getdata(scn, NULL);
	names = elf_rawdata(names_scn, NULL);
	if (!data || !data->d_buf || !names || !names->d_buf || !names->d_size ||
	    ((const char *)names->d_buf)[names->d_size - 1])
		return false;
	cnt = data->d_size / MAX(gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT), 1);
	for (size_t i = 1; i < cnt && i < INT_MAX; i++) {
		GElf_Sym sym;

		if (gelf_getsym(data, (int)i, &sym) && sym.st_shndx != SHN_UNDEF && sym.st_name < names->d_size &&
		    (GELF_ST_TYPE(sym.st_info) == STT_FUNC || GELF_ST_TYPE(sym.st_info) == STT_GNU_IFUNC))
			take_symbol(s, &sym, (const char *)names->d_buf + sym.st_name);
	}
	return true;
}

static bool has_text(const void *bytes, size_t len, const char *word)
{
	size_t word_len = strlen(word) + 1;	/* including its terminator */

	for (const char *p = bytes, *end = p + len; p < end;) {
		const char *found = memmem(p, (size_t)(end - p), word, word_len);

		if (!found)
			return false;
		if (found == (const char *)bytes || !found[-1])
			return true;
		p = found + 1;
	}
	return false;
}

/* Checks debug information for the name, which is there even if the function is inlined everywhere. */
static void look_for_name(struct search *s, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data;

	if (sh->sh_size > TABLE_MAX_BYTES || !*s->needle)
		return;
	if (sh->sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
		return;
	data = elf_rawdata(scn, NULL);
	if (data && data->d_buf && has_text(data->d_buf, data->d_size, s->needle))
		s->to->is_named_elsewhere = true;
}

static void search_file(struct search *s, const struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	size_t cnt = 0;

	while ((scn = elf_nextscn(file->elf, scn)) && cnt++ < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		name = elf_file_section_name(file, &sh);
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			s->to->has_symbols |= search_symbols(s, file, scn, &sh) && sh.sh_type == SHT_SYMTAB;
		else if (g_strcmp0(name, ".gopclntab") == 0)
			s->to->is_go = true;
		else if (g_strcmp0(name, ".debug_str") == 0 && !s->to->list->len)
			look_for_name(s, scn, &sh);
	}
}

/* Go's function table names all functions, also in stripped programs. */
static void search_go(struct search *s, const struct elf_file *file)
{
	GElf_Sym sym = { .st_info = GELF_ST_INFO(STB_LOCAL, STT_FUNC) };
	struct go_table table;
	struct go_func f;

	if (!go_table_open(&table, file))
		return;
	s->to->is_go = true;
	for (uint32_t i = 0; !s->to->has_symbols && i < table.func_cnt; i++) {
		if (!go_table_func(&table, i, &f))
			continue;
		sym.st_value = f.start;
		sym.st_size = f.end - f.start;
		take_symbol(s, &sym, f.name);
	}
	s->to->has_symbols = true;
}

static bool is_wanted_name(const char *name, void *data)
{
	g_autofree char *plain = NULL, *whole = NULL;

	/* without a linkage name the namespace is unknown */
	return *name && (is_wanted(data, name, &plain, &whole) || strcmp(name, ((struct search *)data)->needle) == 0);
}

/* Finds functions into which one without code of its own is inlined. */
static void search_inlined(struct search *s, int fd)
{
	struct dwarf_budget budget = { INLINED_STEPS_MAX, DWARF_KEPT_MAX_BYTES };
	struct dwarf_image *im = s->to->is_named_elsewhere && !s->to->list->len ? dwarf_image_open(fd, &budget, NULL)
										: NULL;
	g_autoptr(GArray) found = NULL;
	GStringChunk *strings;

	if (!im)
		return;
	strings = g_string_chunk_new(4096);
	found = dwarf_inlined_find(im, is_wanted_name, s, CALLERS_MAX, strings);
	EACH_ROW(i, const struct dwarf_inlined, one, found) {
		g_autofree char *demangled = demangle(one->caller),
				*name = without_parameters(demangled ? demangled : one->caller);
		g_autofree char *file = one->file ? g_path_get_basename(one->file) : NULL;

		g_ptr_array_add(s->to->inlined,
				file ? g_strdup_printf("%s (%s:%u)", name, file, one->line) : g_steal_pointer(&name));
	}
	g_string_chunk_free(strings);
	dwarf_image_free(im);
}

/* The separate debug file has the symbols of a stripped file. */
static void search_debug_file(struct search *s, int fd, const char *path)
{
	struct elf_table *t = elf_table_read(fd, NULL);
	g_autoptr(GPtrArray) paths = t ? debug_file_paths(t, path, DEBUG_DIR) : NULL;
	bool is_found = false;

	for (guint i = 0; paths && i < paths->len && !is_found; i++) {
		int debug_fd = file_open_here(paths->pdata[i]);
		struct elf_table *debug = debug_fd < 0 ? NULL : debug_file_read(t, debug_fd);
		struct elf_file file;

		if (debug && elf_file_open_debug(&file, debug_fd, NULL)) {
			search_file(s, &file);
			search_inlined(s, debug_fd);
			elf_file_close(&file);
			is_found = true;
		}
		elf_table_free(debug);
		if (debug_fd >= 0)
			close(debug_fd);
	}
	elf_table_free(t);
}

CLEARS(function_clear, struct elf_function, f, g_free(f->name); g_free(f->whole))

ORDER(by_address, struct elf_function, ORDER_LOW(addr) ORDER_TEXT(whole))

static void sort_out(GArray *list)
{
	guint kept = 0;

	g_array_sort(list, by_address);
	EACH_ROW(i, struct elf_function, f, list) {
		if (kept && g_array_index(list, struct elf_function, kept - 1).addr == f->addr) {
			function_clear(f);
			continue;
		}
		if (kept != i)
			g_array_index(list, struct elf_function, kept) = *f;
		kept++;
	}
	/* the remaining ones were moved or freed */
	g_array_set_clear_func(list, NULL);
	g_array_set_size(list, kept);
	g_array_set_clear_func(list, function_clear);
}

bool elf_functions_find(struct elf_functions *f, int fd, const char *path, const char *pattern, GError **error)
{
	struct search s = { .to = f, .pattern = pattern, .is_glob = elf_function_is_glob(pattern) };
	struct elf_file file;

	*f = (struct elf_functions){
		.list = g_array_new(FALSE, FALSE, sizeof(struct elf_function)),
		.inlined = g_ptr_array_new_with_free_func(g_free),
	};
	g_array_set_clear_func(f->list, function_clear);
	if (!elf_file_open(&file, fd, error)) {
		elf_file_close(&file);
		elf_functions_clear(f);
		return false;
	}
	f->machine = file.machine;
	s.segments = file.segments;
	s.segment_cnt = file.segment_cnt;
	s.needle = needle_of(pattern);
	search_file(&s, &file);
	search_go(&s, &file);
	search_inlined(&s, fd);
	if (!f->has_symbols)
		search_debug_file(&s, fd, path);
	sort_out(f->list);
	g_free(s.needle);
	elf_file_close(&file);
	return true;
}

void elf_functions_clear(struct elf_functions *f)
{
	g_clear_pointer(&f->list, g_array_unref);
	g_clear_pointer(&f->inlined, g_ptr_array_unref);
}

/* -- USDT: notes in SystemTap's format ----------------------------------------------- */

#define NOTE_STAPSDT 3
#define NOTES_MAX_BYTES (64 << 20)

struct note_search {
	struct elf_file file;
	const char *provider, *name;
	uint64_t base;		/* address of .stapsdt.base, 0: none */
	GArray *found;
	GPtrArray *names;	/* instead of `found`: names of the provider's probes, or of providers */
};

static void take_name(struct note_search *s, const char *provider, const char *name)
{
	const char *word = s->provider ? name : provider;

	if ((!s->provider || strcmp(provider, s->provider) == 0) && s->names->len < PROBES_LISTED_MAX &&
	    !g_ptr_array_find_with_equal_func(s->names, word, g_str_equal, NULL))
		g_ptr_array_add(s->names, g_strdup(word));
}

/* A note has three addresses and three NUL-terminated strings. */
static void take_note(struct note_search *s, const uint8_t *desc, size_t len)
{
	const char *provider = (const char *)desc + 3 * sizeof(uint64_t), *name;
	uint64_t addr[3], shift;
	struct elf_probe probe = { 0 };

	if (!s->file.is_64_little || len <= sizeof(addr) || desc[len - 1])
		return;
	memcpy(addr, desc, sizeof(addr));
	name = provider + strlen(provider) + 1;
	if (name >= (const char *)desc + len)
		return;
	if (s->names) {
		take_name(s, provider, name);
		return;
	}
	if (strcmp(provider, s->provider) != 0 || strcmp(name, s->name) != 0)
		return;
	shift = s->base ? s->base - addr[1] : 0;	/* correct for prelinking */
	if (!offset_of(s->file.segments, s->file.segment_cnt, addr[0] + shift, &probe.off))
		return;
	if (addr[2] && !offset_of(s->file.segments, s->file.segment_cnt, addr[2] + shift, &probe.semaphore))
		return;
	g_array_append_val(s->found, probe);
}

static void search_notes(struct note_search *s, Elf_Scn *scn)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t at = 0, name_at, desc_at;
	GElf_Nhdr note;

	if (!data || !data->d_buf || data->d_size > NOTES_MAX_BYTES)
		return;
	while ((at = gelf_getnote(data, at, &note, &name_at, &desc_at)) > 0)
		if (note.n_type == NOTE_STAPSDT && note.n_namesz == sizeof("stapsdt") &&
		    memcmp((const char *)data->d_buf + name_at, "stapsdt", sizeof("stapsdt")) == 0 && note.n_descsz)
			take_note(s, (const uint8_t *)data->d_buf + desc_at, note.n_descsz);
}

static bool search_probes(struct note_search *s, int fd, GError **error)
{
	Elf_Scn *scn;
	GElf_Shdr sh;
	bool ok = elf_file_open(&s->file, fd, error);

	scn = ok ? elf_file_section_named(&s->file, ".stapsdt.base") : NULL;
	if (scn && gelf_getshdr(scn, &sh))
		s->base = sh.sh_addr;
	scn = ok ? elf_file_section_named(&s->file, ".note.stapsdt") : NULL;
	if (scn)
		search_notes(s, scn);
	elf_file_close(&s->file);
	return ok;
}

GArray *elf_probes_find(int fd, const char *provider, const char *name, GError **error)
{
	struct note_search s = { .provider = provider,
				 .name = name,
				 .found = g_array_new(FALSE, FALSE, sizeof(struct elf_probe)) };

	if (search_probes(&s, fd, error))
		return s.found;
	g_array_unref(s.found);
	return NULL;
}

GPtrArray *elf_probes_list(int fd, const char *provider)
{
	struct note_search s = { .provider = provider, .names = g_ptr_array_new_with_free_func(g_free) };

	search_probes(&s, fd, NULL);
	return s.names;
}
