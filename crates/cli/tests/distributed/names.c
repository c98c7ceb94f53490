/* A resolver for one process in which one name stands for several addresses, loaded before libc (LD_PRELOAD, ld.so(8)). In the
   environment: PLANTED_NAME, and its PLANTED_ADDRESSES in their order, with blanks between. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    resolver *real = (resolver *)dlsym(RTLD_NEXT, "getaddrinfo");
    const char *name = getenv("PLANTED_NAME"), *all = getenv("PLANTED_ADDRESSES");
    if (!node || !name || !all || strcmp(node, name)) return real(node, service, hints, found);
    char *text = strdup(all), *rest = text, *address;
    struct addrinfo **end = found;
    int result = EAI_NONAME;
    *found = NULL;
    while ((address = strsep(&rest, " "))) {
        result = real(address, service, hints, end);
        if (result) break;
        while (*end) end = &(*end)->ai_next;
    }
    free(text);
    return result;
}
