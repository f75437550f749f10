// One event: what, where, since when, how much; its cells ranked, in the matrix and over time; what to do about it.

import {ApiError, Event, EventCell, Network, get, of} from '../api';
import {behind} from '../behind';
import {Slice, fetchMatrix, groupOf} from '../cells';
import {acknowledge, mark, reason, silence} from '../dialogs';
import {button, h, replace, table} from '../dom';
import {badge, lasted, pendingMeaning, standing, total} from '../events_list';
import {amount, clock, day, moment, plural, score, shapeMeaning, signed, times} from '../format';
import {live, paced} from '../live';
import {Cell, MatrixView} from '../matrix';
import {CellSeries} from '../series';
import {Leaving, Open, title} from './page';

const before = 12 * 3600e3, after = 3 * 3600e3;   // shown around an event
const mostRows = 100;

export const event: Open = (root, [id]) => {
  title('Event');
  const page = new EventPage(root, id);
  void page.begin();
  return page.leaving;
};

class EventPage {
  readonly leaving = new Leaving();
  private event!: Event;
  private info!: Network;
  private chosen = '';
  private dropped = false;                  // was pending, and is no more
  private time: string | null = null;       // of the slice in the matrix; null: where it was strongest or is now
  private slice: Slice | null = null;
  private head = h('div');
  private cells = h('div');
  private when = h('span', {class: 'when'});
  private said = h('p', {class: 'unseen', 'aria-live': 'polite'});
  private series = new CellSeries(200);
  private matrix = new MatrixView('The slice of the event, its cells framed', (cell) => this.fromMatrix(cell));

  constructor(private root: HTMLElement, private id: string) {}

  async begin(): Promise<void> {
    const signal = this.leaving.abort.signal;
    try {
      this.event = await get<Event>(`/events/${encodeURIComponent(this.id)}`, {}, signal);
      this.info = await get<Network>(of(this.event.network), {}, signal);
    } catch (failure) {
      if (this.leaving.left) return;
      const gone = failure instanceof ApiError && failure.status === 404;
      this.root.append(h('h1', {}, gone ? 'There is no such event' : 'Event'), h('p', {class: 'problem', role: 'alert'}, gone
          ? 'It may be older than what the store keeps, or was only pending and has calmed.' : reason(failure)), h('p', {}, h('a', {href: '#/events'}, 'All events')));
      return;
    }
    if (this.leaving.left) return;
    title(this.event.summary);
    const explained = behind(this.event.behind);
    this.root.append(this.head, this.said, h('div', {class: 'split'},
        h('div', {class: 'stack'}, this.series.element, h('section', {class: 'panel', 'aria-labelledby': 'ranked'},
            h('div', {class: 'panel-head'}, h('h2', {id: 'ranked'}, 'Cells, strongest first'),
                h('span', {class: 'quiet'}, 'choose one to see it over time')), this.cells), explained),
        h('div', {class: 'stack'}, h('section', {class: 'panel', 'aria-labelledby': 'slice'},
            h('div', {class: 'panel-head'}, h('h2', {id: 'slice'}, 'Score of every pair'), h('span', {class: 'row'},
                button('‹', () => this.step(-1), {'aria-label': 'One slice back', class: 'small'}), this.when,
                button('›', () => this.step(1), {'aria-label': 'One slice on', class: 'small'}))), this.matrix.element))));
    this.leaving.add(() => this.series.destroy(), () => this.matrix.destroy(),
        live.event.on(({kind, event: news}) => { if (news.id === this.id) this.update(news, kind === 'event-dropped'); }),
        live.slice.on((news) => { if (news.network === this.event.network && this.event.state !== 'closed') this.series.refresh(); }));
    this.draw();
    this.loadSlice();
  }

  private update(news: Event, dropped = false): void {
    const {state, acknowledged, silenced, feedback} = this.event;
    this.event = {...this.event, ...news};
    this.dropped = dropped;
    if (dropped) this.said.textContent = 'It is no longer pending.';
    else if (news.state !== state) this.said.textContent = `The event is ${news.state} now.`;
    else if (!acknowledged && news.acknowledged) this.said.textContent = `Acknowledged by ${news.acknowledged.by}.`;
    else if (silenced !== news.silenced || feedback !== news.feedback) this.said.textContent = 'The event was changed.';
    this.draw();
    if (this.time === null) this.loadSlice();
  }

  private async reload(): Promise<void> {
    this.update(await get<Event>(`/events/${encodeURIComponent(this.id)}`, {}, this.leaving.abort.signal));
  }

  private act(question: Promise<boolean>): void {
    question.then((done) => (done ? this.reload() : undefined)).catch(() => undefined);
  }

  private copy(from: HTMLButtonElement): void {
    const address = location.href.split('#')[0] + `#/events/${this.id}`;
    const tell = (text: string) => { from.textContent = text; setTimeout(() => { from.textContent = 'Copy link'; }, 2000); };
    // Only pages served over TLS or from this machine may use the clipboard.
    if (navigator.clipboard) navigator.clipboard.writeText(address).then(() => tell('Copied'), () => tell(address));
    else prompt('Link to this event', address);
  }

  private draw(): void {
    const event = this.event, {observed, expected} = total(event), pending = event.state === 'pending';
    const fact = (name: string, value: string, more?: string, loud = false) => h('div', {}, h('dt', {}, name),
        h('dd', {class: loud ? 'loud' : ''}, value, more && h('small', {}, ` ${more}`)));
    const where = (names: string[]) => (names.length > 4 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', '));
    const link = button('Copy link', () => this.copy(link));
    replace(this.head,
        h('p', {class: 'crumbs'}, h('a', {href: '#/'}, 'Overview'), ' / ', h('a', {href: `#/networks/${encodeURIComponent(event.network)}`}, event.network)),
        h('div', {class: `head event-title ${event.direction}`}, badge(event), h('h1', {}, event.summary),
            h('span', {class: `state ${event.state === 'open' ? 'bad' : 'idle'}`}, event.state), ...standing(event)),
        h('p', {class: 'quiet'}, `${shapeMeaning[event.shape]}: from ${where(event.origins)} to ${where(event.destinations)}`),
        h('dl', {class: 'facts wide'},
            fact('At its peak', times(observed, expected), 'of expected', true),
            fact(event.direction === 'up' ? 'Over expected, in all' : 'Under expected, in all', signed(event.excess), event.cells[0]?.metric),
            fact('Peak score', score(event.peak_score), `flagged from ${score(this.info.threshold)}`),
            event.since < event.opened || pending ? fact('Suspicious since', clock(event.since), `${day(event.since)} UTC`) : null,
            !pending && fact('Opened', clock(event.opened), `${day(event.opened)} UTC`),
            event.closed ? fact('Closed', clock(event.closed), `${day(event.closed)}, ${lasted(event)}`)
                : fact('Last seen', clock(event.updated), lasted(event)),
            fact('Cells', String(event.cells.length), `${plural(event.origins.length, 'origin')}, ${plural(event.destinations.length, 'destination')}`)),
        pending && h('p', {class: 'note'}, this.dropped
            ? ['It is no longer pending: it has calmed, or an event was opened where it was. ', h('a', {href: `#/events?network=${encodeURIComponent(event.network)}`}, 'Events of the network')]
            : pendingMeaning),
        h('div', {class: 'row actions'}, ...(pending ? [] : [
            button(event.acknowledged ? 'Acknowledge again' : 'Acknowledge', () => this.act(acknowledge(event)), {class: event.acknowledged ? null : 'primary'}),
            button('Silence…', () => this.act(silence([event.network], event))),
            button('False alarm or expected…', () => this.act(mark(event)))]), link),
        event.acknowledged && h('p', {class: 'note'}, `Seen by ${event.acknowledged.by}, ${moment(event.acknowledged.time)}`,
            event.acknowledged.comment && `: ${event.acknowledged.comment}`),
        event.feedback && h('p', {class: 'note'}, `${event.feedback.mark === 'expected' ? 'Expected' : 'A false alarm'}, says ${event.feedback.by}`,
            event.feedback.comment && `: ${event.feedback.comment}`));
    this.drawCells();
    if (!this.chosen && event.cells[0]) this.choose(event.cells[0]);
    else this.series.refresh();
    this.drawMatrix();
  }

  private drawCells(): void {
    const key = (cell: EventCell) => `${cell.origin}\n${cell.destination}\n${cell.metric}`;
    const several = new Set(this.event.cells.map((cell) => cell.metric)).size > 1;
    replace(this.cells, table<EventCell>('Cells of the event, strongest first', [
      {head: 'From', cell: (cell) => cell.origin}, {head: 'To', cell: (cell) => cell.destination},
      ...(several ? [{head: 'Metric', cell: (cell: EventCell) => cell.metric}] : []),
      {head: 'Observed', number: true, cell: (cell) => amount(cell.observed)},
      {head: 'Expected', number: true, cell: (cell) => amount(cell.expected)},
      {head: 'Ratio', number: true, cell: (cell) => times(cell.observed, cell.expected)},
      {head: 'Score', number: true, cell: (cell) => button(score(cell.score), () => this.choose(cell), {
        class: 'link', 'aria-label': `${cell.origin} to ${cell.destination}, score ${score(cell.score)}: over time`})},
    ], this.event.cells.slice(0, mostRows), (cell, row) => {
      row.classList.add('choosable');
      if (key(cell) === this.chosen) row.setAttribute('aria-current', 'true');
      row.addEventListener('click', () => this.choose(cell));
    }), this.event.cells.length > mostRows && h('p', {class: 'nothing'}, `and ${this.event.cells.length - mostRows} more`));
  }

  private choose(cell: EventCell): void {
    const key = `${cell.origin}\n${cell.destination}\n${cell.metric}`;
    if (key === this.chosen) return;
    this.chosen = key;
    const event = () => this.event;
    const edge = (time: string, by: number) => new Date(new Date(time).getTime() + by).toISOString().slice(0, 19) + 'Z';
    this.series.show({network: event().network, metric: cell.metric, origin: cell.origin, destination: cell.destination,
                      binSeconds: this.info.bin_seconds, from: () => edge(event().since, -before),
                      to: () => edge(event().closed ?? event().updated, after),
                      marks: () => [{from: event().opened, to: event().closed ?? event().updated, up: event().direction === 'up', name: event().summary}]});
    this.drawCells();
    const slice = this.slice;
    if (slice?.group === 1) this.matrix.choose([slice.origins.indexOf(cell.origin), slice.destinations.indexOf(cell.destination)]);
  }

  private fromMatrix([i, j]: Cell): void {
    const slice = this.slice;
    if (!slice || slice.group > 1) return;
    const metric = this.event.cells[0]?.metric ?? this.info.metrics[0];
    const known = this.event.cells.find((cell) => cell.origin === slice.origins[i] && cell.destination === slice.destinations[j]);
    this.choose(known ?? {origin: slice.origins[i], destination: slice.destinations[j], metric, observed: null, expected: null, score: null});
  }

  private shown(): string { return this.time ?? (this.event.state === 'closed' ? this.event.opened : this.event.updated); }

  private step(by: number): void {
    const to = new Date(this.shown()).getTime() + by * this.info.bin_seconds * 1000;
    this.time = new Date(to).toISOString().slice(0, 19) + 'Z';
    this.loadSlice();
  }

  private loadSlice = paced(async () => {
    const metric = this.event.cells[0]?.metric ?? this.info.metrics[0];
    const nodes = this.info.nodes.length;
    // Of a large network the part around the strongest cell.
    const place = (name: string, size: number) => Math.max(0, Math.min(nodes - size, this.info.nodes.indexOf(name) - size / 2));
    const first = this.event.cells[0];
    const part = groupOf(nodes, null) > 1 && first
        ? {firstOrigin: place(first.origin, 120), firstDestination: place(first.destination, 120), size: 120} : null;
    try {
      this.slice = new Slice(await fetchMatrix(this.event.network, nodes, this.shown(), metric, part, this.leaving.abort.signal), this.info.threshold || 4);
      this.when.textContent = moment(this.slice.matrix.time);
      this.drawMatrix();
    } catch (failure) {
      if (!this.leaving.left) this.when.textContent = `${moment(this.shown())}: ${reason(failure)}`;
    }
  }, 200);

  private drawMatrix(): void {
    const slice = this.slice;
    if (!slice) return;
    this.matrix.show(slice.data('score'));
    this.matrix.highlight(this.event.cells.map((cell): Cell => [slice.origins.indexOf(cell.origin), slice.destinations.indexOf(cell.destination)])
        .filter(([i, j]) => i >= 0 && j >= 0));
    const [origin, destination] = this.chosen.split('\n');
    const at: Cell = [slice.origins.indexOf(origin), slice.destinations.indexOf(destination)];
    this.matrix.choose(at[0] >= 0 && at[1] >= 0 ? at : null);
  }
}
