import { Link } from '@tanstack/react-router';
import { Empty } from '../components/Empty.js';
import { FirstVisit } from '../start/FirstVisit.js';

export function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered) return <FirstVisit />;
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
