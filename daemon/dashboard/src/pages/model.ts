// What the model has learned: how many patterns, how strong, carried by which nodes; noise; what a slice costs.

import {Loading, Model, Network, SlicePoint, get, of} from '../api';
import {Chart, Option, lineOption} from '../charts';
import {reason} from '../dialogs';
import {choice, h, replace, table} from '../dom';
import {amount, clock, day, duration, plural, score} from '../format';
import {live, paced} from '../live';
import {Leaving, Open, title} from './page';

type Component = Model['components'][number] & {place: number};

function nodes(from: Loading[]): HTMLElement {
  const most = Math.max(...from.map((each) => Math.abs(each.loading)), 1e-9);
  return h('ul', {class: 'loadings'}, from.slice(0, 6).map(({node, loading}) => {
    const bar = h('i', {class: loading < 0 ? 'minus' : ''});
    bar.style.width = `${(Math.abs(loading) / most) * 100}%`;
    return h('li', {title: `loading ${loading.toFixed(2)}`}, h('span', {}, node), h('b', {'aria-hidden': 'true'}, bar),
             h('small', {}, loading.toFixed(2).replace('-', '−')));
  }));
}

export const model: Open = (root, [name]) => {
  title(`${name}: model`);
  const leaving = new Leaving();
  let points: SlicePoint[] = [];
  let hours = 72;
  const facts = h('dl', {class: 'facts wide'}), components = h('div'), problem = h('p', {class: 'problem', role: 'alert', hidden: true});
  const line = (label: string, pick: (point: SlicePoint) => number | null, format: (value: number | null) => string, step = false) => {
    const chart = new Chart(label, 130, (): Option | null => (points.length
        ? lineOption(points.map((point): [number, number | null] => [new Date(point.time).getTime(), pick(point)]), label, format, step) : null));
    leaving.add(() => chart.destroy());
    return chart;
  };
  const sigma = (point: SlicePoint) => (point.noise_precision ? 1 / Math.sqrt(point.noise_precision) : null);
  const charts: [string, string, Chart][] = [
    ['Effective rank', 'patterns in use', line('rank', (point) => point.rank, (value) => (value === null ? '–' : value.toFixed(0)), true)],
    ['Noise', 'left over by the model, in standard deviations of a cell', line('noise', sigma, (value) => amount(value))],
    ['Threshold', 'a score beyond it is flagged', line('threshold', (point) => point.threshold, (value) => score(value))],
    ['Time for a slice', 'since the last start', line('seconds', (point) => point.seconds, (value) => (value === null ? '–' : duration(value)))],
  ];
  root.append(
      h('p', {class: 'crumbs'}, h('a', {href: '#/'}, 'Overview'), ' / ', h('a', {href: `#/networks/${encodeURIComponent(name)}`}, name)),
      h('div', {class: 'head'}, h('h1', {}, `${name}: model`), choice('Time shown', [['24', '1 d'], ['72', '3 d'], ['168', '7 d'], ['720', '30 d']],
          String(hours), (value) => { hours = Number(value); load(); })), problem, facts,
      h('div', {class: 'quarters'}, charts.map(([heading, note, chart]) => h('section', {class: 'panel'},
          h('div', {class: 'panel-head'}, h('h2', {}, heading), h('span', {class: 'quiet'}, note)), chart.element))),
      h('section', {class: 'panel', 'aria-labelledby': 'components'}, h('div', {class: 'panel-head'}, h('h2', {id: 'components'}, 'Components'),
          h('span', {class: 'quiet'}, 'patterns that all pairs share, and the nodes that load on each most')), components));

  const load = paced(async () => {
    const signal = leaving.abort.signal;
    try {
      const [found, info] = await Promise.all([get<Model>(of(name) + '/model', {}, signal), get<Network>(of(name), {}, signal)]);
      const from = found.time ? new Date(new Date(found.time).getTime() - (hours * 3600 - info.bin_seconds) * 1000).toISOString().slice(0, 19) + 'Z' : null;
      points = (await get<{points: SlicePoint[]}>(of(name) + '/slices', {from}, signal)).points;
      problem.hidden = true;
      draw(found, info);
    } catch (failure) {
      if (leaving.left) return;
      problem.hidden = false;
      problem.textContent = reason(failure);
    }
  }, 1000);

  const draw = (found: Model, info: Network) => {
    const last = points[points.length - 1];
    const fact = (label: string, value: string, more?: string) => h('div', {}, h('dt', {}, label), h('dd', {}, value, more && h('small', {}, ` ${more}`)));
    replace(facts, fact('Effective rank', String(found.rank), `of at most ${String(info.model.max_rank)}`),
        fact('Noise', found.noise_precision ? amount(1 / Math.sqrt(found.noise_precision)) : '–', 'σ, model units'),
        fact('Threshold', score(found.threshold), `for ${plural(Number(info.detection.false_alarms_per_day), 'false alarm')} a day`),
        fact('Warm-up', `${Math.floor(found.warmup * 100)} %`),
        fact('Last slice', found.time ? clock(found.time) : '–', found.time ? `${day(found.time)} UTC` : ''), fact('It took', last?.seconds != null ? duration(last.seconds) : '–', `${found.iterations} rounds, ${found.status.replace(/_/g, ' ')}`));
    for (const [, , chart] of charts) chart.draw();
    const strongest = Math.max(...found.components.map((each) => each.strength), 1e-12);
    const rows: Component[] = found.components.map((each, place) => ({...each, place: place + 1}));
    replace(components, rows.length === 0
        ? h('p', {class: 'nothing'}, found.component_strengths.length ? 'Known again with the next slice.' : 'None yet: the model is warming up, or all pairs go their own ways.')
        : table<Component>('Components, strongest first', [
          {head: '#', cell: (row) => row.place},
          {head: 'Strength', class: 'strength', cell: (row) => {
            const bar = h('i');
            bar.style.width = `${(row.strength / strongest) * 100}%`;
            return [h('span', {}, amount(row.strength)), h('b', {'aria-hidden': 'true'}, bar)];
          }},
          {head: 'Origins', cell: (row) => nodes(row.origins)}, {head: 'Destinations', cell: (row) => nodes(row.destinations)}], rows));
  };
  leaving.add(live.slice.on((news) => { if (news.network === name) load(); }));
  load();
  return leaving;
};
