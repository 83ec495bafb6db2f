/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Mkeys. An oracle (stream.h) computes whole streams of data and signatures. They are compared with
 * what mkeys make of the data packet by packet. Further tests cover the states of an mkey, its
 * rights, and the reports of bad blocks.
 */

#include "../../draw.h"
#include "stream.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "mem/mkey.h"
#include "mem/mw.h"
#include "mem/sge.h"

#define NB_MR      16
#define PDN        7
#define MAX_PIECES 8
#define MEM_LEN    (256u << 10)
#define ALL        (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static const uint8_t secret[16] = "fifteen letters";
static struct uroce_mr_table *table;
static uint8_t *memory; /* MEM_LEN bytes; each half is a region */
static uint32_t key[2];
static void *mkey_mem;
static uint32_t mkey;

static int
setup(void **state)
{
	void *mem = NULL;

	(void)state;
	draw_seed = 1;
	assert_int_equal(posix_memalign(&mem, 64, uroce_mr_table_memsize(NB_MR)), 0);
	table = uroce_mr_table_init(mem, NB_MR, secret);
	memory = calloc(1, MEM_LEN);
	assert_non_null(memory);
	for (unsigned i = 0; i < 2; i++) {
		const struct uroce_mr_conf conf = {
			.addr = memory + i * MEM_LEN / 2,
			.iova = (uintptr_t)memory + i * MEM_LEN / 2,
			.len = MEM_LEN / 2,
			.pdn = PDN,
			.access = IBV_ACCESS_LOCAL_WRITE,
		};

		assert_int_equal(uroce_mr_add(table, &conf, &key[i]), 0);
	}
	assert_int_equal(posix_memalign(&mkey_mem, 64, uroce_mkey_memsize(MAX_PIECES)), 0);
	assert_int_equal(
		uroce_mkey_add(table, mkey_mem, MAX_PIECES, UROCE_MKEY_SIGNATURE, PDN, &mkey), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	free(mkey_mem);
	free(memory);
	free(table);
	return 0;
}

/* --- configuring the mkey --- */

static union {
	struct uroce_mkey_conf conf;
	uint8_t room[sizeof(struct uroce_mkey_conf) +
		     (MAX_PIECES + 1) * sizeof(struct uroce_mkey_piece)];
} made;

static struct uroce_mkey_conf *
begin_conf(void)
{
	memset(&made, 0, sizeof(made));
	made.conf.parts = UROCE_MKEY_ACCESS | UROCE_MKEY_LAYOUT | UROCE_MKEY_SIG;
	made.conf.access = ALL;
	made.conf.repeat = 1;
	return &made.conf;
}

static void
add_piece(struct uroce_mkey_conf *conf, uint32_t at, uint32_t len, uint32_t skip)
{
	conf->piece[conf->nb_pieces++] = (struct uroce_mkey_piece){
		.addr = (uintptr_t)memory + at,
		.len = len,
		.skip = skip,
		.lkey = key[at / (MEM_LEN / 2)],
	};
}

static struct uroce_sig_domain
domain_of(enum uroce_sig_kind kind, uint16_t block_len)
{
	if (kind == UROCE_SIG_NONE)
		return (struct uroce_sig_domain){ 0 };
	return (struct uroce_sig_domain){
		.kind = (uint8_t)kind,
		.block_len = block_len,
		.len = uroce_sig_len(kind),
		.seed = kind == UROCE_SIG_CRC64 ? UINT64_MAX : UINT32_MAX,
		.app_tag = 0xabcd,
		.ref_tag = 0x01234567,
		.flags = UROCE_SIG_REF_REMAP,
	};
}

static void
configure(const struct uroce_mkey_conf *conf)
{
	assert_int_equal(uroce_mkey_configure(table, mkey, PDN, conf), 0);
}

/* --- layouts of memory --- */

/* The address of byte `at` of a layout. */
static uint8_t *
byte_of(const struct uroce_mkey_conf *conf, uint32_t at)
{
	for (uint32_t round = 0;; round++)
		for (uint32_t i = 0; i < conf->nb_pieces; i++) {
			const struct uroce_mkey_piece *piece = &conf->piece[i];

			if (at < piece->len)
				return (uint8_t *)(uintptr_t)piece->addr +
				       round * (piece->len + piece->skip) + at;
			at -= piece->len;
		}
}

/* Create a layout of `len` bytes in pieces of random length. */
static void
make_layout(struct uroce_mkey_conf *conf, uint32_t len)
{
	uint32_t at = draw(100);

	while (len > 0) {
		const uint32_t n =
			conf->nb_pieces == MAX_PIECES - 1 || draw(8) == 0 ? len : 1 + draw(len);

		if (at < MEM_LEN / 2 && at + n > MEM_LEN / 2)
			at = MEM_LEN / 2;
		add_piece(conf, at, n, 0);
		at += n + draw(50);
		len -= n;
	}
}

#define DATA_MAX (20u << 10)

static uint8_t data[DATA_MAX], wire[2 * DATA_MAX], mem_side[2 * DATA_MAX], packet[4096];

/*
 * Read all bytes of the wire with uroce_mkey_read() in packets of random length, and compare them
 * with `wire`.
 */
static void
read_all(uint32_t len, bool *is_bad)
{
	for (uint32_t at = 0, n; at < len; at += n) {
		n = 1 + draw(sizeof(packet));
		n = n < len - at ? n : len - at;
		memset(packet, 0xee, sizeof(packet));
		assert_int_equal(uroce_mkey_read(table, mkey, PDN, at, n, 0, packet, is_bad), 0);
		assert_memory_equal(packet, wire + at, n);
	}
}

static void
write_all(uint32_t len, bool *is_bad)
{
	for (uint32_t at = 0, n; at < len; at += n) {
		n = 1 + draw(sizeof(packet));
		n = n < len - at ? n : len - at;
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, at, wire + at, n,
						  IBV_ACCESS_LOCAL_WRITE, is_bad),
				 0);
	}
}

static struct uroce_mkey_error
error_now(void)
{
	struct uroce_mkey_error error;

	assert_int_equal(uroce_mkey_check(table, mkey, &error), 0);
	return error;
}

static const uint16_t blocks[] = { 512, 520, 4048, 4096, 4160 };

/*
 * Convert random data between two formats in both directions. If both sides have one format,
 * signatures are copied at random instead of computed: the result must be the same.
 */
static void
try_domains(enum uroce_sig_kind mem_kind, enum uroce_sig_kind wire_kind)
{
	struct uroce_mkey_conf *conf = begin_conf();
	const uint32_t len = 1 + draw(DATA_MAX);
	bool is_bad = false;

	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)draw(256);
	conf->mem = domain_of(mem_kind, blocks[draw(5)]);
	conf->wire = domain_of(wire_kind, blocks[draw(5)]);
	if (mem_kind == wire_kind && conf->mem.block_len == conf->wire.block_len && draw(2))
		conf->copy_mask = 0xff;
	conf->check_mask = 0xff;
	const uint32_t mem_len = stream_make(&conf->mem, data, len, mem_side);
	const uint32_t wire_len = stream_make(&conf->wire, data, len, wire);

	make_layout(conf, mem_len);
	configure(conf);
	assert_true(uroce_mkey_may(table, mkey, PDN, 0, wire_len, 0));
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, wire_len + 1, 0));
	for (uint32_t i = 0; i < mem_len; i++)
		*byte_of(conf, i) = mem_side[i];
	read_all(wire_len, &is_bad);
	for (uint32_t i = 0; i < mem_len; i++)
		*byte_of(conf, i) = 0xdd;
	write_all(wire_len, &is_bad);
	for (uint32_t i = 0; i < mem_len; i++)
		assert_int_equal(*byte_of(conf, i), mem_side[i]);
	assert_false(is_bad);
	assert_int_equal(error_now().sig.fault, UROCE_SIG_GOOD);
}

static void
data__goes_through_all_pairs_of_sides(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 4; turn++)
		for (int mem = UROCE_SIG_NONE; mem <= UROCE_SIG_CRC64; mem++)
			for (int on_wire = UROCE_SIG_NONE; on_wire <= UROCE_SIG_CRC64; on_wire++)
				try_domains((enum uroce_sig_kind)mem, (enum uroce_sig_kind)on_wire);
}

/* The layout is the example of an interleaved data layout in mlx5dv_wr_mkey_configure(3). */
static void
layout__is_repeated(void **state)
{
	struct uroce_mkey_conf *conf = begin_conf();

	(void)state;
	for (uint32_t i = 0; i < 2048; i++)
		memory[i] = (uint8_t)draw(256);
	add_piece(conf, 0, 512, 4);
	add_piece(conf, 1200, 8, 0);
	conf->repeat = 2;
	configure(conf);
	memcpy(wire, memory, 512);
	memcpy(wire + 512, memory + 1200, 8);
	memcpy(wire + 520, memory + 516, 512);
	memcpy(wire + 1032, memory + 1208, 8);
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, 1041, 0));
	for (uint32_t at = 0; at < 1040; at += 104) {
		assert_int_equal(uroce_mkey_read(table, mkey, PDN, at, 104, 0, packet, NULL), 0);
		assert_memory_equal(packet, wire + at, 104);
	}
}

static void
layout__pieces_of_nothing_are_stepped_over(void **state)
{
	struct uroce_mkey_conf *conf = begin_conf();

	(void)state;
	memcpy(memory, "abcdefgh", 8);
	add_piece(conf, 0, 0, 0);
	add_piece(conf, 0, 3, 0);
	add_piece(conf, 100, 0, 0);
	add_piece(conf, 5, 2, 0);
	add_piece(conf, 0, 0, 0);
	configure(conf);
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 0, 5, 0, packet, NULL), 0);
	assert_memory_equal(packet, "abcfg", 5);
	conf->nb_pieces = 1;
	configure(conf);
	assert_true(uroce_mkey_may(table, mkey, PDN, 0, 0, 0));
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 0, 1, 0, packet, NULL), -EFAULT);
}

/*
 * If the layout ends inside the signature of a block, the block does not belong to the layout.
 * Memory behind the last complete block does not change.
 */
static void
layout__ends_before_a_signature(void **state)
{
	(void)state;
	for (uint32_t room = 0; room < 8; room++) {
		struct uroce_mkey_conf *conf = begin_conf();

		conf->mem = domain_of(UROCE_SIG_T10_CRC, 512);
		add_piece(conf, 0, 520 + 512 + room, 0);
		memset(memory, 0xee, 2048);
		configure(conf);
		assert_true(uroce_mkey_may(table, mkey, PDN, 0, 512, 0));
		assert_false(uroce_mkey_may(table, mkey, PDN, 0, 513, 0));
		memset(packet, 0x55, 1024);
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, 0, packet, 1024,
						  IBV_ACCESS_LOCAL_WRITE, NULL),
				 -EFAULT);
		assert_int_equal(memory[0], 0xee);
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, 0, packet, 512,
						  IBV_ACCESS_LOCAL_WRITE, NULL),
				 0);
		for (uint32_t i = 520; i < 2048; i++)
			assert_int_equal(memory[i], 0xee);
	}
}

/* --- blocks with bad signatures --- */

#define NB_BLOCKS 6u

/* Make NB_BLOCKS blocks of 512 bytes, with signatures of these kinds in memory and on the wire. */
static void
make_blocks(enum uroce_sig_kind mem_kind, enum uroce_sig_kind wire_kind, uint8_t check_mask)
{
	struct uroce_mkey_conf *conf = begin_conf();

	for (uint32_t i = 0; i < NB_BLOCKS * 512; i++)
		data[i] = (uint8_t)draw(256);
	conf->mem = domain_of(mem_kind, 512);
	conf->wire = domain_of(wire_kind, 512);
	conf->check_mask = check_mask;
	add_piece(conf, 0, stream_make(&conf->mem, data, NB_BLOCKS * 512, mem_side), 0);
	memcpy(memory, mem_side, conf->piece[0].len);
	stream_make(&conf->wire, data, NB_BLOCKS * 512, wire);
	configure(conf);
}

/*
 * The bytes of a bad block are delivered. The mkey keeps the error of the first bad block until the
 * error is queried.
 */
static void
read__tells_of_a_bad_block_in_memory(void **state)
{
	bool is_bad = false;

	(void)state;
	make_blocks(UROCE_SIG_CRC32C, UROCE_SIG_NONE, 0xf0);
	memory[2 * 516 + 7] ^= 1;
	memory[4 * 516 + 512] ^= 1;
	wire[2 * 512 + 7] ^= 1;
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 0, 1535, 0, packet, &is_bad), 0);
	assert_false(is_bad); /* all bytes of the bad block but its last one are read */
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 1535, 1537, 0, packet, &is_bad), 0);
	assert_true(is_bad);
	assert_memory_equal(packet, wire + 1535, 1537);
	const struct uroce_mkey_error error = error_now();

	assert_int_equal(error.sig.fault, UROCE_SIG_BAD_GUARD);
	assert_int_equal(error.offset, 2 * 516);
	assert_int_equal(error.sig.expected, mem_side[2 * 516 + 512] |
						     mem_side[2 * 516 + 513] << 8 |
						     mem_side[2 * 516 + 514] << 16 |
						     (uint32_t)mem_side[2 * 516 + 515] << 24);
	assert_int_not_equal(error.sig.actual, error.sig.expected);
	assert_int_equal(error_now().sig.fault, UROCE_SIG_GOOD);
}

static void
read__again_checks_nothing(void **state)
{
	(void)state;
	make_blocks(UROCE_SIG_CRC32C, UROCE_SIG_NONE, 0xf0);
	memory[7] ^= 1;
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 0, 1024, 0, packet, NULL), 0);
	assert_int_equal(error_now().sig.fault, UROCE_SIG_GOOD);
}

static void
write__tells_of_a_bad_block_on_the_wire(void **state)
{
	bool is_bad = false;

	(void)state;
	make_blocks(UROCE_SIG_NONE, UROCE_SIG_T10_CRC, 0xff);
	wire[3 * 520 + 514] ^= 0x40;     /* change the application tag of block 3 */
	wire[4 * 520 + 512 + 7] ^= 0x40; /* change the reference tag of block 4: a second error */
	write_all(NB_BLOCKS * 520, &is_bad);
	assert_true(is_bad);
	assert_memory_equal(memory, data, NB_BLOCKS * 512);
	const struct uroce_mkey_error error = error_now();

	assert_int_equal(error.sig.fault, UROCE_SIG_BAD_APP_TAG);
	assert_int_equal(error.sig.actual, 0xabcd);
	assert_int_equal(error.sig.expected, 0xebcd);
	assert_int_equal(error.offset, 3 * 520);
}

/* The first packet ends inside a signature, after each possible number of bytes. */
static void
write__puts_cut_signatures_together(void **state)
{
	(void)state;
	for (uint32_t cut = 512; cut <= 520; cut++) {
		bool is_bad = false;

		make_blocks(UROCE_SIG_T10_CRC, UROCE_SIG_T10_CRC, 0xff);
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, 0, wire, cut,
						  IBV_ACCESS_LOCAL_WRITE, &is_bad),
				 0);
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, cut, wire + cut, 1040 - cut,
						  IBV_ACCESS_LOCAL_WRITE, &is_bad),
				 0);
		assert_false(is_bad);
		assert_memory_equal(memory, mem_side, 1040);
		wire[519] ^= 1;
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, 0, wire, cut,
						  IBV_ACCESS_LOCAL_WRITE, &is_bad),
				 0);
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, cut, wire + cut, 1040 - cut,
						  IBV_ACCESS_LOCAL_WRITE, &is_bad),
				 0);
		assert_true(is_bad);
		assert_int_equal(error_now().sig.fault, UROCE_SIG_BAD_REF_TAG);
	}
}

/* A block that did not arrive completely is not checked. */
static void
write__checks_whole_blocks_alone(void **state)
{
	bool is_bad = false;

	(void)state;
	make_blocks(UROCE_SIG_NONE, UROCE_SIG_CRC32, 0xf0);
	/*
	 * byte 5 arrives in no packet, and its value in memory does not fit the signature of its
	 * block
	 */
	memory[5] ^= 1;
	assert_int_equal(uroce_mkey_write(table, mkey, PDN, 100, wire + 100, 516 - 100,
					  IBV_ACCESS_LOCAL_WRITE, &is_bad),
			 0);
	assert_false(is_bad);
	assert_int_equal(uroce_mkey_write(table, mkey, PDN, 516, wire + 516, 516,
					  IBV_ACCESS_LOCAL_WRITE, &is_bad),
			 0);
	assert_false(is_bad);
	wire[1031] ^= 1;
	assert_int_equal(uroce_mkey_write(table, mkey, PDN, 516, wire + 516, 516,
					  IBV_ACCESS_LOCAL_WRITE, &is_bad),
			 0);
	assert_true(is_bad);
	assert_int_equal(error_now().offset, 516);
}

/*
 * Signature bytes that the copy mask selects are passed on, although the mkey does not know them in
 * advance [mlx5dv_wr_set_mkey_sig_block(3), copy_mask].
 */
static void
copy_mask__passes_bytes_on(void **state)
{
	bool is_bad = false;

	(void)state;
	make_blocks(UROCE_SIG_T10_CRC, UROCE_SIG_T10_CRC, 0xcf);
	made.conf.copy_mask = 0x30;
	configure(&made.conf);
	/* the copy mask selects two bytes, which are copied from memory to the wire */
	memcpy(memory + 514, "\x12\x34", 2);
	memcpy(wire + 514, "\x12\x34", 2);
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 0, 1040, 0, packet, &is_bad), 0);
	assert_memory_equal(packet, wire, 1040);
	/* the copy mask selects two bytes, which are copied from the wire to memory */
	memset(memory, 0, 1040);
	memcpy(mem_side + 514, "\x12\x34", 2);
	assert_int_equal(
		uroce_mkey_write(table, mkey, PDN, 0, wire, 1040, IBV_ACCESS_LOCAL_WRITE, &is_bad),
		0);
	assert_memory_equal(memory, mem_side, 1040);
	assert_false(is_bad);
	/*
	 * signature bytes that are not copied are computed: a wrong byte on the wire does not get
	 * into memory
	 */
	wire[512] ^= 1;
	assert_int_equal(
		uroce_mkey_write(table, mkey, PDN, 0, wire, 1040, IBV_ACCESS_LOCAL_WRITE, &is_bad),
		0);
	assert_memory_equal(memory, mem_side, 1040);
	assert_true(is_bad);
}

/*
 * If only a part of a signature arrives, none of its bytes are copied: the other bytes may belong
 * to another block.
 */
static void
copy_mask__parts_of_a_signature_are_not_passed_on(void **state)
{
	(void)state;
	make_blocks(UROCE_SIG_T10_CRC, UROCE_SIG_T10_CRC, 0xff);
	made.conf.copy_mask = 0xff;
	configure(&made.conf);
	assert_int_equal(
		uroce_mkey_write(table, mkey, PDN, 0, wire, 520, IBV_ACCESS_LOCAL_WRITE, NULL), 0);
	assert_int_equal(uroce_mkey_write(table, mkey, PDN, 520 + 516, wire + 520 + 516, 4,
					  IBV_ACCESS_LOCAL_WRITE, NULL),
			 0);
	assert_memory_equal(memory, mem_side, 1040);
}

/* --- states, access rights and limits of an mkey --- */

static void
life__free_configured_free(void **state)
{
	struct uroce_mkey_conf *conf = begin_conf();
	struct uroce_mr_conf query;

	(void)state;
	add_piece(conf, 0, 100, 0);
	assert_true(uroce_mkey_is(table, mkey));
	assert_true(uroce_mkey_any(table));
	assert_false(uroce_mkey_is(table, key[0]));
	assert_false(uroce_mkey_is(table, mkey ^ 1));
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, 0, 0));
	assert_int_equal(uroce_mkey_invalidate(table, mkey, PDN, false), -EINVAL);
	configure(conf);
	assert_true(uroce_mkey_may(table, mkey, PDN, 0, 100, ALL));
	assert_int_equal(uroce_mr_query(table, mkey, &query), -EINVAL);
	assert_null(uroce_mr_resolve(table, mkey, PDN, 0, 1, 0));
	assert_null(uroce_rkey_resolve(table, mkey, PDN, 3, 0, 1, 0));
	assert_int_equal(uroce_mw_invalidate(table, mkey, PDN, 3), -EINVAL);
	assert_int_equal(uroce_mkey_invalidate(table, mkey, PDN + 1, false), -EINVAL);
	assert_int_equal(uroce_mkey_invalidate(table, mkey, PDN, true), -EINVAL);
	assert_int_equal(uroce_mkey_invalidate(table, mkey, PDN, false), 0);
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, 0, 0));
	configure(conf);
	uroce_mkey_remove(table, mkey);
	assert_false(uroce_mkey_is(table, mkey));
	assert_false(uroce_mkey_any(table));
	assert_int_equal(uroce_mkey_configure(table, mkey, PDN, conf), -EINVAL);
	uroce_mr_free(table, mkey);
	assert_int_equal(uroce_mr_table_count(table), 2);
}

static void
configure__parts_that_are_not_set_stay(void **state)
{
	struct uroce_mkey_conf *conf;

	(void)state;
	make_blocks(UROCE_SIG_CRC32, UROCE_SIG_NONE, 0xf0);
	conf = begin_conf();
	conf->parts = UROCE_MKEY_ACCESS;
	conf->access = IBV_ACCESS_REMOTE_READ;
	configure(conf);
	assert_true(uroce_mkey_may(table, mkey, PDN, 0, NB_BLOCKS * 512, IBV_ACCESS_REMOTE_READ));
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, 1, IBV_ACCESS_REMOTE_WRITE));
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, NB_BLOCKS * 512 + 1, 0));
	/*
	 * conf->mem and conf->wire have no signatures, so this configuration switches signatures
	 * off
	 */
	conf->parts = UROCE_MKEY_SIG;
	configure(conf);
	assert_true(uroce_mkey_may(table, mkey, PDN, 0, NB_BLOCKS * 516, IBV_ACCESS_REMOTE_READ));
	conf->parts = UROCE_MKEY_LAYOUT;
	add_piece(conf, 0, 10, 0);
	configure(conf);
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, 11, IBV_ACCESS_REMOTE_READ));
}

static void
configure__refused_changes_nothing(void **state)
{
	struct uroce_mkey_conf *conf = begin_conf();
	void *mem = NULL;
	uint32_t plain;

	(void)state;
	add_piece(conf, 0, 100, 0);
	configure(conf);
	assert_int_equal(uroce_mkey_configure(table, mkey, PDN + 1, conf), -EINVAL);
	assert_int_equal(uroce_mkey_configure(table, key[0], PDN, conf), -EINVAL);
	conf->nb_pieces = MAX_PIECES + 1;
	assert_int_equal(uroce_mkey_configure(table, mkey, PDN, conf), -EINVAL);
	conf->nb_pieces = 1;
	conf->repeat = UINT32_MAX;
	conf->piece[0].len = UINT32_MAX;
	assert_int_equal(uroce_mkey_configure(table, mkey, PDN, conf), -EINVAL);
	assert_true(uroce_mkey_may(table, mkey, PDN, 0, 100, 0));
	assert_false(uroce_mkey_may(table, mkey, PDN, 0, 101, 0));
	/* this mkey was created without room for signatures */
	assert_int_equal(posix_memalign(&mem, 64, uroce_mkey_memsize(1)), 0);
	assert_int_equal(uroce_mkey_add(table, mem, 1, 0, PDN, &plain), 0);
	conf->repeat = 1;
	conf->piece[0].len = 1000;
	conf->mem = domain_of(UROCE_SIG_CRC32, 512);
	assert_int_equal(uroce_mkey_configure(table, plain, PDN, conf), -EINVAL);
	conf->mem = (struct uroce_sig_domain){ 0 };
	assert_int_equal(uroce_mkey_configure(table, plain, PDN, conf), 0);
	free(mem);
}

static void
use__is_refused_beyond_rights_ranges_and_regions(void **state)
{
	struct uroce_mkey_conf *conf = begin_conf();

	(void)state;
	conf->access = IBV_ACCESS_REMOTE_READ;
	add_piece(conf, 0, 100, 0);
	add_piece(conf, MEM_LEN / 2, 100, 0);
	configure(conf);
	assert_int_equal(
		uroce_mkey_read(table, mkey, PDN, 0, 200, IBV_ACCESS_REMOTE_READ, packet, NULL), 0);
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, 1, 200, 0, packet, NULL), -EFAULT);
	assert_int_equal(uroce_mkey_read(table, mkey, PDN, UINT64_MAX, 2, 0, packet, NULL),
			 -EFAULT);
	assert_int_equal(uroce_mkey_read(table, mkey, PDN + 1, 0, 1, 0, packet, NULL), -EFAULT);
	assert_int_equal(
		uroce_mkey_write(table, mkey, PDN, 0, packet, 1, IBV_ACCESS_LOCAL_WRITE, NULL),
		-EFAULT);
	conf->access = ALL;
	configure(conf);
	/* invalidate the second region: a write to both regions must not change the first one */
	assert_int_equal(uroce_mr_invalidate(table, key[1]), 0);
	memset(packet, 0x55, 200);
	assert_int_equal(
		uroce_mkey_write(table, mkey, PDN, 0, packet, 101, IBV_ACCESS_LOCAL_WRITE, NULL),
		-EFAULT);
	assert_int_equal(memory[0], 0);
	assert_int_equal(
		uroce_mkey_write(table, mkey, PDN, 0, packet, 100, IBV_ACCESS_LOCAL_WRITE, NULL),
		0);
	assert_int_equal(memory[99], 0x55);
}

/* If the memory for the signature of a block cannot be written, no byte of the block is written. */
static void
use__is_refused_where_a_signature_cannot_be_stored(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 2; turn++) {
		struct uroce_mkey_conf *conf = begin_conf();

		conf->mem = domain_of(UROCE_SIG_CRC32, 512);
		conf->wire = domain_of(turn ? UROCE_SIG_CRC32 : UROCE_SIG_NONE, 512);
		conf->copy_mask = turn ? 0xff : 0;
		add_piece(conf, 0, 512, 0);
		add_piece(conf, MEM_LEN / 2, 4, 0);
		conf->piece[1].lkey = 0; /* no region has this key */
		configure(conf);
		memset(memory, 0, 512);
		memset(packet, 0x55, 516);
		assert_int_equal(uroce_mkey_write(table, mkey, PDN, 0, packet, turn ? 516 : 512,
						  IBV_ACCESS_LOCAL_WRITE, NULL),
				 -EFAULT);
		assert_int_equal(memory[0], 0);
	}
}

/* --- mkeys in scatter/gather lists --- */

static void
sge__an_mkey_among_others(void **state)
{
	const struct ibv_sge sge[] = {
		{ (uintptr_t)memory + 8000, 10, key[0] },
		{ 500, 40, mkey },
		{ (uintptr_t)memory + 9000, 10, key[0] },
	};
	struct uroce_slice slice[UROCE_SGE_MAX];
	struct uroce_sge_room room = { .at = packet };
	uint8_t gathered[60];

	(void)state;
	make_blocks(UROCE_SIG_NONE, UROCE_SIG_CRC32, 0xf0);
	memcpy(memory + 8000, "0123456789", 10);
	memcpy(memory + 9000, "abcdefghij", 10);
	assert_int_equal(uroce_sge_gather(table, PDN, sge, 3, 0, 60, NULL, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(table, PDN, sge, 3, 5, 50, &room, slice), 3);
	assert_ptr_equal(slice[0].addr, memory + 8005);
	/* bytes that the mkey converts are put into the packet buffer */
	assert_ptr_equal(slice[1].addr, packet + 5);
	assert_int_equal(slice[1].key, 0);
	assert_memory_equal(slice[1].addr, wire + 500, 40);
	assert_ptr_equal(slice[2].addr, memory + 9000);
	memcpy(gathered, "9876543210", 10);
	memcpy(gathered + 10, wire + 500, 40);
	memcpy(gathered + 50, "ABCDEFGHIJ", 10);
	memset(memory, 0, 600);
	assert_int_equal(uroce_sge_scatter(table, PDN, sge, 3, 0, gathered, 60, NULL), 0);
	assert_memory_equal(memory + 8000, "9876543210", 10);
	assert_memory_equal(memory + 500, data + 500, 36);
	assert_memory_equal(memory + 9000, "ABCDEFGHIJ", 10);
	assert_true(uroce_sge_is_ordered(table, sge, 3));
	assert_false(uroce_sge_is_ordered(table, sge, 1));
	/* this SGE wraps around the end of the address space */
	const struct ibv_sge wild = { UINT64_MAX - 3, 8, mkey };

	assert_int_equal(uroce_sge_gather(table, PDN, &wild, 1, 4, 4, &room, slice), -EFAULT);
	assert_int_equal(uroce_sge_gather(table, PDN, &wild, 1, 0, 4, &room, slice), -EFAULT);
}

/*
 * An mkey allows no TX reference, because the bytes on the wire are computed when a frame is sent.
 */
static void
lend__of_an_mkey_is_refused(void **state)
{
	struct uroce_mkey_conf *conf = begin_conf();

	(void)state;
	assert_null(uroce_mr_get_tx_ref(table, mkey));
	add_piece(conf, 0, 4096, 0);
	assert_int_equal(uroce_mkey_configure(table, mkey, PDN, conf), 0);
	assert_null(uroce_mr_get_tx_ref(table, mkey));
	assert_int_equal(uroce_mr_nb_tx_refs(table, mkey), 0);
	assert_int_equal(uroce_mr_nb_tx_refs(table, key[0]), 0);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(data__goes_through_all_pairs_of_sides),
		TEST(layout__is_repeated),
		TEST(layout__pieces_of_nothing_are_stepped_over),
		TEST(layout__ends_before_a_signature),
		TEST(read__tells_of_a_bad_block_in_memory),
		TEST(read__again_checks_nothing),
		TEST(write__tells_of_a_bad_block_on_the_wire),
		TEST(write__puts_cut_signatures_together),
		TEST(write__checks_whole_blocks_alone),
		TEST(copy_mask__passes_bytes_on),
		TEST(copy_mask__parts_of_a_signature_are_not_passed_on),
		TEST(life__free_configured_free),
		TEST(configure__parts_that_are_not_set_stay),
		TEST(configure__refused_changes_nothing),
		TEST(use__is_refused_beyond_rights_ranges_and_regions),
		TEST(use__is_refused_where_a_signature_cannot_be_stored),
		TEST(sge__an_mkey_among_others),
		TEST(lend__of_an_mkey_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
