import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { Empty } from '../components/Empty.js';
import { FirstVisit } from '../start/FirstVisit.js';

export function NoRuns({
  isFiltered,
  onTyping,
}: {
  isFiltered: boolean;
  /** Whether somebody is in a form, which must not go away when the first run comes. */
  onTyping(isTyping: boolean): void;
}) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the rows that somebody has read are gone
  useEffect(() => onTyping(false), []);
  if (!isFiltered) {
    return (
      // biome-ignore lint/a11y/noStaticElementInteractions: it only watches whether somebody types
      <div onFocus={({ target }) => onTyping(target.closest('form') !== null)} onBlur={() => onTyping(false)}>
        <FirstVisit />
      </div>
    );
  }
  return (
    <Empty title="No run fits these filters">
      <p>
        Closed runs are kept for as long as the server was told to, seven days unless it says otherwise.{' '}
        <Link to="/runs" search={{}}>
          Show all runs
        </Link>
      </p>
    </Empty>
  );
}
