// One cell over time: observed, expected and its band, as a panel of its own.

import {SeriesPoint, get, of} from './api';
import {Chart, Mark, bandOption} from './charts';
import {reason} from './dialogs';
import {h, replace, table} from './dom';
import {amount, moment, score} from './format';
import {paced} from './live';

export interface Chosen {
  network: string; metric: string; origin: string; destination: string; binSeconds: number;
  from: () => string | undefined; to?: () => string | undefined; marks: () => Mark[];
}

export class CellSeries {
  readonly element: HTMLElement;
  chosen: Chosen | null = null;
  private points: SeriesPoint[] = [];
  private heading = h('h2', {id: 'over-time'}, 'One pair over time');
  private note = h('p', {class: 'nothing'}, 'Choose a cell of the matrix.');
  private numbers = h('div');
  private abort = new AbortController();
  private chart: Chart;

  constructor(height = 180) {
    this.chart = new Chart('The chosen pair over time; the same as numbers below', height, () =>
        (this.chosen && this.points.length ? bandOption(this.points, this.visible(), null, this.chosen.binSeconds) : null));
    this.chart.element.hidden = true;
    const details = h('details', {class: 'numbers', ontoggle: () => this.tell(details.open)}, h('summary', {}, 'As numbers'), this.numbers);
    this.element = h('section', {class: 'panel', 'aria-labelledby': 'over-time'},
        h('div', {class: 'panel-head'}, this.heading, h('span', {class: 'key'}, h('i', {class: 'observed'}), 'observed',
            h('i', {class: 'expected'}), 'expected', h('i', {class: 'band'}), 'band')), this.note, this.chart.element, details);
  }

  show(chosen: Chosen): void {
    this.chosen = chosen;
    replace(this.heading, `${chosen.origin} → ${chosen.destination}`);
    this.refresh();
  }

  readonly refresh = paced(async () => {
    const chosen = this.chosen;
    if (!chosen) return;
    try {
      const found = await get<{points: SeriesPoint[]}>(of(chosen.network) + '/series', {
        origin: chosen.origin, destination: chosen.destination, metric: chosen.metric, from: chosen.from(), to: chosen.to?.()},
          this.abort.signal);
      if (this.chosen !== chosen) return;
      this.points = found.points;
      this.note.hidden = this.points.length > 0;
      this.note.textContent = 'There is no history of this pair.';
      this.chart.element.hidden = this.points.length === 0;
      this.chart.draw();
      this.tell(this.element.querySelector('details')!.open);
    } catch (failure) {
      this.note.hidden = false;
      this.note.textContent = reason(failure);
    }
  }, 300);

  destroy(): void {
    this.abort.abort();
    this.chart.destroy();
  }

  // Marks reach into what is drawn.
  private visible(): Mark[] {
    const first = this.points[0].time, last = this.points[this.points.length - 1].time;
    return this.chosen!.marks().filter((mark) => mark.to >= first && mark.from <= last)
        .map((mark) => ({...mark, from: mark.from < first ? first : mark.from}));
  }

  private tell(open: boolean): void {
    if (!open) return;
    replace(this.numbers, table<SeriesPoint>('The chosen pair over time, newest first', [
      {head: 'Time (UTC)', cell: (point) => moment(point.time)},
      {head: 'Observed', number: true, cell: (point) => amount(point.observed)},
      {head: 'Expected', number: true, cell: (point) => amount(point.expected)},
      {head: 'Low', number: true, cell: (point) => amount(point.low)}, {head: 'High', number: true, cell: (point) => amount(point.high)},
      {head: 'Score', number: true, cell: (point) => score(point.score)}], [...this.points].reverse().slice(0, 288)));
  }
}
