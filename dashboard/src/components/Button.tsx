import type { ComponentProps, MouseEvent, ReactNode } from 'react';
import { Icon, type IconName } from './Icon.js';

type Look = 'plain' | 'primary' | 'danger' | 'quiet';

/**
 * One primary button in a view at most. `busy` keeps its size and takes no second click; it is not disabled as such, since it would
 * lose the focus.
 */
export function Button({
  look = 'plain',
  icon,
  busy = false,
  className = '',
  children,
  ...rest
}: ComponentProps<'button'> & { look?: Look; icon?: IconName; busy?: boolean; children?: ReactNode }) {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${look} ${busy ? 'is-busy' : ''} ${className}`}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      onClick={busy ? takeNoClick : rest.onClick}
    >
      {icon && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

const takeNoClick = (event: MouseEvent) => event.preventDefault();

/** A button that has a sign alone; `label` is what it is called. */
export function IconButton({
  label,
  icon,
  className = '',
  ...rest
}: ComponentProps<'button'> & { label: string; icon: IconName }) {
  return (
    <button type="button" {...rest} className={`icon-button ${className}`} aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}
