/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef BASE_OPENER_PARSER_H
#define BASE_OPENER_PARSER_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * ELF files are other users' input, and a recorder has rights that they lack. After parser_start() they are parsed by
 * processes that can do nothing else: each gets a descriptor, and its answer is checked like a stranger's bytes. A
 * parser that a file crashes is replaced; that file then has no names, and is counted.
 *
 * Without it callers parse in the process itself.
 */

enum parser_job {
	PARSER_SYMBOLS,
	PARSER_DATA,		/* names of variables */
	PARSER_SEARCH,		/* addresses of some variables, by name */
	PARSER_CONTAINER,	/* a container's name */
	PARSER_CONTEXT,		/* a process's description of itself */
	PARSER_JIT,		/* lists of functions compiled at run time */
	PARSER_GO,		/* function tables of Go programs */
	PARSER_UNWIND,		/* in a process of its own, since it may take a minute */
	PARSER_JOBS
};
#define PARSER_QUESTION_MAX 65536

/* In the parser: answers a question about the file behind fd; false: it is not of this kind. fd -1: no file. */
typedef bool (*parser_fn)(int fd, const void *question, size_t question_bytes, GByteArray *into);

/* Call it before creating threads, since it forks. False with a sentence: then nothing is confined. */
bool parser_start(const parser_fn fns[PARSER_JOBS], GError **error);
void parser_stop(void);
bool parser_is_apart(void);

/*
 * From any thread; waits for its turn and for the answer. NULL: not a file of this kind, or lost with its parser, or
 * the question is longer than PARSER_QUESTION_MAX. Free with g_byte_array_unref().
 */
GByteArray *parser_ask(enum parser_job job, int fd, const void *question, size_t question_bytes);
/* The same in the confined process if there is one, else by fn in this one. */
GByteArray *parser_ask_or_do(enum parser_job job, parser_fn fn, int fd, const void *question, size_t question_bytes);

struct parser_counts {
	uint64_t asked;
	uint64_t lost;	/* requests that crashed the parser, or took too long */
};
struct parser_counts parser_counts(void);

/* The parser and its keeper, which starts and replaces it: parser_process.c. */
struct parser_request {
	uint32_t seq;	/* never PARSER_IDLE */
	uint32_t job;
	uint8_t question[PARSER_QUESTION_MAX];	/* only its used part is sent */
};
#define PARSER_REQUEST_BYTES offsetof(struct parser_request, question)
#define PARSER_IDLE 0	/* in a reply: the parser died between requests */
enum parser_status { PARSER_HAS, PARSER_HAS_NOT, PARSER_LOST };
struct parser_reply {
	uint32_t seq, status;
	uint64_t bytes;		/* of the file that comes with it */
};
_Noreturn void parser_keep(int ask_fd, int control_fd, const parser_fn fns[PARSER_JOBS]);
/* One message and at most one descriptor; *ret_fd is -1 without one. Returns recvmsg(2)'s result. */
long parser_receive(int socket, void *message, size_t bytes, int *ret_fd);
bool parser_send(int socket, const void *message, size_t bytes, int fd);

#endif
