# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Which live cases run in which guest: those that hold under emulation, on two slow CPUs and without a disk.

A guest spends its time on the verifier, some seconds for each recorder that is started.  So every kernel has the core, and what is the
same code on every kernel is tried on one of them.
"""

# Accounts, stacks, unwinding, wakers, chains, locks, files.
CORE = ["nanosleep", "futex_contention", "asleep_throughout", "unwind_plain_chain", "waker_is_the_timer", "chain_by_a_signal",
        "locks_of_all_kinds", "slow_file_operations"]
# There a spinlock is something to sleep on, so what takes one in the kernel (a signal's, a futex's) waits in D as well as
# in S, and how often is not for the program to know.
NOT_ON_RT = {"futex_contention", "chain_by_a_signal"}

# The name of a list, which tests/vm/init finds by the kernel's -> its cases
OF_KERNEL = {
    "6.1": [*CORE, "pipe_ping_pong_threads", "exec_from_the_first_thread", "killed_leaves_nothing_loaded", "filter_thread", "command_exit_status",
            "file_operations_at_the_edges", "unwind_short_lived"],
    "other": [*CORE, "cpu_that_comes_back", "memory_high_is_named", "stopped_by_itself",
              "file_operations_at_the_edges"],
    "rt": [case for case in CORE if case not in NOT_ON_RT] + ["cpu_that_comes_back", "exec_from_the_first_thread"],
    # Other code: the walk in the kernel, system calls' registers, the scheduler's frames.
    "arm64": [*CORE, "socket_unix", "pipe_ping_pong_threads", "exec_from_the_first_thread", "chain_of_a_pipeline", "locks_of_a_deadlock",
              "unwind_recursion_beyond_the_limit", "unwind_through_a_signal_in_a_system_call", "unwind_vfork", "unwind_alloca",
              "unwind_library_loaded_meanwhile", "unwind_cxx", "python_threads_that_want_the_gil", "language_python", "language_go",
              # stacks that user space walks: by x30
              "looked_at_by_bpf", "file_operations_by_stack", "request_plain"],
}

# With --all: a minute and a half each.  Every command that looks at a process, beside one of which something never answers.
NIGHTLY = [f"never_answered_by_any_{how}" for how in
           ("arguments", "text", "overlay", "stack", "perf_map", "debug", "heap", "exec")] + \
          ["never_answered_exec_meanwhile", "probes_that_are_held_up"]
NIGHTLY_OF = ("6.1", "other")


def of_kernels(is_all):
    return {name: [*chosen, *(NIGHTLY if is_all and name in NIGHTLY_OF else ())] for name, chosen in OF_KERNEL.items()}
