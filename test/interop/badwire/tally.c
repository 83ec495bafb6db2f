/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Prints the counters as JSON. The names of opcodes are those of lib/wire, which need no quoting in
 * JSON.
 */

#include "tally.h"

#include <inttypes.h>

#include "wire/opcode.h"

static void
print_opcodes(const struct tally *tally, FILE *out)
{
	const char *comma = "";

	for (unsigned opcode = 0; opcode < OPCODE_NB; opcode++) {
		if (tally->nb_opcode[opcode] == 0)
			continue;
		fprintf(out, "%s\"%s\": %" PRIu64, comma, uroce_opcode_table[opcode].name,
			tally->nb_opcode[opcode]);
		comma = ", ";
	}
}

void
tally_print(const struct tally *tally, FILE *out)
{
	const struct {
		const char *name;
		uint64_t nb;
	} rows[] = {
		{ "frames", tally->nb_frames },
		{ "bytes", tally->nb_bytes },
		{ "roce", tally->nb_roce },
		{ "malformed", tally->nb_malformed },
		{ "bad_icrc", tally->nb_bad_icrc },
		{ "dropped", tally->nb_fault[FAULT_DROP] },
		{ "duplicated", tally->nb_fault[FAULT_DUPLICATE] },
		{ "corrupted", tally->nb_fault[FAULT_CORRUPT] },
		{ "delayed", tally->nb_fault[FAULT_DELAY] },
		{ "reordered", tally->nb_fault[FAULT_REORDER] },
		{ "let_go", tally->nb_let_go },
		{ "sent", tally->nb_sent },
		{ "unsent", tally->nb_unsent },
		{ "device_drops", tally->nb_device_drops },
		{ "kernel_drops", tally->nb_overflow },
	};

	fputc('{', out);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		fprintf(out, "\"%s\": %" PRIu64 ", ", rows[i].name, rows[i].nb);
	fputs("\"opcodes\": {", out);
	print_opcodes(tally, out);
	fputs("}}", out);
}
