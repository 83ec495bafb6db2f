/* SPDX-License-Identifier: BSD-3-Clause */

/* Forks child processes of uroced, which end with their parent. */

#include "child.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

void
child_outlive_signals(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGALRM, SIG_DFL);
	/*
	 * as SIGCHLD is ignored, the kernel discards the exit status of children, so they do not
	 * become zombies
	 */
	(void)signal(SIGCHLD, SIG_IGN);
}

pid_t
child_fork(void)
{
	const pid_t parent = getpid();
	const pid_t pid = fork();

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	/*
	 * The child process has no filter of system calls. So uroced, which an attacker may control
	 * and which has the same user ID, must not be able to open the child's files in /proc.
	 */
	(void)prctl(PR_SET_DUMPABLE, 0);
	return 0;
}
