/** What else a start can be told. Most need none of it. */
import { type ReactNode, useId } from 'react';
import type { StartRequest } from './send.js';

export interface StartOptions {
  workflowId: string;
  idempotencyKey: string;
  budgetAmount: string;
  budgetCurrency: string;
}

export const NO_OPTIONS: StartOptions = {
  workflowId: '',
  idempotencyKey: '',
  budgetAmount: '',
  budgetCurrency: 'USD',
};

export function requested(
  options: StartOptions,
): Pick<StartRequest, 'workflowId' | 'idempotencyKey' | 'budget'> {
  const { workflowId, idempotencyKey, budgetAmount, budgetCurrency } = options;
  const amount = budgetAmount.trim();
  const budget = amount === '' ? undefined : { amount, currency: budgetCurrency.trim().toUpperCase() };
  return { workflowId, idempotencyKey, budget };
}

export function Options({
  options,
  onChange,
}: {
  options: StartOptions;
  onChange: (options: StartOptions) => void;
}) {
  const input = (
    name: keyof StartOptions,
    more: { placeholder?: string; maxLength?: number; inputMode?: 'decimal' },
  ) => ({
    className: 'input',
    value: options[name],
    autoComplete: 'off',
    onChange: ({ target }: { target: { value: string } }) => onChange({ ...options, [name]: target.value }),
    ...more,
  });
  return (
    <details className="start-options">
      <summary>Options</summary>
      <div className="start-option-fields">
        <Option
          label="Workflow id"
          about="Your own name for it, such as an order's number. It must not be taken."
        >
          {(ids) => <input {...ids} {...input('workflowId', { placeholder: 'Generated', maxLength: 255 })} />}
        </Option>
        <Option
          label="Idempotency key"
          about="The same key with the same input is the same run, whoever starts it."
        >
          {(ids) => (
            <input
              {...ids}
              {...input('idempotencyKey', { placeholder: 'A new one for each start', maxLength: 255 })}
            />
          )}
        </Option>
        <Option
          label="Budget"
          about="What the run and its children may spend; once it is spent the run is paused."
        >
          {(ids) => (
            <span className="budget">
              <input {...ids} {...input('budgetAmount', { placeholder: 'No limit', inputMode: 'decimal' })} />
              <input aria-label="Currency of the budget" {...input('budgetCurrency', { maxLength: 3 })} />
            </span>
          )}
        </Option>
      </div>
    </details>
  );
}

function Option({
  label,
  about,
  children,
}: {
  label: string;
  about: string;
  children: (ids: { id: string; 'aria-describedby': string }) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-about` })}
      <p className="field-hint" id={`${id}-about`}>
        {about}
      </p>
    </div>
  );
}
