output "api_url" {
  description = "URL of the HTTP API. Call it with an identity token of a member of api_access."
  value       = module.functions.urls["api"]
}

output "deployment" {
  description = "Deployment file for the CLI: terraform output -json deployment > deployment.json"
  value = {
    projectId = var.project_id
    # Also the audience of its callers’ tokens.
    api = local.api_url
    # Behind Identity-Aware Proxy, browsers open the page; otherwise the CLI serves it.
    pageUrl      = local.page_url
    uploadBucket = module.storage.bucket_names["uploads"]
    jobsBucket   = module.storage.bucket_names["jobs"]
    submitTopic  = module.messaging.topic_ids["submit"]
    # For `dropforge jobs validate`.
    internetAccess = local.internet_access
  }
}

output "heartbeat_url" {
  description = "URL to which VMs send heartbeats."
  value       = local.heartbeat_url
}

output "job_updates_topic" {
  description = "Topic with a message for every job update. Subscribe to it to be notified."
  value       = module.messaging.topic_ids["job-updates"]
}

output "jobs_bucket" {
  description = "Bucket of the default job directories: gs://BUCKET/JOB_ID."
  value       = module.storage.bucket_names["jobs"]
}

output "notification_commands" {
  description = "Commands that set the addresses and keys of notification channels."
  value = {
    for name in module.notification_secrets.names :
    name => "gcloud secrets versions add ${name} --project=${var.project_id} --data-file=-"
  }
}

output "secret_commands" {
  description = "Commands that set the secret values. A job that names no version of a secret uses the latest."
  value = {
    for name in module.secrets.names :
    name => "gcloud secrets versions add ${name} --project=${var.project_id} --data-file=-"
  }
}

output "service_accounts" {
  description = "E-mail addresses of the service accounts. Grant vm read access to your data buckets."
  value       = module.identities.emails
}

output "submit_command" {
  description = "Example command that submits a job file and its package."
  value = join("/", [
    "gcloud storage cp job.yaml trainer-0.1.tar.gz gs:/",
    module.storage.bucket_names["uploads"],
    "my-first-job/",
  ])
}

output "submit_topic" {
  description = "Topic that accepts job files as messages."
  value       = module.messaging.topic_ids["submit"]
}

output "upload_bucket" {
  description = "Bucket for uploads: every upload is a submission."
  value       = module.storage.bucket_names["uploads"]
}
