/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_PARSER_H
#define BASE_OPENER_PARSER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ELF files are whatever other users wrote, and a recorder has rights that they have not.  Once parser_start() was
 * called they are parsed by processes that can do nothing else: each gets a descriptor, and what it answers is checked
 * as bytes of a stranger.  One that falls over a file is replaced; that file has no names then, and it is counted.
 *
 * Without it whoever would ask parses in the process itself.
 */

enum parser_job {
	PARSER_SYMBOLS,
	PARSER_DATA,		/* names of variables */
	PARSER_SEARCH,		/* addresses of some variables, by their names */
	PARSER_CONTAINER,	/* what a container is called */
	PARSER_CONTEXT,		/* what a process says of itself */
	PARSER_JIT,		/* lists of functions that compilers made at run time */
	PARSER_GO,		/* function tables of Go programs */
	PARSER_UNWIND,		/* has a process of its own, since it may take a minute */
	PARSER_JOBS
};
#define PARSER_QUESTION_MAX 65536

/* In that process: what the file behind fd says of a question; false: it is none of ours.  fd -1: there is no file. */
typedef bool (*parser_fn)(int fd, const void *question, size_t question_bytes, GByteArray *into);

/* Before there are threads, since it forks.  False with a sentence: nothing is apart then. */
bool parser_start(const parser_fn fns[PARSER_JOBS], GError **error);
void parser_stop(void);
bool parser_is_apart(void);

/*
 * From any thread; waits for its turn and for the answer.  NULL: the file is none of ours, or it was lost with its
 * parser, or the question is longer than PARSER_QUESTION_MAX.  Free with g_byte_array_unref().
 */
GByteArray *parser_ask(enum parser_job job, int fd, const void *question, size_t question_bytes);
/* The same in a process without rights where there is one, else by fn in this one. */
GByteArray *parser_ask_or_do(enum parser_job job, parser_fn fn, int fd, const void *question, size_t question_bytes);

struct parser_counts {
	uint64_t asked;
	uint64_t lost;	/* of these: the parser fell over it, or took too long */
};
struct parser_counts parser_counts(void);

/* The process that begins and replaces a parser, and the parser itself: parser_process.c. */
struct parser_request {
	uint32_t seq;	/* none is PARSER_IDLE */
	uint32_t job;
	uint8_t question[PARSER_QUESTION_MAX];	/* what of it is sent */
};
#define PARSER_REQUEST_BYTES offsetof(struct parser_request, question)
#define PARSER_IDLE 0	/* in a reply: the parser died between requests */
enum parser_status { PARSER_HAS, PARSER_HAS_NOT, PARSER_LOST };
struct parser_reply {
	uint32_t seq, status;
	uint64_t bytes;		/* of the file that comes along */
};
_Noreturn void parser_keep(int ask_fd, int control_fd, const parser_fn fns[PARSER_JOBS]);
/* One message and at most one descriptor; *ret_fd is -1 without.  What recvmsg(2) gives. */
long parser_receive(int socket, void *message, size_t bytes, int *ret_fd);
bool parser_send(int socket, const void *message, size_t bytes, int fd);

#endif
