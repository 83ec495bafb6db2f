/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Shorter headers of the intrinsics of x86, for faster compilation. DPDK's headers include the
 * compiler's header of this name, and half of the time of a compilation is spent on its intrinsics
 * for AVX. If the compiler does not compile for a CPU with AVX, only a function with a target of
 * its own can use them. A file with such functions defines UROCE_ALL_INTRINSICS.
 *
 * There is no include guard: this header may be included again with other definitions.
 */
#if defined(__AVX__) || defined(UROCE_ALL_INTRINSICS)
#include_next <immintrin.h>
#else
#include <nmmintrin.h>
#endif
