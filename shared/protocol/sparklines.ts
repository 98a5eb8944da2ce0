/** The rows of a list that are on a screen. */
export const SPARKLINES_PER_REQUEST_MAX = 50;
export const SPARKLINE_POINTS_MAX = 40;
