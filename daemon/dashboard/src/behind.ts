// What is behind an event where flows are at hand: the heaviest prefixes, ports and systems at its peak.

import type {Behind, Talker} from './api';
import {h, table} from './dom';
import {amount, moment} from './format';

const words: [keyof Behind, string][] = [
  ['source_prefix', 'From prefixes'], ['destination_prefix', 'To prefixes'], ['source_port', 'From ports'], ['destination_port', 'To ports'],
  ['protocol', 'Protocols'], ['source_as', 'From systems'], ['destination_as', 'To systems']];
const percent = (share: number | null) => (share === null ? '–' : `${(share * 100).toFixed(1)} %`);

export function behind(found: Behind | undefined): HTMLElement | null {
  const lists = words.map(([key, title]): [string, Talker[]] => [title, (found?.[key] as Talker[] | undefined) ?? []])
      .filter(([, rows]) => rows.length > 0);
  if (!found || lists.length === 0) return null;
  return h('section', {class: 'panel', 'aria-labelledby': 'behind'},
      h('div', {class: 'panel-head'}, h('h2', {id: 'behind'}, 'What is behind it'),
          h('span', {class: 'quiet'}, `at ${moment(found.time)}, from ${amount(found.samples)} sampled records`)),
      h('div', {class: 'two'}, lists.map(([title, rows]) => h('div', {}, table<Talker>(title, [
        {head: title, cell: (row) => row.what}, {head: 'Bytes', number: true, cell: (row) => amount(row.bytes)},
        {head: 'Share', number: true, cell: (row) => percent(row.share)},
        {head: 'Usual', number: true, cell: (row) => percent(row.usual)}], rows)))));
}
