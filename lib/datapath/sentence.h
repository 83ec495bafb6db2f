/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_DATAPATH_SENTENCE_H
#define UROCE_DATAPATH_SENTENCE_H

/**
 * @file
 * A sentence for a log line that is composed of parts, such as a list of allowed values. A sentence
 * that is too long is cut off.
 */

#include <stddef.h>

#define UROCE_SENTENCE_MAX 480u

/**
 * A sentence. The string in `text` always ends in a zero byte. A struct of zeros is the empty
 * sentence.
 */
struct uroce_sentence {
	size_t used; /* length of the sentence in `text` */
	char text[UROCE_SENTENCE_MAX];
};

/** Append a part to a sentence. The part is formatted as printf() does. */
__attribute__((format(printf, 2, 3))) void uroce_sentence_add(struct uroce_sentence *sentence,
							      const char *format, ...);

#endif /* UROCE_DATAPATH_SENTENCE_H */
