const LATER_IDS_COUNT = 9;

/** Returns `, such as digits_2`: the first id after this one that no job has. Empty if the next ones are all taken. */
export async function suggestFreeJobId(jobId: string, isTaken: (id: string) => Promise<boolean>): Promise<string> {
  // Ids that end in _trial_2 are those of trials.
  const stem = jobId.replace(/_\d{1,3}$/, '').replace(/_trial$/, '');
  for (let number = 2; number < 2 + LATER_IDS_COUNT; number += 1) {
    if (!(await isTaken(`${stem}_${number}`))) {
      return `, such as ${stem}_${number}`;
    }
  }
  return '';
}
