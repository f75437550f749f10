import {defineConfig} from 'vite';

// Everything as files of our own with a hash in the name: the page is served under a policy that
// allows no inline script or style.
export default defineConfig({
  base: './',
  build: {
    target: 'es2021',
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    chunkSizeWarningLimit: 1000,
    rollupOptions: {output: {manualChunks: {charts: ['echarts/core', 'echarts/charts', 'echarts/components', 'echarts/renderers']}}},
  },
  // npm run dev: against a daemon that runs already.
  server: {proxy: {'/api': process.env.OUTLIERD_URL ?? 'http://127.0.0.1:9471'}},
});
