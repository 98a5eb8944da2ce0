# Compute Engine's system events report a lost VM within seconds; an expired lease would take minutes.
locals {
  interruption_methods = [
    "compute.instances.preempted",
    "compute.instances.hostError",
    "compute.instances.terminateOnHostMaintenance",
    "compute.instances.guestTerminate",
  ]
}

resource "google_logging_project_sink" "interruptions" {
  project                = var.project_id
  name                   = "${var.prefix}-interruptions"
  description            = "Preempted and failed VMs."
  destination            = "pubsub.googleapis.com/${google_pubsub_topic.this["interruptions"].id}"
  unique_writer_identity = true
  # VM names begin with df- (shared/domain/vm-name.ts).
  filter = join("\n", [
    "logName=\"projects/${var.project_id}/logs/cloudaudit.googleapis.com%2Fsystem_event\"",
    "resource.type=\"gce_instance\"",
    "protoPayload.resourceName:\"/instances/df-\"",
    "protoPayload.methodName=(${join(" OR ", [for method in local.interruption_methods : "\"${method}\""])})",
  ])
}

resource "google_pubsub_topic_iam_member" "interruptions" {
  project = var.project_id
  topic   = google_pubsub_topic.this["interruptions"].name
  role    = "roles/pubsub.publisher"
  member  = google_logging_project_sink.interruptions.writer_identity
}
