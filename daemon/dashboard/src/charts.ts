// ECharts, only the parts in use, in the page's colours. Tooltips are elements with classes: the page is served
// under a policy that allows no style in markup.

import {CustomChart, LineChart} from 'echarts/charts';
import {AriaComponent, DataZoomComponent, GridComponent, MarkAreaComponent, MarkLineComponent,
        TooltipComponent} from 'echarts/components';
import * as echarts from 'echarts/core';
import type {EChartsCoreOption, EChartsType} from 'echarts/core';
import {CanvasRenderer} from 'echarts/renderers';
import type {Num} from './api';
import {h} from './dom';
import {amount, clock, day, moment, times} from './format';
import {colors, onTheme} from './theme';

echarts.use([LineChart, CustomChart, GridComponent, TooltipComponent, DataZoomComponent, MarkAreaComponent,
             MarkLineComponent, AriaComponent, CanvasRenderer]);

export {echarts};
export type Option = EChartsCoreOption;

// A chart in an element: made anew in other colours when the theme changes, fitted when the element is.
export class Chart {
  readonly element: HTMLElement;
  readonly echart: EChartsType;
  private observer: ResizeObserver;
  private offTheme: () => void;

  constructor(label: string, height: number, private option: () => Option | null) {
    this.element = h('div', {class: 'chart', role: 'img', 'aria-label': label});
    this.element.style.height = `${height}px`;
    this.echart = echarts.init(this.element, null, {renderer: 'canvas', width: 300, height});
    this.observer = new ResizeObserver(() => {
      const {clientWidth, clientHeight} = this.element;
      if (clientWidth > 0) this.echart.resize({width: clientWidth, height: clientHeight});
    });
    this.observer.observe(this.element);
    this.offTheme = onTheme(() => this.draw());
  }

  draw(): void {
    const option = this.option();
    if (option) this.echart.setOption(option, {notMerge: true});
  }

  destroy(): void {
    this.observer.disconnect();
    this.offTheme();
    this.echart.dispose();
  }
}

export interface BandPoint { time: string; observed: Num; expected: Num; low: Num; high: Num }
export interface Mark { from: string; to: string; up: boolean; name: string }

const axisText = () => ({color: colors().soft, fontSize: 11});

export function timeAxis(from?: number, to?: number): Record<string, unknown> {
  return {
    type: 'time', min: from, max: to, axisLine: {lineStyle: {color: colors().line}}, axisTick: {show: false},
    splitLine: {show: false}, useUTC: true, ...(window.innerWidth < 640 ? {splitNumber: 3} : {}),
    axisLabel: {...axisText(), hideOverlap: true, formatter: (value: number) => {
      const midnight = clock(value) === '00:00';
      return midnight ? day(value).slice(0, 4) + Number(day(value).slice(12)) : clock(value);
    }},
  };
}

export function valueAxis(extra: Record<string, unknown> = {}): Record<string, unknown> {
  return {type: 'value', axisLabel: {...axisText(), formatter: (value: number) => amount(value)}, splitNumber: 3,
          splitLine: {lineStyle: {color: colors().line, width: 1}}, ...extra};
}

export const grid = (extra: Record<string, unknown> = {}) => ({left: 52, right: 12, top: 10, bottom: 24, ...extra});

export function tooltip(rows: (time: number) => [string, string][] | null): Record<string, unknown> {
  return {
    trigger: 'axis', className: 'tip', transitionDuration: 0, confine: true, backgroundColor: colors().surface,
    borderColor: colors().line, borderWidth: 1, padding: 0, extraCssText: '',
    axisPointer: {type: 'line', lineStyle: {color: colors().soft, type: 'solid', width: 1}, animation: false},
    formatter: (given: {axisValue?: number; value: [number]}[]) => {
      const time = Number(given[0]?.axisValue ?? given[0]?.value[0]);
      const found = rows(time);
      return found ? tipElement(moment(time), found) : '';
    },
  };
}

export function tipElement(title: string, rows: [string, string][]): HTMLElement {
  return h('div', {class: 'tip-body'}, h('strong', {}, title),
      h('dl', {}, rows.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])));
}

// Up to where to draw: bands of heavy-tailed cells reach far beyond anything that was ever seen.
function ceiling(points: BandPoint[]): number | undefined {
  let seen = 0, band = 0;
  for (const {observed, expected, high} of points) {
    seen = Math.max(seen, observed ?? 0, expected ?? 0);
    band = Math.max(band, high ?? 0);
  }
  return seen > 0 && band > 1.6 * seen ? 1.6 * seen : undefined;
}

// Observed over expected and its band, with what was found as marked spans. `at` is the slice looked at.
export function bandOption(points: BandPoint[], marks: Mark[], at: number | null, binSeconds: number): Option {
  const c = colors();
  const stamp = points.map((point) => new Date(point.time).getTime());
  const index = new Map(stamp.map((time, k) => [time, k]));
  const line = (pick: (point: BandPoint) => Num) => points.map((point, k) => [stamp[k], pick(point)]);
  const hidden = {lineStyle: {opacity: 0}, symbol: 'none', silent: true, z: 0, animation: false, emphasis: {disabled: true}};
  return {
    animation: false, useUTC: true, aria: {enabled: false}, grid: grid(), xAxis: timeAxis(stamp[0], stamp[stamp.length - 1]),
    yAxis: valueAxis({min: 0, max: ceiling(points), axisLabel: {...axisText(), showMaxLabel: false, formatter: (value: number) => amount(value)}}),
    tooltip: tooltip((time) => {
      const point = points[index.get(time) ?? -1];
      if (!point) return null;
      return [['observed', amount(point.observed)], ['expected', amount(point.expected)],
              ['band', `${amount(point.low)} … ${amount(point.high)}`], ['ratio', times(point.observed, point.expected)]];
    }),
    series: [
      {type: 'line', name: 'low', stack: 'band', data: line((point) => point.low && Math.max(0, point.low)), ...hidden},
      {type: 'line', name: 'band', stack: 'band', areaStyle: {color: c.band, opacity: 1}, ...hidden,
       data: line((point) => (point.high === null || point.low === null ? null : point.high - Math.max(0, point.low)))},
      {type: 'line', name: 'expected', data: line((point) => point.expected), symbol: 'none', animation: false,
       lineStyle: {color: c.expected, width: 1.2, type: [4, 3]}, itemStyle: {color: c.expected}, emphasis: {disabled: true}},
      {type: 'line', name: 'observed', data: line((point) => point.observed), symbol: 'none', animation: false,
       lineStyle: {color: c.observed, width: 1.6}, itemStyle: {color: c.observed}, emphasis: {disabled: true},
       markArea: {silent: true, data: marks.map((mark) => [
         {xAxis: new Date(mark.from).getTime(), itemStyle: {color: mark.up ? c.up : c.down, opacity: 0.16}},
         {xAxis: Math.max(new Date(mark.to).getTime(), new Date(mark.from).getTime() + binSeconds * 1000)}])},
       markLine: at === null ? undefined : {
         silent: true, symbol: 'none', animation: false, label: {show: false}, data: [{xAxis: at}],
         lineStyle: {color: c.accent, width: 1.5, type: 'solid'}}},
    ],
  };
}

export function lineOption(points: [number, Num][], name: string, format: (value: Num) => string, step = false): Option {
  const c = colors();
  const known = new Map(points);
  return {
    animation: false, useUTC: true, grid: grid(), xAxis: timeAxis(), yAxis: valueAxis({
      scale: !step, min: step ? 0 : undefined, minInterval: step ? 1 : undefined,
      axisLabel: {...axisText(), formatter: (value: number) => format(value)}}),
    tooltip: tooltip((time) => [[name, format(known.get(time) ?? null)]]),
    series: [{type: 'line', name, data: points, symbol: 'none', step: step ? 'end' : false, animation: false,
              lineStyle: {color: c.observed, width: 1.6}, itemStyle: {color: c.observed}, emphasis: {disabled: true}}],
  };
}

// The same without axes, for a card.
export function sketchOption(points: BandPoint[]): Option {
  const c = colors();
  const line = (pick: (point: BandPoint) => Num) => points.map((point) => [new Date(point.time).getTime(), pick(point)]);
  const plain = {type: 'line', symbol: 'none', silent: true, animation: false, emphasis: {disabled: true}};
  return {
    animation: false, useUTC: true, grid: {left: 0, right: 0, top: 4, bottom: 2}, xAxis: {type: 'time', show: false},
    yAxis: {type: 'value', show: false, min: 0},
    series: [{...plain, data: line((point) => point.expected), lineStyle: {color: c.expected, width: 1, type: [3, 3]}},
             {...plain, data: line((point) => point.observed), lineStyle: {color: c.observed, width: 1.3},
              areaStyle: {color: c.band, opacity: 0.55}}],
  };
}
