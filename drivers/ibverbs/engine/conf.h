/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_CONF_H
#define UROCE_ENGINE_CONF_H

/**
 * @file
 * Which devices there are to be, and with which options EAL is started: from the environment or a file.
 *
 *	UROCE          "PORT[,key=value...][;PORT...]": devices, as uroce_create_device() takes them
 *	               "uroced[,socket=PATH][,key=value...]": of one that is attached to uroced
 *	UROCE_EAL      options of EAL, separated by blanks
 *	UROCE_CONFIG   the file: section [eal] with `options`, sections [device...] with `spec`
 *
 * What the environment says goes before what the file says. A program with more rights than its caller (set-uid,
 * set-gid, file capabilities) has no devices by configuration: options of EAL load code, and the caller wrote them.
 */

#define CONF_DEVICES_MAX 16
#define CONF_OPTIONS_MAX 64

struct conf {
	char *spec[CONF_DEVICES_MAX];
	unsigned nb_specs;
	char *option[CONF_OPTIONS_MAX]; /* of EAL */
	unsigned nb_options;
};

/** @return 0, or an errno after one line on stderr: what, why, what is allowed. Strings are kept for ever. */
int conf_read(struct conf *conf);

/**
 * The arguments of the virtual port that a specification names, as in EAL's options; NULL: there are none. A device
 * that is attached to uroced needs none.
 */
const char *conf_vdev(const struct conf *conf, const char *spec);

#endif /* UROCE_ENGINE_CONF_H */
