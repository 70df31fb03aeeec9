/** A button that opens a short list of actions below it. Arrow keys move, Escape closes and gives the focus back. */
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button } from './Button.js';
import { Icon, type IconName } from './Icon.js';

export interface MenuItem {
  label: string;
  icon?: IconName;
  /** Why it cannot be done now. */
  disabledBecause?: string;
  isDangerous?: boolean;
  onSelect(): void;
}

export function Menu({ label, items, icon }: { label: ReactNode; items: MenuItem[]; icon?: IconName }) {
  const [isOpen, setIsOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const id = useId();

  useEffect(() => {
    if (!isOpen) return;
    root.current!.querySelector<HTMLElement>('[role=menuitem]:not([aria-disabled])')?.focus();
    const leave = (event: Event) => {
      if (!root.current!.contains(event.target as Node)) setIsOpen(false);
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('focusin', leave);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('focusin', leave);
    };
  }, [isOpen]);

  const onKeyDown = (event: KeyboardEvent) => {
    if (!isOpen) return;
    if (event.key === 'Escape') {
      event.stopPropagation();
      setIsOpen(false);
      root.current!.querySelector('button')!.focus();
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const entries = [...root.current!.querySelectorAll<HTMLElement>('[role=menuitem]')];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    entries[(at + step + entries.length) % entries.length]?.focus();
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the items inside
    <div className="menu" ref={root} onKeyDown={onKeyDown}>
      <Button
        icon={icon}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setIsOpen(!isOpen)}
      >
        {label}
        <Icon name="down" className="menu-arrow" />
      </Button>
      {isOpen && (
        <div className="menu-list" role="menu" id={id}>
          {items.map(({ label: text, icon: sign, disabledBecause, isDangerous, onSelect }) => (
            <button
              key={text}
              type="button"
              role="menuitem"
              aria-disabled={disabledBecause ? true : undefined}
              title={disabledBecause}
              className={isDangerous ? 'is-dangerous' : undefined}
              onClick={() => {
                if (disabledBecause) return;
                setIsOpen(false);
                // So that what it opens gives the focus back to something that is still there.
                root.current!.querySelector('button')!.focus();
                onSelect();
              }}
            >
              {sign && <Icon name={sign} />}
              {text}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
