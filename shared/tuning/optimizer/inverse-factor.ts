/**
 * The inverse of a Cholesky factor, row by row: K⁻¹ = RᵀR for the lower triangular matrix R of these rows. When K gets
 * one more row, R does, at the cost of two products with a vector.
 */
export type InverseFactor = readonly Float64Array[];

/** Half the logarithm of the determinant of K. */
export function halfLogDeterminant(factor: InverseFactor): number {
  let sum = 0;
  for (const [index, row] of factor.entries()) {
    sum -= Math.log(row[index] ?? 1);
  }
  return sum;
}

/**
 * The factor's row for a matrix K that has one more row and column: its covariances with the others, and its diagonal.
 * A diagonal that rounding has made too small is replaced, so that the result is always finite.
 */
export function nextRow(factor: InverseFactor, covariances: Float64Array, diagonal: number): Float64Array {
  const whitened = whiten(factor, covariances);
  const scale = 1 / Math.sqrt(Math.max(1e-9 * diagonal, diagonal - dotProduct(whitened, whitened)));
  const row = new Float64Array(factor.length + 1);
  addTransposed(factor, whitened, row);
  for (let index = 0; index < factor.length; index += 1) {
    row[index] = -(row[index] as number) * scale;
  }
  row[factor.length] = scale;
  return row;
}

/** R · vector. Two sums at a time: an addition waits for the one before it. */
export function whiten(factor: InverseFactor, vector: Float64Array): Float64Array {
  const result = new Float64Array(factor.length);
  for (let i = 0; i < factor.length; i += 1) {
    const row = factor[i] as Float64Array;
    let even = 0;
    let odd = 0;
    let j = 0;
    for (; j < i; j += 2) {
      even += (row[j] as number) * (vector[j] as number);
      odd += (row[j + 1] as number) * (vector[j + 1] as number);
    }
    result[i] = j === i ? even + odd + (row[i] as number) * (vector[i] as number) : even + odd;
  }
  return result;
}

/** Adds Rᵀ · vector to the result. */
export function addTransposed(factor: InverseFactor, vector: Float64Array, result: Float64Array): void {
  for (let i = 0; i < factor.length; i += 1) {
    const row = factor[i] as Float64Array;
    const weight = vector[i] as number;
    for (let j = 0; j <= i; j += 1) {
      result[j] = (result[j] as number) + weight * (row[j] as number);
    }
  }
}

/** The lower triangle of K⁻¹, row by row. */
export function invert(factor: InverseFactor): readonly Float64Array[] {
  const inverse = factor.map((_, index) => new Float64Array(index + 1));
  for (const [k, row] of factor.entries()) {
    for (let i = 0; i <= k; i += 1) {
      const target = inverse[i] as Float64Array;
      const weight = row[i] as number;
      for (let j = 0; j <= i; j += 1) {
        target[j] = (target[j] as number) + weight * (row[j] as number);
      }
    }
  }
  return inverse;
}

export function dotProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index += 1) {
    sum += (a[index] as number) * (b[index] as number);
  }
  return sum;
}
