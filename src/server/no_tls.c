/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * For the static program only.  Distributions build libmicrohttpd with TLS, so its archive needs GnuTLS, which in turn
 * needs libraries without static archives.  `offcpu view` and `serve` never use TLS (they are on loopback or behind a
 * proxy).  So none of these functions is called, except the first two at the library's start and end.
 */
#include <stdlib.h>

int gnutls_global_init(void);
int gnutls_global_init(void)
{
	return 0;
}

void gnutls_global_deinit(void);
void gnutls_global_deinit(void)
{
}

extern void *(*gnutls_malloc)(size_t bytes);
void *(*gnutls_malloc)(size_t bytes) = malloc;

#define NEVER_CALLED(name) \
	void name(void); \
	void name(void) \
	{ \
		abort(); \
	}

NEVER_CALLED(gnutls_alpn_set_protocols) NEVER_CALLED(gnutls_bye) NEVER_CALLED(gnutls_certificate_allocate_credentials)
NEVER_CALLED(gnutls_certificate_free_credentials) NEVER_CALLED(gnutls_certificate_server_set_request)
NEVER_CALLED(gnutls_certificate_set_dh_params) NEVER_CALLED(gnutls_certificate_set_retrieve_function2)
NEVER_CALLED(gnutls_certificate_set_retrieve_function3) NEVER_CALLED(gnutls_certificate_set_x509_key_mem)
NEVER_CALLED(gnutls_certificate_set_x509_key_mem2) NEVER_CALLED(gnutls_certificate_set_x509_trust_mem)
NEVER_CALLED(gnutls_cipher_get) NEVER_CALLED(gnutls_credentials_set) NEVER_CALLED(gnutls_deinit)
NEVER_CALLED(gnutls_dh_params_deinit) NEVER_CALLED(gnutls_dh_params_import_pkcs3) NEVER_CALLED(gnutls_dh_params_init)
NEVER_CALLED(gnutls_handshake) NEVER_CALLED(gnutls_init) NEVER_CALLED(gnutls_priority_deinit)
NEVER_CALLED(gnutls_priority_init) NEVER_CALLED(gnutls_priority_set) NEVER_CALLED(gnutls_protocol_get_version)
NEVER_CALLED(gnutls_psk_allocate_server_credentials) NEVER_CALLED(gnutls_psk_free_server_credentials)
NEVER_CALLED(gnutls_psk_set_server_credentials_function) NEVER_CALLED(gnutls_record_check_pending)
NEVER_CALLED(gnutls_record_get_direction) NEVER_CALLED(gnutls_record_recv) NEVER_CALLED(gnutls_record_send)
NEVER_CALLED(gnutls_session_get_ptr) NEVER_CALLED(gnutls_session_set_ptr) NEVER_CALLED(gnutls_strerror)
NEVER_CALLED(gnutls_transport_set_int2)
