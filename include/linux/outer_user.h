/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Count as one user what one user can create: where users share a resource, no
 * user may get a larger share by means of user namespaces.
 *
 * A user can own any number of user namespaces and can have many IDs in each.
 * All these count as one user here.
 */
#ifndef _LINUX_OUTER_USER_H
#define _LINUX_OUTER_USER_H

#include <linux/cred.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

/**
 * struct outer_user - a user as seen from the initial user namespace
 * @ns: the outermost user namespace if it counts as the user; else NULL
 * @uid: the user ID if @ns is NULL; else 0
 *
 * The struct has the size of two longs and no padding, so memcmp() can compare
 * it.
 */
struct outer_user {
	struct user_namespace *ns;
	unsigned long uid;
};

/**
 * outer_user() - find the user that credentials belong to
 * @cred: the credentials
 *
 * In the initial user namespace that is the real user ID. Inside other user
 * namespaces it is the owner of the outermost of them. If that owner is root,
 * the namespace itself counts as the user: containers that root has made are
 * strangers to each other, and to root.
 *
 * Context: any.
 * Return: the user. Takes no reference to @ns; @cred holds one.
 */
static inline struct outer_user outer_user(const struct cred *cred)
{
	struct user_namespace *ns = cred->user_ns;

	if (ns == &init_user_ns)
		return (struct outer_user) { .uid = __kuid_val(cred->uid) };
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return (struct outer_user) { .uid = __kuid_val(ns->owner) };
	return (struct outer_user) { .ns = ns };
}

/**
 * outer_user_eq() - are these the same user?
 * @a: one user
 * @b: the other
 *
 * Context: any.
 * Return: true if they are.
 */
static inline bool outer_user_eq(const struct outer_user *a, const struct outer_user *b)
{
	return a->ns == b->ns && a->uid == b->uid;
}

#endif /* _LINUX_OUTER_USER_H */
