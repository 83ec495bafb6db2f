/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_IBVERBS_PATH_CALLS_H
#define TEST_IBVERBS_PATH_CALLS_H

/**
 * @file
 * The calls that liburoce-paths.so intercepts, as functions that describe their result in words. So
 * the results of two implementations of a call can be compared.
 */

#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

/** Size of the text that describes a result. */
#define PATH_TEXT_MAX 1024

/** Describe a result. */
#define PATH_TELL(text, ...) ((void)snprintf(text, PATH_TEXT_MAX, __VA_ARGS__))

/** Call `function` with a path, and describe the result in `text`. */
typedef void path_call_fn(void *function, const char *path, char *text);

/* Types of calls that have variants. */
typedef int open_fn(const char *, int, ...);
typedef int openat_fn(int, const char *, int, ...);
typedef int statx_fn(int, const char *, int, unsigned, void *);
typedef char *realpath_fn(const char *, char *);

struct path_call {
	const char *name;
	path_call_fn *call;
	/*
	 * name of the function that newer versions of libc have instead; NULL: the name is the same
	 */
	const char *now_name;
	path_call_fn *now;
};

/** Handle of libc, whose calls are not intercepted. The test sets it. */
extern void *path_libc;

extern const struct path_call path_calls[];
extern const size_t path_nb_calls;

#endif /* TEST_IBVERBS_PATH_CALLS_H */
