/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_WALK_SLEEP_PATH_BPF_H
#define BPF_WALK_SLEEP_PATH_BPF_H

/*
 * The scheduler's frames of a sleeper. The step between them is in each architecture's kernel_walk.bpf.h, which is
 * included before.
 */

struct sleep_path_walk {
	struct offcpu_rec_sleep_path *path;
	__u64 at, first;
};

/* 1 ends the loop. */
static long sleep_path_step(__u32 i, struct sleep_path_walk *walk)
{
	struct offcpu_rec_sleep_path *path = walk->path;
	__u32 cnt = path->cnt;
	__u64 word;

	if (cnt >= OFFCPU_SLEEP_PATH_MAX || !sleep_path_word(&walk->at, i, &word))
		return 1;
	if (!word)
		return 0;
	path->word[cnt] = word;
	path->callee[cnt] = callee_of(word);
	path->cnt = cnt + 1;
	return word == walk->first;
}

/* at: where the walk begins. Sent once, before the stack itself. See struct offcpu_rec_sleep_path. */
static __always_inline void send_sleep_path(__u64 at, struct scratch *scratch, __u64 id)
{
	struct offcpu_rec_sleep_path *path = &scratch->path;
	struct sleep_path_walk walk = {
		.path = path,
		.at = at,
		.first = scratch->stack.ip[0],
	};

	/* Before Linux 5.17 (e6f2dd0f8067, bpf_loop) these frames are missing. */
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))
		return;
	path->type = OFFCPU_REC_SLEEP_PATH;
	path->cnt = 0;
	path->id = id;
	bpf_loop(SLEEP_PATH_STEPS, sleep_path_step, &walk, 0);
	ring_send(path, sizeof(*path));
}

#endif
