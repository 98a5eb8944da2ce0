import { useState } from 'preact/hooks';
import { PROFILE_SECONDS_DEFAULT, PROFILE_SECONDS_MAX } from '#shared/domain/profile.ts';
import type { JobView } from '#shared/protocol/report.ts';

export type ProfileWanted = { readonly seconds: number; readonly replica: string };

type Props = {
  readonly job: JobView;
  readonly isBusy: boolean;
  readonly onRequest: (wanted: ProfileWanted) => void;
};

/** For how long, and which replica of several. */
export function ProfileForm({ job, isBusy, onRequest }: Props) {
  const [seconds, setSeconds] = useState(String(PROFILE_SECONDS_DEFAULT));
  const [chosen, setChosen] = useState<string | null>(null);
  const replicas = job.replicas.map(({ replica }) => replica).sort();
  const replica = chosen ?? replicas.find((name) => name === 'master-0') ?? replicas[0] ?? 'master-0';
  const wanted = Number(seconds);
  const isValid = Number.isInteger(wanted) && wanted >= 1 && wanted <= PROFILE_SECONDS_MAX;
  const submit = (event: Event) => {
    event.preventDefault();
    if (isValid && !isBusy) {
      onRequest({ seconds: wanted, replica });
    }
  };
  return (
    <form class="card profile-form" onSubmit={submit} noValidate aria-label="New profile">
      {replicas.length > 1 && (
        <label class="profile-field">
          <span>Replica</span>
          <select class="select" value={replica} onChange={(event) => setChosen(event.currentTarget.value)}>
            {replicas.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
      <label class="profile-field">
        <span>Seconds</span>
        <input
          class="input profile-seconds"
          type="number"
          min={1}
          max={PROFILE_SECONDS_MAX}
          step={1}
          value={seconds}
          aria-invalid={!isValid}
          aria-describedby="profile-seconds-help"
          onInput={(event) => setSeconds(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button button-primary" disabled={!isValid || isBusy}>
        Profile
      </button>
      <p id="profile-seconds-help" class={isValid ? 'muted' : 'profile-invalid'}>
        {isValid
          ? 'The program goes on while it is profiled.'
          : `Enter a whole number of seconds from 1 to ${PROFILE_SECONDS_MAX}.`}
      </p>
    </form>
  );
}
