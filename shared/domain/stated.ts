import type * as z from 'zod';

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/** The type that a schema states: its parsed values, which nothing changes afterwards. */
export type Stated<Schema extends z.ZodType> = DeepReadonly<z.infer<Schema>>;
