/* Functions that call back in every way there is. */
#include <alloca.h>
#include <stdint.h>
#include <string.h>
typedef void (*call_back)(void *);
#define EXPORT __attribute__((visibility("default"), noinline))
static void use(void *memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

EXPORT void plain(call_back f, void *x) { f(x); use(x); }
EXPORT void large(call_back f, void *x) {
    char room[100 << 10]; use(room); f(x); use(room);
}
EXPORT void dynamic(call_back f, void *x) {
    char *room = alloca(((uintptr_t)x >> 4) % 5000 + 1); use(room); f(x); use(room);
}
EXPORT void dynamic_large(call_back f, void *x) {
    char *room = alloca(((uintptr_t)x >> 4) % 5000 + 90000); use(room); f(x); use(room);
}
EXPORT void aligned(call_back f, void *x) {
    char room[256] __attribute__((aligned(64))); use(room); f(x); use(room);
}
EXPORT void aligned_dynamic(call_back f, void *x) {
    char room[256] __attribute__((aligned(128)));
    char *more = alloca(((uintptr_t)x >> 4) % 100 + 1);
    use(room); use(more); f(x); use(room); use(more);
}
#ifdef __x86_64__
__attribute__((force_align_arg_pointer))
#endif
EXPORT void realigned(call_back f, void *x) { f(x); use(x); }
/* All registers that a call preserves, and something on the stack. */
EXPORT long busy(call_back f, void *x, long a, long b, long c, long d) {
    long e = a * b, g = c * d, h = a ^ d, i = b - c;
    f(x);
    use(x);
    return a + b + c + d + e * g + h * i;
}
