import { step, z } from 'perdure';

export const composeGreeting = step({
  name: 'composeGreeting',
  description: 'Writes the greeting in the language asked for',
  inputSchema: z.object({ name: z.string(), language: z.enum(['en', 'de', 'fr']) }),
  outputSchema: z.string(),
  fn: async ({ name, language }) => {
    const hello = { en: 'Hello', de: 'Hallo', fr: 'Bonjour' }[language];
    return `${hello}, ${name}!`;
  },
});
