/* A store in memory: the smallest complete Cosmark plugin in C.
 *
 *     cc -shared -fPIC -O2 -o memory.so memory.c -lpthread
 *     cosmark adaptors ./memory.so
 *
 * It blocks, so it says COSMARK_BLOCKING and answers inside start(). A real one would put its client library's calls
 * where the table is looked up.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cosmark_adaptor.h"

#define BUCKETS 4096

typedef struct object {
    struct object *next;
    char *name; /* container, '/', object */
    uint8_t *bytes;
    uint64_t len;
} object;

/* open() is called for every work of every stage, so what the works share does not belong to the store. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static object *buckets[BUCKETS];

struct cosmark_store {
    long delay_ms;
};

struct cosmark_client {
    cosmark_store *store;
};

static const cosmark_host *host;

static const cosmark_key keys[] = {
    {"delay", "time that every operation takes at least", "0", COSMARK_KEY_DURATION, 0},
    {"passphrase", "not used, but never shown", NULL, COSMARK_KEY_TEXT, 1},
};

static int memory_open(const cosmark_setting *settings, size_t count, cosmark_store **store, cosmark_error *error) {
    cosmark_store *made = calloc(1, sizeof *made);
    if (made == NULL) {
        error->kind = COSMARK_LOCAL_IO;
        snprintf(error->message, sizeof error->message, "out of memory");
        return 1;
    }
    for (size_t at = 0; at < count; at++)
        if (strcmp(settings[at].name, "delay") == 0) made->delay_ms = atol(settings[at].value);
    *store = made;
    return 0;
}

static void memory_close(cosmark_store *store) { free(store); }

static int memory_connect(cosmark_store *store, const cosmark_session *session, cosmark_client **client,
                          cosmark_error *error) {
    (void)session, (void)error;
    *client = malloc(sizeof **client);
    if (*client == NULL) return 1;
    (*client)->store = store;
    return 0;
}

static void memory_disconnect(cosmark_client *client) { free(client); }

/* The place where `name` is, or where it would be added. */
static object **place_of(const char *name) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *at = name; *at != 0; at++) hash = (hash ^ (uint8_t)*at) * 16777619u;
    object **place = &buckets[hash % BUCKETS];
    while (*place != NULL && strcmp((*place)->name, name) != 0) place = &(*place)->next;
    return place;
}

static void not_found(cosmark_result *result) {
    result->error = COSMARK_STATUS, result->status = 404;
    result->code = "NoSuchObject", result->message = "there is no such object";
}

static void get(const cosmark_request *request, cosmark_call *call, const object *found, cosmark_result *result) {
    uint64_t first = request->has_range ? request->range_first : 0;
    uint64_t end = request->has_range ? request->range_last + 1 : found->len;
    if (end > found->len) end = found->len;
    if (first > end || (request->has_range && first == end)) {
        result->error = COSMARK_STATUS, result->status = 416, result->message = "the object has no such bytes";
        return;
    }
    if (end > first) host->data(call, found->bytes + first, end - first);
}

static void put(const cosmark_request *request, object **place, const char *name, cosmark_result *result) {
    uint8_t *bytes = malloc(request->body_len + 1);
    object *found = *place;
    if (found == NULL && (found = calloc(1, sizeof *found)) != NULL) {
        found->name = strdup(name);
        *place = found;
    }
    if (bytes == NULL || found == NULL || found->name == NULL) {
        free(bytes);
        result->error = COSMARK_LOCAL_IO, result->message = "out of memory";
        return;
    }
    memcpy(bytes, request->body, request->body_len);
    free(found->bytes);
    found->bytes = bytes, found->len = request->body_len;
    result->status = 201;
}

static void memory_start(cosmark_client *client, const cosmark_request *request, cosmark_call *call) {
    cosmark_store *store = client->store;
    cosmark_result result = {.size = sizeof result, .status = 200};
    struct timespec delay = {store->delay_ms / 1000, store->delay_ms % 1000 * 1000000};
    while (store->delay_ms > 0 && nanosleep(&delay, &delay) != 0 && errno == EINTR) {}

    size_t room = strlen(request->container) + strlen(request->object) + 2;
    char *name = malloc(room);
    if (name == NULL) {
        result.error = COSMARK_LOCAL_IO, result.message = "out of memory";
        host->complete(call, &result);
        return;
    }
    snprintf(name, room, "%s/%s", request->container, request->object);
    pthread_mutex_lock(&lock);
    object **place = place_of(name);
    switch (request->op) {
    case COSMARK_OP_PROBE: break;
    case COSMARK_OP_GET:
        if (*place == NULL) not_found(&result);
        else get(request, call, *place, &result);
        break;
    case COSMARK_OP_PUT: put(request, place, name, &result); break;
    case COSMARK_OP_HEAD:
        if (*place == NULL) not_found(&result);
        else result.bytes = (*place)->len;
        break;
    case COSMARK_OP_DELETE:
        if (*place == NULL) not_found(&result);
        else {
            object *gone = *place;
            *place = gone->next;
            free(gone->name), free(gone->bytes), free(gone);
        }
        break;
    default: result.error = COSMARK_UNSUPPORTED, result.message = "this store has no such operation"; break;
    }
    pthread_mutex_unlock(&lock);
    free(name);
    host->complete(call, &result);
}

static const cosmark_adaptor memory = {
    .size = sizeof memory,
    .flags = COSMARK_BLOCKING,
    .capability = COSMARK_CAN_STORE | COSMARK_CAN_HEAD | COSMARK_CAN_RANGE | COSMARK_DELETE_MISSING_FAILS,
    .key_count = sizeof keys / sizeof keys[0],
    .keys = keys,
    .name = "memory",
    .summary = "objects in this process's memory, gone when it ends",
    .open = memory_open,
    .close = memory_close,
    .connect = memory_connect,
    .disconnect = memory_disconnect,
    .start = memory_start,
};

const uint32_t cosmark_adaptor_abi = COSMARK_ADAPTOR_ABI;

const cosmark_adaptor *cosmark_adaptor_entry(const cosmark_host *given) {
    host = given;
    return &memory;
}
