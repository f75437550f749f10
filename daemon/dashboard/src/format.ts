// Numbers, times and words as an operator reads them. Times are UTC, as everywhere in outlierd.

const steps: [number, string][] = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

export function amount(value: number | null | undefined, digits = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  for (const [step, letter] of steps)
    if (size >= step * 0.9995) return `${minus((value / step).toPrecision(digits))} ${letter}`;
  if (size === 0) return '0';
  return size >= 0.01 ? minus(String(Number(value.toPrecision(digits)))) : minus(value.toExponential(1));
}

const minus = (text: string) => text.replace('-', '−');

export function times(observed: number | null, expected: number | null): string {
  if (observed === null || expected === null || expected <= 0) return '–';
  const ratio = observed / expected;
  return `${ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2)}×`;
}

export function score(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : minus(value.toFixed(1));
}

export function signed(value: number | null): string {
  return value === null ? '–' : (value >= 0 ? '+' : '') + amount(value);
}

const two = (value: number) => String(value).padStart(2, '0');

export function clock(time: string | number): string {
  const date = new Date(time);
  return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
}

export function day(time: string | number): string {
  const date = new Date(time);
  const name = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][date.getUTCDay()];
  return `${name} ${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
}

export const moment = (time: string | number | null) => (time === null ? '–' : `${day(time)} ${clock(time)}`);

export function duration(seconds: number): string {
  if (seconds < 0.01) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} d ${hours % 24} h` : `${hours / 24} d`;
}

export const seconds = (from: string, to: string | number) => (new Date(to).getTime() - new Date(from).getTime()) / 1000;

export const shapeName: Record<string, string> = {
  spike: 'Spike', drop: 'Drop', ddos: 'DDoS', scan: 'Scan', outage: 'Outage', shift: 'Shift', level: 'Level',
  network: 'Network'};

export const shapeMeaning: Record<string, string> = {
  spike: 'one pair carries more than expected', drop: 'one pair carries less than expected',
  ddos: 'many origins send more to one destination', scan: 'one origin sends more to many destinations',
  outage: 'a node’s traffic is gone, both ways', shift: 'traffic moved from one origin to another',
  level: 'a lasting step to another level', network: 'everywhere at once'};

export const plural = (count: number, one: string, many = one + 's') => `${count} ${count === 1 ? one : many}`;
