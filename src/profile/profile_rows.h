/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef PROFILE_PROFILE_ROWS_H
#define PROFILE_PROFILE_ROWS_H

#include <sqlite3.h>

#include "base/refuse.h"
#include "profile/profile_file.h"
#include "profile/profile_schema.h"

/* Inside the profile layer: shared by the writer and the reader. */

/* Sets *error to the sentence and returns false. */
#define profile_damaged(error, ...) refuse(error, PROFILE_FILE_ERROR, PROFILE_FILE_ERROR_DAMAGED, __VA_ARGS__)

/*
 * Insert every row of p into empty tables: first threads and their states, then the rest. They return SQLite's result
 * code.
 */
int profile_write_threads(sqlite3 *db, const struct profile *p);
/* Creates empty tables and views, and leaves a transaction open. */
int profile_create_tables(sqlite3 *db);
/* Disables whatever a hostile file could make SQLite run. max_bytes: limit of a value. */
int profile_file_confine(sqlite3 *db, int max_bytes);
int profile_write_rest(sqlite3 *db, const struct profile *p);

/* For tables with code of their own, used in profile_schema.c. */
int write_meta(sqlite3 *db, const struct profile *p);
void read_meta(struct reader *r);
int write_no_strings(sqlite3 *db, const struct profile *p);
void read_string(struct reader *r);
int slices_write(sqlite3 *db, const struct profile *p);
void row_of_slice(struct reader *r);
int slices_write_cells(sqlite3 *db, const struct profile *p);
void row_of_slice_cells(struct reader *r);
int task_look_cells_write(sqlite3 *db, const struct profile *p);
void row_of_task_look_cells(struct reader *r);

/* Columns of COLUMN_ODD. */
void put_object_kind(struct table_writer *w, const void *row);
void get_object_kind(struct reader *r, int column, void *row);
void put_wait_max(struct table_writer *w, const void *row);
void get_wait_max(struct reader *r, int column, void *row);
void put_wait_hist(struct table_writer *w, const void *row);
void get_wait_hist(struct reader *r, int column, void *row);
void put_latencies(struct table_writer *w, const void *row);
void get_latencies(struct reader *r, int column, void *row);

/* Iterate rows that are no array of the profile, for writing. */
bool next_hop(const struct profile *p, struct table_at *at, void *ret_row);
bool next_request_calls(const struct profile *p, struct table_at *at, void *ret_row);
bool next_span_wait(const struct profile *p, struct table_at *at, void *ret_row);
bool next_population(const struct profile *p, struct table_at *at, void *ret_row);
bool next_task(const struct profile *p, struct table_at *at, void *ret_row);
bool next_longest(const struct profile *p, struct table_at *at, void *ret_row);
bool next_look(const struct profile *p, struct table_at *at, void *ret_row);

/* Add a row that was read and return its id in the profile, where other rows may refer to it. */
uint32_t add_loss(struct reader *r, const void *row);
uint32_t add_frame(struct reader *r, const void *row);
uint32_t add_stack(struct reader *r, const void *row);
uint32_t add_thread(struct reader *r, const void *row);
uint32_t add_object(struct reader *r, const void *row);
uint32_t add_tcp_wait(struct reader *r, const void *row);
uint32_t add_connection(struct reader *r, const void *row);
uint32_t add_wait(struct reader *r, const void *row);
uint32_t add_waker(struct reader *r, const void *row);
uint32_t add_wake(struct reader *r, const void *row);
uint32_t add_chain(struct reader *r, const void *row);
uint32_t add_hop(struct reader *r, const void *row);
uint32_t add_blame(struct reader *r, const void *row);
uint32_t add_storm(struct reader *r, const void *row);
uint32_t add_trace(struct reader *r, const void *row);
uint32_t add_on_cpu(struct reader *r, const void *row);
uint32_t add_request(struct reader *r, const void *row);
uint32_t add_request_calls(struct reader *r, const void *row);
uint32_t add_span_wait(struct reader *r, const void *row);
uint32_t add_population(struct reader *r, const void *row);
uint32_t add_task(struct reader *r, const void *from);
uint32_t add_longest(struct reader *r, const void *row);
uint32_t add_look(struct reader *r, const void *row);

/*
 * Reads the tables into the empty p. text_budget_bytes is the size of the database: more text means that rows share
 * bytes, as in a forged file. On failure *error does not name the file.
 */
bool profile_read_rows(sqlite3 *db, struct profile *p, uint64_t text_budget_bytes, GError **error);

#endif
