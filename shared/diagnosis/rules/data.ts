import type { Rule } from '#shared/diagnosis/rules/rule.ts';

export const DISK_RULES: readonly Rule[] = [
  {
    label: 'disk_full',
    patterns: [
      /No space left on device/i,
      /(?:not|n't) enough (?:free )?(?:space|disk)/i,
      /disk (?:space|quota) (?:is )?(?:full|exceeded|exhausted)/i,
      /\bdisk (?:is )?full\b/i,
      /low on resource: ephemeral-storage/i,
      /PytorchStreamWriter failed writing|PyTorchFileWriter\(.{0,200}cannot be opened/i,
      /unexpected pos \d+ vs \d+/i,
      // A path before the reason is how TensorFlow reports the error of a file.
      /Resource ?exhausted(?:Error)?:? \.{0,2}\/(?!job:|replica:|device:)\S/i,
    ],
    unless: /inotify|Input\/output error/i,
    example: 'OSError: [Errno 28] No space left on device',
  },
];

/** A checkpoint that cannot be read because of access or a path has the label of that, so those rules come first. */
export const CHECKPOINT_RULES: readonly Rule[] = [
  {
    label: 'checkpoint_corrupt',
    patterns: [
      /Data ?loss(?:Error)?\b/i,
      /Restoring from checkpoint failed/i,
      /Couldn't match files for checkpoint/i,
      /load save_path when it is None/i,
      /Layer count mismatch/i,
      /weight file containing \d+ layers/i,
      /bad marshal data/i,
      /Unable to load weights/i,
      /Compressed file ended before/i,
      /checkpoint .{0,60}(?:not compatible|incompatible|mismatch|does not match|doesn't match)/i,
      /zip archive|BadZipFile/i,
      /Error parsing message|truncated (?:record|message|file)/i,
      /PytorchStreamReader/i,
      /invalid magic number/i,
      /UnpicklingError/i,
      /file might be corrupted/i,
      /Unable to (?:synchronously )?open (?:file|object)/i,
      /Invalid NDArray file format|in the file does not match the size|problem with loading model parameters/i,
      /not found in checkpoint/i,
      /not a (?:valid )?(?:checkpoint|TensorFlow checkpoint|ZIP archive|zip file)/i,
      /corrupt(?:ed)? (?:checkpoint|record|file|model|weights)/i,
      /(?:checkpoint|ckpt|weights|model file)\S* .{0,40}(?:is |are |seems? |appears? )?(?:corrupt|truncated|damaged|incomplete|invalid)/i,
      /storage has wrong (?:byte )?size/i,
      /EOFError: Ran out of input/i,
      /unsupported pickle protocol/i,
      /loaded state dict (?:has|contains) .{0,80}(?:different|doesn't match)/i,
      /SafetensorError/i,
      /Assign requires shapes of both tensors to match.{0,300}save\//i,
      /(?:[Cc]annot|[Cc]ould not|[Ff]ailed to|[Ee]rror(?: while)?|[Uu]nable to) deserializ/,
      /saved weight has shape|[Mm]odel (?:format|file) error|mismatched structure/,
    ],
    unless: /errno = 2,|No such file|THESE PACKAGES|size mismatch for|Unresolved object/,
    example: 'RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory',
  },
];

export const MISSING_DATA_RULES: readonly Rule[] = [
  {
    label: 'not_found_data',
    patterns: [
      /HTTP response code:? ?404/,
      /No such object/,
      /[Ff]ile\b.{0,200}does not exist/,
      /"code": 404/,
      /[Pp]ath\b.{0,200}(?:does not exist|not found)/,
      /\b404 (?:GET|POST|Client Error|Not Found|No such)/,
      /Error 404/,
      /specified (?:bucket|key|object) does not exist/,
      /No URLs matched/,
      /BucketNotFoundException/,
      /exceptions\.NotFound/,
      /does not appear to have a file named/,
      /is not a (?:local folder|valid (?:directory|path|file|dataset))/,
      /Found 0 (?:files|images|samples)/,
      /Found no valid file|[Dd]id not find any\b|[Nn]o input files\b/,
      /Dataset not found/,
      /Couldn't find (?:a |any )?(?:dataset|file|module|'?\S+\.\w+)/,
      /Can't load (?:tokenizer|config|weights|the (?:model|configuration|config)|image processor)/,
      /Error no file named/,
      /No such file or directory/,
      /doesn't exist\b/,
      /No (?:labels|annotations|samples|masks|videos) (?:found )?in\b/,
      /URLs? matched no objects/,
      /string_input_producer requires a non-null input/,
      /The resource '[^']{1,200}' was not found/,
      /\b(?:[Ff]iles?|[Ff]older|[Ll]ist|[Ii]mages?) ['"][^'"]{1,200}['"] (?:was |is |were )?not found\b/,
      /gs:\/\/\S+ (?:not found|does not exist)/,
      /NotFoundError/,
      /\[Errno 20\]/,
      /Could not find (?:\w+ ){0,2}(?:file|directory|path|dataset|data|image)\b/,
      /Not found: (?:Dataset|Table|Project)/,
      /can't open\/read file/,
      /Can't find a valid checkpoint at/,
      /(?:[Cc]an't|[Cc]annot|[Cc]ould not|[Cc]ouldn't|[Uu]nable to|[Ff]ailed to) (?:find|read|open|locate|access|load)(?: \w+){0,3} (?:file|folder|directory|path|dataset|image|video|csv)s?\b/,
    ],
    unless:
      /^\W{0,3}WARNING\b|(?:^|[\s:])W (?:tensorflow|external)\/|No checkpoint found|found no NVIDIA|Could not load dynamic|dlerror|cannot open shared object|no module|ModuleNotFound|TF-TRT|google-dockercfg|metadata\.google/i,
    example: "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'",
  },
];

const NUMBER_NAME = String.raw`(?:\w*loss\w*|cost|perplexity|ppl|grad_?norm|objective|error|mse|rmse|mae|mean_squared_error|rmsle|logloss|elbo)`;

export const NAN_RULES: readonly Rule[] = [
  {
    label: 'nan_loss',
    patterns: [
      /NaN loss during training/i,
      /found invalid values:.{0,60}nan/i,
      /loss is (?:probably )?exploding/i,
      /(?:\bnan\b[^a-z]{0,40}(?:[a-z_ ]{0,30})[^a-z]{0,10}){4}/i,
      /(?:loss|cost|gradients?|output|outputs|weights|activations?|tensor|logits)\S*(?: \S+){0,3} (?:is|are|was|became|becomes|has|have|contains?|had|=) (?:a |not |all )?(?:finite|nan|inf(?:inite|inity)?)\b/i,
      /(?:NaN|inf) (?:loss|gradients?|values?) (?:detected|encountered|found|in)/i,
      /Invalid loss, terminating/i,
      /(?:NaN|Inf|infinity)\b.{0,40}(?:stop(?:ping)? training|terminat|abort)/i,
      /(?:contains?|Input X? ?contains) (?:NaN|infinity)/i,
      /Nan (?:is|in) /i,
      /minimum loss scale reached|loss scale to: 0\.000\d{1,20} Traceback/i,
      /loss scale .{0,60}(?:too small|underflow|cannot decrease)/i,
      /FloatingPointError/i,
      /[Ll]oss (?:exploded|diverged)/i,
      /probability tensor contains either/i,
      /ValueError: .{0,80}\bNaN\b/i,
      /Numerical result out of range/,
    ],
    unless:
      /Gradient overflow|Skipping step|NaN or Inf found in input tensor|nan_policy|division|overflow encountered|invalid value encountered/i,
    example: 'NanLossDuringTrainingError: NaN loss during training.',
  },
  {
    label: 'nan_loss',
    patterns: [
      new RegExp(
        String.raw`\b${NUMBER_NAME}['"]?\s?[:=]?\s?\[?(?:(?:tensor|array)\()?\[?\s?['"]?[-+]?(?:nan|inf|infinity)\b`,
        'i',
      ),
    ],
    unless: /gain|best|nan=/i,
    example: '401/401 [====] - 21s 53ms/step - loss: nan - triplet_acc: 0.0000e+00',
  },
  {
    label: 'nan_loss',
    patterns: [/(?:^|\s)\[?nan\]?\s+\[?nan\]?(?:\s|$)/],
    scope: 'line',
    example: '2000      [nan]         [nan]         [nan]',
  },
];
