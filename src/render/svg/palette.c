/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/svg/svg.h"

#include <math.h>
#include <string.h>

static const char *const names[PALETTE_CNT] = { "io", "wakeup", "chain", "state" };

/* A family of colours; the name's hash picks one of them.  In degrees and percent. */
struct family {
	double hue, hue_span;
	double saturation, saturation_span;
	double lightness, lightness_span;
};

static const struct family blue_user = { 196, 12, 70, 18, 77, 8 };
static const struct family blue_kernel = { 214, 12, 72, 14, 70, 7 };
static const struct family aqua_user = { 158, 16, 48, 16, 70, 11 };
static const struct family aqua_kernel = { 184, 12, 46, 14, 63, 8 };
static const struct family comm = { 216, 0, 22, 0, 85, 0 };
static const struct family delimiter = { 0, 0, 0, 0, 78, 0 };

static const struct family states[TREE_STATE_COUNT] = {
	[TREE_STATE_SLEEPING] = { 206, 12, 74, 14, 74, 9 },
	[TREE_STATE_DISK] = { 12, 12, 84, 10, 70, 8 },
	[TREE_STATE_STOPPED] = { 140, 10, 30, 10, 70, 7 },
	[TREE_STATE_IDLE] = { 215, 8, 14, 6, 76, 7 },
	[TREE_STATE_RUNNABLE] = { 46, 8, 88, 8, 64, 8 },
	[TREE_STATE_PREEMPTED] = { 282, 12, 58, 12, 77, 6 },
	[TREE_STATE_ON_CPU] = { 22, 14, 92, 8, 66, 8 },
};

bool palette_parse(const char *word, enum palette *ret_palette)
{
	for (unsigned i = 0; i < PALETTE_CNT; i++) {
		if (strcmp(word, names[i]) == 0) {
			*ret_palette = i;
			return true;
		}
	}
	return false;
}

const char *palette_names(void)
{
	return "io, wakeup, chain, state";
}

/* FNV-1a with a final mix, so that similar names get distant colours. */
static uint32_t name_hash(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 16777619u;
	h ^= h >> 16;
	h *= 0x85ebca6bu;
	h ^= h >> 13;
	return h;
}

static uint32_t channel(double hue, double saturation, double lightness, double n)
{
	double k = fmod(n + hue / 30, 12);
	double a = saturation * fmin(lightness, 1 - lightness);
	double v = lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1));

	return (uint32_t)lround(v * 255);
}

static uint32_t colour_of_family(const struct family *f, uint32_t hash)
{
	double u = (hash & 0x3ff) / 1023.0, v = (hash >> 10 & 0x3ff) / 1023.0, w = (hash >> 20 & 0x3ff) / 1023.0;
	double hue = f->hue + u * f->hue_span;
	double saturation = (f->saturation + v * f->saturation_span) / 100;
	double lightness = (f->lightness + w * f->lightness_span) / 100;

	return channel(hue, saturation, lightness, 0) << 16 | channel(hue, saturation, lightness, 8) << 8 |
	       channel(hue, saturation, lightness, 4);
}

static const struct family *kind_family(enum palette palette, enum tree_kind kind, bool waker)
{
	bool aqua = palette == PALETTE_WAKEUP || (palette == PALETTE_CHAIN && waker);

	if (kind == TREE_COMM || kind == TREE_ROOT)
		return &comm;
	if (kind == TREE_DELIMITER)
		return &delimiter;
	if (kind == TREE_KERNEL)
		return aqua ? &aqua_kernel : &blue_kernel;
	return aqua ? &aqua_user : &blue_user;
}

uint32_t palette_colour(enum palette palette, const struct tree_label *label, const struct tree_node *node)
{
	const struct family *f = kind_family(palette, label->kind, label->waker);
	uint32_t hash = name_hash(label->text);

	/* on-CPU time is warm in every palette, waits are cold */
	if ((palette != PALETTE_STATE && tree_dominant_state(node) != TREE_STATE_ON_CPU) || f == &comm ||
	    f == &delimiter)
		return colour_of_family(f, hash);
	struct family state = states[tree_dominant_state(node)];
	if (label->kind == TREE_KERNEL) {
		state.lightness -= 6;
		state.lightness_span /= 2;
	}
	return colour_of_family(&state, hash);
}

uint32_t palette_kind_colour(enum palette palette, enum tree_kind kind, bool waker)
{
	return colour_of_family(kind_family(palette, kind, waker), 0x1ff << 20 | 0x1ff << 10 | 0x1ff);
}

uint32_t palette_state_colour(enum tree_state state)
{
	return colour_of_family(&states[state], 0x1ff << 20 | 0x1ff << 10 | 0x1ff);
}

const char *palette_background(enum palette palette)
{
	switch (palette) {
	case PALETTE_WAKEUP: return "#f6fcfa";
	case PALETTE_STATE: return "#fbfbfc";
	default: return "#f7fafe";
	}
}
