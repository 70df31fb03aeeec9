/** Signs of the page, drawn on a field of 16 by 16. They are never the only thing that says what they mean. */
const PATHS = {
  running: 'M8 2a6 6 0 1 1-6 6M8 5v3l2 1.5',
  completed: 'M3 8.5 6.5 12 13 4.5',
  failed: 'M4 4l8 8M12 4l-8 8',
  cancelled: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M5 8h6',
  terminated: 'M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5zM8 5v3.5M8 11v.1',
  timed_out: 'M4 2h8M4 14h8M5 2c0 4 6 4 6 12M11 2c0 4-6 4-6 12',
  paused: 'M5.5 3.5v9M10.5 3.5v9',
  heldBack: 'M8 2 15 14H1zM8 6.5v3.5M8 12v.1',
  continued_as_new: 'M2 8h10M9 4.5 12.5 8 9 11.5M14.5 4v8',
  play: 'M5 3v10l8-5z',
  stop: 'M4 4h8v8H4z',
  copy: 'M6 6h7v7H6zM3 10V3h7',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9M10.5 10.5 14 14',
  right: 'M6 3.5 10.5 8 6 12.5',
  down: 'M3.5 6 8 10.5 12.5 6',
  close: 'M4 4l8 8M12 4l-8 8',
  up: 'M8 13V3M4 7l4-4 4 4',
  reset: 'M3 3v4h4M3.2 7A5.2 5.2 0 1 1 4 11.5',
  list: 'M3 4h10M3 8h10M3 12h10',
  grid: 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z',
  worker: 'M3 3h10v4H3zM3 9h10v4H3zM5.5 5v.1M5.5 11v.1',
  plus: 'M8 3v10M3 8h10',
  compare: 'M3 3h4v10H3zM9 3h4v10H9z',
  light:
    'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  dark: 'M13 9.5A5.5 5.5 0 1 1 6.5 3 4.5 4.5 0 0 0 13 9.5z',
  system: 'M2 3h12v8H2zM6 14h4M8 11v3',
  clock: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 5v3l2 1.5',
  signal: 'M8 2v8M4.5 6.5 8 10l3.5-3.5M3 13h10',
  child: 'M4 2v7h8M9 6l3 3-3 3',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg className={`icon ${className}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
