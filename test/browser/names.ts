/** Ends the name of a suite that needs a browser. */
export const NEEDS_CHROMIUM = '[Chromium]';
