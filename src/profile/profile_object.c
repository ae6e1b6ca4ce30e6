/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/id_index.h"
#include "profile/profile.h"

static const char *const kinds[OBJECT_KIND_COUNT] = {
	[LOCK_FUTEX] = "futex", [LOCK_MUTEX] = "mutex", [LOCK_CONDITION] = "condition variable",
	[LOCK_RWLOCK] = "rwlock", [LOCK_SEMAPHORE] = "semaphore", [LOCK_BARRIER] = "barrier", [LOCK_JOIN] = "join",
	[LOCK_ONCE] = "once", [LOCK_LIBC] = "libc lock", [LOCK_PARK] = "park",
	[OBJECT_FILE] = "file", [OBJECT_DIRECTORY] = "directory", [OBJECT_SOCKET] = "socket", [OBJECT_PIPE] = "pipe",
	[OBJECT_EVENTFD] = "eventfd", [OBJECT_TIMERFD] = "timerfd", [OBJECT_SIGNALFD] = "signalfd",
	[OBJECT_INOTIFY] = "inotify", [OBJECT_EPOLL] = "epoll", [OBJECT_POLL] = "poll", [OBJECT_CHILD] = "child",
	[OBJECT_BLOCK_DEVICE] = "block device", [OBJECT_TERMINAL] = "terminal", [OBJECT_DEVICE] = "device",
	[OBJECT_FAULT] = "page fault", [OBJECT_AIO] = "asynchronous I/O", [OBJECT_DESCRIPTOR] = "descriptor",
	[OBJECT_GOROUTINE] = "goroutine",
};

const char *object_kind_text(unsigned kind)
{
	return kind < OBJECT_KIND_COUNT ? kinds[kind] : "unknown";
}

const char *lock_kind_text(enum lock_kind kind)
{
	return object_kind_text((unsigned)kind);
}

bool object_kind_parse(const char *text, uint8_t *ret_kind)
{
	for (unsigned i = 0; i < OBJECT_KIND_COUNT; i++) {
		if (g_strcmp0(text, kinds[i]) == 0) {
			*ret_kind = (uint8_t)i;
			return true;
		}
	}
	return false;
}

static bool same_object(const void *ctx, const void *key, uint32_t id)
{
	const struct object *a = profile_get_object(ctx, id), *b = key;

	return a->kind == b->kind && a->is_private == b->is_private && a->operation == b->operation &&
	       a->name == b->name && a->place == b->place && a->pid == b->pid && a->addr == b->addr &&
	       a->holder_tid == b->holder_tid;
}

uint32_t profile_object(struct profile *p, const struct object *o)
{
	struct object own = *o;

	own.operation = profile_string(p, o->operation ? o->operation : "");
	own.name = profile_string(p, o->name ? o->name : "");
	own.place = profile_string(p, o->place ? o->place : "");
	const uint64_t key[] = { (uint64_t)own.kind << 1 | own.is_private,
				 (uintptr_t)own.operation,
				 (uintptr_t)own.name,
				 (uintptr_t)own.place,
				 (uint64_t)own.pid << 32 | own.holder_tid,
				 own.addr };
	uint64_t hash = id_index_hash(p->object_index, key, sizeof(key));
	int64_t id = id_index_find(p->object_index, hash, same_object, p, &own);

	if (id >= 0)
		return (uint32_t)id;
	id_index_add(p->object_index, hash, p->objects->len);
	g_array_append_val(p->objects, own);
	return p->objects->len - 1;
}
