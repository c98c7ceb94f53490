"""Users, projects, roles, the catalogue's object store and credentials of the test bed, by Keystone's own API.

    python provision.py KEYSTONE_URL PROXY_URL ADMIN_PASSWORD all      make what is missing
    python provision.py KEYSTONE_URL PROXY_URL ADMIN_PASSWORD login    print storage URL and token of the user bench
    python provision.py KEYSTONE_URL PROXY_URL ADMIN_PASSWORD revoke MEMCACHED_PORT
                                        make every token of the user bench invalid, and the proxies forget all tokens

Source: OpenStack "Identity API v3". Everything may be run again.
"""

import json
import socket
import sys
import time
import urllib.error
import urllib.request

KEYSTONE, PROXY, ADMIN_PASSWORD, VERB = sys.argv[1:5]
DOMAIN = {"id": "default"}
USER, PASSWORD, PROJECT = "bench", "benchpass", "bench"


def call(method, path, body=None, token=None):
    headers = {"Content-Type": "application/json"}
    if token:
        headers["X-Auth-Token"] = token
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(KEYSTONE + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return answer.headers, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode(errors='replace')[:500]}")


def login(user, password, project):
    identity = {
        "methods": ["password"],
        "password": {"user": {"name": user, "domain": DOMAIN, "password": password}},
    }
    scope = {"project": {"name": project, "domain": DOMAIN}}
    headers, answer = call("POST", "/auth/tokens", {"auth": {"identity": identity, "scope": scope}})
    return headers["X-Subject-Token"], answer["token"]


def ensure(token, plural, singular, name, **more):
    """The id of what has this name, made if it is missing."""
    _, found = call("GET", f"/{plural}?name={name}", token=token)
    if found[plural]:
        return found[plural][0]["id"]
    _, made = call("POST", f"/{plural}", {singular: {"name": name, **more}}, token)
    return made[singular]["id"]


def ensure_all():
    admin, _ = login("admin", ADMIN_PASSWORD, "admin")
    service = ensure(admin, "projects", "project", "service", domain_id="default")
    project = ensure(admin, "projects", "project", PROJECT, domain_id="default")
    # Nobody has a role in it.
    ensure(admin, "projects", "project", "secret-lab", domain_id="default")
    swift = ensure(admin, "users", "user", "swift", password="swiftpass", domain_id="default")
    bench = ensure(admin, "users", "user", USER, password=PASSWORD, domain_id="default")
    _, roles = call("GET", "/roles", token=admin)
    ids = {role["name"]: role["id"] for role in roles["roles"]}
    for where, who, role in [(service, swift, "admin"), (service, swift, "service"), (project, bench, "member")]:
        if role in ids:
            call("PUT", f"/projects/{where}/users/{who}/roles/{ids[role]}", token=admin)
    ensure_store(admin)
    token, _ = login(USER, PASSWORD, PROJECT)
    ensure_credentials(token, bench, project)


def ensure_store(admin):
    store = ensure(admin, "services", "service", "swift", type="object-store")
    _, found = call("GET", f"/endpoints?service_id={store}", token=admin)
    there = {endpoint["interface"] for endpoint in found["endpoints"]}
    for interface in {"public", "internal", "admin"} - there:
        url = PROXY + "/v1/AUTH_$(project_id)s"
        endpoint = {"interface": interface, "region_id": "RegionOne", "service_id": store, "url": url}
        call("POST", "/endpoints", {"endpoint": endpoint}, admin)


def ensure_credentials(token, user, project):
    _, found = call("GET", f"/users/{user}/application_credentials?name=bench-app", token=token)
    if not found["application_credentials"]:
        credential = {"name": "bench-app", "secret": "benchappsecret"}
        call("POST", f"/users/{user}/application_credentials", {"application_credential": credential}, token)
    # EC2 credentials with keys of our choice, so that a target file can name them.
    admin, _ = login("admin", ADMIN_PASSWORD, "admin")
    _, found = call("GET", f"/credentials?user_id={user}&type=ec2", token=admin)
    if not found["credentials"]:
        blob = json.dumps({"access": "benchaccess", "secret": "benchsecret"})
        credential = {"type": "ec2", "user_id": user, "project_id": project, "blob": blob}
        call("POST", "/credentials", {"credential": credential}, admin)


def print_login():
    token, answer = login(USER, PASSWORD, PROJECT)
    stores = [service for service in answer["catalog"] if service["type"] == "object-store"]
    urls = [one["url"] for store in stores for one in store["endpoints"] if one["interface"] == "public"]
    print(urls[0], token)


def revoke():
    """A new password takes every token of its user with it; that it is the old one again does not matter."""
    admin, _ = login("admin", ADMIN_PASSWORD, "admin")
    _, found = call("GET", f"/users?name={USER}", token=admin)
    user = found["users"][0]["id"]
    token, _ = login(USER, PASSWORD, PROJECT)
    call("PATCH", f"/users/{user}", {"user": {"password": PASSWORD}}, admin)
    # What the proxies have confirmed before is in memcached.
    with socket.create_connection(("127.0.0.1", int(sys.argv[5])), 10) as memcached:
        memcached.sendall(b"flush_all\r\n")
        if memcached.recv(100) != b"OK\r\n":
            sys.exit("memcached does not forget")
    # Times in Keystone's tokens are whole seconds: until the next one, new tokens would count as old ones.
    time.sleep(1.1)
    headers = {"X-Auth-Token": admin, "X-Subject-Token": token}
    try:
        urllib.request.urlopen(urllib.request.Request(KEYSTONE + "/auth/tokens", headers=headers), timeout=60).close()
        sys.exit("a token from before is still valid")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            sys.exit(f"asking for a token from before: {error.code}")


{"all": ensure_all, "login": print_login, "revoke": revoke}[VERB]()
