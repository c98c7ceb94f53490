/* A plugin that breaks the rules, by the name of the object; HOSTILE chooses which rule its table breaks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cosmark_adaptor.h"

#ifndef HOSTILE
#define HOSTILE 0
#endif
#ifndef NUMBER
#define NUMBER COSMARK_ADAPTOR_ABI
#endif

static const cosmark_host *host;
static char big[1 << 20];

struct cosmark_store { int unused; };
struct cosmark_client { int unused; };
static cosmark_store the_store;
static cosmark_client the_client;

static int do_open(const cosmark_setting *settings, size_t count, cosmark_store **store, cosmark_error *error) {
    for (size_t at = 0; at < count; at++)
        if (strcmp(settings[at].name, "refuse") == 0 && settings[at].value[0] == 'y') {
            error->kind = COSMARK_DENIED;
            memset(error->message, 'm', sizeof error->message); /* no end */
            strcpy(error->hint, "ask for a key");
            return 1;
        }
    *store = &the_store;
    return 0;
}
static void do_close(cosmark_store *store) { (void)store; }
static int do_connect(cosmark_store *store, const cosmark_session *session, cosmark_client **client, cosmark_error *error) {
    (void)store, (void)session, (void)error;
    *client = &the_client;
    return 0;
}
static void do_disconnect(cosmark_client *client) { (void)client; }

static void *later(void *call) {
    cosmark_result result = {.size = sizeof result, .status = 200};
    usleep(50000);
    for (int at = 0; at < 20; at++)
        if (host->data(call, big, sizeof big) != 0) break;
    host->complete(call, &result);
    return NULL;
}

static void do_start(cosmark_client *client, const cosmark_request *request, cosmark_call *call) {
    cosmark_result result = {.size = sizeof result, .status = 200};
    pthread_t thread;
    (void)client;
    if (strcmp(request->object, "never") == 0) return;
    if (strcmp(request->object, "hang") == 0) {
        sleep(20);
        return;
    }
    if (strcmp(request->object, "later") == 0) {
        pthread_create(&thread, NULL, later, call);
        pthread_detach(thread);
        return;
    }
    if (strcmp(request->object, "no-result") == 0) {
        host->complete(call, NULL);
        return;
    }
    if (strcmp(request->object, "small-result") == 0) result.size = 4;
    if (strcmp(request->object, "no-bytes") == 0) host->data(call, NULL, 10);
    if (strcmp(request->object, "no-name") == 0) host->name(call, NULL);
    if (strcmp(request->object, "odd-kind") == 0) result.error = 77;
    if (strcmp(request->object, "busy") == 0) {
        result.error = COSMARK_STATUS, result.status = 503, result.code = "SlowDown";
        result.message = "too many", result.hint = "ask for less";
    }
    if (strcmp(request->object, "honest") == 0) {
        host->connected(call, 5000);
        host->request(call, 0);
        host->request(call, 1);
        host->data(call, "abc", 3);
    }
    host->complete(call, &result);
}

static const cosmark_key keys[] = {
#if HOSTILE == 1
    {"path", "taken", NULL, COSMARK_KEY_TEXT, 0},
#elif HOSTILE == 2
    {"odd", "no such kind", NULL, 99, 0},
#elif HOSTILE == 3
    {NULL, NULL, NULL, 0, 0},
#endif
    {"refuse", "do not open", NULL, COSMARK_KEY_TEXT, 1},
};

static const cosmark_adaptor table = {
#if HOSTILE == 4
    .size = 8,
#else
    .size = sizeof table,
#endif
#ifdef BLOCKS
    .flags = COSMARK_BLOCKING,
#endif
    .capability = COSMARK_CAN_STORE,
#if HOSTILE == 5
    .key_count = 4000000000u,
#else
    .key_count = sizeof keys / sizeof keys[0],
#endif
    .keys = keys,
#if HOSTILE == 6
    .name = "\xff\xfe",
#else
    .name = "hostile",
#endif
    .summary = "breaks rules",
    .open = do_open,
    .close = do_close,
    .connect = do_connect,
    .disconnect = do_disconnect,
#if HOSTILE != 7
    .start = do_start,
#endif
};

#if HOSTILE != 8
const uint32_t cosmark_adaptor_abi = NUMBER;
#endif

const cosmark_adaptor *cosmark_adaptor_entry(const cosmark_host *given) {
    host = given;
#if NUMBER != COSMARK_ADAPTOR_ABI
    abort(); /* must never be called */
#endif
    return HOSTILE == 9 ? NULL : &table;
}
