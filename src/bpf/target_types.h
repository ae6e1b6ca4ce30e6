/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's types of files, sockets and mappings, reduced as in ktypes.h. */
#ifndef BPF_TARGET_TYPES_H
#define BPF_TARGET_TYPES_H

#include "bpf/ktypes.h"

#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define MODE_TYPE 0170000
#define MODE_SOCKET 0140000
#define ANON_INODE_MAGIC 0x09041934	/* include/uapi/linux/magic.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	unsigned int s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	__s64 i_size;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct fs_struct {
	struct path root, pwd;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	unsigned int f_mode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct mm_struct *vm_mm;
	struct file *vm_file;
};

/* In the kernel its first members are in an anonymous struct. */
struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	unsigned long address;
};

struct in6_addr {
	unsigned char bytes[16];
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;	/* with CONFIG_IPV6 */
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	__u16 sk_type;	/* a separate 16-bit field since Linux 5.6 */
	__u16 sk_protocol;	/* likewise */
	int sk_err;
};

struct socket {
	short type;
	struct sock *sk;
};

struct minmax_sample {
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_rack {
	__u64 mstamp;		/* send time of the segment acknowledged last, in us of the monotonic clock */
	__u32 rtt_us;		/* and its round-trip time */
	__u32 end_seq;
};

/* Its first member is a socket. */
struct tcp_sock {
	__u32 data_segs_in, data_segs_out, write_seq;
	__u32 snd_una, snd_wl1, rcv_nxt, rcv_wup, copied_seq;
	__u32 lsndtime, total_retrans, srtt_us;
	__u64 bytes_received;
	struct minmax rtt_min;
	struct tcp_rack rack;
	__u32 chrono_start, chrono_stat[3];
	__u8 chrono_type : 2;
};

/* Its first member is a socket, too. */
struct inet_connection_sock {
	struct {
		__u32 lrcvtime;
	} icsk_ack;
};

struct epoll_filefd {
	struct file *file;
};

struct epitem {
	struct list_head rdllink;
	struct epoll_filefd ffd;
};

struct eventpoll {
	struct list_head rdllist;
};

/* Head and tail of an io_uring's queues. */
struct io_uring {
	__u32 head;
};

struct io_rings {
	struct io_uring sq, cq;
};

struct io_uring_sqe {
	unsigned char opcode;
};

struct io_ring_ctx {
	unsigned int flags;
	struct io_rings *rings;
	struct io_uring_sqe *sq_sqes;
	__u32 *sq_array;
	unsigned int cached_sq_head, sq_entries;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sockaddr_un {
	unsigned short sun_family;
};

struct unix_address {
	int len;
	struct sockaddr_un name[];
};

/* Missing in BTF if Unix sockets are a module. */
struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

#pragma clang attribute pop

#endif
