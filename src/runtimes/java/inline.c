/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "runtimes/java/frames.h"

#include "symbolize/runtime/memory.h"

#define HEAD_BYTES 384		/* of an nmethod: the needed fields */
#define PLACES_MAX 16384	/* per method */
#define PLACE_BYTES_MAX 64
#define SCOPE_BYTES 16		/* length of three packed numbers */
#define SCOPES_BYTES_MAX (64u << 20)
#define METADATA_MAX (1u << 20)
#define MAJOR_WITHOUT_ZERO 20	/* from then on packed numbers contain no byte 0 */
#define PACKED_BYTES_MAX 5
#define WORD 8

/* The tables of an nmethod. */
struct tables {
	uint64_t places, places_end;	/* PcDesc */
	uint64_t scopes, metadata;
};

static bool head_field(const struct hotspot *h, enum hotspot_field field, const uint8_t *head, uint64_t *ret)
{
	return hotspot_field_of(&h->layout, field, head, HEAD_BYTES, ret);
}

/* Until JDK 21 the tables are in the nmethod itself. */
static bool tables_within(const struct hotspot *h, uint64_t at, const uint8_t *head, struct tables *ret)
{
	uint64_t places, end, metadata;

	if (!head_field(h, HOTSPOT_SCOPES_BEGIN, head, &ret->scopes) ||
	    !head_field(h, HOTSPOT_PLACES_OFFSET, head, &places) ||
	    !head_field(h, HOTSPOT_DEPENDENCIES_OFFSET, head, &end) ||
	    !head_field(h, HOTSPOT_METADATA_OFFSET, head, &metadata))
		return false;
	ret->places = at + places;
	ret->places_end = at + end;
	ret->metadata = at + metadata;
	return true;
}

/* Since JDK 25 they are beside it: immutable and mutable ones. */
static bool tables_beside(const struct hotspot *h, const uint8_t *head, struct tables *ret)
{
	uint64_t constant, places, scopes, changing, relocation;

	if (!head_field(h, HOTSPOT_IMMUTABLE, head, &constant) ||
	    !head_field(h, HOTSPOT_PLACES_OFFSET, head, &places) ||
	    !head_field(h, HOTSPOT_SCOPES_OFFSET, head, &scopes) || !head_field(h, HOTSPOT_MUTABLE, head, &changing) ||
	    !head_field(h, HOTSPOT_RELOCATION_SIZE, head, &relocation))
		return false;
	ret->places = constant + places;
	ret->places_end = ret->scopes = constant + scopes;
	ret->metadata = changing + relocation;
	return true;
}

/* The offset of the scope for the place at `offset`. 0: none recorded. */
static uint32_t scope_at(const struct hotspot *h, const struct tables *t, uint64_t offset, bool is_return)
{
	uint32_t stride = h->layout.type_bytes[HOTSPOT_PLACE];
	uint64_t cnt = stride && t->places_end > t->places ? (t->places_end - t->places) / stride : 0, pc, scope;
	g_autofree uint8_t *places = NULL;
	uint64_t low = 0, high = cnt;

	if (!cnt || cnt > PLACES_MAX || stride > PLACE_BYTES_MAX)
		return 0;
	places = g_malloc(cnt * stride);
	if (!memory_read(h->pid, t->places, places, cnt * stride))
		return 0;
	while (low < high) {	/* the first place at or after it */
		uint64_t middle = low + (high - low) / 2;

		if (!hotspot_field_of(&h->layout, HOTSPOT_PLACE_PC, places + middle * stride, stride, &pc))
			return 0;
		if ((int64_t)pc < (int64_t)offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == cnt || !hotspot_field_of(&h->layout, HOTSPOT_PLACE_PC, places + low * stride, stride, &pc) ||
	    (is_return && pc != offset) ||
	    !hotspot_field_of(&h->layout, HOTSPOT_PLACE_SCOPE, places + low * stride, stride, &scope))
		return 0;
	return scope < SCOPES_BYTES_MAX ? (uint32_t)scope : 0;
}

unsigned hotspot_unpack(const uint8_t *bytes, size_t cnt, bool without_zero, uint32_t *ret)
{
	uint32_t least = without_zero, low = 256 - 64 - least;

	*ret = 0;
	for (unsigned i = 0; i < PACKED_BYTES_MAX && i < cnt; i++) {
		if (bytes[i] < least)
			return 0;
		*ret += (uint32_t)(bytes[i] - least) << (6 * i);
		if (bytes[i] < low + least || i == PACKED_BYTES_MAX - 1)
			return i + 1;
	}
	return 0;
}

/* Reads a scope: that of its caller, and its method's index in the metadata. */
static bool read_scope(const struct hotspot *h, const struct tables *t, uint32_t scope, uint32_t *ret_sender,
		       uint32_t *ret_method)
{
	bool without_zero = h->layout.major >= MAJOR_WITHOUT_ZERO;
	uint8_t bytes[SCOPE_BYTES];
	unsigned used;

	if (!memory_read(h->pid, t->scopes + scope, bytes, sizeof(bytes)))
		return false;
	used = hotspot_unpack(bytes, sizeof(bytes), without_zero, ret_sender);
	return used && hotspot_unpack(bytes + used, sizeof(bytes) - used, without_zero, ret_method) && *ret_method &&
	       *ret_method <= METADATA_MAX && *ret_sender < SCOPES_BYTES_MAX;
}

unsigned hotspot_inlined(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t ip, bool is_return,
			 uint64_t methods[HOTSPOT_INLINED_MAX])
{
	uint32_t scope, method;
	uint8_t head[HEAD_BYTES];
	unsigned cnt = 0;
	struct tables t;

	if (!memory_read(h->pid, blob->at, head, sizeof(head)) ||
	    (!tables_within(h, blob->at, head, &t) && !tables_beside(h, head, &t)))
		return 0;
	scope = scope_at(h, &t, ip - blob->code, is_return);
	while (scope && cnt < HOTSPOT_INLINED_MAX) {
		if (!read_scope(h, &t, scope, &scope, &method) ||
		    !memory_read(h->pid, t.metadata + (uint64_t)(method - 1) * WORD, &methods[cnt], WORD))
			return 0;
		cnt++;
	}
	/* the outermost must be the compiled method */
	return !scope && cnt && methods[cnt - 1] == blob->method ? cnt : 0;
}
