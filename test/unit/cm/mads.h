/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_CM_MADS_H
#define TEST_UNIT_CM_MADS_H

/**
 * @file
 * MADs of communication management. They are written as hexadecimal digits, independent of the
 * field tables in lib/cm/field.c.
 */

#include <stdint.h>

#include "cm/message.h"

/** The five MADs of one connection, captured between two hosts with Linux 6.1. */
extern const char mad_linux_req[];
extern const char mad_linux_rep[];
extern const char mad_linux_rtu[];
extern const char mad_linux_dreq[];
extern const char mad_linux_drep[];

/** MADs in which every field has another value, written after the tables of [IBA 12.6 to 12.11]. */
extern const char mad_full_req[];
extern const char mad_full_mra[];
extern const char mad_full_rej[];
extern const char mad_full_rep[];
extern const char mad_full_dreq[];
extern const char mad_full_sidr_req[];
extern const char mad_full_sidr_rep[];
extern const char mad_full_lap[];
extern const char mad_full_apr[];

/** Write a MAD from hexadecimal digits. Spaces are ignored; missing bytes at the end are zero. */
void mad_from_hex(const char *hex, uint8_t mad[UROCE_MAD_LEN]);

#endif /* TEST_UNIT_CM_MADS_H */
