// Every network with its health, and what is open, worst first.

import {Event, List, NetworkStatus, SlicePoint, get, of} from '../api';
import {Chart, sketchOption} from '../charts';
import {h, replace} from '../dom';
import {list, pendingList} from '../events_list';
import {clock, duration, moment, plural} from '../format';
import {byUrgency, live, paced} from '../live';
import {Leaving, Open, title} from './page';

const mostSketches = 24;

interface Health { level: 'good' | 'warn' | 'bad' | 'idle'; words: string[] }

export function healthOf(network: NetworkStatus): Health {
  if (!network.last_slice) return {level: 'idle', words: ['no traffic yet']};
  const words: string[] = [];
  let level: Health['level'] = 'good';
  const behind = network.bins_behind ?? 0;
  if (behind > 2) {
    words.push(`${plural(behind, 'bin')} behind`);
    level = behind > 12 ? 'bad' : 'warn';
  }
  if (network.warmup < 1) {
    words.push(`warming up, ${Math.floor(network.warmup * 100)} %`);
    if (level === 'good') level = 'warn';
  }
  const silent = live.exporters.filter((each) => each.network === network.name && each.silent).length;
  const wrong = new Set([...live.operational.values()].filter((each) => each.network === network.name && each.kind !== 'exporter_silent')
      .map((each) => each.exporter)).size;
  if (silent) {
    words.push(plural(silent, 'silent exporter'));
    level = 'bad';
  }
  if (wrong) {
    words.push(`${plural(wrong, 'exporter')} to look after`);
    if (level === 'good') level = 'warn';
  }
  return {level, words: words.length ? words : ['up to date']};
}

// What hides traffic from us, worst for the eye first: the newest.
export function troubles(network?: string): HTMLElement | null {
  const mine = [...live.operational.values()].filter((each) => !network || each.network === network).sort((x, y) => (x.opened < y.opened ? 1 : -1));
  if (mine.length === 0) return null;
  const shown = mine.slice(0, 5);
  return h('section', {class: 'troubles', 'aria-label': 'What hides traffic from us'},
      h('h2', {}, 'Not seen well ', h('span', {class: 'count'}, mine.length)),
      h('ul', {class: 'events'}, ...shown.map((each) => h('li', {class: 'event trouble', 'data-id': each.id},
          h('a', {href: `#/networks/${encodeURIComponent(each.network)}`},
              h('span', {class: 'event-head'}, h('strong', {}, each.summary)),
              h('span', {class: 'event-facts'}, !network && h('span', {}, each.network), h('span', {title: moment(each.opened)}, `since ${clock(each.opened)}`)))))),
      mine.length > shown.length && h('p', {class: 'nothing'}, `and ${mine.length - shown.length} more`));
}

// The last day of a network's traffic in a card; kept while the card around it is made anew.
class Sketch {
  private points: SlicePoint[] = [];
  readonly chart: Chart;
  constructor(private name: string, private signal: AbortSignal) {
    this.chart = new Chart(`Traffic of ${name} over the last day, with what was expected`, 56, () => (this.points.length ? sketchOption(this.points) : null));
  }
  readonly load = paced(async () => {
    this.points = (await get<{points: SlicePoint[]}>(of(this.name) + '/slices', {}, this.signal)).points;
    this.chart.draw();
  }, 5000);
}

function card(network: NetworkStatus, open: Event[], sketch?: Sketch): HTMLElement {
  const health = healthOf(network);
  const mine = open.filter((event) => event.network === network.name);
  const unseen = mine.filter((event) => !event.acknowledged && !event.silenced).length;
  const name = encodeURIComponent(network.name);
  const exporters = live.exporters.filter((each) => each.network === network.name).length;
  return h('li', {class: `card ${unseen ? 'alarm' : ''}`},
      h('h3', {}, h('a', {href: `#/networks/${name}`}, network.name),
          h('span', {class: `state ${health.level}`}, health.words.join(', '))),
      h('dl', {class: 'facts'},
          h('div', {}, h('dt', {}, 'Open events'), h('dd', {class: unseen ? 'loud' : ''}, network.open_events,
              unseen < mine.length && h('small', {}, ` ${unseen} unseen`),
              network.pending_events > 0 && h('small', {}, ` ${network.pending_events} pending`))),
          h('div', {}, h('dt', {}, 'Last slice'), h('dd', {title: moment(network.last_slice)},
              network.last_slice ? clock(network.last_slice) : '–', network.last_slice && h('small', {}, ' UTC'))),
          h('div', {}, h('dt', {}, 'Rank'), h('dd', {}, h('a', {href: `#/networks/${name}/model`}, String(network.rank)))),
          exporters > 0 && h('div', {}, h('dt', {}, 'Exporters'), h('dd', {}, exporters))),
      sketch?.chart.element);
}

export const overview: Open = (root) => {
  title('Overview');
  const leaving = new Leaving();
  const networks = h('ul', {class: 'cards'}), open = h('div'), pending = h('div', {hidden: true}), trouble = h('div'), recent = h('div');
  const count = h('span', {class: 'count'}), foot = h('p', {class: 'foot'});
  let closed: Event[] = [];
  const sketches = new Map<string, Sketch>();
  const sketch = (name: string) => {
    if (!sketches.has(name) && sketches.size < mostSketches) {
      const made = new Sketch(name, leaving.abort.signal);
      leaving.add(() => made.chart.destroy());
      sketches.set(name, made);
      made.load();
    }
    return sketches.get(name);
  };
  root.append(h('h1', {class: 'unseen'}, 'Overview'),
      h('section', {'aria-labelledby': 'open'}, h('h2', {id: 'open'}, 'Open now ', count), open, pending),
      trouble,
      h('section', {'aria-labelledby': 'networks'}, h('h2', {id: 'networks'}, 'Networks'), networks),
      h('section', {'aria-labelledby': 'recent'}, h('h2', {id: 'recent'}, 'Closed lately ', h('a', {href: '#/events', class: 'more'}, 'all events')), recent),
      foot);

  const draw = () => {
    const events = byUrgency(live.open.values());
    count.textContent = String(events.length);
    if (live.status) {
      replace(open, list(events, 'Open events', live.status.networks.some((network) => network.last_slice)
          ? 'Nothing is out of the ordinary.' : 'No traffic has come in yet. See docs/ingest.md for how to send some.'));
      replace(pending, pendingList(byUrgency(live.pending.values())));
      pending.hidden = live.pending.size === 0;
      replace(trouble, troubles());
      replace(networks, live.status.networks.map((network) => card(network, events, network.last_slice ? sketch(network.name) : undefined)));
      foot.textContent = `outlierd ${live.status.version}, up ${duration(live.status.uptime_seconds)}`;
    }
    replace(recent, list(closed, 'Closed events', 'None.'));
  };
  const fetchClosed = () => get<List<Event>>('/events', {state: 'closed', limit: 8}, leaving.abort.signal)
      .then((page) => { closed = page.items; draw(); }, () => undefined);
  leaving.add(live.changed.on(draw), live.slice.on((news) => sketches.get(news.network)?.load()), live.event.on(({kind}) => { if (kind === 'event-closed') void fetchClosed(); }));
  draw();
  void fetchClosed();
  return leaving;
};
