/** What a person has chosen for this browser: theme and time zone. They are no secrets and stay. */
import { Store } from './store.js';

export const THEMES = ['system', 'light', 'dark'] as const;
export const ZONES = ['local', 'utc'] as const;
export type Theme = (typeof THEMES)[number];
export type Zone = (typeof ZONES)[number];

export const theme = new Store<Theme>(kept('theme', THEMES));
export const zone = new Store<Zone>(kept('zone', ZONES));

theme.subscribe(() => keep('theme', theme.value));
zone.subscribe(() => keep('zone', zone.value));
theme.subscribe(showTheme);
showTheme();

/** What is chosen in one tab holds for all of them. */
addEventListener('storage', () => {
  theme.set(kept('theme', THEMES));
  zone.set(kept('zone', ZONES));
});

function showTheme(): void {
  const { dataset } = document.documentElement;
  if (theme.value === 'system') delete dataset.theme;
  else dataset.theme = theme.value;
}

function kept<T extends string>(name: string, choices: readonly T[]): T {
  try {
    const value = localStorage.getItem(`perdure.${name}`);
    return choices.find((choice) => choice === value) ?? choices[0]!;
  } catch {
    // A browser that lets pages keep nothing still shows them.
    return choices[0]!;
  }
}

function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`perdure.${name}`, value);
  } catch {
    // As above: it is good for this tab then.
  }
}
