// The real daemon with simulated traffic, and a headless Chromium to look at it. Ends what it started.
import {execFileSync, spawn} from 'node:child_process';
import {mkdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:net';
import {join} from 'node:path';
import {chromium} from 'playwright-core';

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(what, limit, question) {
  const begun = Date.now();
  for (;;) {
    const found = await question();
    if (found) return found;
    if (Date.now() - begun > limit) throw new Error(`not within ${limit} ms: ${what}`);
    await sleep(50);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const {port} = server.address();
      server.close(() => resolve(port));
    });
  });
}

export class Daemon {
  constructor(programs, work, {networks, http = '', host = '127.0.0.1'}) {
    Object.assign(this, {programs, work, networks, http, host});
    rmSync(work, {recursive: true, force: true});
    mkdirSync(work, {recursive: true});
  }

  async start() {
    this.port ??= await freePort();
    this.url = `http://${this.host}:${this.port}`;
    const networks = Object.entries(this.networks).map(([name, nodes]) => `  - {name: ${name}, nodes: [${nodes.join(', ')}]}`);
    writeFileSync(join(this.work, 'outlierd.yaml'),
        `http: {listen: "${this.host}:${this.port}"${this.http}}\nmatrices: []\nstore: {path: "${join(this.work, 'store')}"}\nnetworks:\n${networks.join('\n')}\n`);
    let log = '';
    this.process = spawn(join(this.programs, 'outlierd'), ['--config', join(this.work, 'outlierd.yaml')], {stdio: ['ignore', 'ignore', 'pipe']});
    this.process.stderr.on('data', (text) => { log += text; });
    await until(`outlierd starts; its log: ${log}`, 60000, () => {
      if (this.process.exitCode !== null) throw new Error(`outlierd ended: ${log}`);
      return log.includes('event=started');
    });
  }

  async stop() {
    if (!this.process || this.process.exitCode !== null) return;
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGTERM');
    await ended;
  }

  async get(path) {
    const response = await fetch(this.url + path);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  // Rows of a traffic CSV: {time, nodes, values}.
  simulate(nodes, words) {
    const file = join(this.work, 'traffic.csv');
    execFileSync(join(this.programs, 'outlierctl'), ['simulate', '--names', nodes.join(','), ...words, '--output', file]);
    const [head, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
    return {head, lines};
  }

  push(network, {head, lines}) {
    const file = join(this.work, 'part.csv');
    writeFileSync(file, [head, ...lines, ''].join('\n'));
    execFileSync(join(this.programs, 'outlierctl'), ['push', file, '--network', network, '--to', this.url, '--source', network], {stdio: ['ignore', 'ignore', 'inherit']});
  }

  // Until every slice that was pushed is scored.
  scored(network, {lines}) {
    const last = new Date(lines[lines.length - 1].split(',')[0]).getTime();
    return until(`${network} scores its slices`, 300000, async () => {
      const status = (await this.get('/api/v1/status')).networks.find((each) => each.name === network);
      return status.last_slice && new Date(status.last_slice).getTime() >= last;
    });
  }
}

export const cities = ['amsterdam', 'berlin', 'dublin', 'frankfurt', 'london', 'madrid', 'milan', 'paris', 'prague', 'stockholm', 'vienna', 'zurich'];

export async function browser() {
  const path = process.env.CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium || command -v chromium-browser || command -v google-chrome'])
      .toString().trim();
  return chromium.launch({executablePath: path, args: ['--no-sandbox', '--disable-dev-shm-usage', '--hide-scrollbars']});
}
