// Addresses of runs whose ids are names of directories.
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { Route, Router } from "wouter";
import { expect, test } from "vitest";
import { RunOfAddress } from "./RunOfAddress";
import { runAt, runPage } from "./paths";

const IDS = ["w12", "w1-mixed", "w1-a b", "w1-a#b", "w1-a?b", "w1-100%", "w1-a%23b", "w1-a%2523b", "w1-prüf,&=+"];

test("a run is found by the address of its page whatever its directory is called", () => {
  for (const id of IDS) {
    const address = new URL(runPage(id), "http://bench:19088");
    expect([address.search, address.hash]).toEqual(["", ""]);
    expect(runAt(address.pathname)).toBe(id);
  }
  expect(runAt("/runs/w1-100%/")).toBe("w1-100%");
});

test("the page of a run reads its id in the address bar, not in what the router made of it", () => {
  for (const id of IDS) {
    const shown = createElement(RunOfAddress, { children: (found: string) => createElement("b", {}, encodeURIComponent(found)) });
    const route = createElement(Route, { path: "/runs/:id", children: shown });
    const html = renderToStaticMarkup(createElement(Router, { ssrPath: runPage(id), children: route }));
    expect(html).toBe(renderToStaticMarkup(createElement("b", {}, encodeURIComponent(id))));
  }
});

test("no page makes the address of a run by itself", () => {
  const pages = import.meta.glob<string>("./**/*.tsx", { query: "?raw", import: "default", eager: true });
  expect(Object.keys(pages).length).toBeGreaterThan(20);
  expect(Object.entries(pages).filter(([, text]) => /(href=\{|go\()`\/runs\/\$\{/.test(text)).map(([name]) => name)).toEqual([]);
});
