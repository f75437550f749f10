// Light or dark: as the system says, unless the operator said otherwise. Charts take their colours from the
// same style sheet as everything else.

const key = 'outlierd-theme';
type Choice = 'auto' | 'light' | 'dark';
const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

export function chosen(): Choice { return (localStorage.getItem(key) as Choice | null) ?? 'auto'; }
export const isDark = () => (chosen() === 'auto' ? dark.matches : chosen() === 'dark');

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  known = null;
  for (const listener of [...listeners]) listener();
}

export function toggle(): void {
  const next: Choice = isDark() ? 'light' : 'dark';
  if ((next === 'dark') === dark.matches) localStorage.removeItem(key);
  else localStorage.setItem(key, next);
  apply();
}

export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export interface Colors {
  ink: string; soft: string; faint: string; line: string; surface: string; page: string; accent: string;
  up: string; down: string; band: string; expected: string; observed: string;
}
let known: Colors | null = null;
export function colors(): Colors {
  if (known) return known;
  const style = getComputedStyle(document.documentElement);
  const names = ['ink', 'soft', 'faint', 'line', 'surface', 'page', 'accent', 'up', 'down', 'band', 'expected', 'observed'];
  known = Object.fromEntries(names.map((name) => [name, style.getPropertyValue('--' + name).trim()])) as unknown as Colors;
  return known;
}

dark.addEventListener('change', apply);
apply();
