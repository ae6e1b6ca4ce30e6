/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RUNTIMES_JAVA_CODE_H
#define RUNTIMES_JAVA_CODE_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/process/maps.h"

/*
 * Where HotSpot keeps its code and the names of its methods. libjvm.so publishes that to debuggers in tables of
 * types, fields and constants behind exported symbols (gHotSpotVMStructs and others), so no offsets by version are
 * needed.
 */

/* X(name, type, field): fields and static variables. */
#define HOTSPOT_FIELDS(X)                                                        \
	X(VM_MAJOR, "Abstract_VM_Version", "_vm_major_version")                  \
	X(HEAPS, "CodeCache", "_heaps")                                          \
	X(INTERPRETER, "AbstractInterpreter", "_code")                           \
	X(CALL_STUB, "StubRoutines", "_call_stub_return_address")                \
	X(ARRAY_LEN, "GrowableArrayBase", "_len")                                \
	X(ARRAY_DATA, "GrowableArray<int>", "_data")                             \
	X(HEAP_MEMORY, "CodeHeap", "_memory")                                    \
	X(HEAP_SEGMAP, "CodeHeap", "_segmap")                                    \
	X(HEAP_SHIFT, "CodeHeap", "_log2_segment_size")                          \
	X(SPACE_LOW, "VirtualSpace", "_low")                                     \
	X(SPACE_HIGH, "VirtualSpace", "_high")                                   \
	X(BLOCK_LENGTH, "HeapBlock::Header", "_length")                          \
	X(BLOCK_USED, "HeapBlock::Header", "_used")                              \
	X(STUBS_BUFFER, "StubQueue", "_stub_buffer")                             \
	X(STUBS_LIMIT, "StubQueue", "_buffer_limit")                             \
	X(BLOB_NAME, "CodeBlob", "_name")                                        \
	X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin")                            \
	X(BLOB_CODE_END, "CodeBlob", "_code_end")                                \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")                          \
	X(BLOB_DATA_OFFSET, "CodeBlob", "_data_offset")                          \
	X(BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset")                   \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                            \
	X(COMPILED_METHOD, "CompiledMethod", "_method")                          \
	X(NMETHOD_METHOD, "nmethod", "_method")                                  \
	X(METHOD_CONST, "Method", "_constMethod")                                \
	X(CONST_POOL, "ConstMethod", "_constants")                               \
	X(CONST_NAME, "ConstMethod", "_name_index")                              \
	X(CONST_SIGNATURE, "ConstMethod", "_signature_index")                    \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder")                           \
	X(POOL_LENGTH, "ConstantPool", "_length")                                \
	X(KLASS_POOL, "InstanceKlass", "_constants")                             \
	X(KLASS_NAME, "Klass", "_name")                                          \
	X(SYMBOL_LENGTH, "Symbol", "_length")                                    \
	X(SYMBOL_BODY, "Symbol", "_body")                                        \
	X(COMPILE_ID, "nmethod", "_compile_id")                                  \
	X(PLACE_PC, "PcDesc", "_pc_offset")                                      \
	X(PLACE_SCOPE, "PcDesc", "_scope_decode_offset")                         \
	X(PLACES_OFFSET, "nmethod", "_scopes_pcs_offset")                        \
	/* from here on optional: for inlined methods */     \
	X(SCOPES_BEGIN, "CompiledMethod", "_scopes_data_begin")                  \
	X(DEPENDENCIES_OFFSET, "nmethod", "_dependencies_offset")                \
	X(METADATA_OFFSET, "nmethod", "_metadata_offset")                        \
	X(IMMUTABLE, "nmethod", "_immutable_data")                               \
	X(SCOPES_OFFSET, "nmethod", "_scopes_data_offset")                       \
	X(MUTABLE, "CodeBlob", "_mutable_data")                                  \
	X(RELOCATION_SIZE, "CodeBlob", "_relocation_size")                       \
	/* for owners of monitors */                                          \
	X(THREADS, "ThreadsSMRSupport", "_java_thread_list")                     \
	X(THREADS_LENGTH, "ThreadsList", "_length")                              \
	X(THREADS_LIST, "ThreadsList", "_threads")                               \
	X(THREAD_SYSTEM, "JavaThread", "_osthread")                              \
	X(THREAD_SYSTEM_BASE, "Thread", "_osthread")                             \
	X(THREAD_STACK, "JavaThread", "_stack_base")                             \
	X(THREAD_STACK_SIZE, "JavaThread", "_stack_size")                        \
	X(THREAD_PENDING, "JavaThread", "_current_pending_monitor")              \
	X(SYSTEM_THREAD_ID, "OSThread", "_thread_id")                            \
	X(THREAD_NUMBER, "JavaThread", "_monitor_owner_id")                      \
	X(THREAD_LOCKS, "JavaThread", "_lock_stack")                             \
	X(LOCKS_TOP, "LockStack", "_top")                                        \
	X(LOCKS_BASE, "LockStack", "_base[0]")                                   \
	X(MONITOR_OBJECT, "ObjectMonitor", "_object")                            \
	X(MONITOR_OWNER, "ObjectMonitor", "_owner")                              \
	X(MONITOR_CONTENTIONS, "ObjectMonitor", "_contentions")                  \
	X(MONITOR_NEXT, "ObjectMonitor", "_next_om")                             \
	X(MONITORS, "ObjectSynchronizer", "_in_use_list")                        \
	X(MONITORS_HEAD, "MonitorList", "_head")                                 \
	/* for objects on the heap; the second name is that before JDK 24 */ \
	X(GC, "Universe", "_collectedHeap")                                      \
	X(GC_CNT, "CollectedHeap", "_total_collections")                         \
	X(GC_ACTIVE, "CollectedHeap", "_is_stw_gc_active")                       \
	X(GC_ACTIVE_OLD, "CollectedHeap", "_is_gc_active")                       \
	X(BARRIERS, "BarrierSet", "_barrier_set")                                \
	X(BARRIERS_KIND, "BarrierSet", "_fake_rtti")                             \
	X(BARRIERS_TAG, "BarrierSet::FakeRtti", "_concrete_tag")                 \
	X(OOP_BASE, "CompressedOops", "_base")                                   \
	X(OOP_SHIFT, "CompressedOops", "_shift")                                 \
	X(OOP_BASE_OLD, "CompressedOops", "_narrow_oop._base")                   \
	X(OOP_SHIFT_OLD, "CompressedOops", "_narrow_oop._shift")                 \
	X(CLASS_BASE, "CompressedKlassPointers", "_base")                        \
	X(CLASS_SHIFT, "CompressedKlassPointers", "_shift")                      \
	X(CLASS_BASE_OLD, "CompressedKlassPointers", "_narrow_klass._base")      \
	X(CLASS_SHIFT_OLD, "CompressedKlassPointers", "_narrow_klass._shift")    \
	X(OBJECT_CLASS, "oopDesc", "_metadata._compressed_klass")                \
	X(FLAGS, "JVMFlag", "flags")                                             \
	X(FLAGS_CNT, "JVMFlag", "numFlags")                                      \
	X(FLAG_NAME, "JVMFlag", "_name")                                         \
	X(FLAG_AT, "JVMFlag", "_addr")                                           \
	X(LOADERS, "ClassLoaderDataGraph", "_head")                              \
	X(LOADER_NEXT, "ClassLoaderData", "_next")                               \
	X(LOADER_CLASSES, "ClassLoaderData", "_klasses")                         \
	X(CLASS_NEXT, "Klass", "_next_link")                                     \
	X(CLASS_SUPER, "Klass", "_super")                                        \
	X(CLASS_MIRROR, "Klass", "_java_mirror")                                 \
	X(CLASS_SIZE, "Klass", "_layout_helper")                                 \
	X(CLASS_FIELDS, "InstanceKlass", "_fieldinfo_stream")                    \
	X(BYTES_DATA, "Array<u1>", "_data")                                      \
	/* for stacks of mounted virtual threads */                 \
	X(THREAD_ANCHOR, "JavaThread", "_anchor")                                \
	X(THREAD_RUNS, "JavaThread", "_vthread")                                 \
	X(THREAD_WAITING, "JavaThread", "_current_waiting_monitor")              \
	X(ANCHOR_SP, "JavaFrameAnchor", "_last_Java_sp")                         \
	X(ANCHOR_PC, "JavaFrameAnchor", "_last_Java_pc")                         \
	X(ANCHOR_FP, "JavaFrameAnchor", "_last_Java_fp")                         \
	X(WRAPPER_ANCHOR, "JavaCallWrapper", "_anchor")                          \
	X(METHOD_ACCESS, "Method", "_access_flags")

#define HOTSPOT_OPTIONAL_FIRST HOTSPOT_SCOPES_BEGIN

enum hotspot_field {
#define X(name, type, field) HOTSPOT_##name,
	HOTSPOT_FIELDS(X)
#undef X
	HOTSPOT_FIELD_CNT
};

/* Types whose size is needed. */
enum hotspot_type {
	HOTSPOT_BLOCK,
	HOTSPOT_POOL,
	HOTSPOT_PLACE,
	HOTSPOT_FLAG,
	HOTSPOT_TYPE_CNT
};

#define HOTSPOT_OFFSET_MAX 4096

struct hotspot_layout {
	struct {
		uint64_t at;	/* offset, at most HOTSPOT_OFFSET_MAX; for a static variable its address */
		uint8_t bytes;	/* 1, 2, 4, 8; 0: not in this version */
		bool is_static, is_signed;
	} field[HOTSPOT_FIELD_CNT];
	uint32_t type_bytes[HOTSPOT_TYPE_CNT];
	int32_t sender_sp_words;	/* frame::interpreter_frame_sender_sp_offset; 0: unknown */
	uint32_t major;			/* 17; 0: unknown */
	int32_t wrapper_words;		/* frame::entry_frame_call_wrapper_offset; 0: unknown */
	uint32_t stopping_barriers;	/* bits: barrier sets of collectors that move objects only in pauses */
};

/* The symbols of the tables, and their addresses in the process. */
#define HOTSPOT_SYMBOLS(X)                                                                                             \
	X(STRUCTS, "gHotSpotVMStructs")                                                                                \
	X(STRUCT_TYPE, "gHotSpotVMStructEntryTypeNameOffset") X(STRUCT_FIELD, "gHotSpotVMStructEntryFieldNameOffset")  \
		X(STRUCT_KIND, "gHotSpotVMStructEntryTypeStringOffset") X(STRUCT_STATIC,                               \
									  "gHotSpotVMStructEntryIsStaticOffset")       \
			X(STRUCT_OFFSET, "gHotSpotVMStructEntryOffsetOffset") X(STRUCT_ADDRESS,                        \
										"gHotSpotVMStructEntryAddressOffset")  \
				X(STRUCT_STRIDE, "gHotSpotVMStructEntryArrayStride") X(TYPES, "gHotSpotVMTypes")       \
					X(TYPE_NAME,                                                                   \
					  "gHotSpotVMTypeEntryTypeNameOffset") X(TYPE_SIZE,                            \
										 "gHotSpotVMTypeEntrySizeOffset")      \
						X(TYPE_STRIDE,                                                         \
						  "gHotSpotVMTypeEntryArrayStride") X(INTS, "gHotSpotVMIntConstants")  \
							X(INT_NAME, "gHotSpotVMIntConstantEntryNameOffset")            \
								X(INT_VALUE, "gHotSpotVMIntConstantEntryValueOffset")  \
									X(INT_STRIDE,                                  \
									  "gHotSpotVMIntConstantEntryArrayStride")

enum hotspot_symbol {
#define X(symbol, name) HOTSPOT_SYMBOL_##symbol,
	HOTSPOT_SYMBOLS(X)
#undef X
	HOTSPOT_SYMBOL_CNT
};

extern const char *const hotspot_symbol_name[HOTSPOT_SYMBOL_CNT];

/*
 * Reads the tables from the process's memory. False: the JVM is not ready, or unknown. The memory is not trusted:
 * entries, texts and offsets are bounded.
 */
bool hotspot_layout_read(uint32_t pid, const uint64_t symbols[HOTSPOT_SYMBOL_CNT], struct hotspot_layout *ret);

/* A field of an object, from a copy of its first `bytes` bytes at `object`. False: beyond these. */
bool hotspot_field_of(const struct hotspot_layout *l, enum hotspot_field field, const void *object, size_t bytes,
		      uint64_t *ret);
/* Likewise from the process's memory; base is ignored for a static variable. */
bool hotspot_field_at(const struct hotspot_layout *l, uint32_t pid, enum hotspot_field field, uint64_t base,
		      uint64_t *ret);

/*
 * The code cache of a live JVM (HotSpot, x86-64): heaps of blocks, each with a "code blob" that is a compiled method,
 * a stub, or the interpreter. The process changes it meanwhile and is not trusted: invalid blocks are skipped; sizes,
 * pointers and counts are bounded.
 */

#define HOTSPOT_HEAPS_MAX 8

struct hotspot_heap {
	uint64_t low, high;	/* of the committed blocks; more may be committed later */
	uint64_t segmap;	/* a byte for each segment: 0 at the begin of a block, else a step back */
	unsigned shift;		/* log2 of a segment's size */
};

struct hotspot {
	uint32_t pid;
	struct hotspot_layout layout;
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];	/* sorted by address */
	unsigned heap_cnt;
	uint64_t interpreter, interpreter_end;	/* its code; 0: not created yet */
	uint64_t call_stub;	/* an address in the stub through which C++ calls Java */
};

/* Is the file at this path a JVM? */
bool hotspot_is_file(const char *path);
/*
 * Finds libjvm.so in the process's mappings (struct maps_line) and reads its tables. False: none, not ready, or
 * unknown.
 */
bool hotspot_open(struct hotspot *h, const char *proc_dir, uint32_t pid, const GArray *lines);
/* Reads the current bounds of the heaps. */
bool hotspot_read_heaps(struct hotspot *h);

enum hotspot_kind {
	HOTSPOT_KIND_CODE,		/* has frame_bytes */
	HOTSPOT_KIND_INTERPRETER,
	HOTSPOT_KIND_CALL_STUB,	/* has a frame pointer, as may others without frame_bytes */
};

struct hotspot_blob {
	enum hotspot_kind kind;
	uint64_t at;		/* address of the blob */
	uint64_t code, code_end;
	uint32_t frame_bytes;	/* from the stack pointer to the caller's; 0: unknown */
	uint32_t complete;	/* offset in the code from which the frame is complete */
	uint64_t name;		/* address of the text with its name */
	uint64_t method;	/* in a compiled method, the address of its Method, */
	uint32_t compile_id;	/* and its unique number */
};

/* All blobs of a heap by address. False: the heap cannot be read, or `fn` returned false. */
typedef bool (*hotspot_blob_fn)(void *ctx, const struct hotspot_blob *blob);
bool hotspot_for_each_blob(const struct hotspot *h, const struct hotspot_heap *heap, hotspot_blob_fn fn, void *ctx);

/*
 * A hash of the bounds of all blocks, which takes a hundredth of the time of reading the blobs. Another hash means
 * other code. The same hash does not exclude that a block was replaced by one of the same size.
 */
uint64_t hotspot_blocks_hash(const struct hotspot *h);

/* The blob whose code contains addr. */
bool hotspot_find_blob(struct hotspot *h, uint64_t addr, struct hotspot_blob *ret);

#endif
