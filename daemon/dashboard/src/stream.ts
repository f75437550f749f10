// The live stream, read with fetch: EventSource could not send a token. Goes on where it broke off.

import {headers, needToken} from './api';

export type StreamState = 'live' | 'connecting' | 'broken';
export interface StreamMessage { kind: string; data: string }

// Calls back for every message until stop(); reconnects by itself.
export class LiveStream {
  private lastId = '';
  private abort = new AbortController();
  private stopped = false;

  constructor(private onMessage: (message: StreamMessage) => void, private onState: (state: StreamState) => void) {
    void this.run();
  }

  stop(): void {
    this.stopped = true;
    this.abort.abort();
  }

  private async run(): Promise<void> {
    for (let failures = 0; !this.stopped;) {
      try {
        const response = await fetch('/api/v1/stream', {
          headers: {...headers(), ...(this.lastId ? {'Last-Event-ID': this.lastId} : {})},
          signal: this.abort.signal});
        if (response.status === 401) {
          await needToken();
          continue;
        }
        if (!response.ok || !response.body) throw new Error(response.statusText);
        failures = 0;
        this.onState('live');
        await this.read(response.body);
      } catch {
        // Said by the state below; the daemon may just be restarting.
      }
      if (this.stopped) return;
      this.onState(failures === 0 ? 'connecting' : 'broken');
      await new Promise((resolve) => setTimeout(resolve, Math.min(500 * 2 ** failures++, 10000)));
    }
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      text += decoder.decode(value, {stream: true});
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        this.take(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  private take(block: string): void {
    let kind = 'message', data = '';
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      if (colon <= 0) continue;
      const value = line.slice(colon + 1).replace(/^ /, '');
      const name = line.slice(0, colon);
      if (name === 'event') kind = value;
      else if (name === 'data') data += value;
      else if (name === 'id') this.lastId = value;
    }
    if (data) this.onMessage({kind, data});
  }
}
