output "api_url" {
  description = "The HTTP API. Call it with an identity token of a member of api_access."
  value       = module.functions.urls["api"]
}

output "deployment" {
  description = "What the CLI has to know: terraform output -json deployment > deployment.json"
  value = {
    projectId    = var.project_id
    api          = module.functions.urls["api"]
    uploadBucket = module.storage.bucket_names["uploads"]
    jobsBucket   = module.storage.bucket_names["jobs"]
  }
}

output "heartbeat_url" {
  description = "Where VMs report to."
  value       = local.heartbeat_url
}

output "job_updates_topic" {
  description = "Every change of a job is announced here; subscribe to it to be told."
  value       = module.messaging.topic_ids["job-updates"]
}

output "jobs_bucket" {
  description = "Where jobs that name no job directory have theirs: gs://BUCKET/JOB_ID."
  value       = module.storage.bucket_names["jobs"]
}

output "secret_commands" {
  description = "What gives each secret its value; jobs name it in secrets. The last version is the one that counts."
  value = {
    for name in module.secrets.names :
    name => "gcloud secrets versions add ${name} --project=${var.project_id} --data-file=-"
  }
}

output "service_accounts" {
  description = "The e-mail addresses of Dropforge's accounts. Grant vm the reading of your data buckets."
  value       = module.identities.emails
}

output "submit_command" {
  description = "Submits a job file and its package."
  value = join("/", [
    "gcloud storage cp job.yaml trainer-0.1.tar.gz gs:/",
    module.storage.bucket_names["uploads"],
    "my-first-job/",
  ])
}

output "submit_topic" {
  description = "A message with a job file here is a submission."
  value       = module.messaging.topic_ids["submit"]
}

output "upload_bucket" {
  description = "Uploading here is submitting."
  value       = module.storage.bucket_names["uploads"]
}
