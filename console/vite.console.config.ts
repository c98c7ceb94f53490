// Builds the console into console/dist/console: index.html and files with hashed names under assets/. The controller serves
// that directory at /, and index.html for every path that names no file.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// In development the API comes from a controller or from e2e/mock.mjs.
const controller = process.env["COSMARK_CONTROLLER"] ?? "http://127.0.0.1:19088";

export default defineConfig({
  plugins: [react()],
  publicDir: "src/console/public",
  build: {
    target: "es2022",
    outDir: "dist/console",
    emptyOutDir: true,
    // Everything is a file of its own: the page's content security policy takes no inline script.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": controller, "/healthz": controller } },
});
