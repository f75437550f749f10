// The questions that are asked of an operator: a token, who looks after an event, what to silence, what it was.

import {ApiError, Event, Silence, post, setToken, shapes} from './api';
import {button, h} from './dom';
import {moment, shapeName} from './format';
import {live} from './live';

const nameKey = 'outlierd-name';
const myName = () => localStorage.getItem(nameKey) ?? '';

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

// A modal form. act() does it and may throw; the dialog stays, with the reason, until it succeeds.
function ask(title: string, body: (Node | string)[], label: string, act: () => Promise<void>, mayClose = true): Promise<boolean> {
  return new Promise((resolve) => {
    const problem = h('p', {class: 'problem', role: 'alert', hidden: true});
    let done = false;
    const submit = h('button', {type: 'submit', class: 'primary'}, label);
    const form = h('form', {method: 'dialog', onsubmit: (event: SubmitEvent) => {
      event.preventDefault();
      submit.disabled = true;
      act().then(() => { done = true; dialog.close(); }, (failure: unknown) => {
        problem.hidden = false;
        problem.textContent = failure instanceof Error ? failure.message : String(failure);
      }).finally(() => { submit.disabled = false; });
    }}, h('h2', {id: 'dialog-title'}, title), ...body, problem,
        h('div', {class: 'row end'}, mayClose && button('Cancel', () => dialog.close()), submit));
    const dialog = h('dialog', {'aria-labelledby': 'dialog-title'}, form);
    dialog.addEventListener('cancel', (event) => { if (!mayClose) event.preventDefault(); });
    dialog.addEventListener('close', () => { dialog.remove(); resolve(done); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

function field(label: string, input: Field, hint?: string): HTMLElement {
  return h('label', {class: 'field'}, h('span', {}, label), input, hint && h('small', {}, hint));
}

const nameField = () => h('input', {name: 'by', value: myName(), autocomplete: 'name', maxlength: 256});
const noteField = () => h('textarea', {name: 'comment', rows: 2, maxlength: 4096});
function remember(input: HTMLInputElement): string {
  if (input.value) localStorage.setItem(nameKey, input.value);
  return input.value;
}

export function askToken(again: boolean): Promise<void> {
  const input = h('input', {type: 'password', autocomplete: 'off', required: true, name: 'token'});
  return ask('This outlierd asks for a token', [
    h('p', {}, again ? 'The token was not accepted.' : 'It stays in this tab and is forgotten when you close it.'),
    field('Token', input)], 'Go on', () => { setToken(input.value.trim()); return Promise.resolve(); }, false).then(() => undefined);
}

export function acknowledge(event: Event): Promise<boolean> {
  const by = nameField(), comment = noteField();
  return ask('Acknowledge', [
    h('p', {}, event.summary), field('Your name', by), field('Note', comment, 'What you are doing about it, if anything.'),
  ], 'Acknowledge', async () => {
    await post(`/events/${event.id}/ack`, {by: remember(by), comment: comment.value});
    live.refresh();
  });
}

export function mark(event: Event): Promise<boolean> {
  const by = nameField(), comment = noteField();
  const kind = h('select', {name: 'mark'},
      h('option', {value: 'false_alarm'}, 'False alarm: nothing was wrong'),
      h('option', {value: 'expected'}, 'Expected: it was real, and planned or known'),
      event.feedback && h('option', {value: ''}, 'Take back what was said'));
  return ask('What was it?', [h('p', {}, event.summary), field('It was', kind), field('Your name', by), field('Note', comment)],
      'Save', async () => {
        await post(`/events/${event.id}/feedback`, {mark: kind.value, by: remember(by), comment: comment.value});
        live.refresh();
      });
}

const utc = (time: number) => new Date(time).toISOString().slice(0, 16);

// about: fills in what a silence for this event would be.
export function silence(networks: string[], about?: Event): Promise<boolean> {
  const first = about?.cells[0];
  const scope = h('select', {name: 'scope'});
  const scopes: [string, Record<string, string>][] = [];
  if (about && first) {
    const node = about.destinations.length <= about.origins.length ? about.destinations[0] : about.origins[0];
    const side = about.destinations.length <= about.origins.length ? 'destination' : 'origin';
    scopes.push([`This pair: ${first.origin} → ${first.destination}`, {origin: first.origin, destination: first.destination}],
        [`All ${side === 'destination' ? 'to' : 'from'} ${node}`, {[side]: node}],
        [`All from or to ${node}`, {node}],
        [`Every ${shapeName[about.shape]} of ${about.network}`, {shape: about.shape}],
        [`Every ${shapeName[about.shape]} ${side === 'destination' ? 'to' : 'from'} ${node}`, {shape: about.shape, [side]: node}],
        [`Everything of ${about.network}`, {}]);
    scopes.forEach(([text], k) => scope.append(h('option', {value: k}, text)));
    scope.value = about.cells.length > 1 ? '1' : '0';
  }
  const network = h('select', {name: 'network'}, !about && h('option', {value: ''}, 'any'),
      networks.map((name) => h('option', {value: name}, name)));
  if (about) network.value = about.network;
  const text = (name: string) => h('input', {name, autocomplete: 'off', placeholder: 'any'});
  const origin = text('origin'), destination = text('destination'), node = text('node');
  const shape = h('select', {name: 'shape'}, h('option', {value: ''}, 'any'),
      shapes.map((name) => h('option', {value: name}, shapeName[name])));
  const now = Date.now();
  const starts = h('input', {type: 'datetime-local', name: 'starts', value: utc(now)});
  const ends = h('input', {type: 'datetime-local', name: 'ends', value: utc(now + 4 * 3600e3), required: true});
  const quick = h('div', {class: 'row'}, ([['1 h', 1], ['4 h', 4], ['1 d', 24], ['7 d', 168]] as [string, number][]).map(
      ([label, hours]) => button(label, () => {
        ends.value = utc(new Date((starts.value || utc(now)) + 'Z').getTime() + hours * 3600e3);
      }, {class: 'small'})));
  const by = nameField(), comment = noteField();
  const what = about && first
      ? [field('What', scope)]
      : [h('div', {class: 'two'}, field('Network', network), field('Shape', shape), field('From node', origin),
           field('To node', destination), field('Node, either way', node))];
  return ask(about ? 'Silence' : 'New silence or maintenance window', [
    ...what, h('div', {class: 'two'}, field('Starts (UTC)', starts), field('Until (UTC)', ends)), quick,
    field('Your name', by), field('Why', comment)], 'Silence', async () => {
    const chosen = about && first ? {...scopes[Number(scope.value)][1], network: about.network} : Object.fromEntries(
        [['network', network.value], ['origin', origin.value], ['destination', destination.value], ['node', node.value],
         ['shape', shape.value]].filter(([, value]) => value));
    const later = starts.value && new Date(starts.value + 'Z').getTime() > Date.now();
    await post<Silence>('/silences', {
      ...chosen, ...(later ? {starts: starts.value + ':00Z'} : {}), ends: ends.value + ':00Z', comment: comment.value,
      by: remember(by)});
    live.refresh();
  });
}

export function confirm(title: string, text: string, label: string, act: () => Promise<void>): Promise<boolean> {
  return ask(title, [h('p', {}, text)], label, act);
}

export const scopeOf = (silence: Silence) => [
  silence.shape && `every ${shapeName[silence.shape] ?? silence.shape}`,
  (silence.origin || silence.destination) && `${silence.origin ?? 'any'} → ${silence.destination ?? 'any'}`,
  silence.node && `from or to ${silence.node}`,
].filter(Boolean).join(', ') || 'everything';

export const reason = (failure: unknown) => (failure instanceof ApiError ? failure.message : String(failure));
export const until = (silence: Silence) => moment(silence.ends);
