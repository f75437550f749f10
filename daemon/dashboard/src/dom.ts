// Elements in one expression. Text is always text: nothing here parses HTML.

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, unknown>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {},
                                                         ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === 'class') element.className = String(value);
    else if (name === 'value') (element as HTMLInputElement).value = String(value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
      .map((child) => (typeof child === 'number' ? String(child) : child as Node | string)));
  return element;
}

export function replace(parent: HTMLElement, ...children: (Child | Child[])[]): void {
  parent.replaceChildren(...h('div', {}, ...children).childNodes);
}

export interface Column<T> { head: string; cell: (row: T) => Child | Child[]; number?: boolean; class?: string }

// A table with a caption for who cannot see it; rows may be links of their own.
export function table<T>(caption: string, columns: Column<T>[], rows: T[],
                         row: (item: T, element: HTMLTableRowElement) => void = () => undefined): HTMLElement {
  const side = (column: Column<T>) => [column.number ? 'number' : '', column.class ?? ''].join(' ').trim() || null;
  const body = h('tbody', {}, rows.map((item) => {
    const element = h('tr', {}, columns.map((column) => h('td', {class: side(column), 'data-head': column.head || null}, column.cell(item))));
    row(item, element);
    return element;
  }));
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption},
      h('table', {}, h('caption', {class: 'unseen'}, caption),
          h('thead', {}, h('tr', {}, columns.map((column) => h('th', {scope: 'col', class: side(column)}, column.head)))),
          body));
}

export function button(label: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return h('button', {type: 'button', onclick: act, ...attributes}, label);
}

// One of a few, as buttons in a row; returns the group and a way to set it.
export function choice(label: string, options: [value: string, text: string][], value: string,
                       act: (value: string) => void): HTMLElement {
  const group = h('div', {class: 'choice', role: 'group', 'aria-label': label});
  const mark = (chosen: string) => {
    for (const each of group.children) each.setAttribute('aria-pressed', String(each.getAttribute('data-value') === chosen));
  };
  group.append(...options.map(([key, text]) => button(text, () => { mark(key); act(key); }, {'data-value': key})));
  mark(value);
  return group;
}
