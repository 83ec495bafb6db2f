/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plays another program that takes all hugepages just before EAL maps one of its pages. The
 * environment variable THIEF is the number of that page, counted from 0. This library is preloaded,
 * so that the moment is exact.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_LEN (2u << 20)

static void
take_all(void)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE;
	unsigned nb = 0;

	while (mmap(NULL, PAGE_LEN, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED)
		nb++;
	fprintf(stderr, "thief: %u hugepages\n", nb);
}

int
memfd_create(const char *name, unsigned flags)
{
	int (*const next)(const char *, unsigned) =
		(__typeof__(next))dlsym(RTLD_NEXT, "memfd_create");
	static int nb;
	const char *const when = getenv("THIEF");

	if ((flags & MFD_HUGETLB) != 0 && strncmp(name, "seg_", 4) == 0 &&
	    nb++ == (int)strtol(when, NULL, 10))
		take_all();
	return next(name, flags);
}
