/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/dwarf/image.h"

#include <string.h>
#include <sys/stat.h>

#include "base/elf_file.h"
#include "base/opener/wire.h"

#define SECTIONS_MAX 65536
#define ALTLINK_MAX_BYTES 4096
#define NOTE_MAX_BYTES 4096
#define STRING_PIECE_BYTES 256
/* The cost of a system call and of a string, in steps. */
#define READ_STEPS 32
#define STRING_STEPS 16

G_DEFINE_QUARK(offcpu-dwarf-error, dwarf_error)

struct section {
	Elf_Scn *scn;	/* NULL: missing */
	uint64_t off, size;	/* in the file; size: uncompressed, once that is done */
	bool is_packed, is_tried;
	const uint8_t *bytes;	/* owned by libelf, or ours in `owned` */
	uint8_t *owned;
};

struct dwarf_image {
	int fd;
	struct elf_file file;
	struct dwarf_budget *budget;
	struct section sections[DWARF_SECTION_CNT];
	uint8_t *build_id;
	size_t build_id_bytes;
	char *alt_path;
	uint8_t *alt_build_id;
	size_t alt_build_id_bytes;
	struct dwarf_image *alt;
};

static const char *const section_names[DWARF_SECTION_CNT] = {
	[DWARF_INFO] = ".debug_info", [DWARF_ABBREV] = ".debug_abbrev", [DWARF_STR] = ".debug_str",
	[DWARF_LINE] = ".debug_line", [DWARF_LINE_STR] = ".debug_line_str", [DWARF_RANGES] = ".debug_ranges",
	[DWARF_RNGLISTS] = ".debug_rnglists", [DWARF_ADDR] = ".debug_addr",
	[DWARF_STR_OFFSETS] = ".debug_str_offsets",
};

bool dwarf_is_spent(const struct dwarf_image *im)
{
	return !im->budget->steps;
}

bool dwarf_spend(struct dwarf_image *im, uint64_t steps)
{
	if (im->budget->steps <= steps) {
		im->budget->steps = 0;
		return false;
	}
	im->budget->steps -= steps;
	return true;
}

static void note_altlink(struct dwarf_image *im, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = sh->sh_size <= ALTLINK_MAX_BYTES && !im->alt_path ? elf_rawdata(scn, NULL) : NULL;
	const char *end = data && data->d_buf ? memchr(data->d_buf, 0, data->d_size) : NULL;

	if (!end)
		return;
	im->alt_path = g_strdup(data->d_buf);
	im->alt_build_id_bytes = data->d_size - (size_t)(end + 1 - (char *)data->d_buf);
	im->alt_build_id = g_memdup2(end + 1, im->alt_build_id_bytes);
}

static void note_build_id(struct dwarf_image *im, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = sh->sh_size <= NOTE_MAX_BYTES && !im->build_id ? elf_getdata(scn, NULL) : NULL;
	size_t name_off, desc_off;
	GElf_Nhdr note;

	if (!data || gelf_getnote(data, 0, &note, &name_off, &desc_off) == 0 || note.n_type != NT_GNU_BUILD_ID ||
	    note.n_namesz != 4 || memcmp((char *)data->d_buf + name_off, "GNU", 4))
		return;
	im->build_id = g_memdup2((char *)data->d_buf + desc_off, note.n_descsz);
	im->build_id_bytes = note.n_descsz;
}

static void note_section(struct dwarf_image *im, Elf_Scn *scn, const GElf_Shdr *sh, const char *name)
{
	if (!strcmp(name, ".gnu_debugaltlink"))
		note_altlink(im, scn, sh);
	else if (!strcmp(name, ".note.gnu.build-id"))
		note_build_id(im, scn, sh);
	for (int i = 0; i < DWARF_SECTION_CNT; i++) {
		struct section *s = &im->sections[i];

		if (s->scn || strcmp(name, section_names[i]))
			continue;
		*s = (struct section){ .scn = scn, .off = sh->sh_offset, .size = sh->sh_size,
				       .is_packed = sh->sh_flags & SHF_COMPRESSED };
	}
}

static void find_sections(struct dwarf_image *im)
{
	Elf_Scn *scn = NULL;
	size_t cnt = 0;

	while ((scn = elf_nextscn(im->file.elf, scn)) && cnt++ < SECTIONS_MAX) {
		const char *name;
		GElf_Shdr sh;

		if (gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_PROGBITS || sh.sh_type == SHT_NOTE) &&
		    (name = elf_file_section_name(&im->file, &sh)))
			note_section(im, scn, &sh, name);
	}
}

struct dwarf_image *dwarf_image_open(int fd, struct dwarf_budget *budget, GError **error)
{
	struct dwarf_image *im = g_new0(struct dwarf_image, 1);

	im->fd = fd;
	im->budget = budget;
	if (elf_file_open_debug(&im->file, fd, error)) {
		if (im->file.is_64_little)
			find_sections(im);
		if (im->sections[DWARF_INFO].scn)
			return im;
		g_set_error(error, DWARF_ERROR, 0,
			    "the file has no debug information of a 64-bit, little-endian machine");
	}
	dwarf_image_free(im);
	return NULL;
}

void dwarf_image_free(struct dwarf_image *im)
{
	if (!im)
		return;
	for (int i = 0; i < DWARF_SECTION_CNT; i++)
		g_free(im->sections[i].owned);
	elf_file_close(&im->file);
	g_free(im->build_id);
	g_free(im->alt_path);
	g_free(im->alt_build_id);
	g_free(im);
}

const uint8_t *dwarf_image_build_id(const struct dwarf_image *im, size_t *ret_bytes)
{
	*ret_bytes = im->build_id_bytes;
	return im->build_id;
}

const char *dwarf_image_alt_path(const struct dwarf_image *im)
{
	return im->alt_path;
}

const uint8_t *dwarf_image_alt_build_id(const struct dwarf_image *im, size_t *ret_bytes)
{
	*ret_bytes = im->alt_build_id_bytes;
	return im->alt_build_id;
}

void dwarf_image_set_alt(struct dwarf_image *im, struct dwarf_image *alt)
{
	im->alt = alt;
}

struct dwarf_image *dwarf_image_alt(const struct dwarf_image *im)
{
	return im->alt;
}

static bool keep_bytes(struct dwarf_image *im, uint64_t bytes)
{
	if (bytes > im->budget->bytes || !dwarf_spend(im, bytes / 64 + 1))
		return false;
	im->budget->bytes -= bytes;
	return true;
}

/* Compressed sections are decompressed at once by libelf, if the budget covers the size they claim. */
static void unpack(struct dwarf_image *im, struct section *s)
{
	uint64_t packed = s->size;
	Elf_Data *data;
	GElf_Chdr ch;

	s->is_tried = true;
	s->size = 0;
	if (!gelf_getchdr(s->scn, &ch) || ch.ch_size > SIZE_MAX / 2 || packed > SIZE_MAX / 2 ||
	    !keep_bytes(im, ch.ch_size + packed) || elf_compress(s->scn, 0, 0) < 0)
		return;
	data = elf_rawdata(s->scn, NULL);
	if (!data || !data->d_buf)
		return;
	s->bytes = data->d_buf;
	s->size = data->d_size;
}

static struct section *section_ready(struct dwarf_image *im, enum dwarf_section_id id)
{
	struct section *s = &im->sections[id];

	if (!s->scn)
		return NULL;
	if (s->is_packed && !s->is_tried)
		unpack(im, s);
	return s;
}

uint64_t dwarf_section_bytes(const struct dwarf_image *im, enum dwarf_section_id id)
{
	struct section *s = section_ready((struct dwarf_image *)im, id);

	return s ? s->size : 0;
}

bool dwarf_section_read(struct dwarf_image *im, enum dwarf_section_id id, uint64_t off, void *buffer, size_t len)
{
	struct section *s = section_ready(im, id);

	if (!s || off > s->size || len > s->size - off || !dwarf_spend(im, len / 64 + (s->bytes ? 1 : READ_STEPS)))
		return false;
	if (s->bytes)
		memcpy(buffer, s->bytes + off, len);
	else if (s->off > INT64_MAX - s->size || s->size > INT64_MAX ||
		 !file_read_at(im->fd, s->off + off, buffer, len))
		return false;
	return true;
}

const uint8_t *dwarf_section_whole(struct dwarf_image *im, enum dwarf_section_id id, size_t *ret_len)
{
	struct section *s = section_ready(im, id);
	struct stat st;

	if (!s)
		return NULL;
	if (!s->is_packed && !s->is_tried) {
		s->is_tried = true;
		/* A size beyond the file's would allocate memory before the read fails. */
		if (!fstat(im->fd, &st) && s->size <= (uint64_t)st.st_size && s->size && keep_bytes(im, s->size)) {
			s->owned = g_malloc(s->size);
			if (dwarf_section_read(im, id, 0, s->owned, s->size))
				s->bytes = s->owned;
		}
	}
	*ret_len = s->size;
	return s->bytes;
}

char *dwarf_section_string(struct dwarf_image *im, enum dwarf_section_id id, uint64_t off)
{
	g_autoptr(GString) text = g_string_new(NULL);
	uint64_t size = dwarf_section_bytes(im, id);
	char piece[STRING_PIECE_BYTES];

	if (!dwarf_spend(im, STRING_STEPS))
		return NULL;
	while (off < size && text->len < DWARF_STRING_MAX_BYTES) {
		size_t len = (size_t)MIN(sizeof(piece), size - off);
		const char *end;

		if (!dwarf_section_read(im, id, off, piece, len))
			return NULL;
		end = memchr(piece, 0, len);
		g_string_append_len(text, piece, end ? end - piece : (gssize)len);
		if (end)
			return g_strndup(text->str, text->len);
		off += len;
	}
	return text->len >= DWARF_STRING_MAX_BYTES ? g_strndup(text->str, text->len) : NULL;
}
