/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "symbolize/dwarf/find.h"

#define PROGRAM_MAX_BYTES ((size_t)64 << 20)
#define FILES_MAX (1u << 20)
#define FORMATS_MAX 16
#define PATH_BYTES_MAX 4096

struct entry {
	struct dwarf_value path;
	uint64_t folder;
};

struct dwarf_lines {
	struct dwarf_unit in;	/* used in place of the unit: inline strings are offsets in our bytes */
	const struct dwarf_unit *unit;
	GArray *folders, *files;	/* struct entry; [0] is that of the compilation, also before DWARF 5 */
	uint8_t min_bytes, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256];
	struct cursor program;
};

static bool read_bytes(struct dwarf_lines *l, uint64_t off)
{
	uint64_t size = dwarf_section_bytes(l->unit->im, DWARF_LINE), len = 0;
	uint8_t bytes[12];
	struct cursor c = cursor_of(bytes, sizeof(bytes));

	if (off >= size || size - off < sizeof(bytes) ||
	    !dwarf_section_read(l->unit->im, DWARF_LINE, off, bytes, sizeof(bytes)))
		return false;
	len = cursor_u32(&c);
	l->in.head.offset_bytes = 4;
	if (len == UINT32_MAX) {
		len = cursor_u64(&c);
		l->in.head.offset_bytes = 8;
	}
	off += (uint64_t)(c.at - bytes);
	if (len > size - off || len > PROGRAM_MAX_BYTES || !len)
		return false;
	l->in.bytes = g_try_malloc(len);
	l->in.len = (size_t)len;
	return l->in.bytes && dwarf_section_read(l->unit->im, DWARF_LINE, off, l->in.bytes, l->in.len);
}

static bool add_entry(GArray *entries, const struct entry *e)
{
	if (entries->len >= FILES_MAX)
		return false;
	g_array_append_vals(entries, e, 1);
	return true;
}

/* Before DWARF 5: strings, terminated by an empty one; for files three numbers follow each. */
static bool read_old_table(struct dwarf_lines *l, struct cursor *c, GArray *ret, bool are_files)
{
	struct entry none = { .path = { 0 } };

	add_entry(ret, &none);
	while (!c->bad && dwarf_spend(l->unit->im, 1)) {
		struct entry e = { .folder = 0 };
		const uint8_t *at = c->at;

		if (!dwarf_value_read(&l->in, c, DW_FORM_string, &e.path))
			return false;
		if (!*at)
			return true;
		if (are_files) {
			e.folder = cursor_uleb(c);
			cursor_uleb(c);
			cursor_uleb(c);
		}
		if (!add_entry(ret, &e))
			return false;
	}
	return false;
}

static bool read_table(struct dwarf_lines *l, struct cursor *c, GArray *ret)
{
	unsigned format_cnt = cursor_u8(c);
	uint64_t kinds[FORMATS_MAX], forms[FORMATS_MAX], cnt;

	if (format_cnt > FORMATS_MAX)
		return false;
	for (unsigned i = 0; i < format_cnt; i++) {
		kinds[i] = cursor_uleb(c);
		forms[i] = cursor_uleb(c);
	}
	cnt = cursor_uleb(c);
	if (c->bad || (cnt && !format_cnt))
		return false;
	for (uint64_t i = 0; i < cnt; i++) {
		struct entry e = { .folder = 0 };

		if (!dwarf_spend(l->unit->im, format_cnt))
			return false;
		for (unsigned k = 0; k < format_cnt; k++) {
			struct dwarf_value v;

			if (!dwarf_value_read(&l->in, c, forms[k], &v))
				return false;
			if (kinds[k] == DW_LNCT_path)
				e.path = v;
			else if (kinds[k] == DW_LNCT_directory_index)
				e.folder = v.u;
		}
		if (!add_entry(ret, &e))
			return false;
	}
	return true;
}

static bool read_tables(struct dwarf_lines *l, struct cursor *c)
{
	if (l->in.head.version >= 5)
		return read_table(l, c, l->folders) && read_table(l, c, l->files);
	return read_old_table(l, c, l->folders, false) && read_old_table(l, c, l->files, true);
}

static bool read_header(struct dwarf_lines *l)
{
	struct cursor c = cursor_of(l->in.bytes, l->in.len);
	uint64_t header_len;

	l->in.head.version = cursor_u16(&c);
	if (l->in.head.version < 2 || l->in.head.version > 5)
		return false;
	if (l->in.head.version >= 5)
		cursor_take(&c, 2);	/* sizes of address and segment selector */
	header_len = l->in.head.offset_bytes == 8 ? cursor_u64(&c) : cursor_u32(&c);
	if (c.bad || header_len > cursor_left(&c))
		return false;
	l->program = (struct cursor){ .at = c.at + header_len, .end = c.end };
	c.end = l->program.at;
	l->min_bytes = cursor_u8(&c);
	if (l->in.head.version >= 4)
		cursor_u8(&c);	/* operations per VLIW instruction: not on our machines */
	cursor_u8(&c);		/* default_is_stmt */
	l->line_base = (int8_t)cursor_u8(&c);
	l->line_range = cursor_u8(&c);
	l->opcode_base = cursor_u8(&c);
	for (unsigned i = 1; i < l->opcode_base; i++)
		l->operands[i] = cursor_u8(&c);
	return !c.bad && l->line_range && l->opcode_base && read_tables(l, &c);
}

struct dwarf_lines *dwarf_lines_read(const struct dwarf_unit *u)
{
	const struct dwarf_value *at = &u->root.kept[KEPT_STMT_LIST];
	struct dwarf_lines *l;

	if (!at->form)
		return NULL;
	l = g_new0(struct dwarf_lines, 1);
	l->unit = u;
	l->in.im = u->im;
	l->in.head = u->head;
	l->in.str_base = u->str_base;
	l->folders = g_array_new(FALSE, FALSE, sizeof(struct entry));
	l->files = g_array_new(FALSE, FALSE, sizeof(struct entry));
	if (read_bytes(l, at->u) && read_header(l))
		return l;
	dwarf_lines_free(l);
	return NULL;
}

FREES(dwarf_lines_free, struct dwarf_lines, l, g_array_unref(l->folders); g_array_unref(l->files); g_free(l->in.bytes))

struct row {
	uint64_t address, file;
	uint32_t line;
};

/* The state of a line program. */
struct machine {
	struct row now, last;
	bool has_last, is_dead;
	dwarf_row_fn *each;
	void *data;
};

static void machine_reset(struct machine *m)
{
	m->now = (struct row){ .file = 1, .line = 1 };
	m->has_last = m->is_dead = false;
}

/* A row covers the addresses up to the next row. */
static void emit(struct machine *m)
{
	if (!m->has_last)
		m->is_dead = m->now.address == 0;	/* dropped by the linker, see ranges.c */
	else if (!m->is_dead && m->last.address < m->now.address)
		m->each(m->last.address, m->now.address, m->last.file, m->last.line, m->data);
	m->last = m->now;
	m->has_last = true;
}

static void define_file(struct dwarf_lines *l, struct cursor *c)
{
	struct entry e = { .folder = 0 };

	if (dwarf_value_read(&l->in, c, DW_FORM_string, &e.path)) {
		e.folder = cursor_uleb(c);
		add_entry(l->files, &e);
	}
}

static void run_extended(struct dwarf_lines *l, struct machine *m, struct cursor *c)
{
	uint64_t len = cursor_uleb(c);
	struct cursor in = { .at = c->at };

	if (!len || !cursor_take(c, len))
		return;
	in.end = c->at;
	switch (cursor_u8(&in)) {
	case DW_LNE_end_sequence:
		emit(m);
		machine_reset(m);
		break;
	case DW_LNE_set_address: m->now.address = len == 5 ? cursor_u32(&in) : cursor_u64(&in); break;
	case DW_LNE_define_file: define_file(l, &in); break;
	default: break;
	}
}

static void run_special(const struct dwarf_lines *l, struct machine *m, uint8_t opcode)
{
	unsigned adjusted = (unsigned)opcode - l->opcode_base;

	m->now.address += (uint64_t)(adjusted / l->line_range) * l->min_bytes;
	m->now.line += (uint32_t)(l->line_base + (int)(adjusted % l->line_range));
}

static void run_standard(struct dwarf_lines *l, struct machine *m, struct cursor *c, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_extended: run_extended(l, m, c); break;
	case DW_LNS_copy: emit(m); break;
	case DW_LNS_advance_pc: m->now.address += cursor_uleb(c) * l->min_bytes; break;
	case DW_LNS_advance_line: m->now.line += (uint32_t)cursor_sleb(c); break;
	case DW_LNS_set_file: m->now.file = cursor_uleb(c); break;
	case DW_LNS_const_add_pc:
		m->now.address += (255u - l->opcode_base) / l->line_range * (uint64_t)l->min_bytes;
		break;
	case DW_LNS_fixed_advance_pc: m->now.address += cursor_u16(c); break;
	default:
		for (unsigned i = 0; i < l->operands[opcode]; i++)
			cursor_uleb(c);
	}
}

void dwarf_lines_run(struct dwarf_lines *l, dwarf_row_fn *each, void *data)
{
	struct machine m = { .each = each, .data = data };
	struct cursor c = l->program;

	machine_reset(&m);
	while (cursor_left(&c) && !c.bad && dwarf_spend(l->unit->im, 1)) {
		uint8_t opcode = cursor_u8(&c);

		if (opcode < l->opcode_base) {
			run_standard(l, &m, &c, opcode);
			continue;
		}
		run_special(l, &m, opcode);
		emit(&m);
	}
}

static char *entry_string(const struct dwarf_lines *l, const struct entry *e)
{
	return dwarf_value_string(&l->in, &e->path);
}

/* Frees both arguments. */
static char *joined(char *folder, char *name)
{
	char *path = NULL;

	if (name && name[0] != '/' && folder && *folder && strlen(folder) + strlen(name) <= PATH_BYTES_MAX)
		path = g_strconcat(folder, g_str_has_suffix(folder, "/") ? "" : "/", name, NULL);
	g_free(folder);
	if (!path)
		return name;
	g_free(name);
	return path;
}

char *dwarf_lines_path(const struct dwarf_lines *l, uint64_t file)
{
	const struct entry *e;
	char *name, *folder = NULL;

	if (file >= l->files->len)
		return NULL;
	e = &g_array_index(l->files, struct entry, file);
	name = entry_string(l, e);
	if (!name || !*name || name[0] == '/') {
		if (name && *name)
			return name;
		g_free(name);
		return NULL;
	}
	if (e->folder < l->folders->len)
		folder = entry_string(l, &g_array_index(l->folders, struct entry, e->folder));
	if (!folder || folder[0] != '/')
		folder = joined(dwarf_value_string(l->unit, &l->unit->root.kept[KEPT_COMP_DIR]), folder);
	if (!folder)
		folder = dwarf_value_string(l->unit, &l->unit->root.kept[KEPT_COMP_DIR]);
	return joined(folder, name);
}
