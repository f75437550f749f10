// The shell: header, which page the address means, the token, and a word for every event that opens.

import './styles.css';
import {onTokenNeeded} from './api';
import {askToken} from './dialogs';
import {button, h, replace} from './dom';
import {live} from './live';
import {event} from './pages/event';
import {events} from './pages/events';
import {model} from './pages/model';
import {network} from './pages/network';
import {overview} from './pages/overview';
import type {Open, Page} from './pages/page';
import {silences} from './pages/silences';
import {isDark, onTheme, toggle} from './theme';

const routes: [RegExp, Open][] = [
  [/^\/?$/, overview], [/^\/events$/, events], [/^\/events\/([^/]+)$/, event], [/^\/networks\/([^/]+)$/, network],
  [/^\/networks\/([^/]+)\/model$/, model], [/^\/silences$/, silences]];

const main = h('main', {id: 'main', tabindex: -1});
const links = [['#/', 'Overview'], ['#/events', 'Events'], ['#/silences', 'Silences']]
    .map(([href, text]) => h('a', {href}, text));
const networks = h('span', {class: 'networks'});
const state = h('span', {class: 'stream', role: 'status'});
const theme = button('', toggle, {class: 'theme'});
const news = h('div', {class: 'unseen', 'aria-live': 'assertive'});

document.body.append(
    h('a', {href: '#main', class: 'skip', onclick: (click: Event) => { click.preventDefault(); main.focus(); }}, 'To the content'),
    h('header', {}, h('a', {href: '#/', class: 'brand', 'aria-label': 'outlierd, overview'}, h('img', {src: 'icon.svg', alt: '', width: 22, height: 22}), 'outlierd'),
        h('nav', {'aria-label': 'Pages'}, links, networks), h('span', {class: 'right'}, state, theme)),
    main, news);

let page: Page | null = null;
let shown = '';

function open(): void {
  const [path, query] = location.hash.replace(/^#/, '').split('?');
  if (location.hash === shown && page) return;
  shown = location.hash;
  page?.destroy();
  page = null;
  main.replaceChildren();
  for (const [pattern, begin] of routes) {
    const found = pattern.exec(path);
    if (!found) continue;
    page = begin(main, found.slice(1).map(decodeURIComponent), new URLSearchParams(query));
    break;
  }
  if (!page) main.append(h('h1', {}, 'There is no such page'), h('p', {}, h('a', {href: '#/'}, 'Overview')));
  drawLinks();
  window.scrollTo(0, 0);
}

function drawLinks(): void {
  const path = '#' + (location.hash.replace(/^#/, '').split('?')[0] || '/');
  const names = (live.status?.networks ?? []).map(({name}) => name);
  const known = [...networks.children].map((each) => each.textContent);
  if (names.length <= 6 && names.join('\n') !== known.join('\n'))
    replace(networks, names.map((name) => h('a', {href: `#/networks/${encodeURIComponent(name)}`}, name)));
  for (const link of [...links, ...networks.children]) {
    if (link.getAttribute('href') === path) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

function drawTheme(): void {
  theme.textContent = isDark() ? '☀' : '☾';
  theme.setAttribute('aria-label', isDark() ? 'Light colours' : 'Dark colours');
  theme.title = theme.getAttribute('aria-label')!;
}

function drawState(): void {
  const words = {live: 'live', connecting: 'connecting…', broken: 'the daemon does not answer'};
  state.textContent = words[live.state];
  state.className = `stream ${live.state}`;
}

// The title says it too, for who has the page in another tab.
const plain = () => document.title.replace(/^\(\d+\) /, '');
function drawTitle(): void {
  const unseen = [...live.open.values()].filter((each) => !each.acknowledged && !each.silenced).length;
  const title = (unseen ? `(${unseen}) ` : '') + plain();
  if (title !== document.title) document.title = title;
}

window.addEventListener('hashchange', () => { open(); main.focus({preventScroll: true}); drawTitle(); });
live.changed.on(() => { drawLinks(); drawTitle(); });
live.stateChanged.on(drawState);
live.event.on(({kind, event: found}) => { if (kind === 'event-opened') news.textContent = `New event: ${found.summary}`; });
onTheme(drawTheme);
onTokenNeeded(askToken);
drawTheme();
drawState();
live.start();
open();
