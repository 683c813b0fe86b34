/*
 * mm: the out-of-memory killer
 *
 * Out of memory: Killed process %d (%s) total-vm:%lukB is printed for each victim.
 */
#include <errno.h>
#include "oom.h"

static void oom_kill(struct task *victim)
{
	pr_err("Out of memory: Killed process %d (%s) total-vm:%lukB, anon-rss:%lukB", victim->pid, victim->comm, K(victim->vm), K(victim->rss));
	if (!victim->mm)
		panic("Kernel panic - not syncing: System is deadlocked on memory\n");
	// NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.
	do_send_sig_info(SIGKILL, victim);
}

int open_log(const char *path)
{
	int fd = open(path, O_WRONLY);
	if (fd < 0) {
		fprintf(stderr, "%s: Permission denied\n", path); /* also: No space left on device */
		return -EACCES;
	}
	return fd;
}
