/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef BPF_TARGET_BPF_H
#define BPF_TARGET_BPF_H

#include "bpf/calls.bpf.h"
#include "features/klocks/kernel_lock.bpf.h"
#include "bpf/kernel_word.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/object.bpf.h"
#include "features/network/tcp.bpf.h"
#include "bpf/target_types.h"

/*
 * What a thread waits for in a system call or a page fault (--objects). Looked up when the wait ends, and for listed
 * waits only: the thread is still in its call, so the registers are the call's, and the call holds the file. If
 * another thread has closed the descriptor meanwhile there is no target. If it has opened another file under the same
 * number, that file is reported.
 *
 * Global functions take numbers, not pointers to the kernel's types: so the verifier checks each once.
 */

#define SOCKET_STREAM 1		/* SOCK_STREAM */
#define EVENT_IN 1		/* POLLIN */
#define EVENT_OUT 4
#define URING_SQE128 (1U << 10)		/* IORING_SETUP_SQE128 */
#define URING_FIXED_FILE 0x100	/* IOSQE_FIXED_FILE, at its place in the word with the operation */
#define TCP_SYN_SENT 2		/* include/net/tcp_states.h */
#define TCP_LISTEN 10

/* The last part of the path, or "[eventpoll]" for an anonymous file: all that remains if it is closed too soon. */
static __always_inline void name_file(struct offcpu_rec_target *rec, __u64 file)
{
	__u64 dentry = READ_POINTER(struct file, file, f_path.dentry);
	long len = bpf_probe_read_kernel_str(rec->text, sizeof(rec->text),
					     (void *)READ_POINTER(struct dentry, dentry, d_name.name));

	rec->text_len = len > 0 ? len - 1 : 0;
}

/* An abstract address begins with a zero byte. */
static __always_inline void name_unix(struct offcpu_rec_target *rec, __u64 sk)
{
	__u64 address = READ_POINTER(struct unix_sock, sk, addr);
	__u32 len;

	if (!address)
		return;
	len = READ_NUMBER(struct unix_address, address, len) - 2;	/* without sun_family */
	if (!len || len > 108)
		return;
	rec->text_len = len < sizeof(rec->text) ? len : sizeof(rec->text);
	bpf_probe_read_kernel(rec->text, sizeof(rec->text), (void *)(AT(struct unix_address, address, name) + 2));
}

static __always_inline __u64 socket_ino(__u64 sk)
{
	__u64 socket = READ_POINTER(struct sock, sk, sk_socket);

	if (!socket)
		return 0;
	socket -= bpf_core_field_offset(struct socket_alloc, socket);
	return READ_POINTER(struct inode, AT(struct socket_alloc, socket, vfs_inode), i_ino);
}

static __always_inline void look_at_unix(struct offcpu_rec_target *rec, __u64 sk)
{
	struct unix_sock *type = NULL;
	__u64 peer;

	if (!bpf_core_field_exists(type->peer))
		return;
	name_unix(rec, sk);
	peer = READ_POINTER(struct unix_sock, sk, peer);
	if (!peer)
		return;
	rec->peer_ino = socket_ino(peer);
	if (rec->text_len)
		return;
	rec->is_peers_text = 1;
	name_unix(rec, peer);
}

static __always_inline void look_at_socket(struct offcpu_rec_target *rec, __u64 file)
{
	__u64 socket = READ_POINTER(struct file, file, private_data), sk = READ_POINTER(struct socket, socket, sk);

	rec->sock_type = read_word(AT(struct socket, socket, type) & ~7ULL) >>
			 (AT(struct socket, socket, type) & 7) * 8;
	if (!sk)
		return;
	bpf_probe_read_kernel(&rec->family, sizeof(rec->family), (void *)AT(struct sock, sk, __sk_common.skc_family));
	bpf_probe_read_kernel(&rec->sock_state, sizeof(rec->sock_state),
			      (void *)AT(struct sock, sk, __sk_common.skc_state));
	if (rec->family == FAMILY_UNIX) {
		look_at_unix(rec, sk);
		return;
	}
	if (rec->family != FAMILY_INET && rec->family != FAMILY_INET6)
		return;
	read_ends(sk, rec->family, &rec->local_port, &rec->remote_port, rec->local, rec->remote);
}

static __always_inline void look_at_file(struct offcpu_rec_target *rec, __u64 file, __u64 inode)
{
	__u64 super = READ_POINTER(struct inode, inode, i_sb);
	__u16 mode = 0;

	bpf_probe_read_kernel(&mode, sizeof(mode), (void *)AT(struct inode, inode, i_mode));
	rec->mode = mode;
	rec->f_mode = READ_NUMBER(struct file, file, f_mode) & 3;
	rec->dev = READ_NUMBER(struct super_block, super, s_dev);
	rec->is_anon = READ_POINTER(struct super_block, super, s_magic) == ANON_INODE_MAGIC;
	if ((mode & MODE_TYPE) == MODE_SOCKET)
		look_at_socket(rec, file);
	else
		name_file(rec, file);
}

/*
 * Purpose of a poll() for writing: a socket that has transferred no data yet is being connected. It is read as the
 * wait ends, when it may be connected already.
 */
static __always_inline __u32 purpose_of_socket(const struct offcpu_rec_target *rec, __u64 file, __u32 events)
{
	const bool wants_room = events & EVENT_OUT && !(events & EVENT_IN) && rec->sock_state != TCP_LISTEN;
	__u64 sk;

	if (rec->family == FAMILY_UNIX)	/* its connect() is over at once */
		return wants_room ? OFFCPU_FOR_ROOM : OFFCPU_FOR_ANY;
	if (rec->sock_type != SOCKET_STREAM || (rec->family != FAMILY_INET && rec->family != FAMILY_INET6))
		return OFFCPU_FOR_ANY;
	if (rec->sock_state == TCP_SYN_SENT)
		return OFFCPU_FOR_CONNECTION;
	if (!wants_room)
		return OFFCPU_FOR_ANY;
	if (!bpf_core_field_exists(((struct tcp_sock *)0)->data_segs_out))
		return OFFCPU_FOR_ROOM;
	sk = READ_POINTER(struct socket, READ_POINTER(struct file, file, private_data), sk);
	return READ_NUMBER(struct tcp_sock, sk, data_segs_out) || READ_NUMBER(struct tcp_sock, sk, data_segs_in) ?
		       OFFCPU_FOR_ROOM :
		       OFFCPU_FOR_CONNECTION;
}

/* Anonymous inodes are shared and descriptors are per process: what has no own inode is hashed with its process. */
static __always_inline __u64 target_hash(const struct thread_state *st, const struct offcpu_rec_target *rec, __u64 file)
{
	__u64 h = mix(mix(rec->what | (__u64)rec->purpose << 8, rec->ino),
		      (__u64)rec->dev << 32 | rec->fd_cnt << 2 | rec->f_mode);

	if (rec->is_anon || rec->what == OFFCPU_TARGET_AIO)
		h = mix(mix(h, file), stack_seed(st));
	if (rec->what == OFFCPU_TARGET_CHILD || rec->fd_cnt > 1)
		h = mix(mix(h, rec->child), stack_seed(st));
	if (rec->family) {
		h = mix(mix(h, rec->peer_ino), (__u64)rec->local_port << 16 | rec->remote_port);
		h = mix(mix(h, *(__u64 *)rec->remote), *(__u64 *)(rec->remote + 8));
	}
	return h > 1 ? h : 2;
}

/* Sends it unless it has crossed before; returns its id, or 0 when it was not sent. */
static __always_inline __u64 intern_target(const struct thread_state *st, struct offcpu_rec_target *rec, __u64 file)
{
	__u64 id = target_hash(st, rec, file);

	rec->id = id;
	if (has_crossed(id))
		return id;
	rec->type = OFFCPU_REC_TARGET;
	rec->proc_start_ns = st->proc_start_ns;
	rec->pid = st->pid;
	rec->exec_no = st->exec_no;
	return send_crossing(rec, sizeof(*rec), id, OFFCPU_LOSS_OBJECT) ? id : 0;
}

/* The TCP socket, or WATCHES_SOCKETS for a set of descriptors. */
static __always_inline __u64 sock_of(const struct offcpu_rec_target *rec, __u64 file)
{
	__u64 sk;

	if (rec->is_anon)
		return *(const __u64 *)rec->text == *(const __u64 *)"[eventpo" ? WATCHES_SOCKETS : 0;
	if (rec->sock_type != SOCKET_STREAM || (rec->family != FAMILY_INET && rec->family != FAMILY_INET6) ||
	    rec->sock_state == TCP_LISTEN || rec->fd_cnt > 1)
		return 0;
	sk = READ_POINTER(struct socket, READ_POINTER(struct file, file, private_data), sk);
	return is_tcp(sk) ? sk : 0;
}

/* Same thread and same file: nothing else need be read. */
static __always_inline struct seen_target *seen_of(struct thread_state *st, __u32 fd)
{
	return &st->targets[fd % SEEN_TARGETS];
}

static __always_inline __u64 file_of_fd(const struct wait_target *t)
{
	__u64 table = READ_POINTER(struct files_struct, READ_POINTER(struct task_struct, t->task, files), fdt);
	__u32 fd = t->fd;

	if (!table || fd >= READ_NUMBER(struct fdtable, table, max_fds))
		return 0;
	return read_word(READ_POINTER(struct fdtable, table, fd) + 8ULL * fd);
}

__noinline __u64 target_of_fd(struct thread_state *st, struct wait_target *t)
{
	__u64 file, inode, ino, id, call;
	struct seen_target *seen;
	__u32 fd;

	if (!st || !t)
		return 0;
	fd = t->fd;
	file = file_of_fd(t);
	if (!file)
		return 0;
	call = (__u64)(t->events | (__u32)t->purpose << 16) << 32 | t->fd_cnt;
	inode = READ_POINTER(struct file, file, f_inode);
	ino = READ_POINTER(struct inode, inode, i_ino);
	seen = seen_of(st, fd);
	if (seen->file == file && seen->ino == ino && seen->call == call) {
		t->sock = seen->sock == WATCHES_SOCKETS ? ready_socket(file) : seen->sock;
		t->rec.purpose = t->purpose;
		return seen->id;
	}
	__builtin_memset(&t->rec, 0, sizeof(t->rec));
	t->rec.what = OFFCPU_TARGET_FD;
	t->rec.fd = fd;
	t->rec.fd_cnt = t->fd_cnt;
	t->rec.ino = ino;
	t->rec.purpose = t->purpose;
	look_at_file(&t->rec, file, inode);
	if (t->rec.family && !t->purpose)
		t->rec.purpose = purpose_of_socket(&t->rec, file, t->events);
	id = intern_target(st, &t->rec, file);
	t->sock = sock_of(&t->rec, file);
	/* a socket that is not connected yet may be later */
	if (t->rec.family && ((!t->rec.remote_port && !t->rec.peer_ino) || t->rec.purpose == OFFCPU_FOR_CONNECTION))
		return id;
	seen->file = file;
	seen->ino = ino;
	seen->call = call;
	seen->id = id;
	seen->sock = t->sock;
	if (t->sock == WATCHES_SOCKETS)
		t->sock = ready_socket(file);
	return id;
}

/*
 * An io_uring waits for one operation if all its uncompleted operations are the same one on one descriptor. They are
 * still in the submission queue, whose last entries are read.
 */
#define URING_LAST 8

static __always_inline __u64 uring_entry(__u64 ctx, __u32 nr)
{
	__u64 array = READ_POINTER(struct io_ring_ctx, ctx, sq_array);
	__u32 at = nr & (READ_NUMBER(struct io_ring_ctx, ctx, sq_entries) - 1);

	if (array)
		at = read_half(array + 4ULL * at);
	return read_word(READ_POINTER(struct io_ring_ctx, ctx, sq_sqes) + 64ULL * at);
}

/* opcode, flags, priority, descriptor; 0: several, or not known */
static __always_inline __u64 uring_operation(__u64 ctx)
{
	__u32 head = READ_NUMBER(struct io_ring_ctx, ctx, cached_sq_head), cnt;
	__u64 entry, rings = READ_POINTER(struct io_ring_ctx, ctx, rings);

	cnt = head - READ_NUMBER(struct io_rings, rings, cq.head);
	if (!cnt || cnt > READ_NUMBER(struct io_ring_ctx, ctx, sq_entries))
		return 0;
	entry = uring_entry(ctx, head - 1);
	for (__u32 i = 2; i <= URING_LAST && i <= cnt; i++)
		if ((uring_entry(ctx, head - i) ^ entry) & ~0xffff00ULL)
			return 0;
	return entry;
}

/* Replaces the ring's descriptor by the one that the ring waits for. */
__noinline int look_into_uring(struct wait_target *t)
{
	struct io_ring_ctx *type = NULL;
	__u64 file, ctx, entry;

	if (!t)
		return 0;
	file = file_of_fd(t);
	if (file && bpf_core_field_exists(type->cached_sq_head) && bpf_core_field_exists(type->sq_sqes) &&
	    bpf_core_field_exists(type->sq_array)) {
		ctx = READ_POINTER(struct file, file, private_data);
		entry = READ_NUMBER(struct io_ring_ctx, ctx, flags) & URING_SQE128 ? 0 : uring_operation(ctx);
		if (entry && !(entry & URING_FIXED_FILE)) {
			t->fd = entry >> 32;
			t->purpose = OFFCPU_FOR_URING | (entry & 0xff);
		}
	}
	return 0;
}

#define CHILDREN 64

/*
 * Is that child the one waited for or, if any is (0), has it ended? Returns its number; 0: no. A global function: the
 * body of a loop is checked once, as in fault_at() below.
 */
__noinline __u32 awaited_child(__u64 child, __u32 wanted)
{
	__u32 nr = READ_NUMBER(struct task_struct, child, pid);

	return (wanted ? nr == wanted : READ_NUMBER(struct task_struct, child, exit_state) != 0) ? nr : 0;
}

/* Checks one child, whose `sibling` is at `at`. Returns the next one's place; 0: found, or the last. As above. */
__noinline __u64 look_at_child(struct wait_target *t, __u64 at)
{
	__u64 child = at - bpf_core_field_offset(struct task_struct, sibling);
	__u32 nr;

	if (!t || !at || at == AT(struct task_struct, t->task, children))
		return 0;
	nr = awaited_child(child, t->fd);
	if (!nr)
		return read_word(at);
	bpf_probe_read_kernel(t->rec.text, 16, (void *)AT(struct task_struct, child, comm));
	t->rec.text_len = 16;
	t->rec.child = nr;
	t->rec.fd = READ_NUMBER(struct task_struct, child, exit_state) ?
			    READ_NUMBER(struct task_struct, child, exit_code) : -1;
	return 0;
}

/*
 * Which of the thread's children it waits for or, if for any, one that has ended; with its name before it is reaped.
 */
__noinline __u64 target_of_child(struct thread_state *st, struct wait_target *t)
{
	__u64 at;

	if (!st || !t)
		return 0;
	__builtin_memset(&t->rec, 0, sizeof(t->rec));
	t->rec.what = OFFCPU_TARGET_CHILD;
	t->rec.child = t->fd;
	t->rec.fd = -1;
	at = READ_POINTER(struct task_struct, t->task, children);
	for (int i = 0; i < CHILDREN && at; i++)
		at = look_at_child(t, at);
	return intern_target(st, &t->rec, 0);
}

__noinline __u64 target_without_file(struct thread_state *st, struct wait_target *t, __u8 what)
{
	if (!st || !t)
		return 0;
	__builtin_memset(&t->rec, 0, sizeof(t->rec));
	t->rec.what = what;
	return intern_target(st, &t->rec, what == OFFCPU_TARGET_AIO ? t->addr : 0);
}

#define FAULT_WORD (bpf_core_field_offset(struct vm_fault, address) / 8)

/*
 * The kernel keeps the address of a page fault only in a struct vm_fault on the thread's stack. The i-th word of this
 * piece of the stack is taken for the struct's first one if it leads to a mapping of this program that contains the
 * address named by the same struct. Returns the mapping, or 0.
 */
__noinline __u64 fault_at(struct wait_target *t, __u32 i, __u64 mm)
{
	__u32 k = i + FAULT_WORD;
	__u64 vma, address;

	if (!t || i >= STACK_PIECE || k >= STACK_PIECE + STACK_OVERLAP)
		return 0;
	vma = t->stack[i];
	address = t->stack[k];
	if (vma >> 47 != 0x1ffff || !address || address & 0xfff || address >> 56 ||
	    READ_POINTER(struct vm_area_struct, vma, vm_mm) != mm ||
	    READ_POINTER(struct vm_area_struct, vma, vm_start) > address ||
	    READ_POINTER(struct vm_area_struct, vma, vm_end) <= address)
		return 0;
	t->addr = address;
	return vma;
}

/* The mapping; 0: none in this piece of the stack. A struct that begins in its last words is in the next piece. */
__noinline __u64 find_fault(struct wait_target *t, __u64 mm)
{
	__u64 vma = 0;

	for (__u32 i = 0; i < STACK_PIECE && !vma; i++)
		vma = fault_at(t, i, mm);
	return vma;
}

__noinline __u64 target_of_fault(struct thread_state *st, struct wait_target *t)
{
	__u64 mm, at, vma = 0, file;

	if (!st || !t)
		return 0;
	mm = READ_POINTER(struct task_struct, t->task, mm);
	at = t->stack_at;
	for (int i = 0; i < STACK_PIECES && !vma; i++) {
		if (bpf_probe_read_kernel(t->stack, sizeof(t->stack), (void *)at))
			return 0;
		vma = find_fault(t, mm);
		at += STACK_PIECE * 8;
	}
	if (!vma)
		return 0;
	__builtin_memset(&t->rec, 0, sizeof(t->rec));
	t->rec.what = OFFCPU_TARGET_FAULT;
	t->rec.addr = t->addr;
	file = READ_POINTER(struct vm_area_struct, vma, vm_file);
	if (file) {
		__u64 inode = READ_POINTER(struct file, file, f_inode);

		t->rec.ino = READ_POINTER(struct inode, inode, i_ino);
		look_at_file(&t->rec, file, inode);
		t->rec.f_mode = 0;
	}
	return intern_target(st, &t->rec, 0);
}

static __always_inline __u32 lowest_bit(__u64 bits)
{
	__u32 at = 0;

	for (int shift = 32; shift; shift >>= 1) {
		if (!(bits & ((1ULL << shift) - 1))) {
			bits >>= shift;
			at += shift;
		}
	}
	return at;
}

static __always_inline __u32 bits_cnt(__u64 bits)
{
	bits -= (bits >> 1) & 0x5555555555555555ULL;
	bits = (bits & 0x3333333333333333ULL) + ((bits >> 2) & 0x3333333333333333ULL);
	bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (bits * 0x0101010101010101ULL) >> 56;
}

/*
 * The first descriptor of poll()'s array, or of select()'s read set together with the number of those among the first
 * 64; false: none, or unreadable.
 */
__noinline int first_fd(struct wait_target *t, struct page_view *view, bool is_select)
{
	__u64 word;

	if (!t || !view || !viewed_word(view, t->addr & ~7ULL, &word))
		return false;
	if (!view_held(view))
		return false;
	if (is_select && !word)
		return false;
	if (is_select) {
		t->fd = lowest_bit(word);
		t->fd_cnt = bits_cnt(word);
		return true;
	}
	t->fd = t->addr & 4 ? word >> 32 : (__u32)word;
	if (!(t->addr & 4))
		t->events = word >> 32;
	else if (viewed_word(view, (t->addr & ~7ULL) + 8, &word))
		t->events = word;
	return true;
}

static __always_inline __u64 target_of_call(struct task_struct *task, struct thread_state *st, struct scratch *scratch,
					    const struct syscall *call)
{
	struct wait_target *t = &scratch->target;
	bool is_select;
	__u64 mm;

	t->fd = call->first;
	t->fd_cnt = 1;
	t->events = 0;
	t->purpose = 0;
	switch (call_waits_for(call->nr)) {
	case CALL_COPY:
		/* a wait in D state is for the disk: the file is read; a full pipe is waited for otherwise */
		if (st->state == OFFCPU_STATE_D)
			t->fd = call->second;
		return target_of_fd(st, t);
	case CALL_FD:
	case CALL_SEND:
	case CALL_CONNECT:
		return target_of_fd(st, t);
	case CALL_POLL:
	case CALL_SELECT:
		if (call_waits_for(call->nr) == CALL_POLL) {
			t->addr = call->first;
			t->fd_cnt = call->second;
		} else {
			/* the read set, else the write set: then a connection is being set up */
			t->addr = call->second ?: call->third;
			t->events = call->second ? 0 : EVENT_OUT;
		}
		if (!t->fd_cnt || !t->addr)
			return target_without_file(st, t, OFFCPU_TARGET_NOTHING);
		if (!direct_map)
			return 0;
		is_select = call_waits_for(call->nr) == CALL_SELECT;
		mm = READ_POINTER(struct task_struct, *(volatile __u64 *)&t->task, mm);
		/* likely on the stack page that the walk has just used */
		if (scratch->walk.view.moved || scratch->walk.view.pgd != READ_POINTER(struct mm_struct, mm, pgd) ||
		    !first_fd(t, &scratch->walk.view, is_select)) {
			view_of(&scratch->walk.view, task);
			if (!first_fd(t, &scratch->walk.view, is_select))
				return 0;
		}
		return target_of_fd(st, t);
	case CALL_WAIT4:
		t->fd = (__s32)call->first > 0 ? call->first : 0;
		return target_of_child(st, t);
	case CALL_WAITID:
		if (call->first == WAITID_PIDFD) {
			t->fd = call->second;
			return target_of_fd(st, t);
		}
		t->fd = call->first == WAITID_PID ? call->second : 0;
		return target_of_child(st, t);
	case CALL_URING:
		look_into_uring(t);
		return target_of_fd(st, t);
	case CALL_AIO:
		t->addr = call->first;
		return target_without_file(st, t, OFFCPU_TARGET_AIO);
	}
	return 0;
}

/* enum tcp_direction; TCP_DIRECTION_COUNT: both, or neither. */
static __always_inline __u32 direction_of(const struct wait_target *t, __u32 call)
{
	bool wants_room = t->events & EVENT_OUT, wants_data = t->events & EVENT_IN;

	switch (call) {
	case CALL_SEND:
	case CALL_COPY:
		return TCP_SEND;
	case CALL_CONNECT:
		return TCP_CONNECT;
	case CALL_POLL:
		if (wants_room == wants_data)
			return TCP_DIRECTION_COUNT;
		break;
	case CALL_SELECT:
		break;
	case CALL_URING:
		return direction_of_operation(t->purpose & 0xff);
	default:
		return TCP_RECEIVE;
	}
	if (!wants_room)
		return TCP_RECEIVE;
	return t->rec.purpose == OFFCPU_FOR_CONNECTION ? TCP_CONNECT : TCP_SEND;
}

/* What a system call or page fault waits for. */
static __always_inline __u64 target_of_wait(struct task_struct *task, struct thread_state *st, struct scratch *scratch)
{
	struct pt_regs *regs;
	struct syscall call;

	if (st->futex.cnt || !plain(task)->mm || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER))
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	if (!regs || is_32_bit(regs))
		return 0;
	syscall_of(regs, &call);
	*(struct task_struct *volatile *)&scratch->target.task = task;
	if (mostly(call.nr < CALLS_END)) {
		__u64 target = target_of_call(task, st, scratch, &call);

		if (rarely(scratch->target.sock))
			scratch->target.direction = direction_of(&scratch->target, call_waits_for(call.nr));
		return target;
	}
	if (st->state != OFFCPU_STATE_D)
		return 0;
	scratch->target.stack_at = resting_sp(task);
	return target_of_fault(st, &scratch->target);
}

/* Finds the target of a wait that ends, or that is open as the window ends. */
static __always_inline void look_at_target(struct task_struct *task, struct thread_state *st, struct scratch *scratch)
{
	if (!cfg.want_objects)
		return;
	st->target = 0;
	scratch->target.sock = 0;
	if (st->state != OFFCPU_STATE_S && st->state != OFFCPU_STATE_D)
		return;
	st->target = target_of_wait(task, st, scratch);
	if (rarely(st->lock.addr))
		st->target = object_of_lock(st, &scratch->lock, st->target);
}

#endif
