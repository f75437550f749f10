// From a value to a colour: scores and ratios by how far they are from nothing, to either side; volumes by size.

import {isDark} from './theme';

export type Kind = 'score' | 'observed' | 'expected' | 'ratio';
type Rgb = [number, number, number];

const ramps = {
  light: {up: ['#eef1f4', '#fbd9c3', '#f28b4f', '#cf3c10', '#7a1305'], down: ['#eef1f4', '#cfe0f5', '#6299de', '#1f60b5', '#0b2e63'],
          size: ['#eff2f5', '#bcd8e2', '#5fa6bd', '#23748f', '#0b4157'], missing: '#fafbfc'},
  dark: {up: ['#1c242e', '#4d2d1d', '#b3511f', '#ff8747', '#ffd5b8'], down: ['#1c242e', '#1e3857', '#2c69b3', '#67a7ff', '#cde2ff'],
         size: ['#1a222b', '#1c4252', '#2b7690', '#53b3cd', '#c4f1fb'], missing: '#12171d'},
};

const rgb = (hex: string): Rgb => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Rgb;

function lookup(stops: string[]): Rgb[] {
  const known = stops.map(rgb);
  return Array.from({length: 256}, (_, k) => {
    const at = (k / 255) * (known.length - 1), low = Math.min(Math.floor(at), known.length - 2), part = at - low;
    return known[low].map((value, c) => Math.round(value + (known[low + 1][c] - value) * part)) as Rgb;
  });
}

// Where on a ramp: a score below half the threshold is next to nothing, half as much again as it is full.
const ofScore = (value: number, threshold: number) => Math.min(1, (Math.abs(value) / (1.5 * threshold)) ** 1.6);
const ofRatio = (value: number) => Math.min(1, Math.abs(Math.log2(Math.max(value, 1 / 64))) / 3);  // 8 times: full

export interface Scale { color: (value: number) => Rgb; legend: {color: Rgb; label: string}[] }

export function scaleOf(kind: Kind, values: Float32Array, threshold: number, format: (value: number) => string): Scale {
  const ramp = ramps[isDark() ? 'dark' : 'light'];
  const up = lookup(ramp.up), down = lookup(ramp.down), size = lookup(ramp.size), missing = rgb(ramp.missing);
  const pick = (table: Rgb[], at: number) => table[Math.round(at * 255)];
  let color: (value: number) => Rgb;
  let shown: [number, string][];
  if (kind === 'score') {
    color = (value) => pick(value >= 0 ? up : down, ofScore(value, threshold));
    shown = [-1.5, -1, 0, 1, 1.5].map((part) => [part * threshold, `${format(part * threshold)}`]);
  } else if (kind === 'ratio') {
    color = (value) => pick(value >= 1 ? up : down, ofRatio(value));
    shown = [[1 / 8, '⅛×'], [1 / 2, '½×'], [1, '1×'], [2, '2×'], [8, '8×']];
  } else {
    let most = 0;
    for (const value of values) if (value > most) most = value;
    const least = most / 1000;
    const at = (value: number) => (value <= least ? 0 : Math.log(value / least) / Math.log(most / least));
    color = (value) => pick(size, Math.min(1, Math.max(0, at(value))));
    shown = [0.001, 0.01, 0.1, 1].map((part) => [part * most, format(part * most)]);
  }
  return {
    color: (value) => (Number.isNaN(value) ? missing : color(value)),
    legend: [...shown.map(([value, label]) => ({color: color(value), label})), {color: missing, label: 'not observed'}],
  };
}
