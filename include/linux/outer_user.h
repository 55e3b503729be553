/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who is one user where users must not get in each other's way.
 *
 * A user can have many IDs in user namespaces of his own, and any number of
 * these. What is shared out by user must count them all as one.
 */
#ifndef _LINUX_OUTER_USER_H
#define _LINUX_OUTER_USER_H

#include <linux/cred.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

/**
 * struct outer_user - a user as seen from the initial user namespace
 * @ns: the outermost user namespace, if that is the user; else NULL
 * @uid: user ID, if @ns is NULL; else 0
 *
 * As large as two longs, with no bytes between the members: can be compared by memcmp().
 */
struct outer_user {
	struct user_namespace *ns;
	unsigned long uid;
};

/**
 * outer_user() - whose are these credentials?
 * @cred: the credentials
 *
 * The real user ID. Inside user namespaces it is the owner of the outermost one.
 * Where that owner is root, the namespace is a user of its own: containers that
 * root has made are strangers to each other, and to root.
 *
 * Return: the user. No reference is taken to @ns; @cred has one.
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
 * Return: true if they are.
 */
static inline bool outer_user_eq(const struct outer_user *a, const struct outer_user *b)
{
	return a->ns == b->ns && a->uid == b->uid;
}

#endif /* _LINUX_OUTER_USER_H */
