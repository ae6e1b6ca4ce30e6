-- SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
-- sysbench's oltp_point_select, with a counter for each thread in the file named by COUNTS, which others may look at meanwhile.
require("oltp_point_select")

local ffi = require("ffi")
ffi.cdef([[
int open(const char *path, int flags);
void *mmap(void *at, size_t size, int protection, int flags, int fd, long offset);
]])
local O_RDWR, PROT_READ_WRITE, MAP_SHARED = 2, 3, 1
local WORDS_PER_THREAD = 8 -- a cache line
local point_select, init = event, thread_init
local counter

function thread_init()
   init()
   local fd = ffi.C.open(os.getenv("COUNTS"), O_RDWR)
   assert(fd >= 0, "cannot open COUNTS")
   local words = ffi.C.mmap(nil, WORDS_PER_THREAD * 8 * sysbench.opt.threads, PROT_READ_WRITE, MAP_SHARED, fd, 0)
   assert(ffi.cast("intptr_t", words) ~= -1, "cannot map COUNTS")
   counter = ffi.cast("uint64_t *", words) + WORDS_PER_THREAD * sysbench.tid
end

function event()
   point_select()
   counter[0] = counter[0] + 1
end
