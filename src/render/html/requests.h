/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef RENDER_HTML_REQUESTS_H
#define RENDER_HTML_REQUESTS_H

#include "profile/requests.h"
#include "render/html/bytes.h"

/*
 * Appends the functions and the single requests, as web/page/requests.js reads them; nothing where the recording has
 * none. number: by wait of the profile, its number in the page + 1, 0 where it is not in it.
 */
void html_requests(const struct profile *p, const uint32_t *number, struct texts *texts, GByteArray *out);

#endif
