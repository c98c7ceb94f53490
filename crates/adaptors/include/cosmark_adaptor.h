/*
 * cosmark_adaptor.h: how Cosmark speaks to a storage adaptor in a shared library. C99; usable from C++.
 *
 * A plugin exports two symbols:
 *
 *     const uint32_t cosmark_adaptor_abi = COSMARK_ADAPTOR_ABI;   (data; read before any code of the plugin is called)
 *     const cosmark_adaptor *cosmark_adaptor_entry(const cosmark_host *host);
 *
 * and is used in a workload as
 *
 *     <storage type="plugin" config="path=/usr/lib/cosmark/acme.so;endpoint=.." />
 *
 * COSMARK_ADAPTOR_ABI is the number of this interface. A library with another number is refused with a sentence that
 * names both. Within one number nothing here changes; what is added is added at the end of a structure, whose `size`
 * tells how much of it the other side knows. All texts are UTF-8 and end with a zero byte. A text or array that the
 * plugin hands over is copied before the function returns, unless it says otherwise here.
 *
 * Licence: Apache-2.0.
 */
#ifndef COSMARK_ADAPTOR_H
#define COSMARK_ADAPTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COSMARK_ADAPTOR_ABI 1u

/* ---- what can be asked ---------------------------------------------------------------------------------------- */

enum {
    COSMARK_OP_PROBE = 0,            /* cheapest question: is the store there, does it accept us; nothing to return  */
    COSMARK_OP_GET = 1,              /* read object, or its bytes first..last                                        */
    COSMARK_OP_PUT = 2,              /* write body[0..body_len) as object                                            */
    COSMARK_OP_DELETE = 3,           /* delete object                                                                */
    COSMARK_OP_HEAD = 4,             /* length of object: result.bytes                                               */
    COSMARK_OP_LIST = 5,             /* one page of names: host->name(), result.next                                 */
    COSMARK_OP_CREATE_CONTAINER = 6, /* one that is there already and is ours is success                             */
    COSMARK_OP_DELETE_CONTAINER = 7  /* one that is not there is success; one that is not empty is status 409        */
};

/* Capability bits; what is not set is never asked. PROBE, GET, PUT and DELETE are always asked. */
enum {
    COSMARK_CAN_STORE = 1u << 0,      /* what was written can be read back                                           */
    COSMARK_CAN_CONTAINERS = 1u << 1, /* CREATE_CONTAINER, DELETE_CONTAINER                                          */
    COSMARK_CAN_HEAD = 1u << 2,
    COSMARK_CAN_LIST = 1u << 3,
    COSMARK_CAN_RANGE = 1u << 4,
    COSMARK_DELETE_MISSING_FAILS = 1u << 5 /* deleting a missing object is status 404 there                          */
};

/* Flags. */
enum {
    /* start() blocks until the operation is over. Cosmark then calls it on threads of a pool (at most 512), and each
     * operation pays one hand-over of some ten microseconds. Without it start() must return at once. */
    COSMARK_BLOCKING = 1u << 0
};

/* Error kinds: how a failure is counted. */
enum {
    COSMARK_OK = 0,
    COSMARK_STATUS = 1,      /* the store answered with `status` (HTTP's numbers: 404 = not found, 503 = busy ..)    */
    COSMARK_TIMEOUT = 2,     /* no complete answer in time                                                           */
    COSMARK_CONNECT = 3,     /* no connection                                                                        */
    COSMARK_RESET = 4,       /* connection lost before the answer began                                              */
    COSMARK_TLS = 5,
    COSMARK_SHORT_BODY = 6,  /* the body ended early                                                                 */
    COSMARK_CORRUPT_BODY = 7,
    COSMARK_PROTOCOL = 8,    /* the answer makes no sense                                                            */
    COSMARK_UNSUPPORTED = 9,
    COSMARK_CONFIG = 10,     /* a setting is missing or wrong                                                        */
    COSMARK_LOCAL_IO = 11,   /* a file or device of this machine                                                     */
    COSMARK_ABORTED = 12,    /* cancelled                                                                            */
    COSMARK_DENIED = 13      /* wrong user or key                                                                    */
};

/* ---- configuration keys ---------------------------------------------------------------------------------------- */

enum {
    COSMARK_KEY_TEXT = 0,
    COSMARK_KEY_URL = 1,      /* http:// or https://                                                                 */
    COSMARK_KEY_BOOL = 2,
    COSMARK_KEY_INT = 3,      /* whole number from 0                                                                 */
    COSMARK_KEY_FLOAT = 4,
    COSMARK_KEY_DURATION = 5, /* handed over as milliseconds                                                         */
    COSMARK_KEY_SIZE = 6,     /* handed over as bytes                                                                */
    COSMARK_KEY_LIST = 7,     /* separated by commas                                                                 */
    COSMARK_KEY_PATH = 8 /* a file or directory that the plugin opens: guarded by the driver's --files */
};

/* One row of the key table: Cosmark checks workloads against it, suggests the nearest name for a wrong one, shows it in
 * `cosmark adaptors FILE.so`, and keeps the values of secret keys out of every log, archive and message. The table and
 * its texts must stay valid as long as the library is loaded. `path` and `timeout` are Cosmark's own. */
typedef struct cosmark_key {
    const char *name;
    const char *help;          /* one sentence                                                                       */
    const char *default_value; /* NULL = none                                                                        */
    uint32_t kind;             /* COSMARK_KEY_..                                                                     */
    uint32_t secret;           /* 1 = never shown                                                                    */
} cosmark_key;

/* One value for open(): given by the user, or the key's default. Keys without a value are left out. */
typedef struct cosmark_setting {
    const char *name;
    const char *value;
} cosmark_setting;

/* ---- one operation --------------------------------------------------------------------------------------------- */

typedef struct cosmark_call cosmark_call;     /* an operation in flight; made and freed by Cosmark                   */
typedef struct cosmark_store cosmark_store;   /* the plugin's: one store with its settings, used by many threads     */
typedef struct cosmark_client cosmark_client; /* the plugin's: one worker's door, one operation at a time            */

/* All pointers stay valid until the plugin calls host->complete() for the call. */
typedef struct cosmark_request {
    uint32_t size;
    uint32_t op;              /* COSMARK_OP_..                                                                       */
    const char *container;
    const char *object;       /* LIST: "" ; containers: ""                                                           */
    uint64_t range_first;     /* GET with has_range: first and last byte, inclusive                                  */
    uint64_t range_last;
    uint32_t has_range;
    uint32_t page_size;       /* LIST: names per page; 0 = the store's default                                       */
    const char *prefix;       /* LIST: only names that begin so                                                      */
    const char *after;        /* LIST: result.next of the page before; NULL = the first page                         */
    const uint8_t *body;      /* PUT                                                                                 */
    uint64_t body_len;
    uint32_t want_data;       /* GET: 1 = data() needs the bytes; 0 = data() may be called with NULL and a length    */
    uint32_t reserved;
} cosmark_request;

typedef struct cosmark_result {
    uint32_t size;
    uint32_t error;           /* COSMARK_OK or an error kind                                                         */
    uint32_t status;          /* status of the answer in HTTP's numbers; 0 = none                                    */
    uint32_t accepted_only;   /* PUT: taken, but not yet durable or visible everywhere                               */
    uint64_t bytes;           /* HEAD: the length; PUT: bytes written (0 = body_len)                                 */
    const char *code;         /* the store's own error code, e.g. "NoSuchKey"; may be NULL                           */
    const char *message;      /* what went wrong, one sentence, no secrets; may be NULL when error is COSMARK_OK     */
    const char *hint;         /* what to do about it; may be NULL                                                    */
    const char *next;         /* LIST: where the next page begins; NULL = this was the last                          */
} cosmark_result;

/* What the plugin may call while an operation is in flight, from any thread, but for one operation from one thread at a
 * time. All but complete() return 0, or 1 when the operation was cancelled and should be ended soon. */
typedef struct cosmark_host {
    uint32_t size;
    uint32_t abi;
    /* The first byte of the answer is there. Without it, the first data() or complete() counts. */
    int (*first_byte)(cosmark_call *call);
    /* Bytes of a GET, in order. Copied. May wait when Cosmark has not caught up, but not inside a start() that must not
     * block: there everything is kept until start() returns. */
    int (*data)(cosmark_call *call, const void *bytes, uint64_t len);
    /* A name of a LIST. */
    int (*name)(cosmark_call *call, const char *name);
    /* For honest figures: one more request went out for this operation (the first needs no call; retry = 1 says that it
     * repeats an earlier one), or a connection was opened and took so long. */
    int (*request)(cosmark_call *call, uint32_t retry);
    int (*connected)(cosmark_call *call, uint64_t took_ns);
    /* The end of the operation: exactly once for each start(), after which `call` and its request are gone. */
    void (*complete)(cosmark_call *call, const cosmark_result *result);
} cosmark_host;

/* ---- the plugin ------------------------------------------------------------------------------------------------ */

/* Errors of open() and connect(): filled by the plugin; cut at 512 bytes. */
typedef struct cosmark_error {
    uint32_t kind;            /* COSMARK_CONFIG, COSMARK_CONNECT, COSMARK_DENIED ..                                  */
    char message[512];
    char hint[512];
} cosmark_error;

/* What the workload's auth obtained; NULL where it has none. Valid until connect() returns; secrets stay secret. */
typedef struct cosmark_session {
    uint32_t size;
    uint32_t reserved;
    const char *token;        /* of swauth, keystone                                                                 */
    const char *storage_url;
    const char *access_key;   /* of auths that give keys for signatures                                              */
    const char *secret_key;
    const char *session_token;
    const char *username;     /* of httpauth                                                                         */
    const char *password;
} cosmark_session;

/* The table of functions; it must stay valid as long as the library is loaded. Functions must not throw. */
typedef struct cosmark_adaptor {
    uint32_t size;            /* sizeof(cosmark_adaptor)                                                             */
    uint32_t flags;           /* COSMARK_BLOCKING                                                                    */
    uint32_t capability;      /* COSMARK_CAN_..                                                                      */
    uint32_t key_count;
    const cosmark_key *keys;
    const char *name;         /* e.g. "acme"                                                                         */
    const char *summary;      /* one line                                                                            */
    /* A store with these settings; sends nothing yet. 0 = success and *store set. */
    int (*open)(const cosmark_setting *settings, size_t count, cosmark_store **store, cosmark_error *error);
    void (*close)(cosmark_store *store);
    /* One worker's door, called on the thread that will use it; opens no connection yet. After a new login the old
     * client is disconnected and a new one made. */
    int (*connect)(cosmark_store *store, const cosmark_session *session, cosmark_client **client, cosmark_error *error);
    /* May come from any thread, never while an operation of the client is in flight. */
    void (*disconnect)(cosmark_client *client);
    /* Begins an operation. It ends with host->complete(), inside start() or later from any thread. */
    void (*start)(cosmark_client *client, const cosmark_request *request, cosmark_call *call);
    /* The operation is no longer wanted (its time limit passed, or the run was stopped): complete() it soon, with any
     * result. `call` stays valid until cancel() returns, even if it is completed meanwhile. No further operation comes
     * for this client. May be NULL. Comes from another thread than a blocking start(). */
    void (*cancel)(cosmark_client *client, cosmark_call *call);
} cosmark_adaptor;

typedef const cosmark_adaptor *(*cosmark_adaptor_entry_fn)(const cosmark_host *host);

#if defined(_WIN32)
#define COSMARK_EXPORT __declspec(dllexport)
#else
#define COSMARK_EXPORT __attribute__((visibility("default")))
#endif

/* Declared here so that a plugin that defines them otherwise does not compile. */
extern COSMARK_EXPORT const uint32_t cosmark_adaptor_abi;
COSMARK_EXPORT const cosmark_adaptor *cosmark_adaptor_entry(const cosmark_host *host);

#ifdef __cplusplus
}
#endif
#endif
