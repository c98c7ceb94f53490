/* Clocks of one process that are not those of its machine, loaded before libc (LD_PRELOAD, ld.so(8)). In the environment:
   PLANTED_AHEAD_MS   the wall clock is ahead by this much
   PLANTED_FAST_PPM   every clock of time goes so much too fast, counted from the first look
   PLANTED_STEP_S     from the moment that the file PLANTED_STEP_FILE is there, the wall clock is set by this much
   The kernel's own timers stay true. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const long long SECOND = 1000000000;
static atomic_llong began_ns;
static atomic_int was_set;

static long long asked(const char *name) {
    const char *text = getenv(name);
    return text ? atoll(text) : 0;
}

static long long true_ns(clockid_t id) {
    struct timespec now;
    syscall(SYS_clock_gettime, id, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

static long long strayed_ns(void) {
    long long now = true_ns(CLOCK_MONOTONIC), none = 0;
    atomic_compare_exchange_strong(&began_ns, &none, now);
    return (now - atomic_load(&began_ns)) / 1000000 * asked("PLANTED_FAST_PPM");
}

int clock_gettime(clockid_t id, struct timespec *time) {
    long long now = true_ns(id);
    switch (id) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        now += asked("PLANTED_AHEAD_MS") * 1000000;
        if (!atomic_load(&was_set)) {
            const char *file = getenv("PLANTED_STEP_FILE");
            if (file && access(file, F_OK) == 0) atomic_store(&was_set, 1);
        }
        if (atomic_load(&was_set)) now += asked("PLANTED_STEP_S") * SECOND;
        /* fall through */
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_BOOTTIME:
        now += strayed_ns();
    }
    time->tv_sec = now / SECOND;
    time->tv_nsec = now % SECOND;
    return 0;
}
