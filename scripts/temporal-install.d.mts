/** Where the Temporal dev server is once it has been installed. */
export const INSTALLED_BINARY: string;
