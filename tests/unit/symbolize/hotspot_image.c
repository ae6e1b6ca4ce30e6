/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "hotspot_image.h"

#include <string.h>
#include <unistd.h>

#define SEGMENT_WORDS 16
#define STRUCT_WORDS 6	/* type, field, kind, is static, offset, address */

/* What a made-up version says of itself: the shape of JDK 17. */
static const struct {
	const char *type, *field, *kind;
	uint64_t offset;
} told[] = {
	{ "GrowableArrayBase", "_len", "int", 0 }, { "GrowableArray<int>", "_data", "int*", 8 },
	{ "CodeHeap", "_memory", "VirtualSpace", 0 }, { "CodeHeap", "_segmap", "VirtualSpace", 16 },
	{ "CodeHeap", "_log2_segment_size", "int", 32 }, { "VirtualSpace", "_low", "char*", 0 },
	{ "VirtualSpace", "_high", "char*", 8 }, { "HeapBlock::Header", "_length", "size_t", 0 },
	{ "HeapBlock::Header", "_used", "bool", 8 }, { "StubQueue", "_stub_buffer", "address", 0 },
	{ "StubQueue", "_buffer_limit", "int", 8 }, { "CodeBlob", "_name", "const char*", 0 },
	{ "CodeBlob", "_code_begin", "address", 8 }, { "CodeBlob", "_code_end", "address", 16 },
	{ "CodeBlob", "_frame_complete_offset", "int", 24 }, { "CodeBlob", "_frame_size", "int", 28 },
	{ "CompiledMethod", "_method", "Method*", 32 }, { "Method", "_constMethod", "ConstMethod*", 8 },
	{ "ConstMethod", "_constants", "ConstantPool*", 8 }, { "ConstMethod", "_name_index", "u2", 16 },
	{ "ConstMethod", "_signature_index", "u2", 18 }, { "ConstantPool", "_pool_holder", "InstanceKlass*", 8 },
	{ "ConstantPool", "_length", "int", 16 }, { "InstanceKlass", "_constants", "ConstantPool*", 8 },
	{ "Klass", "_name", "Symbol*", 16 }, { "Symbol", "_length", "u2", 4 }, { "Symbol", "_body", NULL, 6 },
	{ "nmethod", "_compile_id", "int", 40 }, { "PcDesc", "_pc_offset", "int", 0 },
	{ "PcDesc", "_scope_decode_offset", "int", 4 }, { "nmethod", "_scopes_pcs_offset", "int", 44 },
	{ "ThreadsList", "_length", "const uint", 0 }, { "ThreadsList", "_threads", "JavaThread *const *const", 8 },
	{ "JavaThread", "_osthread", "OSThread*", 0 }, { "JavaThread", "_stack_base", "address", 8 },
	{ "JavaThread", "_stack_size", "size_t", 16 }, { "JavaThread", "_current_pending_monitor", "ObjectMonitor*", 24 },
	{ "JavaThread", "_monitor_owner_id", "int64_t", 32 }, { "OSThread", "_thread_id", "OSThread::thread_id_t", 0 }, { "ObjectMonitor", "_owner", NULL, 8 },
	{ "ObjectMonitor", "_object", NULL, 0 }, { "JavaThread", "_lock_stack", "LockStack", 40 },
	{ "LockStack", "_top", "uint32_t", 0 }, { "LockStack", "_base[0]", "oop", 8 },
};

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t *take(struct hotspot_image *image, unsigned words)
{
	uint64_t *at = &image->words[image->used];

	image->used += words;
	g_assert_cmpuint(image->used, <=, IMAGE_WORDS);
	return at;
}

static uint64_t *put_text(struct hotspot_image *image, const char *text)
{
	uint64_t *at = take(image, (unsigned)strlen(text) / 8 + 1);

	memcpy(at, text, strlen(text));
	return at;
}

static uint64_t *put_symbol(struct hotspot_image *image, const char *text)
{
	uint64_t *at = take(image, (unsigned)strlen(text) / 8 + 2);
	uint16_t len = (uint16_t)strlen(text);

	memcpy((char *)at + 4, &len, sizeof(len));
	memcpy((char *)at + 6, text, len);
	return at;
}

/* A variable of its own, and a symbol of it. */
static void put_variable(struct hotspot_image *image, enum hotspot_symbol symbol, uint64_t value)
{
	uint64_t *at = take(image, 1);

	*at = value;
	image->symbols[symbol] = address(at);
}

static void put_struct(struct hotspot_image *image, uint64_t *entry, const char *type, const char *field, const char *kind,
		       uint64_t offset, uint64_t at)
{
	entry[0] = address(put_text(image, type));
	entry[1] = address(put_text(image, field));
	entry[2] = kind ? address(put_text(image, kind)) : 0;
	entry[3] = at != 0;
	entry[4] = offset;
	entry[5] = at;
}

static void put_structs(struct hotspot_image *image, uint64_t heaps, uint64_t interpreter, uint64_t stub, uint64_t major,
			uint64_t threads)
{
	uint64_t *table = take(image, (G_N_ELEMENTS(told) + 6) * STRUCT_WORDS), *at = table;

	for (size_t i = 0; i < G_N_ELEMENTS(told); i++, at += STRUCT_WORDS)
		put_struct(image, at, told[i].type, told[i].field, told[i].kind, told[i].offset, 0);
	put_struct(image, at, "CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", 0, heaps);
	put_struct(image, at += STRUCT_WORDS, "AbstractInterpreter", "_code", "StubQueue*", 0, interpreter);
	put_struct(image, at += STRUCT_WORDS, "StubRoutines", "_call_stub_return_address", "address", 0, stub);
	put_struct(image, at += STRUCT_WORDS, "Abstract_VM_Version", "_vm_major_version", "int", 0, major);
	put_struct(image, at += STRUCT_WORDS, "ThreadsSMRSupport", "_java_thread_list", "ThreadsList*", 0, threads);
	put_variable(image, HOTSPOT_SYMBOL_STRUCTS, address(table));
	for (unsigned i = 0; i < STRUCT_WORDS; i++)
		put_variable(image, HOTSPOT_SYMBOL_STRUCT_TYPE + i, i * 8);
	put_variable(image, HOTSPOT_SYMBOL_STRUCT_STRIDE, STRUCT_WORDS * 8);
}

/* Types and constants have a name and a number. */
static void put_numbers(struct hotspot_image *image, enum hotspot_symbol first, const char *const *names,
			const uint64_t *numbers, unsigned cnt)
{
	uint64_t *table = take(image, (cnt + 1) * 2);

	for (unsigned i = 0; i < cnt; i++) {
		table[i * 2] = address(put_text(image, names[i]));
		table[i * 2 + 1] = numbers[i];
	}
	put_variable(image, first, address(table));
	put_variable(image, first + 1, 0);
	put_variable(image, first + 2, 8);
	put_variable(image, first + 3, 16);
}

/* Two blocks: one of two segments, with the method's behind it. */
static void put_heap(struct hotspot_image *image)
{
	uint64_t *blocks = take(image, IMAGE_SEGMENTS * SEGMENT_WORDS), *block = blocks + IMAGE_METHOD_SEGMENT * SEGMENT_WORDS;
	uint8_t map[IMAGE_SEGMENTS] = { 0, 1, 0, 1, 2, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

	image->segmap = take(image, IMAGE_SEGMENTS / 8);
	memcpy(image->segmap, map, sizeof(map));
	image->heap = take(image, 5);
	image->heap[0] = address(blocks);
	image->heap[1] = address(blocks + IMAGE_SEGMENTS * SEGMENT_WORDS);
	image->heap[2] = address(image->segmap);
	image->heap[4] = 7;
	block[0] = 4;
	block[1] = 1;
	image->blob = block + 2;
	image->blob[0] = address(put_text(image, "nmethod"));
	image->blob[1] = address(block + 24);
	image->blob[2] = address(block + 48);
	image->blob[3] = 16 | 6ull << 32;	/* whole from 16 on, of 6 words */
	image->blob[4] = address(image->method);
	image->blob[5] = 77;
}

static void put_method(struct hotspot_image *image)
{
	image->method = take(image, 12);
	image->constants = take(image, 16);
	image->pool = take(image, 24);
	image->klass = take(image, 8);
	image->class_name = put_symbol(image, "com/example/Shop");
	image->method_name = put_symbol(image, "pay");
	image->method[1] = address(image->constants);
	image->constants[1] = address(image->pool);
	image->constants[2] = 3 | 4 << 16;
	image->pool[1] = address(image->klass);
	image->pool[2] = 8;
	image->pool[9 + 3] = address(image->method_name);
	image->klass[1] = address(image->pool);
	image->klass[2] = address(image->class_name);
}

/* Three threads: the first waits for what the second has, which waits for what the first has had since nobody else wanted it. */
static uint64_t *put_threads(struct hotspot_image *image)
{
	uint64_t *list = take(image, 2), *array = take(image, 3), *monitors = take(image, 4), *stack = take(image, 8), *handle = take(image, 1);

	list[0] = 3;
	list[1] = address(array);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t *thread = take(image, 7), *system = take(image, 1);

		system[0] = 101 + i;
		thread[0] = address(system);
		thread[1] = i ? 0 : address(stack + 8);
		thread[2] = i ? 0 : 64;
		thread[5] = i < 2 ? 48 : 56;	/* the third has locked something */
		thread[6] = address(stack);
		thread[3] = i < 2 ? address(monitors + 2 * i) : 0;
		array[i] = address(thread);
	}
	handle[0] = address(stack);
	monitors[0] = address(handle);
	monitors[1] = array[1];
	monitors[3] = address(stack + 2);
	image->owner = &monitors[1];
	image->threads = array;
	return list;
}

void hotspot_image_make(struct hotspot_image *image)
{
	static const char *const types[] = { "HeapBlock", "ConstantPool", "PcDesc" };
	static const char *const constants[] = { "frame::interpreter_frame_sender_sp_offset" };
	static const uint64_t bytes[] = { 16, 72, 16 }, minus_one[] = { UINT32_MAX };
	uint64_t *heaps, *array, *queue, *variables;

	memset(image, 0, sizeof(*image));
	put_method(image);
	put_heap(image);
	array = take(image, 1);
	array[0] = address(image->heap);
	heaps = take(image, 2);
	heaps[0] = 1;
	heaps[1] = address(array);
	queue = take(image, 2);
	variables = take(image, 5);
	variables[0] = address(heaps);
	variables[1] = address(queue);
	variables[3] = 17;
	variables[4] = address(put_threads(image));
	put_structs(image, address(&variables[0]), address(&variables[1]), address(&variables[2]), address(&variables[3]),
		    address(&variables[4]));
	put_numbers(image, HOTSPOT_SYMBOL_TYPES, types, bytes, G_N_ELEMENTS(types));
	put_numbers(image, HOTSPOT_SYMBOL_INTS, constants, minus_one, G_N_ELEMENTS(constants));
}

bool hotspot_image_open(struct hotspot_image *image, struct hotspot *h)
{
	*h = (struct hotspot){ .pid = (uint32_t)getpid() };
	return hotspot_layout_read(h->pid, image->symbols, &h->layout) && hotspot_read_heaps(h);
}
