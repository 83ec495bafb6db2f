/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that need no device must give the same results in uroce's libibverbs and in the
 * distribution's. These are the rates for each code and number, copies of the kernel's structs,
 * names, and the path of sysfs.
 *
 *	test-ibverbs-same OURS.so THEIRS.so
 */

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kern.h"
#include "sysfs.h"

static void *lib[2];

/* The function `name` of library 0 or 1. */
#define OF(side, name) ((__typeof__(&name))find(side, #name))

static void *
find(int side, const char *name)
{
	void *const symbol = dlsym(lib[side], name);

	assert_non_null(symbol);
	return symbol;
}

static void
rates__are_the_same(void **state)
{
	(void)state;
	for (int code = -1; code < 40; code++) {
		assert_int_equal(OF(0, ibv_rate_to_mult)(code), OF(1, ibv_rate_to_mult)(code));
		assert_int_equal(OF(0, ibv_rate_to_mbps)(code), OF(1, ibv_rate_to_mbps)(code));
	}
	for (int mult = -1; mult < 1000; mult++)
		assert_int_equal(OF(0, mult_to_ibv_rate)(mult), OF(1, mult_to_ibv_rate)(mult));
	for (int mbps = -1; mbps < 1500000; mbps++)
		assert_int_equal(OF(0, mbps_to_ibv_rate)(mbps), OF(1, mbps_to_ibv_rate)(mbps));
}

static void
fill_randomly(void *mem, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)mem)[i] = (uint8_t)rand();
}

/*
 * Let both libraries copy the same random kernel struct, and compare the copies. The destinations
 * have the same content before.
 */
#define SAME_COPY(name, dst_type, src_type)                                                        \
	do {                                                                                       \
		dst_type dst[2];                                                                   \
		src_type src;                                                                      \
                                                                                                   \
		fill_randomly(&src, sizeof(src));                                                  \
		fill_randomly(&dst[0], sizeof(dst[0]));                                            \
		memcpy(&dst[1], &dst[0], sizeof(dst[0]));                                          \
		OF(0, name)(&dst[0], &src);                                                        \
		OF(1, name)(&dst[1], &src);                                                        \
		assert_memory_equal(&dst[0], &dst[1], sizeof(dst[0]));                             \
	} while (0)

static void
kern__is_copied_in_the_same_way(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		SAME_COPY(ibv_copy_ah_attr_from_kern, struct ibv_ah_attr, struct ib_uverbs_ah_attr);
		SAME_COPY(ibv_copy_qp_attr_from_kern, struct ibv_qp_attr, struct ib_uverbs_qp_attr);
		SAME_COPY(ibv_copy_path_rec_from_kern, struct ibv_sa_path_rec,
			  struct ib_user_path_rec);
		SAME_COPY(ibv_copy_path_rec_to_kern, struct ib_user_path_rec,
			  struct ibv_sa_path_rec);
	}
}

static void
sysfs__is_where_the_program_says(void **state)
{
	char dir[] = "/tmp/uroce-same-XXXXXX", path[64], text[2][8];
	FILE *file;

	(void)state;
	setenv("SYSFS_PATH", "/tmp//", 1);
	assert_string_equal(OF(0, ibv_get_sysfs_path)(), OF(1, ibv_get_sysfs_path)());
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/value", dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("12\n", file);
	fclose(file);
	for (int side = 0; side < 2; side++) {
		memset(text[side], 'x', sizeof(text[side]));
		assert_int_equal(OF(side, ibv_read_sysfs_file)(dir, "value", text[side], 8), 2);
		assert_string_equal(text[side], "12");
		assert_int_equal(OF(side, ibv_read_sysfs_file)(dir, "none", text[side], 8), -1);
	}
	remove(path);
	remove(dir);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates__are_the_same),
		cmocka_unit_test(kern__is_copied_in_the_same_way),
		cmocka_unit_test(sysfs__is_where_the_program_says),
	};

	for (int side = 0; side < 2; side++) {
		lib[side] = argc == 3 ? dlopen(argv[1 + side], RTLD_NOW | RTLD_LOCAL) : NULL;
		if (lib[side] == NULL) {
			fprintf(stderr, "test-ibverbs-same: %s\n",
				argc == 3 ? dlerror() : "OURS THEIRS");
			return 1;
		}
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
