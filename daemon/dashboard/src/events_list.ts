// Events as rows in plain words: on the overview, on a network's page, and in the list of all.

import type {Event} from './api';
import {h} from './dom';
import {clock, day, duration, moment, score, seconds, shapeMeaning, shapeName, signed} from './format';

export function badge(event: Event): HTMLElement {
  return h('span', {class: `badge ${event.direction}`, title: shapeMeaning[event.shape]}, shapeName[event.shape] ?? event.shape);
}

export const pendingMeaning = 'Suspicious, but under the threshold: nobody was told. It opens if it goes on rising, and is dropped when it calms.';

export function standing(event: Event): HTMLElement[] {
  const marks: HTMLElement[] = [];
  if (event.silenced) marks.push(h('span', {class: 'tag'}, 'silenced'));
  if (event.acknowledged) marks.push(h('span', {class: 'tag'}, `seen by ${event.acknowledged.by}`));
  if (event.feedback) marks.push(h('span', {class: 'tag'}, event.feedback.mark === 'expected' ? 'expected' : 'false alarm'));
  return marks;
}

export function total(event: Event): {observed: number; expected: number} {
  return event.cells.reduce((sum, cell) => ({
    observed: sum.observed + (cell.observed ?? 0), expected: sum.expected + (cell.expected ?? 0)}), {observed: 0, expected: 0});
}

export function lasted(event: Event): string {
  const end = event.closed ?? event.updated;
  const length = seconds(event.opened, end);
  if (event.state === 'pending') return length > 0 ? `for ${duration(length)}` : 'just now';
  if (event.state === 'open') return length > 0 ? `for ${duration(length)}` : 'just opened';
  return `lasted ${duration(Math.max(length, 60))}`;
}

export function row(event: Event, withNetwork = true): HTMLElement {
  const when = event.state === 'closed' ? moment(event.opened) : `since ${clock(event.opened)}`;
  return h('li', {class: `event ${event.direction} ${event.state}${event.acknowledged || event.silenced ? ' calm' : ''}`, 'data-id': event.id},
      h('a', {href: `#/events/${event.id}`},
          h('span', {class: 'event-head'}, badge(event), h('strong', {}, event.summary),
              event.state === 'pending' && h('span', {class: 'tag', title: pendingMeaning}, 'pending'), ...standing(event)),
          h('span', {class: 'event-facts'},
              withNetwork && h('span', {}, event.network), h('span', {title: day(event.opened)}, when), h('span', {}, lasted(event)),
              h('span', {}, `${signed(event.excess)} ${event.cells[0]?.metric ?? ''} in all`),
              h('span', {}, `score ${score(event.peak_score)}`))));
}

// What may become an event; nothing at all where there is none. Open while they are few, or as it was left.
let shown: boolean | null = null;
export function pendingList(events: Event[], withNetwork = true): HTMLElement | null {
  if (events.length === 0) return null;
  const details = h('details', {class: 'pending', open: shown ?? events.length <= 3},
      h('summary', {title: pendingMeaning, onclick: () => { shown = !details.open; }}, 'Pending ', h('span', {class: 'count'}, events.length),
          h('span', {class: 'quiet'}, ' suspicious, under the threshold')),
      list(events, 'Pending events', '', withNetwork));
  return details;
}

export function list(events: Event[], label: string, nothing: string, withNetwork = true): HTMLElement {
  if (events.length === 0) return h('p', {class: 'nothing'}, nothing);
  return h('ul', {class: 'events', 'aria-label': label}, events.map((event) => row(event, withNetwork)));
}
