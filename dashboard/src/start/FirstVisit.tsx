/** What to do while nothing has run. Loaded by those who need it: whoever has runs never does. */
import { lazy, Suspense } from 'react';
import { Loading } from '../components/Loading.js';

const Welcome = lazy(() => import('../welcome/Welcome.js').then((file) => ({ default: file.Welcome })));

export function FirstVisit() {
  return (
    <Suspense fallback={<Loading what="what to do first" />}>
      <Welcome />
    </Suspense>
  );
}
