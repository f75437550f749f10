// What is silenced, by whom and until when; new ones, also for a maintenance window to come.

import {List, Silence, get, remove} from '../api';
import {confirm, reason, scopeOf, silence} from '../dialogs';
import {button, h, replace, table} from '../dom';
import {moment} from '../format';
import {live} from '../live';
import {Leaving, Open, title} from './page';

export const silences: Open = (root) => {
  title('Silences');
  const leaving = new Leaving();
  const body = h('div', {class: 'stack', 'aria-live': 'polite'});
  let all: Silence[] = [];
  const names = () => (live.status?.networks ?? []).map((network) => network.name);
  const load = async () => {
    try {
      all = (await get<List<Silence>>('/silences', {limit: 1000}, leaving.abort.signal)).items;
      draw();
    } catch (failure) {
      if (!leaving.left) replace(body, h('p', {class: 'problem', role: 'alert'}, reason(failure)));
    }
  };
  const end = (one: Silence) => void confirm('End this silence?', `${one.network ?? 'All networks'}: ${scopeOf(one)}. Events that match it will be told again.`,
      'End it now', async () => { await remove(`/silences/${one.id}`); live.refresh(); }).then((done) => (done ? load() : undefined));
  const rows = (label: string, state: Silence['state'], nothing: string) => {
    const some = all.filter((one) => one.state === state);
    return h('section', {class: 'panel stacked'}, h('div', {class: 'panel-head'}, h('h2', {}, label, ' ', h('span', {class: 'count'}, some.length))),
        some.length === 0 ? h('p', {class: 'nothing'}, nothing) : table<Silence>(label, [
          {head: 'Network', cell: (one) => one.network ?? 'any'}, {head: 'What', cell: scopeOf},
          {head: 'Starts (UTC)', cell: (one) => moment(one.starts)}, {head: state === 'expired' ? 'Ended' : 'Until', cell: (one) => moment(one.ends)},
          {head: 'By', cell: (one) => one.created_by}, {head: 'Why', cell: (one) => one.comment || '–'},
          ...(state === 'expired' ? [] : [{head: '', cell: (one: Silence) => button('End', () => end(one), {class: 'small', 'aria-label': `End the silence of ${scopeOf(one)}`})}]),
        ], some.slice(0, 100)));
  };
  const draw = () => replace(body, rows('In force', 'active', 'Nothing is silenced.'), rows('To come', 'pending', 'No maintenance window is planned.'),
      rows('Over', 'expired', 'None.'));
  root.append(h('div', {class: 'head'}, h('h1', {}, 'Silences'), button('New silence or maintenance window', () => void silence(names()).then(
      (done) => (done ? load() : undefined)), {class: 'primary'})), body);
  void load();
  const timer = setInterval(() => void load(), 30000);
  leaving.add(() => clearInterval(timer));
  return leaving;
};
