// large.mjs PROGRAMS WORK [DIR]: a network of 1000 nodes in a browser: all of it in groups, then a part from near by, then one pair.
// With DIR it leaves pictures there, to look at.
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {Daemon, browser, sleep, until} from './stage.mjs';

const [, , programs, work, out] = process.argv;
const count = 1000, bins = 28, target = 500;
const nodes = Array.from({length: count}, (_, k) => `n${String(k).padStart(4, '0')}`);
const facts = [];
const fact = (text) => { facts.push(text); console.log(`  ${text}`); };

// One slice as CBOR (RFC 8746, float32): gravity with noise; in the last two bins every twentieth node sends far too much to one.
function slice(bin, time) {
  let state = 12345 + bin;
  const random = () => { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; return state / 2 ** 32; };
  const weight = (k) => 1 + (k * 7919 % 97) / 10;
  const values = new Float32Array(count * count);
  for (let i = 0, k = 0; i < count; ++i)
    for (let j = 0; j < count; ++j, ++k)
      values[k] = i === j ? NaN : 1e4 * weight(i) * weight(j) * (0.85 + 0.3 * random()) * (bin >= bins - 2 && j === target && i % 20 === 0 ? 300 : 1);
  const text = (word) => [0x60 + word.length, ...Buffer.from(word)];
  const number = (value) => { const bytes = Buffer.alloc(5); bytes[0] = 0x1a; bytes.writeUInt32BE(value, 1); return [...bytes]; };
  const length = Buffer.alloc(5);
  length[0] = 0x5a;
  length.writeUInt32BE(values.byteLength, 1);
  return Buffer.concat([
    Buffer.from([0xa5, ...text('time'), 0x74, ...Buffer.from(time), ...text('source'), ...text('s'), ...text('sequence'), ...number(bin),
                 ...text('complete'), 0xf5, ...text('values'), 0xd8, 85]), length, Buffer.from(values.buffer)]);
}

async function push(daemon) {
  const first = Date.UTC(2026, 2, 2);
  let last = '';
  for (let bin = 0; bin < bins; ++bin) {
    last = new Date(first + bin * 300e3).toISOString().slice(0, 19) + 'Z';
    const body = slice(bin, last);
    await until('there is room for the slice', 60000, async () => {
      const response = await fetch(`${daemon.url}/api/v1/networks/large/slices`, {method: 'POST', headers: {'Content-Type': 'application/cbor'}, body});
      if (response.status === 429) return false;
      assert.equal(response.status, 202, await response.text());
      return true;
    });
  }
  await daemon.scored('large', {lines: [last]});
}

// Frames a second while the matrix is dragged, and what of each is the page's own work.
async function panning(page, client) {
  const busy = async () => (await client.send('Performance.getMetrics')).metrics.find(({name}) => name === 'TaskDuration').value;
  for (const _ of [1, 2]) await page.getByRole('button', {name: 'Closer'}).click();
  const box = await page.locator('.matrix canvas').first().boundingBox();
  await page.evaluate(() => {
    globalThis.frames = [];
    const tick = (time) => { globalThis.frames.push(time); globalThis.ticking = requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  });
  const x = box.x + box.width / 2, y = box.y + box.height / 2;
  await page.mouse.move(x, y);
  await page.mouse.down();
  const before = await busy();
  for (let k = 0; k < 60; ++k) await page.mouse.move(x + 120 * Math.sin(k / 12), y + 90 * Math.cos(k / 15));
  const work = await busy() - before;
  await page.mouse.up();
  const frames = await page.evaluate(() => { cancelAnimationFrame(globalThis.ticking); return globalThis.frames; });
  return {rate: 1000 * (frames.length - 1) / (frames[frames.length - 1] - frames[0]), own: work * 1000 / (frames.length - 1)};
}

const daemon = new Daemon(programs, work, {networks: {large: nodes}});
let chromium;
try {
  await daemon.start();
  const begun = Date.now();
  await push(daemon);
  fact(`${bins} slices of ${count} nodes taken and scored in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
  chromium = await browser();
  const page = await chromium.newPage({viewport: {width: 1280, height: 960}});
  page.setDefaultTimeout(20000);
  const errors = [];
  page.on('console', (message) => { if (message.type() === 'error') errors.push(message.text()); });
  page.on('pageerror', (error) => errors.push(error.message));
  const picture = (name) => out && page.screenshot({path: join(out, `large-${name}.png`)});
  const client = await page.context().newCDPSession(page);
  await client.send('Performance.enable', {timeDomain: 'threadTicks'});
  const heap = async () => (await client.send('Performance.getMetrics')).metrics.find(({name}) => name === 'JSHeapUsedSize').value / 1e6;

  const opened = Date.now();
  await page.goto(`${daemon.url}/#/networks/large`);
  await until('the matrix is drawn', 20000, () => page.locator('.slider .when').textContent());
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  fact(`the first heat map after ${Date.now() - opened} ms, ${(await heap()).toFixed(0)} MB of heap`);
  await page.getByText('1000 nodes in groups of 8').waitFor();
  const top = page.locator('section:has(> .panel-head #furthest) tbody tr');
  const sums = await top.evaluateAll((rows) => rows.map((row) => row.cells[1].textContent));
  assert.ok(sums.length === 12 && sums.every((name) => name === 'n0496 +7'), `the group of the attack is furthest from expected: ${sums}`);
  await sleep(300);
  await picture('groups');
  const far = await panning(page, client);
  fact(`all groups, panning: ${far.rate.toFixed(0)} frames a second here, ${far.own.toFixed(1)} ms of the page's own time a frame`);
  assert.ok(far.own < 16.7, `a frame takes ${far.own.toFixed(1)} ms`);

  await top.first().getByRole('button').click();
  await page.getByRole('button', {name: '‹ All nodes'}).waitFor();
  await until('the cells are those of the attack', 10000, async () =>
    (await top.evaluateAll((rows) => rows.slice(0, 3).every((row) => row.cells[1].textContent === 'n0500'))));
  await page.getByRole('heading', {name: '→ n0500'}).waitFor();
  await sleep(300);
  await picture('part');
  // The cell of the attack is framed where it is, though the matrix was zoomed and panned before.
  const dark = await page.locator('.matrix canvas').first().evaluate((canvas, [row, column, size]) => {
    const margin = {left: 74, top: 74, right: 4};   // as in matrix.ts
    const cell = (canvas.clientWidth - margin.left - margin.right) / size, scale = canvas.width / canvas.clientWidth;
    const x = (margin.left + column * cell) * scale, y = (margin.top + (row + 0.5) * cell) * scale;
    const pixels = canvas.getContext('2d').getImageData(Math.round(x) - 1, Math.round(y), 3, 1).data;
    return [0, 4, 8].some((at) => pixels[at] + pixels[at + 1] + pixels[at + 2] < 300);
  }, [20, 60, 120]);
  assert.ok(dark, 'the flagged cell has its frame');
  const near = await panning(page, client);
  fact(`a part, panning: ${near.rate.toFixed(0)} frames a second here, ${near.own.toFixed(1)} ms of the page's own time a frame`);
  const crumbs = page.locator('.crumbs');
  const where = await crumbs.textContent();
  await page.getByRole('button', {name: 'Origins behind'}).click();
  await until('the next origins are shown', 10000, async () => (await crumbs.textContent()) !== where);

  await page.getByLabel('from', {exact: true}).fill('n0123');
  await page.getByLabel('to', {exact: true}).fill('n0987');
  await page.getByRole('button', {name: 'Find pair'}).click();
  await page.getByRole('heading', {name: 'n0123 → n0987'}).waitFor();
  await until('the part around the pair is shown', 10000, async () => /n0063 … n0182 to n0880 … n0999/.test(await crumbs.textContent()));
  await sleep(300);
  await picture('pair');
  await page.getByRole('button', {name: '‹ All nodes'}).click();
  await page.getByText('1000 nodes in groups of 8').waitFor();
  fact(`${(await heap()).toFixed(0)} MB of heap at the end`);
  assert.ok(await heap() < 150, 'the page does not hold all cells of all slices');
  assert.deepEqual(errors, [], 'no error on the console');
  console.log(`passed\n${facts.join('\n')}`);
} catch (failure) {
  console.error(failure);
  process.exitCode = 1;
} finally {
  await chromium?.close();
  await daemon.stop();
}
