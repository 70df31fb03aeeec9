/** The data folder cannot be used; the message is for the person who starts the program. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}
