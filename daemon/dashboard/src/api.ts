// What the daemon is asked, with the shapes of its answers (docs/api.md), and the token where it wants one.

export type Num = number | null;
export interface NetworkStatus {
  name: string; last_slice: string | null; bins_behind: number | null; warmup: number; rank: number;
  open_events: number; pending_events: number;
}
export interface Status { version: string; uptime_seconds: number; networks: NetworkStatus[] }
export interface Network {
  name: string; nodes: string[]; bin_seconds: number; metrics: string[]; threshold: number; time_zone: string;
  lateness_seconds: number; sources: string[]; model: Record<string, unknown>; detection: Record<string, unknown>;
}
export interface Matrix {
  network: string; time: string; metric: string; nodes: string[]; group?: number; first_origin?: number;
  first_destination?: number; observed?: Num[][]; expected?: Num[][]; score?: Num[][];
}
export interface SeriesPoint { time: string; observed: Num; expected: Num; low: Num; high: Num; score: Num }
export interface SlicePoint {
  time: string; observed: Num; expected: Num; low: Num; high: Num; threshold: Num; open_events: number;
  rank: number; iterations: number; noise_precision: Num; seconds: Num;
}
export interface Loading { node: string; loading: number }
export interface Model {
  network: string; time: string | null; warmup: number; threshold: number; status: string; rank: number;
  iterations: number; noise_precision: Num; evidence_bound: Num; component_strengths: Num[];
  components: {strength: number; origins: Loading[]; destinations: Loading[]}[];
}
export interface EventCell {
  origin: string; destination: string; metric: string; observed: Num; expected: Num; score: Num;
}
export interface Said { by: string; time: string; comment: string }
export interface Event {
  id: string; network: string; state: 'pending' | 'open' | 'closed'; shape: string; direction: 'up' | 'down'; summary: string;
  since: string; opened: string; updated: string; closed: string | null; peak_score: Num; excess: Num; origins: string[];
  destinations: string[]; cells: EventCell[]; acknowledged: Said | null;
  feedback: (Said & {mark: 'false_alarm' | 'expected'}) | null; silenced: boolean; behind?: Behind;
}
export interface Talker { what: string; bytes: Num; share: Num; usual: Num }
export interface Behind {
  time: string; samples: number; source_prefix?: Talker[]; destination_prefix?: Talker[]; source_port?: Talker[];
  destination_port?: Talker[]; protocol?: Talker[]; source_as?: Talker[]; destination_as?: Talker[];
}
export interface OperationalEvent {
  id: string; network: string; kind: string; state: 'open' | 'closed'; exporter: string; summary: string;
  figure: number; opened: string; closed: string | null;
}

export interface Exporter {
  network: string; exporter: string; nodes?: string[]; records: number; records_per_second?: number; loss?: number;
  sampling_rate?: number | null; clock_skew_seconds?: number | null; last_seen: string; silent?: boolean;
}
export interface Silence {
  id: string; network: string | null; origin: string | null; destination: string | null; node: string | null;
  shape: string | null; starts: string; ends: string; comment: string; created_by: string; created: string;
  state: 'pending' | 'active' | 'expired';
}
export interface List<T> { items: T[]; next: string | null }

export const shapes = ['spike', 'drop', 'ddos', 'scan', 'outage', 'shift', 'level', 'network'];

export class ApiError extends Error {
  constructor(readonly status: number, message: string) { super(message); }
}

const tokenKey = 'outlierd-token';
export const token = () => sessionStorage.getItem(tokenKey);
export function setToken(text: string | null): void {
  if (text) sessionStorage.setItem(tokenKey, text);
  else sessionStorage.removeItem(tokenKey);
}
export function headers(): Record<string, string> {
  const known = token();
  return known ? {Authorization: `Bearer ${known}`} : {};
}

// Asks for a token; one question at a time, whoever runs into the 401. Set by the shell.
let askForToken: (again: boolean) => Promise<void> = () => Promise.reject(new ApiError(401, 'a token is needed'));
let asking: Promise<void> | null = null;
export function onTokenNeeded(ask: typeof askForToken): void { askForToken = ask; }
export function needToken(): Promise<void> {
  asking ??= askForToken(token() !== null).finally(() => { asking = null; });
  return asking;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  for (;;) {
    const used = token();
    let response: Response;
    try {
      response = await fetch(path, {...init, headers: {...init.headers, ...headers()}});
    } catch (failure) {
      if (init.signal?.aborted) throw failure;
      throw new ApiError(0, 'the daemon does not answer');
    }
    if (response.ok) return response;
    if (response.status === 401) {
      if (token() === used) await needToken();
      continue;
    }
    const problem = await response.json().catch(() => null) as {detail?: string} | null;
    throw new ApiError(response.status, problem?.detail ?? response.statusText);
  }
}

export async function get<T>(path: string, query: Record<string, string | number | null | undefined> = {},
                             signal?: AbortSignal): Promise<T> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') words.set(name, String(value));
  const text = words.toString();
  return (await send('/api/v1' + path + (text ? '?' + text : ''), {signal})).json() as Promise<T>;
}

export async function post<T>(path: string, body: unknown): Promise<T> {
  const response = await send('/api/v1' + path, {
    method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body)});
  return response.json() as Promise<T>;
}

export async function remove(path: string): Promise<void> {
  await send('/api/v1' + path, {method: 'DELETE'});
}

export const of = (network: string) => `/networks/${encodeURIComponent(network)}`;
