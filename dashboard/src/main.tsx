import './theme/tokens.css';
import './theme/base.css';
import './components/components.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './app/settings.js';
import { queryClient } from './app/queries.js';
import { loadLaterViews, router } from './app/router.js';

createRoot(document.getElementById('app')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);

/** What is on the screen goes first. */
const LATER_MS = 500;
addEventListener('load', () => setTimeout(loadLaterViews, LATER_MS));
