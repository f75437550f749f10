// One slice from the daemon as the matrix view wants it; large networks in groups of neighbours first.

import {Matrix, Num, get, of} from './api';
import type {Kind} from './colormap';
import {amount, score, times} from './format';
import type {Cell, MatrixData} from './matrix';

const mostWhole = 250;   // nodes that are shown at once, each by itself
const mostGroups = 125;

// Which part of a large matrix is looked at; null: all of it.
export interface Part { firstOrigin: number; firstDestination: number; size: number }

export const groupOf = (nodes: number, part: Part | null) => {
  const shown = part ? part.size : nodes;
  return shown > mostWhole ? Math.ceil(shown / mostGroups) : 1;
};

export function fetchMatrix(network: string, nodes: number, time: string | null, metric: string, part: Part | null,
                            signal: AbortSignal): Promise<Matrix> {
  const group = groupOf(nodes, part);
  return get<Matrix>(of(network) + '/matrix', {
    time, metric, what: 'observed,expected,score',
    ...(group > 1 ? {group} : {}),
    ...(part ? {first_origin: part.firstOrigin, first_destination: part.firstDestination, size: part.size} : {}),
  }, signal);
}

const formats: Record<Kind, (value: number) => string> = {
  score: (value) => score(value), observed: (value) => amount(value, 2), expected: (value) => amount(value, 2),
  ratio: (value) => `${value}×`};

export class Slice {
  readonly group: number;
  readonly origins: string[];
  readonly destinations: string[];

  constructor(readonly matrix: Matrix, readonly threshold: number) {
    this.group = matrix.group ?? 1;
    const rows = matrix.score?.length ?? 0, columns = matrix.score?.[0]?.length ?? 0;
    const names = (first: number, count: number) => Array.from({length: count}, (_, k) => {
      const at = first + k * this.group, name = matrix.nodes[at];
      return this.group > 1 ? `${name} +${Math.min(this.group, matrix.nodes.length - at) - 1}` : name;
    });
    this.origins = names(matrix.first_origin ?? 0, rows);
    this.destinations = names(matrix.first_destination ?? 0, columns);
  }

  private at(of: Num[][] | undefined, [i, j]: Cell): number | null { return of?.[i]?.[j] ?? null; }
  observed = (cell: Cell) => this.at(this.matrix.observed, cell);
  expected = (cell: Cell) => this.at(this.matrix.expected, cell);
  score = (cell: Cell) => this.at(this.matrix.score, cell);

  value(kind: Kind, cell: Cell): number {
    const observed = this.observed(cell), expected = this.expected(cell);
    if (kind === 'ratio') return observed === null || !expected || expected <= 0 ? NaN : observed / expected;
    return (kind === 'score' ? this.score(cell) : kind === 'observed' ? observed : expected) ?? NaN;
  }

  data(kind: Kind): MatrixData {
    const {origins, destinations} = this;
    const values = new Float32Array(origins.length * destinations.length);
    for (let i = 0, k = 0; i < origins.length; ++i)
      for (let j = 0; j < destinations.length; ++j, ++k) values[k] = this.value(kind, [i, j]);
    return {
      origins, destinations, kind, values, threshold: this.threshold, format: formats[kind],
      describe: (i, j) => [
        ['observed', amount(this.observed([i, j]))], ['expected', amount(this.expected([i, j]))],
        ['ratio', times(this.observed([i, j]), this.expected([i, j]))],
        [this.group > 1 ? 'highest score' : 'score', score(this.score([i, j]))]],
    };
  }

  // The cells furthest from what was expected.
  top(count: number): Cell[] {
    const all: [number, Cell][] = [];
    this.origins.forEach((_, i) => this.destinations.forEach((__, j) => {
      const value = this.score([i, j]);
      if (value !== null) all.push([Math.abs(value), [i, j]]);
    }));
    return all.sort((x, y) => y[0] - x[0]).slice(0, count).map(([, cell]) => cell);
  }
}
