/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/hash.h"
#include "symbolize/jit/perf_map.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/opener/wire.h"

#define MAGIC 0x4a695444u
#define RECORDS_MAX (1u << 20)
#define TEXT_MAX_BYTES (64u << 20)
#define NAME_MAX_BYTES 1024u

/* See tools/perf/Documentation/jitdump-specification.txt in Linux. */
struct header {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct record {
	uint32_t id, total_size;
	uint64_t timestamp;
};

enum { RECORD_LOAD = 0, RECORD_MOVE = 1, RECORD_CLOSE = 3 };

struct load {
	uint32_t pid, tid;
	uint64_t vma, addr, size, index;
};

struct move {
	uint32_t pid, tid;
	uint64_t vma, old_addr, addr, size, index;
};

struct dump {
	int fd;
	GString *text;
	GHashTable *names;	/* index of a function -> offset of its name in text */
};

static void add_load(struct dump *d, uint64_t at, uint64_t bytes)
{
	char name[NAME_MAX_BYTES + 1];
	struct load load;
	ssize_t n;

	if (bytes <= sizeof(load) || !file_read_at(d->fd, at, &load, sizeof(load)))
		return;
	n = pread(d->fd, name, MIN(bytes - sizeof(load), NAME_MAX_BYTES), (off_t)(at + sizeof(load)));
	if (n <= 0)
		return;
	name[n] = 0;
	for (char *c = name; *c; c++)
		if ((unsigned char)*c < ' ')	/* it would begin a line of its own */
			*c = '?';
	g_string_append_printf(d->text, "%" PRIx64 " %" PRIx64 " ", load.addr, load.size);
	g_hash_table_insert(d->names, g_memdup2(&load.index, sizeof(load.index)), GSIZE_TO_POINTER(d->text->len));
	g_string_append_printf(d->text, "%s\n", name);
}

static void add_move(struct dump *d, uint64_t at, uint64_t bytes)
{
	g_autofree char *name = NULL;
	struct move move;
	size_t from;

	if (bytes < sizeof(move) || !file_read_at(d->fd, at, &move, sizeof(move)))
		return;
	from = GPOINTER_TO_SIZE(g_hash_table_lookup(d->names, &move.index));
	if (!from)
		return;
	name = g_strndup(d->text->str + from, strcspn(d->text->str + from, "\n"));
	g_string_append_printf(d->text, "%" PRIx64 " %" PRIx64 " %s\n", move.addr, move.size, name);
}

static void read_records(struct dump *d, uint64_t at)
{
	for (unsigned i = 0; i < RECORDS_MAX && d->text->len < TEXT_MAX_BYTES; i++) {
		struct record record;
		uint64_t bytes;

		if (!file_read_at(d->fd, at, &record, sizeof(record)) || record.total_size < sizeof(record) ||
		    record.id == RECORD_CLOSE)
			return;
		bytes = record.total_size - sizeof(record);
		if (record.id == RECORD_LOAD)
			add_load(d, at + sizeof(record), bytes);
		else if (record.id == RECORD_MOVE)
			add_move(d, at + sizeof(record), bytes);
		at += record.total_size;
	}
}

char *jitdump_read(int fd, size_t *ret_len)
{
	struct dump d = { .fd = fd };
	struct header header;

	if (!file_read_at(d.fd, 0, &header, sizeof(header)) || header.magic != MAGIC ||
	    header.total_size < sizeof(header))
		return NULL;
	d.text = g_string_new(NULL);
	d.names = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	read_records(&d, header.total_size);
	g_hash_table_unref(d.names);
	*ret_len = d.text->len;
	return g_string_free(d.text, FALSE);
}
