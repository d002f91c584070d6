/** The stages of the demo's tour: on its own page until the replay has ended, then on the diff. */
export const TOUR_STAGES = ["Replay", "Watch", "Read", "Prove"] as const;
export type TourStage = (typeof TOUR_STAGES)[number];

/** The key in the session storage of the diff on which the tour continues. */
export const TOUR_DIFF_KEY = "tour-diff";
