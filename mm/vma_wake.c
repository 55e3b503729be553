// SPDX-License-Identifier: GPL-2.0
/*
 * Wake writers that sleep until the readers of a VMA are done. With interrupts disabled,
 * the last reader may have interrupted the holder of a lock that wake_up() takes.
 */
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/kconfig.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/wait.h>

#include "vma_read.h"

/* Few writers sleep at a time. With one queue the irq_work has nothing to remember. */
DECLARE_WAIT_QUEUE_HEAD(vma_hold_writers);

static void vma_hold_wake_all(struct irq_work *work)
{
	wake_up_all(&vma_hold_writers);
}

static DEFINE_PER_CPU(struct irq_work, vma_hold_wake_work) = IRQ_WORK_INIT(vma_hold_wake_all);

/**
 * vma_hold_wake() - wake the writers that wait for readers
 *
 * Context: any, NMI included. The caller's decrement, irq_work_queue() and the start
 * of the work are full barriers: if the work was pending already, the writers that it
 * wakes see this decrement, too.
 */
void vma_hold_wake(void)
{
	/* With PREEMPT_RT the lock of the queue sleeps. */
	if (!irqs_disabled() && !IS_ENABLED(CONFIG_PREEMPT_RT)) {
		wake_up_all(&vma_hold_writers);
		return;
	}
	/* Others rely on a work that is claimed: do not be preempted before it is queued. */
	preempt_disable();
	irq_work_queue(this_cpu_ptr(&vma_hold_wake_work));
	preempt_enable();
}
