/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef EXPLAIN_TEXT_H
#define EXPLAIN_TEXT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Small things every text output needs. */

/* "0", "17 ns", "12.3 us", "1.00 ms", "59.9 s", "12.3 m", "4.56 h": three digits.  Appends. */
void text_duration(GString *s, uint64_t ns);
/* The same with a minus sign where due. */
void text_duration_signed(GString *s, int64_t ns);
/* " ±1.2%": the error of an estimate; nothing below 1%. */
void text_relative_error(GString *s, double se, uint64_t of);
/* "1,234,567" */
void text_thousands(GString *s, uint64_t n);

/* The same, and a size, as strings for a format; they live as long as the block. */
#define TEXT_ROOM 48
#define TEXT_NS(ns) text_number((char[TEXT_ROOM]){ "" }, text_duration, ns)
#define TEXT_COUNT(n) text_number((char[TEXT_ROOM]){ "" }, text_thousands, n)
#define TEXT_SIZE(bytes) text_number((char[TEXT_ROOM]){ "" }, size_text, bytes)
const char *text_number(char *room, void (*append)(GString *s, uint64_t n), uint64_t n);

/* Columns that `name` takes on a terminal, after text_safe(). */
unsigned text_width(const char *safe);

/* text_safe() cut to `width` columns with ".." at the end; width 0: not cut.  Returns the columns. */
unsigned text_safe_cut(GString *s, const char *name, unsigned width);

/* "shop/4711", the name cut to `width` columns. */
void text_who(GString *s, const char *name, uint32_t id, unsigned width);

/* Appends `cell` right- or left-aligned in `width` columns. */
void text_right(GString *s, const char *cell, unsigned width);
void text_left(GString *s, const char *cell, unsigned width);

/* A column of a table: a duration right-aligned; an untrusted name left-aligned and cut. */
void text_duration_cell(GString *s, uint64_t ns, unsigned width);
void text_safe_cell(GString *s, const char *name, unsigned width);

/* 0 if whole is 0. */
double text_percent(uint64_t part, uint64_t whole);

struct profile;

/* A clock time in a format of GLib; whether both times are on the same day. */
void text_clock_as(GString *s, uint64_t unix_ns, const char *format);
bool text_same_day(uint64_t a_unix_ns, uint64_t b_unix_ns);
struct profile_info;
/* "14:32:18.250", with the date if the window began on another day or the time is outside of it. */
void text_clock_ms(GString *s, uint64_t unix_ns, const struct profile_info *info);

/* Share of the threads' time that was lost; 0 if it is so little that a recording is called complete. */
double text_lost_percent(const struct profile *p);

/*
 * A distribution as DTrace's quantize() draws it: value, a bar of 40 @ for all, count, with one
 * empty bucket above and below.  hist: PROFILE_HIST_SLOTS slots.  Nothing if all are 0.
 */
void text_quantize(GString *s, const uint64_t *hist, const char *indent);

#endif
