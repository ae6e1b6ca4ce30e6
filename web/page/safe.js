// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
// Names are other users' bytes.  What could move, hide or turn the text around it is told as text_safe() of
// src/base/text.c tells it: \x1b, \u202e.  tests/web/hostile_names.txt holds both to one list.

const UNSAFE = /[\p{Cc}\p{Cf}\p{Cn}\p{Cs}\p{Zl}\p{Zp}]/gu;

function safe(text) {
	return String(text).replace(UNSAFE, (c) => {
		const code = c.codePointAt(0);
		return code < 0x80 ? '\\x' + code.toString(16).padStart(2, '0') : '\\u' + code.toString(16).padStart(4, '0');
	});
}
