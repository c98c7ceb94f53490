// Entry of the report: the data is in the page.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadReport } from "../data/load";
import { App } from "./App";
import "../styles.css";

const root = document.getElementById("root");
if (root) {
  const data = loadReport(document);
  createRoot(root).render(
    <StrictMode>{typeof data === "string" ? <main className="alone"><h1>Cosmark report</h1><p>{data}</p></main> : <App data={data} />}</StrictMode>,
  );
}
