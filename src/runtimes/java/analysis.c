/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Interprets stacks of Java's virtual threads. */
#include "features/tasks/analysis.h"

/* Functions that mark idle threads, with the reason. */
static const struct {
	const char *function, *why;
} idle[] = {
	{ "sun.nio.ch.ServerSocketChannelImpl.accept", "waits for connections" },
	{ "sun.nio.ch.NioSocketImpl.accept", "waits for connections" },
	{ "sun.nio.ch.SelectorImpl.select", "waits for events" },
	{ "sun.nio.ch.Poller.subPollerLoop", "background work of the JDK" },
	{ "sun.nio.ch.Poller.pollerLoop", "background work of the JDK" },
};

static bool begins_with_any(const char *name, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		if (g_str_has_prefix(name, *beginnings))
			return true;
	return false;
}

static bool has_any(const struct task_row *row, const char *const *beginnings)
{
	for (unsigned i = 0; i < row->frame_cnt; i++)
		if (row->frames[i].name && begins_with_any(row->frames[i].name, beginnings))
			return true;
	return false;
}

bool task_java_is_library(const char *name)
{
	/* what a program calls to reach a server, too: the same drivers as rules.txt has in "runtime java" */
	static const char *const beginnings[] = { "java.", "javax.", "jdk.", "sun.", "com.sun.", "org.postgresql.", "org.mariadb.jdbc.",
						  "com.mysql.", "oracle.jdbc.", "com.microsoft.sqlserver.", "com.zaxxer.hikari.", NULL };

	return begins_with_any(name, beginnings);
}

const char *task_java_idle(const struct task_row *row)
{
	for (size_t i = 0; i < G_N_ELEMENTS(idle); i++)
		for (unsigned k = 0; k < row->frame_cnt; k++)
			if (!g_strcmp0(row->frames[k].name, idle[i].function))
				return idle[i].why;
	return NULL;
}

/* The JDK's own HTTP server, and servlets. */
bool task_java_answers_request(const struct task_row *row)
{
	static const char *const handlers[] = { "com.sun.net.httpserver.Filter$Chain.doFilter", "jakarta.servlet.http.HttpServlet.service",
						"javax.servlet.http.HttpServlet.service",
						"org.springframework.web.servlet.DispatcherServlet.doDispatch", NULL };

	return has_any(row, handlers);
}

bool task_java_reads_socket(const struct task_row *row)
{
	static const char *const sockets[] = { "sun.nio.ch.NioSocketImpl.", "sun.nio.ch.SocketChannelImpl.", NULL };

	return has_any(row, sockets);
}

/* A thread that reads a socket may serve an idle connection, unless it is within a client call, which has asked. */
bool task_java_has_asked(const struct task_row *row)
{
	static const char *const clients[] = { "jdk.internal.net.http.HttpClientImpl.send", "sun.net.www.protocol.http.HttpURLConnection.",
					       "org.postgresql.", "com.mysql.cj.", "org.mariadb.jdbc.", "oracle.jdbc.",
					       "redis.clients.jedis.", "org.apache.hc.client5.", "org.apache.http.impl.", "okhttp3.", NULL };

	return has_any(row, clients);
}

bool task_java_awaits_connection(const struct task_row *row)
{
	static const char *const pools[] = { "com.zaxxer.hikari.pool.HikariPool.getConnection", "com.zaxxer.hikari.util.ConcurrentBag.borrow",
					     "org.apache.commons.pool2.impl.GenericObjectPool.borrowObject",
					     "org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection",
					     "com.mchange.v2.resourcepool.BasicResourcePool.checkoutResource", NULL };

	return has_any(row, pools);
}
