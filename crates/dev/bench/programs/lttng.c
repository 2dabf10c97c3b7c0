/* Writes E2 events with LTTng-UST: lttng EVENTS THREADS [stepped]. Prints nanoseconds of wall time.
   With a third argument it prints nothing: SIGUSR1 marks the start and the end of the counted part. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

static const char text[] = "sixteen letters.";
static unsigned long events;

static void *write_events(void *unused)
{
    (void)unused;
    for (unsigned long index = 0; index < events; index++)
        lttng_ust_tracepoint(wdk_etw_bench, e2, 7, index, text, sizeof text - 1);
    return NULL;
}

int main(int count, char **words)
{
    struct timespec start, end;
    pthread_t threads[16];
    long others;

    if (count < 3)
        return 2;
    events = strtoul(words[1], NULL, 10);
    others = strtol(words[2], NULL, 10) - 1;
    if (count > 3) {
        /* The first event does the work that happens only once, so it is not counted. */
        unsigned long wanted = events;
        events = 1;
        write_events(NULL);
        events = wanted;
        raise(SIGUSR1);
        write_events(NULL);
        raise(SIGUSR1);
        return 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long index = 0; index < others && index < 16; index++)
        pthread_create(&threads[index], NULL, write_events, NULL);
    write_events(NULL);
    for (long index = 0; index < others && index < 16; index++)
        pthread_join(threads[index], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%lld\n", (end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec));
    return 0;
}
