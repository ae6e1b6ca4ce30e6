/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/refuse.h"
#include "push/http.h"

#define FILE_MAX_BYTES 65536
#define SECRET_MAX_BYTES 4096

#define bad(error, ...) refuse(error, PUSH_ERROR, PUSH_ERROR_USAGE, __VA_ARGS__)

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	g_free(s);
}

void credentials_clear(struct credentials *c)
{
	wipe(c->user);
	wipe(c->password);
	wipe(c->token);
	*c = (struct credentials){ 0 };
}

bool credentials_are_there(const struct credentials *c)
{
	return c->user || c->password || c->token;
}

/* A line break would end the header. */
static bool is_secret(const char *s)
{
	gsize len = strlen(s);

	if (!len || len > SECRET_MAX_BYTES)
		return false;
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return false;
	return true;
}

static bool set_credential(struct credentials *c, const char *key, const char *value)
{
	char **into = strcmp(key, "user") == 0       ? &c->user
		      : strcmp(key, "password") == 0 ? &c->password
		      : strcmp(key, "token") == 0    ? &c->token
						     : NULL;

	if (!into || *into || !is_secret(value) || (into == &c->user && strchr(value, ':')))
		return false;
	*into = g_strdup(value);
	return true;
}

/* Reads the whole file into *ret_text, which the caller wipes. */
static bool read_private(const char *path, char **ret_text, GError **error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	gsize len = 0;
	bool ok = false;

	if (fd < 0)
		return bad(error, "cannot read '%s': %s", path, g_strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		bad(error, "'%s' is no plain file", path);
	else if (st.st_mode & 077)
		bad(error, "'%s' may be read by others: chmod 600 it", path);
	else if (st.st_size > FILE_MAX_BYTES)
		bad(error, "'%s' is no file of credentials: it is above %d bytes", path, FILE_MAX_BYTES);
	else
		ok = true;
	*ret_text = ok ? g_malloc0(FILE_MAX_BYTES + 1) : NULL;
	while (ok && len < FILE_MAX_BYTES) {
		ssize_t n = read(fd, *ret_text + len, FILE_MAX_BYTES - len);

		if (n <= 0)
			break;
		len += (gsize)n;
	}
	close(fd);
	return ok;
}

static bool read_lines(char *text, const char *path, struct credentials *c, GError **error)
{
	unsigned number = 0;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		g_strchomp(line);
		if (!*line || *line == '#')
			continue;
		char *value = strpbrk(line, " \t");

		if (value)
			*value++ = '\0';
		if (!value || !set_credential(c, line, g_strchug(value)))
			return bad(
				error,
				"'%s', line %u: \"user NAME\", \"password SECRET\" or \"token SECRET\" is wanted, once each",
				path, number);
	}
	return true;
}

static bool read_environment(struct credentials *c, GError **error)
{
	static const char *const names[][2] = { { "user", "OFFCPU_PUSH_USER" },
						{ "password", "OFFCPU_PUSH_PASSWORD" },
						{ "token", "OFFCPU_PUSH_TOKEN" } };

	for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
		const char *value = g_getenv(names[i][1]);

		if (value && *value && !set_credential(c, names[i][0], value))
			return bad(error, "%s: no %s can be like that", names[i][1], names[i][0]);
	}
	return true;
}

bool credentials_read(const char *path, struct credentials *ret, GError **error)
{
	char *text = NULL;
	bool ok;

	*ret = (struct credentials){ 0 };
	ok = path ? read_private(path, &text, error) && read_lines(text, path, ret, error)
		  : read_environment(ret, error);
	if (text)
		explicit_bzero(text, FILE_MAX_BYTES);
	g_free(text);
	if (ok && (ret->token ? ret->user || ret->password : ret->password && !ret->user))
		ok = bad(error, "%s: a token alone, or a user with or without a password is wanted",
			 path ? path : "the environment");
	if (!ok)
		credentials_clear(ret);
	return ok;
}
