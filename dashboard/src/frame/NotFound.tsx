import { Link } from '@tanstack/react-router';
import { Empty } from '../components/Empty.js';

export function NotFound() {
  return (
    <Empty title="There is nothing at this address">
      <p>
        The link may be cut off, or from another version of this page. <Link to="/runs">All runs</Link>
      </p>
    </Empty>
  );
}
