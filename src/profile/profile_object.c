/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
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
	[OBJECT_GOROUTINE] = "goroutine", [OBJECT_KERNEL_LOCK] = "kernel lock",
};

const char *object_kind_text(unsigned kind)
{
	return kind < OBJECT_KIND_COUNT ? kinds[kind] : "unknown";
}

const char *lock_kind_text(enum lock_kind kind)
{
	return object_kind_text((unsigned)kind);
}

const char *tcp_wait_direction_text(unsigned direction)
{
	static const char *const texts[TCP_WAIT_DIRECTION_COUNT] = {
		[TCP_WAIT_RECEIVE] = "receive", [TCP_WAIT_SEND] = "send", [TCP_WAIT_CONNECT] = "connect",
	};

	return direction < TCP_WAIT_DIRECTION_COUNT ? texts[direction] : "unknown";
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
