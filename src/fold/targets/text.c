/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/targets/part.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PIDFD_LINK "anon_inode:[pidfd]"
#define TCP_LISTENS 10	/* TCP_LISTEN */
#define NETLINK_FAMILY 16
#define PACKET_FAMILY 17
#define VSOCK_FAMILY 40

static const struct {
	const char *prefix;
	uint8_t kind;
} links[] = {
	{ "anon_inode:[eventfd]", OBJECT_EVENTFD }, { "anon_inode:[timerfd]", OBJECT_TIMERFD },
	{ "anon_inode:[signalfd]", OBJECT_SIGNALFD }, { "anon_inode:[eventpoll]", OBJECT_EPOLL },
	{ "anon_inode:inotify", OBJECT_INOTIFY }, { "anon_inode:[fanotify]", OBJECT_INOTIFY },
	{ "anon_inode:[io_uring]", OBJECT_AIO }, { PIDFD_LINK, OBJECT_CHILD },
};

static bool is_terminal(const char *path)
{
	return g_str_has_prefix(path, "/dev/pts/") || g_str_has_prefix(path, "/dev/tty") ||
	       strcmp(path, "/dev/console") == 0 || strcmp(path, "/dev/ptmx") == 0;
}

/* pidfs files are the only unnamed files that one waits for. */
static bool is_pidfd(const struct offcpu_rec_target *rec)
{
	return (rec->mode & S_IFMT) == S_IFREG && rec->text_len == 1 && rec->text[0] == '/';
}

uint8_t target_kind(const struct offcpu_rec_target *rec, const char *link)
{
	/* closed meanwhile: the inode is shared by all such files, but the file's own name is left */
	g_autofree char *name = !link && rec->is_anon ? g_strdup_printf("anon_inode:%.*s", rec->text_len, (const char *)rec->text)
						      : NULL;

	link = name ? name : link;
	for (size_t i = 0; link && i < G_N_ELEMENTS(links); i++)
		if (g_str_has_prefix(link, links[i].prefix))
			return links[i].kind;
	if (!link && is_pidfd(rec))
		return OBJECT_CHILD;
	if (rec->is_anon)
		return OBJECT_DESCRIPTOR;
	switch (rec->mode & S_IFMT) {
	case S_IFREG: return OBJECT_FILE;
	case S_IFDIR: return OBJECT_DIRECTORY;
	case S_IFIFO: return OBJECT_PIPE;
	case S_IFSOCK: return OBJECT_SOCKET;
	case S_IFBLK: return OBJECT_BLOCK_DEVICE;
	case S_IFCHR: return link && is_terminal(link) ? OBJECT_TERMINAL : OBJECT_DEVICE;
	default: return OBJECT_DESCRIPTOR;
	}
}

char *target_path(const struct offcpu_rec_target *rec, const char *link)
{
	g_autofree char *text = g_strndup((const char *)rec->text, rec->text_len);

	if (link && g_str_has_prefix(link, "pipe:["))
		return g_strdup("pipe");
	if (link && !g_str_has_prefix(link, PIDFD_LINK))
		return g_strdup(link);
	if (link || is_pidfd(rec))
		return g_strdup("pidfd");
	if ((rec->mode & S_IFMT) == S_IFIFO && !text[0])
		return g_strdup("pipe");
	if (rec->is_anon || !text[0])
		return g_strdup_printf("fd %d", rec->fd);
	/* only the last part of the path is known */
	return g_strdup_printf(".../%s", text);
}

static void append_address(GString *s, const struct offcpu_rec_target *rec, const uint8_t *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool is_mapped = rec->family == AF_INET6 && memcmp(address, mapped, sizeof(mapped)) == 0;
	char text[INET6_ADDRSTRLEN] = "?";

	if (rec->family == AF_INET || is_mapped)
		inet_ntop(AF_INET, address + (is_mapped ? 12 : 0), text, sizeof(text));
	else
		inet_ntop(AF_INET6, address, text, sizeof(text));
	g_string_append_printf(s, strchr(text, ':') ? "[%s]" : "%s", text);
}

static bool is_any(const uint8_t *address)
{
	static const uint8_t zero[16];

	return memcmp(address, zero, sizeof(zero)) == 0;
}

static char *inet_text(const struct offcpu_rec_target *rec, bool is_server)
{
	GString *s = g_string_new(NULL);

	if (rec->remote_port && is_server) {
		g_string_append_printf(s, ":%u from ", rec->local_port);
		append_address(s, rec, rec->remote);
	} else if (rec->remote_port) {
		append_address(s, rec, rec->remote);
		g_string_append_printf(s, ":%u", rec->remote_port);
	} else {
		if (is_any(rec->local))
			g_string_append_c(s, '*');
		else
			append_address(s, rec, rec->local);
		g_string_append_printf(s, ":%u%s", rec->local_port,
				       rec->sock_type == SOCK_DGRAM	  ? OBJECT_BOUND
				       : rec->sock_type == SOCK_STREAM && rec->sock_state == TCP_LISTENS ? " listening"
												       : "");
	}
	return g_string_free(s, FALSE);
}

/* An abstract address is shown like in ss(8). */
static char *unix_text(const struct offcpu_rec_target *rec, bool is_server)
{
	g_autofree char *text = g_strndup((const char *)rec->text, rec->text_len);

	if (rec->text_len > 1 && !rec->text[0]) {
		g_free(text);
		text = g_strdup_printf("@%.*s", rec->text_len - 1, (const char *)rec->text + 1);
	}
	if (!text[0])
		return g_strdup("unix socket");
	if (rec->sock_state == TCP_LISTENS)
		return g_strdup_printf("%s listening", text);
	return g_strdup_printf("%s%s", text, is_server && rec->peer_ino ? " from" : "");
}

char *target_socket(const struct offcpu_rec_target *rec, bool is_server)
{
	switch (rec->family) {
	case AF_INET:
	case AF_INET6: return inet_text(rec, is_server);
	case AF_UNIX: return unix_text(rec, is_server);
	case NETLINK_FAMILY: return g_strdup("netlink");
	case PACKET_FAMILY: return g_strdup("packet");
	case VSOCK_FAMILY: return g_strdup("vsock");
	default: return g_strdup_printf("socket of family %u", rec->family);
	}
}

const char *target_operation(const struct offcpu_rec_target *rec)
{
	/* enum io_uring_op of include/uapi/linux/io_uring.h */
	static const char *const uring[] = {
		[1] = "uring READV", [2] = "uring WRITEV", [3] = "uring FSYNC", [4] = "uring READ_FIXED", [5] = "uring WRITE_FIXED",
		[6] = "uring POLL_ADD", [8] = "uring SYNC_FILE_RANGE", [9] = "uring SENDMSG", [10] = "uring RECVMSG",
		[13] = "uring ACCEPT", [16] = "uring CONNECT", [17] = "uring FALLOCATE", [22] = "uring READ", [23] = "uring WRITE",
		[26] = "uring SEND", [27] = "uring RECV", [30] = "uring SPLICE", [33] = "uring TEE", [47] = "uring SEND_ZC",
		[48] = "uring SENDMSG_ZC", [49] = "uring READ_MULTISHOT", [55] = "uring FTRUNCATE",
	};
	unsigned op = rec->purpose - OFFCPU_FOR_URING;

	switch (rec->purpose) {
	case OFFCPU_FOR_ANY: return "";
	case OFFCPU_FOR_CONNECTION: return "connect";
	case OFFCPU_FOR_ROOM: return OBJECT_SENDS;
	default: return op < G_N_ELEMENTS(uring) && uring[op] ? uring[op] : "uring";
	}
}

const char *target_protocol(const struct offcpu_rec_target *rec)
{
	if (rec->family == AF_UNIX)
		return "unix";
	if (rec->family != AF_INET && rec->family != AF_INET6)
		return "";
	return rec->sock_type == SOCK_STREAM ? "tcp" : rec->sock_type == SOCK_DGRAM ? "udp" : "raw";
}

void target_append_peer(GString *s, const struct offcpu_rec_target *rec, uint8_t kind, const char *peer,
			unsigned others)
{
	if (kind == OBJECT_PIPE)
		g_string_append_printf(s, " %s %s", rec->f_mode == 1 ? "from" : "to", peer);
	else
		g_string_append_printf(s, " (%s", peer);
	if (others)
		g_string_append_printf(s, " and %u more", others);
	if (kind != OBJECT_PIPE)
		g_string_append_c(s, ')');
}
