// pictures.mjs PROGRAMS WORK DIR: what the documents show, of a simulated week that ends in an attack.
import {join} from 'node:path';
import {Daemon, browser, cities, sleep, until} from './stage.mjs';

const [, , programs, work, out] = process.argv;
const all = process.env.ALL_PICTURES !== undefined;   // dark, phone and every page too, to look at
const daemon = new Daemon(programs, work, {networks: {backbone: cities, metro: ['centre', 'east', 'north', 'south', 'west']}});
let chromium;
try {
  await daemon.start();
  const traffic = daemon.simulate(cities, ['--days', '7', '--seed', '3', '--incident', 'outage@-500', '--incident', 'scan@-250', '--incident', 'ddos@-3']);
  daemon.push('backbone', traffic);
  const small = daemon.simulate(daemon.networks.metro, ['--days', '1', '--seed', '3']);
  daemon.push('metro', small);
  await daemon.scored('backbone', traffic);
  await daemon.scored('metro', small);
  const attack = await until('the attack is found', 30000, async () =>
    (await daemon.get('/api/v1/events?network=backbone&shape=ddos&limit=1')).items[0]);
  chromium = await browser();
  const take = async (name, path, {dark = false, width = 1280, height = 860, act = async () => undefined, full = false} = {}) => {
    const context = await chromium.newContext({viewport: {width, height}, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce', isMobile: width < 500, hasTouch: width < 500});
    const page = await context.newPage();
    page.on('console', (message) => { if (message.type() === 'error') console.log(`${name}: ${message.text()}`); });
    await page.goto(`${daemon.url}/${path}`);
    await page.locator('.stream').filter({hasText: 'live'}).waitFor();
    await sleep(1500);
    await act(page);
    await page.screenshot({path: join(out, name + '.png'), fullPage: full});
    await context.close();
  };
  const event = `#/events/${attack.id}`;
  const far = attack.cells.reduce((most, cell) => (cell.observed / cell.expected > most.observed / most.expected ? cell : most));
  const choose = async (page) => {
    await page.getByRole('row').filter({hasText: far.origin}).first().click();
    await sleep(800);
  };
  await take('event', event, {height: 900, act: choose});
  await take('network', '#/networks/backbone?hours=72', {height: 960});
  await take('model', '#/networks/backbone/model', {height: 780});
  if (all) {
    await take('overview', '#/', {height: 700});
    const plan = {network: 'backbone', node: 'london', comment: 'new router', by: 'ana', starts: new Date(Date.now() + 86400e3).toISOString().slice(0, 19) + 'Z', duration_seconds: 7200};
    await fetch(`${daemon.url}/api/v1/silences`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(plan)});
    await fetch(`${daemon.url}/api/v1/silences`, {method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(
        {network: 'metro', origin: 'east', destination: 'west', comment: 'backup runs', by: 'ana', duration_seconds: 7200})});
    const silence = (page) => page.getByRole('button', {name: 'Silence…'}).click();
    for (const [name, path] of [['event', event], ['network', '#/networks/backbone'], ['model', '#/networks/backbone/model'], ['overview', '#/'], ['events', '#/events'], ['silences', '#/silences']]) {
      await take(`${name}-dark`, path, {dark: true, height: 900});
      await take(`${name}-phone`, path, {width: 390, height: 844, full: true});
    }
    await take('network-ratio', '#/networks/backbone?show=observed&hours=168', {height: 960});
    await take('dialog', event, {act: silence});
    await take('silences', '#/silences');
    await take('events', '#/events');
  }
} finally {
  await chromium?.close();
  await daemon.stop();
}
