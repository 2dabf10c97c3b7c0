/* The E2 event for LTTng-UST: a number of four bytes, one of eight, and counted text. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER wdk_etw_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_events.h"

#if !defined(WDK_ETW_BENCH_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WDK_ETW_BENCH_EVENTS_H

#include <lttng/tracepoint.h>
#include <stddef.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(
    wdk_etw_bench,
    e2,
    LTTNG_UST_TP_ARGS(uint32_t, id, uint64_t, offset, const char *, text, size_t, length),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, id, id)
        lttng_ust_field_integer(uint64_t, offset, offset)
        lttng_ust_field_sequence_text(char, text, text, uint16_t, length)
    )
)

#endif

#include <lttng/tracepoint-event.h>
