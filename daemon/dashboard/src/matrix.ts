// Origin by destination as a heat map: one picture of all cells, drawn by ECharts where its axes say, so that
// panning costs the same for 10 nodes and for 1000. Pointer, touch and keys move, zoom and choose.

import {Chart, Option, tipElement} from './charts';
import {Kind, Scale, scaleOf} from './colormap';
import {h, replace, button} from './dom';
import {colors, onTheme} from './theme';

export interface MatrixData {
  origins: string[]; destinations: string[]; kind: Kind; threshold: number;
  values: Float32Array;                                        // origin by origin; NaN: not observed
  format: (value: number) => string;
  describe: (origin: number, destination: number) => [string, string][];
}
export type Cell = [origin: number, destination: number];

interface RenderParams { coordSys: {x: number; y: number; width: number; height: number} }
interface RenderApi { coord: (at: [number, number]) => [number, number] }

const margin = {left: 74, top: 74, right: 4, bottom: 4};
const labelHeight = 12;

export class MatrixView {
  readonly element: HTMLElement;
  private data: MatrixData | null = null;
  private scale: Scale | null = null;
  private cursor: Cell | null = null;
  private highlighted: Cell[] = [];
  private window = {left: 0, top: 0, size: 1};                 // of what is seen, in cells
  private source = document.createElement('canvas');           // a pixel a cell
  private seen = document.createElement('canvas');             // what is seen of it, in pixels of the screen
  private chart: Chart;
  private frame: HTMLElement;
  private tip = h('div', {class: 'tip floating', hidden: true});
  private spoken = h('div', {class: 'unseen', 'aria-live': 'polite'});
  private legend = h('div', {class: 'legend', 'aria-hidden': 'true'});
  private scheduled = 0;
  private speech = 0;
  private offTheme: () => void;

  constructor(label: string, private onChoose: (cell: Cell) => void) {
    this.chart = new Chart(label, 400, () => this.option());
    this.chart.element.removeAttribute('role');
    this.chart.element.removeAttribute('aria-label');
    this.chart.element.setAttribute('aria-hidden', 'true');
    this.frame = h('div', {
      class: 'matrix', tabindex: 0, role: 'application', 'aria-roledescription': 'matrix', 'aria-label':
          `${label}. Arrow keys move from cell to cell, Enter shows the cell over time, plus and minus zoom, 0 shows all.`,
    }, this.chart.element, this.tip);
    const zoom = h('div', {class: 'zoom', role: 'group', 'aria-label': 'Zoom'},
        button('+', () => this.zoom(0.6), {'aria-label': 'Closer', title: 'Closer (Ctrl and wheel)'}),
        button('−', () => this.zoom(1 / 0.6), {'aria-label': 'Further away', title: 'Further away'}),
        button('All', () => this.showAll(), {title: 'The whole matrix (0)'}));
    this.element = h('div', {class: 'matrix-box'}, this.frame, h('div', {class: 'matrix-foot'}, this.legend, zoom), this.spoken);
    this.listen();
    this.offTheme = onTheme(() => this.paint());
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  show(data: MatrixData): void {
    const other = !this.data || this.data.origins.length !== data.origins.length ||
        this.data.origins[0] !== data.origins[0] || this.data.destinations[0] !== data.destinations[0];
    this.data = data;
    if (other) {
      this.window = {left: 0, top: 0, size: this.most()};
      this.cursor = null;
      this.tip.hidden = true;
    }
    this.paint();
    this.fit();
  }

  highlight(cells: Cell[]): void { this.highlighted = cells; this.redraw(); }

  choose(cell: Cell | null): void {
    this.cursor = cell;
    if (cell) this.reveal(cell);
    this.redraw();
  }

  destroy(): void { this.offTheme(); this.chart.destroy(); }

  private most(): number { return this.data ? Math.max(this.data.origins.length, this.data.destinations.length, 1) : 1; }

  private fit(): void {
    const width = this.element.clientWidth;
    if (width < 50) return;
    const side = Math.min(width, Math.max(320, window.innerHeight - 210));
    this.chart.element.style.height = `${side - margin.left + margin.top}px`;
    this.chart.element.style.width = `${side}px`;
    this.chart.echart.resize({width: side, height: side - margin.left + margin.top});
    this.redraw();
  }

  // Colours of all cells, once for every slice.
  private paint(): void {
    if (!this.data) return;
    const {origins, destinations, values, kind, threshold, format} = this.data;
    this.scale = scaleOf(kind, values, threshold, format);
    this.source.width = Math.max(1, destinations.length);
    this.source.height = Math.max(1, origins.length);
    const context = this.source.getContext('2d')!;
    const picture = context.createImageData(this.source.width, this.source.height);
    values.forEach((value, k) => {
      const [red, green, blue] = this.scale!.color(value);
      picture.data.set([red, green, blue, 255], k * 4);
    });
    context.putImageData(picture, 0, 0);
    replace(this.legend, this.scale.legend.map(({color, label}) => {
      const swatch = h('i');
      swatch.style.backgroundColor = `rgb(${color.join(',')})`;
      return h('span', {}, swatch, label);
    }));
    this.redraw();
  }

  private redraw(): void {
    if (!this.scheduled) this.scheduled = requestAnimationFrame(() => { this.scheduled = 0; this.chart.draw(); });
  }

  private option(): Option | null {
    if (!this.data) return null;
    const {left, top, size} = this.window;
    const axis = {type: 'value', axisLabel: {show: false}, axisTick: {show: false}, axisLine: {show: false}, splitLine: {show: false}};
    return {
      animation: false, grid: margin, xAxis: {...axis, min: left, max: left + size, position: 'top'},
      yAxis: {...axis, min: top, max: top + size, inverse: true},
      series: [{type: 'custom', silent: true, clip: false, data: [[0, 0]],
                renderItem: (params: RenderParams, api: RenderApi) => this.render(params, api)}],
    };
  }

  private render({coordSys: box}: RenderParams, api: RenderApi): unknown {
    const {origins, destinations} = this.data!;
    const [x0, y0] = api.coord([0, 0]), cell = box.width / this.window.size;
    const ratio = window.devicePixelRatio || 1;
    this.seen.width = Math.round(box.width * ratio);
    this.seen.height = Math.round(box.height * ratio);
    const context = this.seen.getContext('2d')!;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.source, (x0 - box.x) * ratio, (y0 - box.y) * ratio, destinations.length * cell * ratio,
                      origins.length * cell * ratio);
    if (cell >= 7) this.gaps(context, (x0 - box.x) * ratio, (y0 - box.y) * ratio, cell * ratio);
    const {ink, accent} = colors();
    // Into the picture too, not as shapes of the chart: those it takes for others when their number changes.
    const frame = ([i, j]: Cell, color: string, width: number, out = 0) => {
      context.strokeStyle = color;
      context.lineWidth = width * ratio;
      context.strokeRect((x0 - box.x + j * cell - out) * ratio, (y0 - box.y + i * cell - out) * ratio,
                         (cell + 2 * out) * ratio, (cell + 2 * out) * ratio);
    };
    for (const at of this.highlighted) frame(at, ink, cell > 10 ? 1.5 : 1);
    if (this.cursor) frame(this.cursor, accent, 2.5, cell < 8 ? 2.5 : 0);   // a small one has its frame around it
    return {type: 'group', children: [
      {type: 'image', style: {image: this.seen, x: box.x, y: box.y, width: box.width, height: box.height}},
      ...this.labels(box, x0, y0, cell),
    ]};
  }

  // Hair lines between cells that are large enough for them.
  private gaps(context: CanvasRenderingContext2D, x0: number, y0: number, cell: number): void {
    const {width, height} = this.seen;
    context.fillStyle = colors().surface;
    for (let x = x0 + Math.ceil(-x0 / cell) * cell; x < width; x += cell) context.fillRect(Math.round(x), 0, 1, height);
    for (let y = y0 + Math.ceil(-y0 / cell) * cell; y < height; y += cell) context.fillRect(0, Math.round(y), width, 1);
  }

  private labels(box: RenderParams['coordSys'], x0: number, y0: number, cell: number): unknown[] {
    const {origins, destinations} = this.data!;
    const {soft, ink} = colors();
    const step = Math.max(1, Math.ceil(labelHeight / cell));
    const style = (text: string, chosen: boolean) => ({
      text: text.length > 10 ? text.slice(0, 9) + '…' : text, fill: chosen ? ink : soft,
      font: `${chosen ? '600 ' : ''}10.5px system-ui, sans-serif`});
    const made: unknown[] = [];
    const seenFrom = (start: number, edge: number) => Math.max(0, Math.ceil((edge - start) / cell - 0.5) - 1);
    for (let i = Math.ceil(seenFrom(y0, box.y) / step) * step; i < origins.length; i += step) {
      const y = y0 + (i + 0.5) * cell;
      if (y > box.y + box.height) break;
      if (y >= box.y) made.push({type: 'text', x: box.x - 6, y, rotation: 0, style: {
        ...style(origins[i], this.cursor?.[0] === i), align: 'right', verticalAlign: 'middle'}});
    }
    for (let j = Math.ceil(seenFrom(x0, box.x) / step) * step; j < destinations.length; j += step) {
      const x = x0 + (j + 0.5) * cell;
      if (x > box.x + box.width) break;
      if (x >= box.x) made.push({type: 'text', x, y: box.y - 6, rotation: Math.PI / 2, style: {
        ...style(destinations[j], this.cursor?.[1] === j), align: 'left', verticalAlign: 'middle'}});
    }
    made.push({type: 'text', x: box.x - 8, y: box.y - 8, rotation: 0, style: {
      text: 'from ↓  to →', fill: soft, font: '10.5px system-ui, sans-serif', align: 'right', verticalAlign: 'bottom'}});
    return made;
  }

  private cellAt(event: {clientX: number; clientY: number}): Cell | null {
    const frame = this.chart.element.getBoundingClientRect();
    const side = frame.width - margin.left - margin.right;
    const x = event.clientX - frame.left - margin.left, y = event.clientY - frame.top - margin.top;
    if (!this.data || x < 0 || y < 0 || x >= side || y >= side) return null;
    const j = Math.floor(this.window.left + (x / side) * this.window.size);
    const i = Math.floor(this.window.top + (y / side) * this.window.size);
    return i >= 0 && j >= 0 && i < this.data.origins.length && j < this.data.destinations.length ? [i, j] : null;
  }

  private move(left: number, top: number, size = this.window.size): void {
    const most = this.most();
    size = Math.min(most, Math.max(Math.min(6, most), size));
    const held = (value: number) => Math.min(Math.max(0, value), most - size);
    this.window = {left: held(left), top: held(top), size};
    this.pan();
  }

  // Only where the axes begin and end has changed.
  private pan(): void {
    if (this.scheduled) return;
    this.scheduled = requestAnimationFrame(() => {
      this.scheduled = 0;
      const {left, top, size: span} = this.window;
      this.chart.echart.setOption({xAxis: {min: left, max: left + span}, yAxis: {min: top, max: top + span}});
    });
  }

  private zoom(factor: number, at?: Cell): void {
    const {left, top, size} = this.window;
    const [i, j] = at ?? this.cursor ?? [top + size / 2, left + size / 2];
    this.move(j - (j - left) * factor, i - (i - top) * factor, size * factor);
  }

  private showAll(): void { this.move(0, 0, this.most()); }

  private reveal([i, j]: Cell): void {
    const {left, top, size} = this.window;
    this.move(j < left ? j : j + 1 > left + size ? j + 1 - size : left, i < top ? i : i + 1 > top + size ? i + 1 - size : top);
  }

  private listen(): void {
    const target = this.frame;
    const pointers = new Map<number, PointerEvent>();
    let moved = 0;
    target.addEventListener('pointerdown', (event) => {
      pointers.set(event.pointerId, event);
      moved = 0;
      if (event.pointerType === 'mouse') target.setPointerCapture(event.pointerId);
    });
    target.addEventListener('pointermove', (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return this.hover(event);
      const side = this.chart.element.clientWidth - margin.left - margin.right, part = this.window.size / side;
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      moved += Math.abs(dx) + Math.abs(dy);
      if (pointers.size === 2) {
        const other = [...pointers.values()].find((each) => each.pointerId !== event.pointerId)!;
        const gap = (point: PointerEvent) => Math.hypot(point.clientX - other.clientX, point.clientY - other.clientY);
        this.zoom(gap(before) / Math.max(1, gap(event)), this.cellAt(event) ?? undefined);
      } else if (moved > 4) {
        this.tip.hidden = true;
        this.move(this.window.left - dx * part, this.window.top - dy * part);
      }
      pointers.set(event.pointerId, event);
    });
    const end = (event: PointerEvent) => {
      if (pointers.delete(event.pointerId) && event.type === 'pointerup' && moved <= 4) this.pick(this.cellAt(event));
    };
    target.addEventListener('pointerup', end);
    target.addEventListener('pointercancel', end);
    target.addEventListener('pointerleave', () => { this.tip.hidden = true; });
    target.addEventListener('wheel', (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 300), this.cellAt(event) ?? undefined);
    }, {passive: false});
    target.addEventListener('keydown', (event) => this.key(event));
  }

  private key(event: KeyboardEvent): void {
    if (!this.data || event.ctrlKey || event.altKey || event.metaKey) return;
    const [i, j] = this.cursor ?? this.highlighted[0] ?? [0, 0];
    const last: Cell = [this.data.origins.length - 1, this.data.destinations.length - 1];
    const far = event.shiftKey ? 10 : 1;
    const steps: Record<string, Cell> = {
      ArrowUp: [i - far, j], ArrowDown: [i + far, j], ArrowLeft: [i, j - far], ArrowRight: [i, j + far],
      Home: [i, 0], End: [i, last[1]], PageUp: [0, j], PageDown: [last[0], j]};
    const to = steps[event.key];
    if (to) {
      this.cursor = this.cursor ? [Math.min(Math.max(0, to[0]), last[0]), Math.min(Math.max(0, to[1]), last[1])] : [i, j];
      this.reveal(this.cursor);
      this.say(this.cursor);
    } else if (event.key === 'Enter' && this.cursor) this.onChoose(this.cursor);
    else if (event.key === '+') this.zoom(0.6);
    else if (event.key === '-') this.zoom(1 / 0.6);
    else if (event.key === '0') this.showAll();
    else return;
    event.preventDefault();
  }

  private say(cell: Cell): void {
    clearTimeout(this.speech);
    this.speech = window.setTimeout(() => {
      if (this.data) this.spoken.textContent = `${this.title(cell)}: ` +
          this.data.describe(...cell).map(([name, value]) => `${name} ${value}`).join(', ');
    }, 150);
  }

  private title([i, j]: Cell): string { return `${this.data!.origins[i]} → ${this.data!.destinations[j]}`; }

  private pick(cell: Cell | null): void {
    if (!cell) return;
    this.cursor = cell;
    this.redraw();
    this.onChoose(cell);
  }

  private hover(event: PointerEvent): void {
    const cell = event.pointerType === 'mouse' ? this.cellAt(event) : null;
    this.tip.hidden = !cell;
    if (!cell || !this.data) return;
    replace(this.tip, tipElement(this.title(cell), this.data.describe(...cell)));
    const frame = this.frame.getBoundingClientRect();
    const left = event.clientX - frame.left + 14, width = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, left + width > frame.width ? left - width - 28 : left)}px`;
    this.tip.style.top = `${Math.min(event.clientY - frame.top + 14, frame.height - this.tip.offsetHeight)}px`;
  }
}
