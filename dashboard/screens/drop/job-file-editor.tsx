import { proposeJobFile } from '#dashboard/screens/drop/propose-job-file.ts';

type Props = {
  readonly text: string;
  readonly fileName: string;
  /** The modules of the package, which are proposed for a job file that does not exist yet. */
  readonly modules: readonly string[];
  readonly isEdited: boolean;
  readonly onEdit: (text: string) => void;
  readonly onCheck: () => void;
};

const CHARACTERS_MAX = 1 << 20;

/** The job file of the package, which can be changed for this job. */
export function JobFileEditor({ text, fileName, modules, isEdited, onEdit, onCheck }: Props) {
  return (
    <section class="card job-file" aria-label="Job file">
      <header class="job-file-header">
        <h2 class="mono user-text">{fileName}</h2>
        {text === '' && (
          <button type="button" class="button" onClick={() => onEdit(proposeJobFile(modules))}>
            Insert an example
          </button>
        )}
        <button type="button" class="button" disabled={!isEdited} onClick={onCheck}>
          Check again
        </button>
      </header>
      <textarea
        class="job-file-text mono"
        aria-label={`Text of ${fileName}`}
        spellcheck={false}
        rows={Math.min(28, Math.max(8, text.split('\n').length + 1))}
        maxLength={CHARACTERS_MAX}
        value={text}
        onInput={(event) => onEdit(event.currentTarget.value)}
      />
    </section>
  );
}
