/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/each.h"
#include "base/find.h"
#include "fold/targets/part.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/opener/opener.h"

#define HOMES_MAX 256
#define ADDRESSES_MAX 64	/* limit for a namespace */
#define PAUSE 100	/* pause after reading other namespaces' tables, as a multiple of the duration */
#define AGAIN_US 10000000	/* pause after a missed address: a namespace may get it late */
#define TABLE_BYTES (1U << 20)	/* of an address table; the rest is ignored */

struct home {
	dev_t dev;
	ino_t ino;
	uint32_t pid;		/* a process in it */
	GArray *addresses;	/* struct net_end, without ports */
};

struct net_homes {
	char *proc_dir;
	struct net_tables *tables;
	GHashTable *noted;	/* the set of noted pids */
	GArray *homes;		/* struct home */
	int64_t next_us, end_us;	/* no look before next_us; at the window's end any until end_us */
	int64_t addresses_us;	/* do not read them again before this time */
};

static void clear_home(void *data)
{
	g_array_unref(((struct home *)data)->addresses);
}

struct net_homes *net_homes_new(const char *proc_dir, struct net_tables *tables)
{
	struct net_homes *h = g_new0(struct net_homes, 1);

	h->proc_dir = g_strdup(proc_dir);
	h->tables = tables;
	h->noted = g_hash_table_new(NULL, NULL);
	h->homes = g_array_new(FALSE, FALSE, sizeof(struct home));
	g_array_set_clear_func(h->homes, clear_home);
	return h;
}

FREES(net_homes_free, struct net_homes, h, g_array_unref(h->homes); g_hash_table_unref(h->noted); g_free(h->proc_dir))

static void add_address(GArray *addresses, const uint8_t *bytes, size_t cnt)
{
	const struct net_end e = net_end_of(bytes, cnt, 0);
	g_autofree char *text = net_end_text(&e);

	if (!net_text_is_loopback(text) && addresses->len < ADDRESSES_MAX)
		g_array_append_val(addresses, e);
}

/* "           |-- 10.0.0.7", and in the line below it "              /32 host LOCAL" */
static void read_ipv4(FILE *file, GArray *addresses)
{
	char line[256], text[INET_ADDRSTRLEN] = "";
	uint8_t bytes[4];

	for (size_t left = TABLE_BYTES; left >= sizeof(line) && fgets(line, sizeof(line), file); left -= sizeof(line)) {
		if (sscanf(line, " |-- %15[0-9.]", text) == 1)
			continue;
		if (strstr(line, "/32 host LOCAL") && inet_pton(AF_INET, text, bytes) == 1) {
			add_address(addresses, bytes, sizeof(bytes));
			*text = '\0';	/* the table may list a local address twice */
		}
	}
}

/* "fd000000000000000000000000000007 02 40 00 80     eth0" */
static void read_ipv6(FILE *file, GArray *addresses)
{
	char line[256];
	uint8_t bytes[16];

	for (size_t left = TABLE_BYTES; left >= sizeof(line) && fgets(line, sizeof(line), file); left -= sizeof(line)) {
		size_t cnt = 0;
		unsigned byte;

		while (cnt < sizeof(bytes) && sscanf(line + 2 * cnt, "%2x", &byte) == 1)
			bytes[cnt++] = (uint8_t)byte;
		if (cnt == sizeof(bytes))
			add_address(addresses, bytes, cnt);
	}
}

static void read_addresses(const struct net_homes *h, struct home *home)
{
	static const struct {
		const char *name;
		void (*read)(FILE *file, GArray *addresses);
	} tables[] = { { "fib_trie", read_ipv4 }, { "if_inet6", read_ipv6 } };

	g_array_set_size(home->addresses, 0);
	for (size_t i = 0; i < G_N_ELEMENTS(tables); i++) {
		g_autofree char *path = g_strdup_printf("%s/%" PRIu32 "/net/%s", h->proc_dir, home->pid, tables[i].name);
		FILE *file = opener_file(path);

		if (!file)
			continue;
		tables[i].read(file, home->addresses);
		fclose(file);
	}
}

static struct home *home_of(struct net_homes *h, const struct stat *st)
{
	return FIRST_ROW(struct home, home, h->homes, home->ino == st->st_ino && home->dev == st->st_dev, home, NULL);
}

void net_homes_note(struct net_homes *h, uint32_t pid)
{
	g_autofree char *net = g_strdup_printf("%s/%" PRIu32 "/ns/net", h->proc_dir, pid);
	struct stat st;

	if (!pid || !g_hash_table_add(h->noted, GUINT_TO_POINTER(pid)) || !opener_stat(net, &st))
		return;
	struct home *home = home_of(h, &st), fresh = { .dev = st.st_dev, .ino = st.st_ino, .pid = pid };
	if (home) {
		home->pid = pid;	/* the previous process may have ended */
		return;
	}
	if (h->homes->len >= HOMES_MAX)
		return;
	fresh.addresses = g_array_new(FALSE, FALSE, sizeof(struct net_end));
	read_addresses(h, &fresh);
	g_array_append_val(h->homes, fresh);
}

void net_homes_forget(struct net_homes *h)
{
	g_hash_table_remove_all(h->noted);
	g_array_set_size(h->homes, 0);
}

const GArray *net_homes_addresses(struct net_homes *h, uint32_t pid)
{
	g_autofree char *net = g_strdup_printf("%s/%" PRIu32 "/ns/net", h->proc_dir, pid);
	struct stat st;
	const struct home *home = opener_stat(net, &st) ? home_of(h, &st) : NULL;

	return home ? home->addresses : NULL;
}

static bool has_address(const struct home *home, const struct net_end *end)
{
	for (guint i = 0; i < home->addresses->len; i++)
		if (!memcmp(g_array_index(home->addresses, struct net_end, i).address, end->address,
			    sizeof(end->address)))
			return true;
	return false;
}

void net_homes_end(struct net_homes *h)
{
	h->end_us = g_get_monotonic_time() + NET_HOMES_END_US;
	h->addresses_us = 0;
}

static bool is_at_home(const struct net_homes *h, const struct net_end *end)
{
	return ANY_ROW(const struct home, x, h->homes, has_address(x, end));
}

static void read_again(struct net_homes *h)
{
	int64_t begun_us = g_get_monotonic_time();

	if (begun_us < h->addresses_us)
		return;
	for (guint i = 0; i < h->homes->len; i++)
		read_addresses(h, &g_array_index(h->homes, struct home, i));
	int64_t ended_us = g_get_monotonic_time();
	h->addresses_us = ended_us + MAX(AGAIN_US, (ended_us - begun_us) * PAUSE);
}

/* local NULL: look for a listener. */
static uint64_t look_for(struct net_homes *h, bool is_tcp, const struct net_end *local, const struct net_end *remote)
{
	uint64_t inode = 0;

	EACH_ROW(i, const struct home, home, h->homes) {
		const GArray *sockets = has_address(home, remote) ? net_tables_of(h->tables, home->pid) : NULL;
		const struct net_socket *peer = !sockets ? NULL :
						local	 ? net_table_peer(sockets, is_tcp, local, remote) :
							   net_table_listener(sockets, remote);

		if (peer && inode && peer->inode != inode)
			return 0;
		inode = peer ? peer->inode : inode;
	}
	return inode;
}

static uint64_t find_socket(struct net_homes *h, bool is_tcp, const struct net_end *local, const struct net_end *remote)
{
	if (!is_at_home(h, remote))
		read_again(h);
	int64_t begun_us = g_get_monotonic_time();
	if (!is_at_home(h, remote) || (begun_us < h->next_us && begun_us >= h->end_us))
		return 0;
	uint64_t inode = look_for(h, is_tcp, local, remote);
	int64_t ended_us = g_get_monotonic_time();
	h->next_us = ended_us + (ended_us - begun_us) * PAUSE;
	return inode;
}

uint64_t net_homes_peer(struct net_homes *h, bool is_tcp, const struct net_end *local, const struct net_end *remote)
{
	return find_socket(h, is_tcp, local, remote);
}

uint64_t net_homes_listener(struct net_homes *h, const struct net_end *there)
{
	return find_socket(h, true, NULL, there);
}
