/** What stays around every view: navigation, search, settings, and whether the page is connected. */
import { Link, Outlet, useRouter } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { isConnected } from '../app/connection.js';
import { admission, currentToken, forget } from '../app/session.js';
import { THEMES, theme, zone } from '../app/settings.js';
import { useStore } from '../app/store.js';
import { IconButton } from '../components/Button.js';
import { Icon, type IconName } from '../components/Icon.js';
import { Notices } from '../components/Notices.js';
import { CommandPalette } from './CommandPalette.js';
import { ConnectionLine } from './ConnectionLine.js';
import './frame.css';
import { useShortcut } from './shortcuts.js';
import { TokenPrompt } from './TokenPrompt.js';

const PLACES = [
  { to: '/runs', label: 'Runs', icon: 'list' },
  { to: '/start', label: 'Start', icon: 'plus' },
  { to: '/catalog', label: 'Catalog', icon: 'grid' },
  { to: '/workers', label: 'Workers', icon: 'worker' },
] as const satisfies { to: string; label: string; icon: IconName }[];

export function Frame() {
  const [isSearching, setIsSearching] = useState(false);
  const admitted = useStore(admission);
  const isAdmitted = admitted === 'open';
  useShortcut('k', () => isAdmitted && setIsSearching(true));
  useFocusOfViews();
  // Before the token is there nothing can be asked for; when it is refused later, what is shown stays.
  const wasAdmitted = useRef(false);
  wasAdmitted.current = isAdmitted || (wasAdmitted.current && admitted !== 'forgotten');
  return (
    <div className="frame">
      <a className="skip" href={`${location.pathname}${location.search}#view`}>
        Skip to the view
      </a>
      <ConnectionLine />
      <header className="side">
        <Link to="/runs" className="brand" aria-label="perdure, all runs">
          <Icon name="list" />
          <span>perdure</span>
        </Link>
        <nav aria-label="Views">
          {PLACES.map(({ to, label, icon }) => (
            <Link key={to} to={to} className="place" activeProps={{ 'aria-current': 'page' }}>
              <Icon name={icon} />
              <span>{label}</span>
            </Link>
          ))}
        </nav>
        <button type="button" className="search-button" onClick={() => setIsSearching(true)}>
          <Icon name="search" />
          <span>Search</span>
          <kbd>{/Mac/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <Settings />
      </header>
      <main className="view" id="view" tabIndex={-1}>
        {wasAdmitted.current && <Outlet />}
      </main>
      {isSearching && <CommandPalette onClose={() => setIsSearching(false)} />}
      <TokenPrompt />
      <Notices />
    </div>
  );
}

/** What had the focus may be gone with the view that was left: the next Tab then leads into the new one. */
function useFocusOfViews(): void {
  const router = useRouter();
  useEffect(() => {
    return router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
      if (!fromLocation || !pathChanged || document.activeElement !== document.body) return;
      document.getElementById('view')?.focus({ preventScroll: true });
    });
  }, [router]);
}

const THEME_ICONS = { system: 'system', light: 'light', dark: 'dark' } as const;

function Settings() {
  const chosen = useStore(theme);
  const inZone = useStore(zone);
  const isThere = useStore(isConnected);
  useStore(admission);
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length]!;
  return (
    <div className="settings">
      <span className={`live ${isThere ? 'is-live' : ''}`}>
        <span className="live-dot" />
        {isThere ? 'Live' : 'Not connected'}
      </span>
      <button
        type="button"
        className="zone"
        title="Which zone times are in"
        aria-label={`Times are in ${inZone === 'utc' ? 'UTC' : 'the local zone'}; change`}
        onClick={() => zone.set(inZone === 'utc' ? 'local' : 'utc')}
      >
        {inZone === 'utc' ? 'UTC' : 'Local'}
      </button>
      <IconButton
        label={`Theme: ${chosen}; change to ${next}`}
        icon={THEME_ICONS[chosen]}
        onClick={() => theme.set(next)}
      />
      {currentToken() !== undefined && <IconButton label="Forget the token" icon="close" onClick={forget} />}
    </div>
  );
}
