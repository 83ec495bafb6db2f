/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UCMA_USER_MEMORY_H
#define UCMA_USER_MEMORY_H

/**
 * @file
 * Copies between this library and pointers that a program has put into a command. Like the kernel,
 * the copies report a pointer to memory that is not mapped, instead of a fault of the process.
 */

#include <stddef.h>
#include <stdint.h>

/**
 * Copy from memory of the program. The kernel makes the copy, and reports a bad pointer. If a
 * sandbox forbids the system call, the function copies the memory itself, and a bad pointer is a
 * fault of the process.
 * @mt Safe.
 * @return 0, or -EFAULT; then a part of `to` may be written
 */
int user_memory_read(void *to, const void *from, size_t len);

/**
 * Copy to memory of the program. A pointer to memory that is not mapped is reported.
 *
 * @param to  pointer of the program, as a command of librdmacm carries it
 * @mt Safe.
 * @return 0, or -EFAULT; then a part of the memory may be written
 */
int user_memory_write(uint64_t to, const void *from, size_t len);

#endif /* UCMA_USER_MEMORY_H */
