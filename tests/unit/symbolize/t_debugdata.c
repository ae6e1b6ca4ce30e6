/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <fcntl.h>
#include <glib.h>
#include <lzma.h>
#include <string.h>
#include <unistd.h>

#include "symbolize/elf/reader.h"

static const char source_text[] = "__attribute__((noinline)) static int hidden(int x) { return x * 3 + 1; }\n"
				  "int shown(int x) { return hidden(x) + 2; }\n";

/* As distributions make it: the symbols that .dynsym has not, packed, inside the stripped file. */
static const char build_commands[] =
	"cc -shared -fPIC -O1 -o full.so a.c && objcopy --only-keep-debug full.so mini && objcopy -S -N shown "
	"-K hidden mini && xz -f mini && strip -o stripped.so full.so && "
	"objcopy --add-section .gnu_debugdata=mini.xz stripped.so packed.so";

struct fixture {
	char *dir;
	bool built;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	const char *argv[] = { "sh", "-c", build_commands, NULL };
	g_autofree char *source = NULL;
	int status = -1;

	f->dir = g_dir_make_tmp("offcpu-test-XXXXXX", NULL);
	source = g_build_filename(f->dir, "a.c", NULL);
	g_assert_true(g_file_set_contents(source, source_text, -1, NULL));
	f->built = g_spawn_sync(f->dir, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status,
				NULL) && !status;
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	static const char *const names[] = { "a.c", "full.so", "mini.xz", "stripped.so", "packed.so" };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *path = g_build_filename(f->dir, names[i], NULL);

		unlink(path);
	}
	rmdir(f->dir);
	g_free(f->dir);
}

static struct elf_table *read_file(const struct fixture *f, const char *name)
{
	g_autofree char *path = g_build_filename(f->dir, name, NULL);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_table *t;

	g_assert_cmpint(fd, >=, 0);
	t = elf_table_read(fd, NULL);
	g_assert_nonnull(t);
	close(fd);
	return t;
}

static uint64_t address_of(const struct elf_table *t, const char *name)
{
	for (size_t i = 0; i < t->symbols.cnt; i++)
		if (!strcmp(symtab_name(&t->symbols, &t->symbols.entries[i]), name))
			return t->symbols.entries[i].addr;
	return 0;
}

static void test_packed(struct fixture *f, gconstpointer data)
{
	struct elf_table *full, *stripped, *packed;
	uint64_t start, hidden, shown;

	if (!f->built) {
		g_test_skip("no compiler, objcopy or xz");
		return;
	}
	full = read_file(f, "full.so");
	stripped = read_file(f, "stripped.so");
	packed = read_file(f, "packed.so");
	hidden = address_of(full, "hidden");
	shown = address_of(full, "shown");
	g_assert_true(hidden && shown);
	g_assert_cmpstr(elf_table_find(stripped, hidden, &start), ==, NULL);
	g_assert_cmpstr(elf_table_find(stripped, shown, &start), ==, "shown");
	g_assert_cmpstr(elf_table_find(packed, shown, &start), ==, "shown");	/* of .dynsym */
	g_assert_cmpstr(elf_table_find(packed, hidden + 1, &start), ==, "hidden");
	g_assert_cmphex(start, ==, hidden);
	g_assert_false(packed->has_full_symbols);	/* a debug file on disk is still better */
	elf_table_free(full);
	elf_table_free(stripped);
	elf_table_free(packed);
}

/* Every cut and many changed bytes of a packed file: an answer or none, never a crash. */
static void test_damaged(struct fixture *f, gconstpointer data)
{
	g_autofree char *path = g_build_filename(f->dir, "mini.xz", NULL), *xz = NULL;
	g_autoptr(GRand) rand = g_rand_new_with_seed(3);
	gsize bytes;
	size_t got;

	if (!f->built) {
		g_test_skip("no compiler, objcopy or xz");
		return;
	}
	g_assert_true(g_file_get_contents(path, &xz, &bytes, NULL));
	for (size_t cut = 0; cut < bytes; cut++) {
		g_autofree char *exact = g_memdup2(xz, cut);

		g_assert_null(elf_debugdata_unpack(exact, cut, &got));
	}
	for (int i = 0; i < 500; i++) {
		g_autofree char *exact = g_memdup2(xz, bytes), *out = NULL;

		exact[g_rand_int_range(rand, 0, (gint32)bytes)] ^= (char)(1 + g_rand_int_range(rand, 0, 255));
		out = elf_debugdata_unpack(exact, bytes, &got);
		g_assert_true(!out || got <= ELF_DEBUGDATA_MAX_BYTES);
	}
}

static uint8_t *pack_zeros(size_t bytes, uint32_t dict_bytes, size_t *ret_bytes)
{
	g_autofree uint8_t *zeros = g_malloc0(bytes);
	size_t room = lzma_stream_buffer_bound(bytes);
	uint8_t *out = g_malloc(room);
	lzma_options_lzma options;
	lzma_filter filters[] = { { .id = LZMA_FILTER_LZMA2, .options = &options }, { .id = LZMA_VLI_UNKNOWN } };

	*ret_bytes = 0;
	g_assert_false(lzma_lzma_preset(&options, 0));
	options.dict_size = dict_bytes;
	g_assert_cmpint(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, zeros, bytes, out, ret_bytes, room), ==,
			LZMA_OK);
	return out;
}

static void test_bounds(void)
{
	size_t bytes, got = 0;
	g_autofree uint8_t *most = pack_zeros(ELF_DEBUGDATA_MAX_BYTES, 1 << 20, &bytes);
	g_autofree uint8_t *unpacked = elf_debugdata_unpack(most, bytes, &got);
	g_autofree uint8_t *more = NULL, *hungry = NULL;

	g_assert_nonnull(unpacked);
	g_assert_cmpuint(got, ==, ELF_DEBUGDATA_MAX_BYTES);
	more = pack_zeros(ELF_DEBUGDATA_MAX_BYTES + 1, 1 << 20, &bytes);
	g_assert_null(elf_debugdata_unpack(more, bytes, &got));
	hungry = pack_zeros(100000, 128 << 20, &bytes);	/* a decoder would need 128 MiB for it */
	g_assert_null(elf_debugdata_unpack(hungry, bytes, &got));
	g_assert_null(elf_debugdata_unpack("", 0, &got));
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/debugdata/packed", struct fixture, NULL, set_up, test_packed, tear_down);
	g_test_add("/debugdata/damaged", struct fixture, NULL, set_up, test_damaged, tear_down);
	g_test_add_func("/debugdata/bounds", test_bounds);
	return g_test_run();
}
