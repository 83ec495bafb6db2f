/* SPDX-License-Identifier: BSD-3-Clause */

/* The opcode table, compared row by row with the table of the specification (spec.h). */

#include "wire/opcode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "spec.h"

#define TEXT_MAX 16

static const struct {
	const char *name;
	uint8_t len;
} ext_facts[UROCE_EXT_NB] = {
	[UROCE_EXT_XRCETH] = { "XRCETH", 4 },
	[UROCE_EXT_DETH] = { "DETH", 8 },
	[UROCE_EXT_FETH] = { "FETH", 4 },
	[UROCE_EXT_RETH] = { "RETH", 16 },
	[UROCE_EXT_ATOMICETH] = { "AtomicETH", 28 },
	[UROCE_EXT_AETH] = { "AETH", 4 },
	[UROCE_EXT_ATOMICACKETH] = { "AtomicAckETH", 8 },
	[UROCE_EXT_IMMDT] = { "ImmDt", 4 },
	[UROCE_EXT_IETH] = { "IETH", 4 },
};

static const struct uroce_opcode *
row(const struct spec_opcode *spec)
{
	return &uroce_opcode_table[spec->code];
}

static void
opcode_table__names_services_and_operations(void **state)
{
	(void)state;
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		const struct spec_opcode *spec = &spec_opcodes[i];

		assert_string_equal(row(spec)->name, spec->name);
		assert_int_equal(row(spec)->service, spec->service);
		assert_int_equal(row(spec)->operation, spec->operation);
		if (spec->service != UROCE_SERVICE_CNP)
			assert_int_equal(row(spec)->service, spec->code >> 5);
	}
}

/*
 * Write the names of the extension headers of a row in the order of their offsets, and check that
 * each header begins where the previous one ends.
 */
static void
write_exts(const struct uroce_opcode *op, char *text)
{
	uint8_t off = 0;

	*text = '\0';
	for (int ext = 0; ext < UROCE_EXT_NB; ext++) {
		if (!(op->ext_mask & 1 << ext))
			continue;
		assert_int_equal(op->ext_off[ext], off);
		off = (uint8_t)(off + ext_facts[ext].len);
		text += snprintf(text, TEXT_MAX, "%s%s", op->ext_off[ext] > 0 ? " " : "",
				 ext_facts[ext].name);
	}
	assert_int_equal(op->ext_len, off);
}

static void
opcode_table__extension_headers_follow_in_order(void **state)
{
	char text[TEXT_MAX * UROCE_EXT_NB];

	(void)state;
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		write_exts(row(&spec_opcodes[i]), text);
		assert_string_equal(text, spec_opcodes[i].exts);
		assert_int_equal(row(&spec_opcodes[i])->ext_len, spec_opcodes[i].ext_len);
	}
}

static void
opcode_table__place_in_the_message(void **state)
{
	static const char *const places[4] = { "middle", "first", "last", "only" };

	(void)state;
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		const struct uroce_opcode *op = row(&spec_opcodes[i]);
		const int place = (op->flags & UROCE_OPF_FIRST ? 1 : 0) |
				  (op->flags & UROCE_OPF_LAST ? 2 : 0);

		assert_string_equal(places[place], spec_opcodes[i].place);
		assert_int_equal(uroce_opcode_is_only(op), place == 3);
	}
}

static void
opcode_table__flags_follow_from_the_facts(void **state)
{
	(void)state;
	for (size_t i = 0; i < spec_nb_opcodes; i++) {
		const struct spec_opcode *spec = &spec_opcodes[i];
		const uint8_t flags = row(spec)->flags;
		const bool is_cnp = spec->service == UROCE_SERVICE_CNP;
		const bool is_response = spec->accepted_as == UROCE_VERDICT_RESPONSE;

		assert_true(flags & UROCE_OPF_VALID);
		assert_int_equal(!!(flags & UROCE_OPF_RESPONSE), is_response);
		assert_int_equal(!!(flags & UROCE_OPF_REQUEST), !is_response && !is_cnp);
		assert_int_equal(!!(flags & UROCE_OPF_PAYLOAD), spec->payload != NO_PAYLOAD);
		assert_int_equal(!!(flags & UROCE_OPF_IMM), strstr(spec->exts, "ImmDt") != NULL);
	}
}

static void
opcode_table__every_other_byte_is_unknown(void **state)
{
	size_t nb_known = 0;

	(void)state;
	for (int code = 0; code < 256; code++) {
		const struct uroce_opcode *op = &uroce_opcode_table[code];

		if (op->flags != 0) {
			nb_known++;
			continue;
		}
		assert_string_equal(op->name, "?");
		assert_int_equal(op->ext_mask, 0);
		assert_int_equal(op->ext_len, 0);
	}
	assert_int_equal(nb_known, spec_nb_opcodes);
	assert_int_equal(nb_known, 25 + 12 + 2 + 1 + 25);
}

static void
opcode_make__service_above_operation(void **state)
{
	(void)state;
	assert_int_equal(uroce_opcode_make(UROCE_SERVICE_RC, UROCE_OP_ACK), 0x11);
	assert_int_equal(uroce_opcode_make(UROCE_SERVICE_UD, UROCE_OP_SEND_ONLY_IMM), 0x65);
	assert_int_equal(uroce_opcode_make(UROCE_SERVICE_XRC, UROCE_OP_ATOMIC_WRITE), 0xbd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opcode_table__names_services_and_operations),
		cmocka_unit_test(opcode_table__extension_headers_follow_in_order),
		cmocka_unit_test(opcode_table__place_in_the_message),
		cmocka_unit_test(opcode_table__flags_follow_from_the_facts),
		cmocka_unit_test(opcode_table__every_other_byte_is_unknown),
		cmocka_unit_test(opcode_make__service_above_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
