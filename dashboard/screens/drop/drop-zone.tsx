import { useState } from 'preact/hooks';
import { Icon } from '#dashboard/components/icon.tsx';
import { type Chosen, chooseFiles, readDropped } from '#dashboard/screens/drop/chosen-files.ts';

type Props = { readonly onChoose: (choose: () => Chosen | Promise<Chosen>) => void };

/** Where a package is dropped, or chosen with the keyboard. */
export function DropZone({ onChoose }: Props) {
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const { dataTransfer } = event;
    if (dataTransfer !== null) {
      const dropped = readDropped(dataTransfer);
      onChoose(() => dropped);
    }
  };
  const over = (event: DragEvent) => {
    event.preventDefault();
    setOver(true);
  };
  return (
    <section
      class={isOver ? 'drop-zone is-over' : 'drop-zone'}
      aria-label="Package to upload"
      onDrop={drop}
      onDragOver={over}
      onDragLeave={() => setOver(false)}
    >
      <span class="drop-icon">
        <Icon name="upload" />
      </span>
      <p class="drop-title">Drop a training package here</p>
      <p class="muted">An archive (.tar.gz, .zip, .whl) or a folder with Python code and a job.yaml</p>
      <div class="drop-choices">
        <FileChoice label="Choose an archive" onChoose={onChoose} />
        <FileChoice label="Choose a folder" isFolder onChoose={onChoose} />
      </div>
      <p class="muted drop-note">It is checked first. Nothing starts or costs anything before you press Start.</p>
    </section>
  );
}

type ChoiceProps = Props & { readonly label: string; readonly isFolder?: boolean };

function FileChoice({ label, isFolder = false, onChoose }: ChoiceProps) {
  return (
    <label class="button file-choice">
      <Icon name={isFolder ? 'folder' : 'file'} />
      {label}
      <input
        type="file"
        class="visually-hidden"
        {...(isFolder ? { webkitdirectory: true } : {})}
        onChange={(event) => {
          const files = [...(event.currentTarget.files ?? [])];
          event.currentTarget.value = '';
          onChoose(() => chooseFiles(files));
        }}
      />
    </label>
  );
}
