/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_WEB_H
#define RENDER_WEB_H

/* The files of web/, built in by tools/embed.py: NUL-terminated, free of "]]>" and "</". */
extern const char web_flame_js[];
extern const char web_flame_css[];

#endif
