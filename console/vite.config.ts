// Builds report.html into one self-contained file, dist/report.html, which the Rust crate `report` embeds.
import react from "@vitejs/plugin-react";
import { viteSingleFile } from "vite-plugin-singlefile";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react(), viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    // dist/ holds a .gitkeep that has to stay: cargo watches the directory.
    emptyOutDir: false,
    rollupOptions: { input: "report.html" },
    chunkSizeWarningLimit: 2000,
  },
  // The machine may be slow and busy: what takes longer than this is a failure.
  test: { include: ["src/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 120_000 },
});
