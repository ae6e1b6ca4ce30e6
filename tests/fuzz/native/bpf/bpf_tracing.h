/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NATIVE_BPF_TRACING_H
#define NATIVE_BPF_TRACING_H

#include <bpf/bpf_helpers.h>

#endif
