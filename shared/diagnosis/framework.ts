/** A library that is built on another one comes before it. */
const SIGNS = [
  ['deepspeed', /\bdeepspeed\b/i],
  ['lightning', /\b(?:pytorch_)?lightning\b/i],
  [
    'transformers',
    /\b(?:transformers|accelerate|peft|trl|diffusers)[/.]|\bTrainingArguments\b|per_device_train_batch_size/,
  ],
  ['jax', /\bjax(?:lib)?\b|XlaRuntimeError/],
  ['pytorch', /\btorch\b|PyTorch|\bCUDA out of memory\b|DataLoader worker|\bc10d\b|\bATen\b/],
  ['keras', /\bkeras\b/i],
  ['tensorflow', /tensorflow|ResourceExhaustedError|OOM when allocating tensor|\btf\.\w/],
  ['xgboost', /\bxgboost\b/i],
  ['lightgbm', /\blightgbm\b/i],
  ['sklearn', /\bsklearn\b|scikit-learn/],
] as const satisfies readonly (readonly [string, RegExp])[];

/** The framework that a program uses, as far as its last lines show; the most specific one that a remedy differs for. */
export type Framework = (typeof SIGNS)[number][0];

export function detectFramework(text: string): Framework | null {
  return SIGNS.find(([, sign]) => sign.test(text))?.[0] ?? null;
}
