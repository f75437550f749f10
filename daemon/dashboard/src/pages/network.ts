// One network: total traffic over time, a slider through the slices, the matrix of the slice looked at, and any
// cell of it over time. Follows the newest slice until the operator looks elsewhere.

import {Event, Exporter, List, Network, SlicePoint, Status, get, of} from '../api';
import {Part, Slice, fetchMatrix, groupOf} from '../cells';
import {Chart, bandOption} from '../charts';
import type {Kind} from '../colormap';
import {reason} from '../dialogs';
import {button, choice, h, replace, table} from '../dom';
import {list, pendingList} from '../events_list';
import {amount, moment, plural, score, times} from '../format';
import {byUrgency, live, paced} from '../live';
import {Cell, MatrixView} from '../matrix';
import {CellSeries} from '../series';
import {healthOf} from './overview';
import {Leaving, Open, title} from './page';

const ranges: [string, string][] = [['6', '6 h'], ['24', '1 d'], ['72', '3 d'], ['168', '7 d'], ['720', '30 d']];
const kinds: [string, string][] = [
  ['score', 'Score'], ['observed', 'Observed'], ['expected', 'Expected'], ['ratio', 'Observed / expected']];

const partNodes = 120;   // of a large network that are seen at once from near by
const manyNodes = 40;    // from here on a pair is looked up by name

export const network: Open = (root, [name], query) => {
  title(name);
  const page = new NetworkPage(root, name, query);
  void page.begin();
  return page.leaving;
};

class NetworkPage {
  readonly leaving = new Leaving();
  private info: Network | null = null;
  private points: SlicePoint[] = [];
  private events: Event[] = [];
  private time: string | null;              // null: the newest
  private hours: number;
  private kind: Kind;
  private metric: string | null;
  private part: Part | null = null;
  private slice: Slice | null = null;
  private shown = '';                       // time of the slice that is drawn
  private wanted: [string, string] | null = null;   // a pair to be marked once it is in the matrix

  private state = h('span', {class: 'state'});
  private open = h('div');
  private problem = h('p', {class: 'problem', role: 'alert', hidden: true});
  private total = new Chart('Total traffic with what was expected; the table of open events and the matrix below say the same in words', 170,
                            () => this.totalOption());
  private slider = h('input', {type: 'range', min: 0, max: 0, value: 0, class: 'time', 'aria-label': 'Slice looked at'});
  private when = h('span', {class: 'when'});
  private follow = button('Live', () => this.look(null), {'aria-pressed': 'true', class: 'live'});
  private matrix = new MatrixView('Traffic from each origin to each destination', (cell) => this.choose(cell));
  private crumbs = h('p', {class: 'crumbs'});
  private top = h('div');
  private exporters = h('div', {hidden: true});
  private series = new CellSeries();

  constructor(private root: HTMLElement, private name: string, query: URLSearchParams) {
    this.time = query.get('time');
    this.hours = Number(query.get('hours') ?? 24);
    this.kind = (query.get('show') ?? 'score') as Kind;
    this.metric = query.get('metric');
  }

  async begin(): Promise<void> {
    try {
      this.info = await get<Network>(of(this.name), {}, this.leaving.abort.signal);
      live.status ??= await get<Status>('/status', {}, this.leaving.abort.signal);   // for when the newest slice was
    } catch (failure) {
      if (!this.leaving.left) this.root.append(h('h1', {}, this.name), h('p', {class: 'problem', role: 'alert'}, reason(failure)));
      return;
    }
    if (this.leaving.left) return;
    this.metric ??= this.info.metrics[0];
    this.layout();
    this.leaving.add(() => this.total.destroy(), () => this.matrix.destroy(), () => this.series.destroy(),
        live.slice.on((news) => { if (news.network === this.name) this.onSlice(); }),
        live.event.on(({event}) => { if (event.network === this.name) this.loadEvents(); }),
        live.changed.on(() => this.drawState()));
    this.drawState();
    this.load();
  }

  private layout(): void {
    const info = this.info!, name = encodeURIComponent(this.name);
    this.slider.addEventListener('input', () => {
      const last = Number(this.slider.value) === this.points.length - 1;
      this.look(last ? null : this.points[Number(this.slider.value)]?.time ?? null);
    });
    this.total.echart.getZr().on('click', (event: {offsetX: number; offsetY: number}) => {
      const [at] = this.total.echart.convertFromPixel({gridIndex: 0}, [event.offsetX, event.offsetY]) as number[];
      const point = this.nearest(at);
      if (point) this.look(point.time);
    });
    const metrics = info.metrics.length > 1 && choice('Metric', info.metrics.map((metric) => [metric, metric]), this.metric!,
        (metric) => { this.metric = metric; this.remember(); this.load(); });
    this.root.append(
        h('div', {class: 'head'}, h('h1', {}, this.name), this.state,
            h('span', {class: 'quiet'}, `${plural(info.nodes.length, 'node')}, a slice every ${info.bin_seconds / 60} min`),
            h('a', {href: `#/networks/${name}/model`, class: 'more'}, 'Model')),
        this.problem, h('section', {'aria-label': 'Open events'}, this.open),
        h('section', {class: 'panel', 'aria-labelledby': 'total'},
            h('div', {class: 'panel-head'}, h('h2', {id: 'total'}, `Total ${this.metric}`), h('span', {class: 'key'},
                h('i', {class: 'observed'}), 'observed', h('i', {class: 'expected'}), 'expected', h('i', {class: 'band'}), 'band',
                h('i', {class: 'found'}), 'event'), metrics, choice('Time shown', ranges, String(this.hours), (hours) => {
              this.hours = Number(hours);
              this.remember();
              this.load();
            })),
            this.total.element,
            h('div', {class: 'slider'}, button('‹', () => this.step(-1), {'aria-label': 'One slice back'}), this.slider,
                button('›', () => this.step(1), {'aria-label': 'One slice on'}), this.when, this.follow)),
        h('div', {class: 'split'},
            h('section', {class: 'panel', 'aria-labelledby': 'cells'},
                h('div', {class: 'panel-head'}, h('h2', {id: 'cells'}, 'Matrix'), choice('What the matrix shows', kinds, this.kind, (kind) => {
                  this.kind = kind as Kind;
                  this.remember();
                  this.draw();
                })), info.nodes.length > manyNodes && this.finder(), this.crumbs, this.matrix.element),
            h('div', {class: 'stack'}, this.series.element,
                h('section', {class: 'panel', 'aria-labelledby': 'furthest'},
                    h('div', {class: 'panel-head'}, h('h2', {id: 'furthest'}, 'Furthest from expected')), this.top), this.exporters)));
  }

  private nearest(time: number): SlicePoint | undefined {
    const away = (point: SlicePoint) => Math.abs(new Date(point.time).getTime() - time);
    return this.points.reduce<SlicePoint | undefined>((best, point) => (!best || away(point) < away(best) ? point : best), undefined);
  }

  private at(): number {
    if (this.time === null) return this.points.length - 1;
    const found = this.points.findIndex((point) => point.time === this.time);
    return found < 0 ? this.points.length - 1 : found;
  }

  private step(by: number): void {
    const known = this.points.findIndex((point) => point.time === this.shown);
    const here = known < 0 ? this.points.length : known;   // newer than the line of them, which follows
    const to = Math.min(Math.max(0, here + by), this.points.length - 1);
    this.look(to === this.points.length - 1 && by > 0 ? null : this.points[to]?.time ?? null);
  }

  private look(time: string | null): void {
    this.time = time;
    this.remember();
    this.drawTime();
    this.loadSlice();
  }

  private remember(): void {
    const words = new URLSearchParams();
    if (this.time) words.set('time', this.time);
    if (this.hours !== 24) words.set('hours', String(this.hours));
    if (this.kind !== 'score') words.set('show', this.kind);
    if (this.metric && this.metric !== this.info?.metrics[0]) words.set('metric', this.metric);
    const text = words.toString();
    history.replaceState(null, '', `#/networks/${encodeURIComponent(this.name)}${text ? '?' + text : ''}`);
  }

  private onSlice(): void {
    this.loadPoints();
    if (this.time === null) this.loadSlice();
  }

  private load(): void {
    this.loadPoints();
    this.loadSlice();
    this.loadEvents();
  }

  private fail(failure: unknown): void {
    if (this.leaving.left) return;
    this.problem.hidden = false;
    this.problem.textContent = reason(failure);
  }

  private from(): string | undefined {
    const last = live.status?.networks.find((each) => each.name === this.name)?.last_slice ?? this.points[this.points.length - 1]?.time;
    return last ? new Date(new Date(last).getTime() - (this.hours * 3600 - this.info!.bin_seconds) * 1000).toISOString().slice(0, 19) + 'Z' : undefined;
  }

  private loadPoints = paced(async () => {
    try {
      const found = await get<{points: SlicePoint[]}>(of(this.name) + '/slices', {from: this.from(), metric: this.metric}, this.leaving.abort.signal);
      this.points = found.points;
      this.drawTime();
    } catch (failure) { this.fail(failure); }
  }, 1000);

  private loadEvents = paced(async () => {
    const found = await get<List<Event>>('/events', {network: this.name, limit: 200}, this.leaving.abort.signal);
    this.events = found.items;
    this.total.draw();
  }, 1000);

  private loadSlice = paced(async () => {
    try {
      const matrix = await fetchMatrix(this.name, this.info!.nodes.length, this.time, this.metric!, this.part, this.leaving.abort.signal);
      this.problem.hidden = true;
      this.slice = new Slice(matrix, this.info!.threshold || 4);
      this.shown = matrix.time;
      this.draw();
      this.drawTime();
      this.series.refresh();
    } catch (failure) { this.fail(failure); }
  }, 150);

  private drawState(): void {
    const status = live.status?.networks.find((each) => each.name === this.name);
    if (!status) return;
    const health = healthOf(status);
    this.state.className = `state ${health.level}`;
    this.state.textContent = health.words.join(', ');
    const mine = byUrgency([...live.open.values()].filter((event) => event.network === this.name));
    this.drawExporters();
    replace(this.open, list(mine, 'Open events', status.warmup < 1
        ? 'Nothing is out of the ordinary so far. Scores mean little while it is warming up.' : 'Nothing is out of the ordinary.', false),
        pendingList(byUrgency([...live.pending.values()].filter((event) => event.network === this.name)), false));
  }

  private drawExporters(): void {
    const mine = live.exporters.filter((each) => each.network === this.name);
    this.exporters.hidden = mine.length === 0;
    replace(this.exporters, h('section', {class: 'panel', 'aria-label': 'Exporters'},
        h('div', {class: 'panel-head'}, h('h2', {}, 'Exporters ', h('span', {class: 'count'}, mine.length))),
        table<Exporter>('Exporters of flow records', [
          {head: 'Exporter', cell: (each) => [each.exporter, ' ', each.silent && h('span', {class: 'state bad'}, 'silent')]},
          {head: 'Nodes', cell: (each) => each.nodes?.join(', ') ?? '–'},
          {head: 'Records/s', number: true, cell: (each) => amount(each.records_per_second)},
          {head: 'Lost', number: true, cell: (each) => (each.loss === undefined ? '–' : `${(each.loss * 100).toFixed(1)} %`)},
          {head: 'Last seen', number: true, cell: (each) => moment(each.last_seen)}],
        [...mine].sort((x, y) => Number(y.silent ?? false) - Number(x.silent ?? false)))));
  }

  private drawTime(): void {
    this.slider.max = String(Math.max(0, this.points.length - 1));
    this.slider.value = String(this.at());
    const point = this.points[this.at()];
    this.when.textContent = this.shown ? `${moment(this.shown)} UTC` : '';
    this.slider.setAttribute('aria-valuetext', point ? `${moment(point.time)}, observed ${amount(point.observed)}, expected ${amount(point.expected)}` : '');
    this.follow.setAttribute('aria-pressed', String(this.time === null));
    this.total.draw();
  }

  private totalOption() {
    if (!this.info || this.points.length === 0) return null;
    const first = this.points[0].time;
    const marks = this.events.filter((event) => (event.closed ?? event.updated) >= first).map((event) => ({
      from: event.opened < first ? first : event.opened, to: event.closed ?? event.updated, up: event.direction === 'up', name: event.summary}));
    return bandOption(this.points, marks, this.shown ? new Date(this.shown).getTime() : null, this.info.bin_seconds);
  }

  private draw(): void {
    const slice = this.slice;
    if (!slice) return;
    this.matrix.show(slice.data(this.kind));
    this.matrix.highlight(this.time === null ? this.flagged(slice) : []);
    if (this.wanted && slice.group === 1) {
      const at: Cell = [slice.origins.indexOf(this.wanted[0]), slice.destinations.indexOf(this.wanted[1])];
      if (at[0] >= 0 && at[1] >= 0) {
        this.matrix.choose(at);
        this.wanted = null;
      }
    }
    const whole = this.info!.nodes.length;
    replace(this.crumbs, groupOf(whole, this.part) > 1 && h('span', {},
        `${whole} nodes in groups of ${slice.group}: each cell is a sum, its score the highest. Choose one to see inside.`),
        this.part && button('‹ All nodes', () => { this.part = null; this.loadSlice(); }, {class: 'small'}),
        this.part && h('span', {}, `${slice.origins[0]} … ${slice.origins[slice.origins.length - 1]} to ${slice.destinations[0]} … ${slice.destinations[slice.destinations.length - 1]}`),
        this.part && h('span', {class: 'zoom', role: 'group', 'aria-label': 'Neighbouring nodes'},
            button('↑', () => this.moveOn(-1, 0), {'aria-label': 'Origins before'}), button('↓', () => this.moveOn(1, 0), {'aria-label': 'Origins behind'}),
            button('←', () => this.moveOn(0, -1), {'aria-label': 'Destinations before'}), button('→', () => this.moveOn(0, 1), {'aria-label': 'Destinations behind'})));
    this.crumbs.hidden = this.crumbs.childElementCount === 0;
    const top = slice.top(12);
    replace(this.top, top.length === 0 ? h('p', {class: 'nothing'}, 'There are no scores yet.') : table<Cell>('Cells furthest from what was expected', [
      {head: 'From', cell: ([i]) => slice.origins[i]}, {head: 'To', cell: ([, j]) => slice.destinations[j]},
      {head: 'Observed', number: true, cell: (cell) => amount(slice.observed(cell))},
      {head: 'Expected', number: true, cell: (cell) => amount(slice.expected(cell))},
      {head: 'Ratio', number: true, cell: (cell) => times(slice.observed(cell), slice.expected(cell))},
      {head: 'Score', number: true, cell: (cell) => button(score(slice.score(cell)), () => { this.matrix.choose(cell); this.choose(cell); }, {
        class: `link ${Math.abs(slice.score(cell) ?? 0) >= slice.threshold ? 'loud' : ''}`,
        'aria-label': `${slice.origins[cell[0]]} to ${slice.destinations[cell[1]]}, score ${score(slice.score(cell))}: over time`})},
    ], top));
    if (!this.series.chosen && slice.group === 1) {
      if (top[0]) this.choose(top[0]);
    }
  }

  // Where the cells of open events are: by themselves, or the groups they are in.
  private flagged(slice: Slice): Cell[] {
    const nodes = new Map(this.info!.nodes.map((name, at) => [name, at]));
    const rows = slice.origins.length, columns = slice.destinations.length, seen = new Set<number>();
    for (const event of live.open.values()) {
      if (event.network !== this.name) continue;
      for (const cell of event.cells) {
        if (cell.metric !== this.metric) continue;
        const i = Math.floor(((nodes.get(cell.origin) ?? -1) - (this.part?.firstOrigin ?? 0)) / slice.group);
        const j = Math.floor(((nodes.get(cell.destination) ?? -1) - (this.part?.firstDestination ?? 0)) / slice.group);
        if (i >= 0 && j >= 0 && i < rows && j < columns) seen.add(i * columns + j);
      }
    }
    return [...seen].map((at): Cell => [Math.floor(at / columns), at % columns]);
  }

  // The part of a large matrix around two nodes, by their places.
  private lookAt(origin: number, destination: number): void {
    const size = partNodes, most = this.info!.nodes.length - size;
    const around = (at: number) => Math.max(0, Math.min(most, at - size / 2));
    this.part = {firstOrigin: around(origin), firstDestination: around(destination), size};
    this.loadSlice();
  }

  private moveOn(down: number, right: number): void {
    const {firstOrigin, firstDestination, size} = this.part!, half = size / 2;
    this.lookAt(firstOrigin + half + down * half, firstDestination + half + right * half);
  }

  // A pair by its names, where there are too many nodes to find it with the eye.
  private finder(): HTMLElement {
    const nodes = this.info!.nodes, id = 'nodes-of-network';
    const input = (label: string) => h('input', {list: id, placeholder: label, 'aria-label': label, size: 10, autocomplete: 'off', required: true});
    const from = input('from'), to = input('to');
    const place = (field: HTMLInputElement) => {
      const at = nodes.indexOf(field.value.trim());
      field.setCustomValidity(at < 0 ? 'There is no such node' : '');
      return at;
    };
    for (const field of [from, to]) field.addEventListener('input', () => field.setCustomValidity(''));
    return h('form', {class: 'row find', onsubmit: (event: SubmitEvent) => {
      event.preventDefault();
      const origin = place(from), destination = place(to);
      if (origin < 0 || destination < 0) return void (event.target as HTMLFormElement).reportValidity();
      this.showPair(nodes[origin], nodes[destination]);
      this.wanted = [nodes[origin], nodes[destination]];
      if (groupOf(nodes.length, null) > 1) this.lookAt(origin, destination);
      else this.draw();
    }}, h('datalist', {id}, nodes.map((name) => h('option', {value: name}))), from, to, h('button', {class: 'small', type: 'submit'}, 'Find pair'));
  }

  private choose([i, j]: Cell): void {
    const slice = this.slice;
    if (!slice) return;
    if (slice.group > 1) return this.lookAt(Math.floor((i + 0.5) * slice.group), Math.floor((j + 0.5) * slice.group));
    this.showPair(slice.origins[i], slice.destinations[j]);
  }

  private showPair(origin: string, destination: string): void {
    this.series.show({network: this.name, metric: this.metric!, origin, destination,
                      binSeconds: this.info!.bin_seconds, from: () => this.from(), marks: () => this.events.filter((event) => event.cells.some(
                        (cell) => cell.origin === origin && cell.destination === destination)).map((event) => ({
                          from: event.opened, to: event.closed ?? event.updated, up: event.direction === 'up', name: event.summary}))});
  }
}
