/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "symbolize/dwarf/find.h"
#include "symbolize/elf/functions.h"
#include "symbolize/elf/table.h"
#include "symbolize/process/fileopen.h"

/* For all files together: about ten seconds with hostile files (docs/lines.md). */
#define ALL_STEPS_MAX (3 * DWARF_STEPS_MAX)

G_STATIC_ASSERT(SYMBOL_MISSED_CNT == DWARF_MISSED_CNT);

const char *symbol_missed_text(unsigned missed, const char **ret_id)
{
	static const struct { const char *id, *text;
	} texts[DWARF_MISSED_CNT] = {
		[DWARF_MISSED_UNREADABLE] =
			{ "lines_unreadable",
			  "a file's debug information cannot be read: no lines and inlined functions of it" },
		[DWARF_MISSED_TOO_MUCH] =
			{ "lines_too_much",
			  "a file has more debug information than is read: some lines and inlined functions are missing" },
		[DWARF_MISSED_DAMAGED] =
			{ "lines_damaged",
			  "a file's debug information is damaged: some lines and inlined functions are missing" },
		[DWARF_MISSED_SPLIT] =
			{ "lines_split",
			  "a file's debug information is in .dwo files, which are not read: no inlined functions of it" },
		[DWARF_MISSED_ALT] =
			{ "lines_no_supplement",
			  "a file's debug information is in part in another that is not there: inlined functions have no names" },
	};

	if (missed >= DWARF_MISSED_CNT)
		missed = DWARF_MISSED_UNREADABLE;
	*ret_id = texts[missed].id;
	return texts[missed].text;
}

/* The supplementary file while it is open. */
struct supplement {
	int fd;
	struct dwarf_image *image;
};

static void supplement_close(struct supplement *s)
{
	dwarf_image_free(s->image);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct supplement){ .fd = -1 };
}

/* Opens the file at path if it is below debug_dir and has that build-id. */
static bool supplement_open(struct supplement *s, const char *path, const char *debug_dir, const uint8_t *build_id,
			    size_t bytes, struct dwarf_budget *budget)
{
	g_autofree char *plain = g_canonicalize_filename(path, "/");
	g_autofree char *below = g_canonicalize_filename(debug_dir, "/");
	size_t len = strlen(below), own_bytes;
	const uint8_t *own;

	if (strncmp(plain, below, len) || plain[len] != '/')
		return false;
	s->fd = file_open_here(plain);
	s->image = s->fd >= 0 ? dwarf_image_open(s->fd, budget, NULL) : NULL;
	own = s->image ? dwarf_image_build_id(s->image, &own_bytes) : NULL;
	if (own && own_bytes == bytes && !memcmp(own, build_id, bytes))
		return true;
	supplement_close(s);
	return false;
}

/* The folder of the file behind fd. NULL: deleted. */
static char *folder_of(int fd)
{
	g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", fd);
	g_autofree char *path = g_file_read_link(link, NULL);

	return path && path[0] == '/' ? g_path_get_dirname(path) : NULL;
}

/*
 * Finds the supplementary file of im. The file's owner chose its name, so it must be below the folder of debug files,
 * whoever owns it, and have the stated build-id.
 */
static void supplement_find(struct supplement *s, const struct dwarf_image *im, int fd, const char *debug_dir,
			    struct dwarf_budget *budget)
{
	const char *name = dwarf_image_alt_path(im);
	g_autofree char *folder = folder_of(fd);
	g_autofree char *path = NULL;
	size_t bytes;
	const uint8_t *build_id = dwarf_image_alt_build_id(im, &bytes);
	g_autofree char *by_id = NULL;

	*s = (struct supplement){ .fd = -1 };
	if (!name || !bytes || bytes > ELF_BUILD_ID_MAX)
		return;
	if (name[0] == '/')
		path = g_strdup(name);
	else if (folder)
		path = g_build_filename(folder, name, NULL);
	if (path && supplement_open(s, path, debug_dir, build_id, bytes, budget))
		return;
	by_id = elf_debug_path(debug_dir, build_id, bytes);
	supplement_open(s, by_id, debug_dir, build_id, bytes, budget);
}

struct reading {
	const char *debug_dir;
	GStringChunk *strings;
	uint64_t steps_left;
	uint64_t *missed;
};

/* Copies frames of dwarf/find.h to those of symbolize.h, which are to be demangled. */
static void hand_over(const struct dwarf_place *from, struct symbol_place *to)
{
	to->frames = g_new0(struct symbol_frame, from->frame_cnt);
	to->frame_cnt = from->frame_cnt;
	for (unsigned i = 0; i < from->frame_cnt; i++)
		to->frames[i] = (struct symbol_frame){ .name = from->frames[i].name, .file = from->frames[i].file,
						       .line = from->frames[i].line };
	g_free(from->frames);
}

static void find_in(struct reading *r, struct dwarf_image *im, struct symbol_place *places, size_t cnt)
{
	g_autofree struct dwarf_place *asked = g_new0(struct dwarf_place, cnt);
	g_autoptr(GError) error = NULL;

	for (size_t i = 0; i < cnt; i++)
		asked[i].addr = places[i].offset;
	if (!dwarf_find(im, asked, cnt, r->strings, &error))
		r->missed[error->code]++;
	for (size_t i = 0; i < cnt; i++)
		if (asked[i].frame_cnt)
			hand_over(&asked[i], &places[i]);
}

/* Looks up all places in one file. */
static void find_in_file(struct reading *r, int fd, struct symbol_place *places, size_t cnt)
{
	uint64_t steps = MIN(DWARF_STEPS_MAX, r->steps_left);
	struct dwarf_budget budget = { steps, DWARF_KEPT_MAX_BYTES };
	struct dwarf_image *im = dwarf_image_open(fd, &budget, NULL);
	struct supplement alt;

	if (!im) {
		r->missed[DWARF_MISSED_UNREADABLE]++;
		return;
	}
	supplement_find(&alt, im, fd, r->debug_dir, &budget);
	dwarf_image_set_alt(im, alt.image);
	find_in(r, im, places, cnt);
	supplement_close(&alt);
	dwarf_image_free(im);
	r->steps_left -= steps - budget.steps;
}

ORDER_POINTERS(by_source, struct symbol_place, ORDER_LOW(source))

void lines_find(struct symbol_place *places, size_t cnt, const char *debug_dir, GStringChunk *strings,
		uint64_t ret_missed[SYMBOL_MISSED_CNT])
{
	struct reading r = { debug_dir, strings, ALL_STEPS_MAX, ret_missed };
	g_autofree struct symbol_place **order = g_new(struct symbol_place *, cnt + 1);
	size_t asked_cnt = 0, next;

	memset(ret_missed, 0, SYMBOL_MISSED_CNT * sizeof(*ret_missed));
	for (size_t i = 0; i < cnt; i++) {
		places[i].frames = NULL;
		places[i].frame_cnt = 0;
		if (places[i].source && places[i].source->debug_fd >= 0)
			order[asked_cnt++] = &places[i];
	}
	qsort(order, asked_cnt, sizeof(struct symbol_place *), by_source);
	for (size_t i = 0; i < asked_cnt; i = next) {
		g_autofree struct symbol_place *of_one = NULL;

		for (next = i; next < asked_cnt && order[next]->source == order[i]->source; next++)
			;
		of_one = g_new(struct symbol_place, next - i);
		for (size_t k = i; k < next; k++)
			of_one[k - i] = *order[k];
		if (order[i]->source->has_debug_info || !order[i]->source->has_go_table)
			find_in_file(&r, order[i]->source->debug_fd, of_one, next - i);
		if (order[i]->source->has_go_table)
			go_lines_find(order[i]->source->debug_fd, of_one, next - i, strings);
		for (size_t k = i; k < next; k++)
			*order[k] = of_one[k - i];
	}
}
