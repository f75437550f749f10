// embed.mjs DIST OUT.cpp: every file that vite built, packed with gzip, as one C++ source.
import {readdirSync, readFileSync, statSync, writeFileSync} from 'node:fs';
import {extname, join} from 'node:path';
import {gzipSync} from 'node:zlib';

const [, , dist, out] = process.argv;
const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
};

function* files(folder, path) {
  for (const name of readdirSync(folder).sort()) {
    const at = join(folder, name);
    if (statSync(at).isDirectory()) yield* files(at, `${path}${name}/`);
    else yield {at, path: path + name};
  }
}

// As a string literal: compilers read it many times faster than a list of numbers.
function literal(bytes) {
  const lines = [];
  for (let from = 0; from < bytes.length; from += 64) {
    let line = '';
    for (const byte of bytes.subarray(from, from + 64)) line += '\\' + byte.toString(8).padStart(3, '0');
    lines.push(`"${line}"`);
  }
  return lines.join('\n');
}

let text = '// Made by embed.mjs; do not edit.\n#include "daemon/dashboard/embedded.h"\n\n' +
    'namespace outlierd::dashboard {\nnamespace {\n\n';
let rows = '';
let count = 0, plain = 0, packed = 0;
for (const {at, path} of files(dist, '/')) {
  const type = types[extname(path)];
  if (!type) throw new Error(`embed.mjs: what type is ${path}?`);
  const bytes = readFileSync(at);
  const gzip = gzipSync(bytes, {level: 9});
  text += `constexpr char kFile${count}[] =\n${literal(gzip)};\n\n`;
  rows += `    {"${path === '/index.html' ? '/' : path}", "${type}", kFile${count}, sizeof kFile${count} - 1, ` +
      `${bytes.length}, ${path.startsWith('/assets/')}},\n`;
  ++count;
  plain += bytes.length;
  packed += gzip.length;
}
text += `constexpr EmbeddedFile kFiles[] = {\n${rows}};\n\n}  // namespace\n\n` +
    'std::span<const EmbeddedFile> embedded_files() { return kFiles; }\n\n}  // namespace outlierd::dashboard\n';
writeFileSync(out, text);
console.log(`dashboard: ${count} files, ${plain} bytes, ${packed} packed`);
