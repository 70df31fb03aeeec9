/** The dashboard's own build: into dist/ui, from where the server serves it. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here('.'),
  // Relative to the page, which may be served under any path.
  base: './',
  resolve: { alias: { 'perdure/client': here('../src/client/index.ts') } },
  build: {
    outDir: here('../dist/ui'),
    emptyOutDir: true,
    target: 'es2022',
    // The policy of the page takes no data in place of files, and no script that is not one.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      onLog(level, log, report) {
        // Libraries say "use client" to servers that render; there is none here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') report(level, log);
      },
    },
  },
  // For `npx vite dashboard`, beside a server that has the API.
  server: { proxy: { '^/(workflow|workers|health|ready|heartbeat)': 'http://127.0.0.1:3001' } },
});
