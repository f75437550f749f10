// What a page is: something in <main> that can be left again.

export interface Page { destroy: () => void }
export type Open = (root: HTMLElement, parts: string[], query: URLSearchParams) => Page;

// Everything to undo when the page is left.
export class Leaving {
  private acts: (() => void)[] = [];
  readonly abort = new AbortController();
  add(...acts: (() => void)[]): void { this.acts.push(...acts); }
  destroy = (): void => {
    this.abort.abort();
    for (const act of this.acts) act();
  };
  get left(): boolean { return this.abort.signal.aborted; }
}

export function title(text: string): void { document.title = `${text} · outlierd`; }
