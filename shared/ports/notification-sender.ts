/** A request to a webhook. The address is a secret: no error and no log contains it. */
export type WebhookRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Mail = {
  /** `smtps://user:password@host:465`, or `smtp://…` with STARTTLS: a secret. */
  readonly smtpUrl: string;
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
  /** The same in every delivery of the notification, so that a mail client shows it once. */
  readonly messageId: string;
};

/** The result of a request: an HTTP status, or the reason why there is none. */
export type SendAnswer =
  | {
      readonly kind: 'ANSWERED';
      readonly status: number;
      /** The beginning of the body, without the address. */
      readonly excerpt: string;
      /** From the header Retry-After, in seconds; null without one. */
      readonly retryAfterSeconds: number | null;
    }
  /** `isFinal`: the same request would fail again, until someone changes the secret or the server. */
  | { readonly kind: 'FAILED'; readonly problem: string; readonly isFinal: boolean };

/** Sends to addresses that the deployment has chosen. Every failure is a value; nothing is retried here. */
export type NotificationSender = {
  post(request: WebhookRequest): Promise<SendAnswer>;
  mail(mail: Mail): Promise<SendAnswer>;
};
