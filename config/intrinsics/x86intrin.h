/* SPDX-License-Identifier: BSD-3-Clause */

/* See immintrin.h. GCC and clang take different headers of DPDK's rte_vect.h. */
#if defined(__AVX__) || defined(UROCE_ALL_INTRINSICS)
#include_next <x86intrin.h>
#else
#include <nmmintrin.h>
#endif
