#!/usr/bin/env python3
"""What is built into the binary: a bill of materials, and the licences of it.

    scripts/inventory.py sbom TRIPLE       CycloneDX 1.5 as JSON (https://cyclonedx.org/docs/1.5/json/), on standard output
    scripts/inventory.py licences TRIPLE   the texts of the licences of all crates, each text once

Both read `cargo metadata` with the versions of Cargo.lock, and only what the package `cosmark` is built from for that
platform: no dependencies of tests. The output depends on the sources alone (SOURCE_DATE_EPOCH gives the time).
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
LICENCE_FILES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def metadata(triple):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", triple]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def built_in(meta):
    """Packages that are part of the binary, with those that each is made from, by identifier."""
    nodes = {node["id"]: node for node in meta["resolve"]["nodes"]}
    packages = {package["id"]: package for package in meta["packages"]}
    start = next(id for id, package in packages.items() if package["name"] == "cosmark" and not package["source"])
    edges, open_ids = {}, [start]
    while open_ids:
        at = open_ids.pop()
        if at in edges:
            continue
        edges[at] = sorted(
            dep["pkg"] for dep in nodes[at]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])
        )
        open_ids.extend(edges[at])
    return start, {id: packages[id] for id in edges}, edges


def checksums():
    """SHA-256 of each crate's archive, as Cargo.lock has it."""
    found, name, version = {}, None, None
    for line in (ROOT / "Cargo.lock").read_text().splitlines():
        key, _, value = line.partition(" = ")
        value = value.strip('"')
        if line == "[[package]]":
            name = version = None
        elif key == "name":
            name = value
        elif key == "version":
            version = value
        elif key == "checksum":
            found[(name, version)] = value
    return found


def purl(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, sums):
    entry = {
        "type": "application" if package["name"] == "cosmark" else "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "purl": purl(package),
    }
    if package.get("license"):
        # "MIT/Apache-2.0" is how expressions were written before SPDX's "OR".
        entry["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if digest := sums.get((package["name"], package["version"])):
        entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
    if package.get("repository"):
        entry["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return entry


def sbom(triple):
    start, packages, edges = built_in(metadata(triple))
    sums = checksums()
    when = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    ordered = sorted(packages, key=lambda id: (packages[id]["name"], packages[id]["version"]))
    main = packages[start]
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": component(main, sums),
            "properties": [{"name": "cosmark:target", "value": triple}],
        },
        "components": [component(packages[id], sums) for id in ordered if id != start],
        "dependencies": [
            {"ref": purl(packages[id]), "dependsOn": sorted({purl(packages[on]) for on in edges[id]})} for id in ordered
        ],
    }
    # A serial number that the content decides, so that two builds of the same thing have one.
    bom["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))}"
    return json.dumps(bom, indent=1, sort_keys=True) + "\n"


def licences(triple):
    _, packages, _ = built_in(metadata(triple))
    texts = {}
    without = []
    for package in sorted(packages.values(), key=lambda package: (package["name"], package["version"])):
        if package["source"] is None:
            continue
        folder = pathlib.Path(package["manifest_path"]).parent
        files = sorted(file for file in folder.iterdir() if file.is_file() and LICENCE_FILES.match(file.name))
        title = f"{package['name']} {package['version']} ({package.get('license') or 'see below'})"
        if not files:
            without.append(title)
        for file in files:
            text = file.read_text(errors="replace").strip()
            texts.setdefault(text, []).append(title)
    parts = ["The crates that are built into Cosmark, and the texts of their licences.\n"]
    for text, titles in sorted(texts.items(), key=lambda item: sorted(item[1])):
        parts.append("=" * 100 + "\n" + "\n".join(sorted(set(titles))) + "\n" + "-" * 100 + "\n" + text + "\n")
    if without:
        parts.append("=" * 100 + "\nWithout a file of their own; the name of the licence is what the crate states:\n")
        parts.append("\n".join(without) + "\n")
    return "\n".join(parts)


def main():
    makers = {"sbom": sbom, "licences": licences}
    if len(sys.argv) != 3 or sys.argv[1] not in makers:
        sys.exit(__doc__)
    sys.stdout.write(makers[sys.argv[1]](sys.argv[2]))


if __name__ == "__main__":
    main()
