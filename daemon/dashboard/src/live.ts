// What all pages share: the status of the daemon and the events that are open, kept current by the stream.

import {Event, Exporter, List, OperationalEvent, Status, get} from './api';
import {LiveStream, StreamState} from './stream';

export interface SliceNews { network: string; time: string }
type Listener<T> = (value: T) => void;

class Topic<T> {
  private listeners = new Set<Listener<T>>();
  on(listener: Listener<T>): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  tell(value: T): void { for (const listener of [...this.listeners]) listener(value); }
}

// Runs at once, then at most every `wait` milliseconds, and once more when asked meanwhile.
export function paced(act: () => Promise<void>, wait: number): () => void {
  let busy = false, again = false;
  const run = async () => {
    busy = true;
    again = false;
    await act().catch(() => undefined);
    setTimeout(() => { busy = false; if (again) void run(); }, wait);
  };
  return () => { if (busy) again = true; else void run(); };
}

class Live {
  status: Status | null = null;
  open = new Map<string, Event>();
  pending = new Map<string, Event>();                // suspicious, no alert yet
  exporters: Exporter[] = [];
  operational = new Map<string, OperationalEvent>();   // what is wrong with exporters now
  state: StreamState = 'connecting';
  readonly changed = new Topic<void>();              // status, open or pending events
  readonly slice = new Topic<SliceNews>();           // a slice was scored
  readonly event = new Topic<{kind: string; event: Event}>();
  readonly stateChanged = new Topic<StreamState>();

  start(): void {
    new LiveStream(({kind, data}) => this.take(kind, data), (state) => {
      if (state === 'live') this.refresh();  // what was missed while it was broken
      this.state = state;
      this.stateChanged.tell(state);
    });
    setInterval(() => this.refreshStatus(), 15000);
    setInterval(() => this.refresh(), 60000);   // silences end, exporters fall silent, without a word
  }

  readonly refreshStatus = paced(async () => {
    this.status = await get<Status>('/status');
    this.changed.tell();
  }, 1000);

  readonly refresh = paced(async () => {
    const [status, events, pending, exporters, operational] = await Promise.all([
      get<Status>('/status'), get<List<Event>>('/events', {state: 'open', limit: 1000}), get<List<Event>>('/events', {state: 'pending', limit: 1000}),
      get<List<Exporter>>('/exporters', {limit: 1000}), get<List<OperationalEvent>>('/operational-events', {state: 'open', limit: 1000})]);
    this.status = status;
    this.exporters = exporters.items;
    this.operational = new Map(operational.items.map((event) => [event.id, event]));
    this.open = new Map(events.items.map((event) => [event.id, event]));
    this.pending = new Map(pending.items.map((event) => [event.id, event]));
    this.changed.tell();
  }, 1000);

  private take(kind: string, data: string): void {
    if (kind === 'slice') {
      this.slice.tell(JSON.parse(data) as SliceNews);
      this.refreshStatus();
    } else if (kind.startsWith('event-')) {
      const event = JSON.parse(data) as Event;
      if (kind === 'event-pending') this.pending.set(event.id, event);
      else if (kind === 'event-dropped') this.pending.delete(event.id);
      else if (event.state === 'open') this.open.set(event.id, event);
      else this.open.delete(event.id);
      this.event.tell({kind, event});
      this.changed.tell();
    } else if (kind.startsWith('operational-')) {
      const event = JSON.parse(data) as OperationalEvent;
      if (event.state === 'open') this.operational.set(event.id, event);
      else this.operational.delete(event.id);
      this.changed.tell();
      this.refresh();   // the exporters' own words
    }
  }
}

export const live = new Live();

// Strongest first; what somebody looks after, or is silenced, behind the rest.
export function byUrgency(events: Iterable<Event>): Event[] {
  const rank = (event: Event) => (event.silenced ? 2 : 0) + (event.acknowledged || event.feedback ? 1 : 0);
  return [...events].sort((x, y) => rank(x) - rank(y) || (y.peak_score ?? 0) - (x.peak_score ?? 0));
}
