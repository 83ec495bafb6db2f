/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_CM_MADS_H
#define TEST_UNIT_CM_MADS_H

/**
 * @file
 * MADs of communication management, written as bytes and independent of lib/cm/field.c.
 */

#include <stdint.h>

#include "cm/message.h"

/** The five MADs of a connection between two hosts with Linux 6.1. */
extern const char mad_linux_req[];
extern const char mad_linux_rep[];
extern const char mad_linux_rtu[];
extern const char mad_linux_dreq[];
extern const char mad_linux_drep[];

/** MADs whose fields differ from each other, after the tables of the standard [IBA 12.6 to 12.11]. */
extern const char mad_full_req[];
extern const char mad_full_mra[];
extern const char mad_full_rej[];
extern const char mad_full_rep[];
extern const char mad_full_dreq[];
extern const char mad_full_sidr_req[];
extern const char mad_full_sidr_rep[];
extern const char mad_full_lap[];
extern const char mad_full_apr[];

/** Write a MAD from hexadecimal digits; spaces are ignored, missing bytes at its end are zero. */
void mad_from_hex(const char *hex, uint8_t mad[UROCE_MAD_LEN]);

#endif /* TEST_UNIT_CM_MADS_H */
