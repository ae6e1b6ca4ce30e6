/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/proc/net_table.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/each.h"
#include "base/find.h"
#include "base/opener/opener.h"
#include "base/proc/sock_table.h"

#define FRESH_NS 1000000000ULL
#define V4_BYTES 4
#define HEX_DIGITS 32	/* of an IPv6 address */
#define TIMER_PROBE 4	/* net/ipv4/tcp_ipv4.c: get_tcp4_sock(): it asks whether the window is open again */
#define KEPT_MAX 8	/* namespaces whose tables are kept for a while */

struct kept {
	GArray *sockets;	/* struct net_socket; NULL: none yet */
	uint64_t read_ns;
	dev_t dev;		/* of their namespace */
	ino_t ino;
};

struct net_tables {
	char *proc_dir;
	struct kept kept[KEPT_MAX];
	GArray *unix_sockets;	/* struct unix_socket; NULL: not read, or unreadable */
	uint64_t unix_ns;	/* time of that; 0: never */
};

struct net_tables *net_tables_new(const char *proc_dir)
{
	struct net_tables *t = g_new0(struct net_tables, 1);

	t->proc_dir = g_strdup(proc_dir);
	return t;
}

void net_tables_free(struct net_tables *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < KEPT_MAX; i++)
		g_clear_pointer(&t->kept[i].sockets, g_array_unref);
	g_clear_pointer(&t->unix_sockets, g_array_unref);
	g_free(t->proc_dir);
	g_free(t);
}

struct net_end net_end_of(const uint8_t *address, size_t bytes, uint16_t port)
{
	struct net_end e = { .port = port };

	if (bytes == sizeof(e.address)) {
		memcpy(e.address, address, sizeof(e.address));
		return e;
	}
	memset(e.address + 10, 0xff, 2);
	memcpy(e.address + 12, address, V4_BYTES);
	return e;
}

/* The kernel writes 32-bit words, each as a hexadecimal number. */
static bool parse_end(const char *digits, unsigned port, struct net_end *ret)
{
	size_t words = strlen(digits) / 8;
	uint32_t address[4] = { 0 };

	if ((words != 1 && words != 4) || strlen(digits) % 8 || port > UINT16_MAX)
		return false;
	for (size_t i = 0; i < words; i++) {
		char word[9] = { 0 };

		memcpy(word, digits + 8 * i, 8);
		address[i] = (uint32_t)g_ascii_strtoull(word, NULL, 16);
	}
	*ret = net_end_of((const uint8_t *)address, words * sizeof(address[0]), (uint16_t)port);
	return true;
}

static bool parse_line(const char *line, struct net_socket *ret)
{
	char local[HEX_DIGITS + 1], remote[HEX_DIGITS + 1];
	unsigned local_port, remote_port, state, queued, timer;

	/* TCP's lines have no drops at the end, but other numbers */
	if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*x:%x %x:%*x %*x %*u %*u %" SCNu64 " %*u %*s %" SCNu32, local,
		   &local_port, remote, &remote_port, &state, &queued, &timer, &ret->inode, &ret->dropped) < 8)
		return false;
	ret->dropped = ret->is_tcp ? 0 : ret->dropped;
	ret->is_shut_out = timer == TIMER_PROBE;
	ret->state = (uint8_t)state;
	ret->queued = state == TCP_LISTEN ? queued : 0;
	return parse_end(local, local_port, &ret->local) && parse_end(remote, remote_port, &ret->remote);
}

const GArray *net_tables_unix(struct net_tables *t)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!t->unix_ns || now_ns - t->unix_ns >= FRESH_NS) {
		g_clear_pointer(&t->unix_sockets, g_array_unref);
		t->unix_sockets = unix_table_new();
		t->unix_ns = now_ns;
	}
	return t->unix_sockets;
}

void net_table_add(GArray *sockets, FILE *file, bool is_tcp)
{
	char line[512];
	size_t bytes = 0;

	while (bytes < NET_TABLE_BYTES && fgets(line, sizeof(line), file)) {
		struct net_socket s = { .is_tcp = is_tcp };

		bytes += strlen(line);
		if (parse_line(line, &s))
			g_array_append_val(sockets, s);
	}
}

static bool read_table(const struct net_tables *t, uint32_t pid, const char *name, GArray *sockets)
{
	g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/net/%s", t->proc_dir, pid, name);
	FILE *file = opener_file(path);

	if (!file)
		return false;
	net_table_add(sockets, file, g_str_has_prefix(name, "tcp"));
	fclose(file);
	return true;
}

bool net_tables_are_ours(const char *proc_dir, uint32_t pid)
{
	g_autofree char *own = g_build_filename(proc_dir, "self/ns/net", NULL);
	g_autofree char *net = g_strdup_printf("%s/%" PRIu32 "/ns/net", proc_dir, pid);
	struct stat ours, its;

	return !stat(own, &ours) && opener_stat(net, &its) && ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

/* NULL: unreadable, most likely because the process has ended. */
static GArray *read_all(const struct net_tables *t, uint32_t pid)
{
	static const char *const names[] = { "tcp", "tcp6", "udp", "udp6" };
	GArray *sockets = g_array_new(FALSE, FALSE, sizeof(struct net_socket));
	bool is_readable = net_tables_are_ours(t->proc_dir, pid) && tcp_table_add(sockets, ~(1U << TCP_TIME_WAIT));

	for (size_t i = is_readable ? 2 : 0; i < G_N_ELEMENTS(names); i++)
		is_readable |= read_table(t, pid, names[i], sockets);
	if (!is_readable)
		g_clear_pointer(&sockets, g_array_unref);
	return sockets;
}

/* The entry of that namespace, or else the least recently read one. */
static struct kept *kept_of(struct net_tables *t, const struct stat *ns)
{
	struct kept *oldest = &t->kept[0];

	EACH_IN(i, struct kept, k, t->kept, KEPT_MAX) {
		if (k->sockets && k->ino == ns->st_ino && k->dev == ns->st_dev)
			return k;
		if (k->read_ns < oldest->read_ns)
			oldest = k;
	}
	return oldest;
}

/* Tables are kept after a process's end: reading one as text walks the kernel's whole hash, in 7 ms each. */
const GArray *net_tables_of(struct net_tables *t, uint32_t pid)
{
	g_autofree char *net = g_strdup_printf("%s/%" PRIu32 "/ns/net", t->proc_dir, pid);
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	struct stat st = { 0 };
	bool has_ns = opener_stat(net, &st);
	struct kept *k = kept_of(t, &st);

	if (has_ns && k->sockets && k->ino == st.st_ino && k->dev == st.st_dev && now_ns - k->read_ns < FRESH_NS)
		return k->sockets;
	GArray *sockets = read_all(t, pid);
	if (!sockets)
		return NULL;
	g_clear_pointer(&k->sockets, g_array_unref);
	*k = (struct kept){ .sockets = sockets, .read_ns = now_ns, .dev = st.st_dev, .ino = st.st_ino };
	return k->sockets;
}

static bool net_end_equal(const struct net_end *a, const struct net_end *b)
{
	return a->port == b->port && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static bool is_v4(const struct net_end *e)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(e->address, prefix, sizeof(prefix)) == 0;
}

bool net_end_is_any(const struct net_end *e)
{
	static const uint8_t nothing[16];
	size_t skip = is_v4(e) ? sizeof(e->address) - V4_BYTES : 0;

	return memcmp(e->address + skip, nothing, sizeof(e->address) - skip) == 0;
}

char *net_end_text(const struct net_end *e)
{
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(is_v4(e) ? AF_INET : AF_INET6, e->address + (is_v4(e) ? sizeof(e->address) - V4_BYTES : 0), text,
		  sizeof(text));
	return g_strdup_printf(is_v4(e) ? "%s:%u" : "[%s]:%u", text, e->port);
}

bool net_end_read(const char *text, struct net_end *ret)
{
	char address[INET6_ADDRSTRLEN], end = ' ';
	uint8_t bytes[16];
	unsigned port = 0;
	bool is_v6 = *text == '[';
	int read = is_v6 ? sscanf(text, "[%45[0-9a-f:.]]:%5u%c", address, &port, &end)
			 : sscanf(text, "%15[0-9.]:%5u%c", address, &port, &end);

	if (read < 2 || end != ' ' || port > UINT16_MAX || inet_pton(is_v6 ? AF_INET6 : AF_INET, address, bytes) != 1)
		return false;
	*ret = net_end_of(bytes, is_v6 ? 16 : V4_BYTES, (uint16_t)port);
	return true;
}

const struct net_socket *net_table_peer(const GArray *sockets, bool is_tcp, const struct net_end *local,
					const struct net_end *remote)
{
	return FIRST_ROW(const struct net_socket, s, sockets,
			 s->is_tcp == is_tcp && s->inode && net_end_equal(&s->local, remote) &&
			 net_end_equal(&s->remote, local), s, NULL);
}

const struct net_socket *net_table_listener(const GArray *sockets, const struct net_end *there)
{
	return FIRST_ROW(const struct net_socket, s, sockets,
			 s->is_tcp && s->state == TCP_LISTEN && s->local.port == there->port &&
			 (net_end_is_any(&s->local) || net_end_equal(&s->local, there)), s, NULL);
}

bool net_table_has_port(const GArray *sockets, uint16_t port)
{
	return ANY_ROW(const struct net_socket, x, sockets, x->local.port == port);
}
