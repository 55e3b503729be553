// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of C++ for symbols-test.c: each calls back, and the return address
 * says where it is.
 */
#define NOINLINE __attribute__((noinline))
#define INLINED inline __attribute__((always_inline))

/* A label before all functions, exported, without a size. */
__asm__(".text\n.globl example_label\nexample_label:\n");

static void (*here)(void);
static volatile int sink;

namespace shapes {
namespace {
NOINLINE void hidden() { here(); sink = 1; }

struct Square {
	static NOINLINE void draw() { here(); sink = 2; }
};
}

template <typename T> struct Sum {
	static INLINED void add(T n) { here(); sink = n; }
	static INLINED void twice(T n) { add(n); here(); sink = n; }
};

template <typename T> NOINLINE void outer(T n)
{
	Sum<T>::twice(n);
	here();
	sink = n;
}
}

/* A name of Rust with a semicolon. */
NOINLINE void of_rust() __asm__("_RNvXCs1_1aAhj20_NtB2_1T1f");
void of_rust() { here(); sink = 3; }

static NOINLINE void fixed() { here(); sink = 4; }

extern "C" void example_run(void (*call)(void));
extern "C" void example_run(void (*call)(void))
{
	here = call;
	shapes::outer<unsigned long>(3);
	shapes::hidden();
	shapes::Square::draw();
	of_rust();
	fixed();
	here();
	sink = 5;
}
