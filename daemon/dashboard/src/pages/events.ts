// All events, newest first, a page at a time.

import {Event, List, get, shapes} from '../api';
import {button, h} from '../dom';
import {row} from '../events_list';
import {shapeName} from '../format';
import {reason} from '../dialogs';
import {live} from '../live';
import {Leaving, Open, title} from './page';

export const events: Open = (root, _parts, query) => {
  title('Events');
  const leaving = new Leaving();
  const items = h('ul', {class: 'events', 'aria-label': 'Events'}), more = h('div', {class: 'row'});
  const select = (name: string, label: string, options: [string, string][]) => {
    const input = h('select', {name, onchange: () => {
      if (input.value) query.set(name, input.value);
      else query.delete(name);
      location.replace(`#/events${query.toString() ? '?' + query.toString() : ''}`);
    }}, h('option', {value: ''}, 'any'), options.map(([value, text]) => h('option', {value}, text)));
    input.value = query.get(name) ?? '';
    return h('label', {class: 'inline'}, label, input);
  };
  const names = (live.status?.networks ?? []).map((network): [string, string] => [network.name, network.name]);
  root.append(h('h1', {}, 'Events'), h('div', {class: 'row filters', role: 'search'},
      select('network', 'Network', names), select('state', 'State', [['pending', 'pending'], ['open', 'open'], ['closed', 'closed']]),
      select('shape', 'Shape', shapes.map((shape) => [shape, shapeName[shape]]))), items, more);
  const load = async (cursor?: string): Promise<void> => {
    try {
      const page = await get<List<Event>>('/events', {...Object.fromEntries(query), limit: 50, cursor}, leaving.abort.signal);
      items.append(...page.items.map((event) => row(event)));
      more.replaceChildren(...(page.next ? [button('Older', () => void load(page.next!))]
          : [h('p', {class: 'nothing'}, items.childElementCount ? 'That is all.' : 'No such event.')]));
    } catch (failure) {
      if (!leaving.left) more.replaceChildren(h('p', {class: 'problem', role: 'alert'}, reason(failure)));
    }
  };
  void load();
  return leaving;
};
