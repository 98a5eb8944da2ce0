# The preemption rate shows whether another region or STANDARD is worth its price.
resource "google_logging_metric" "interruptions" {
  project     = var.project_id
  name        = "${var.prefix}/interruptions"
  description = "Preempted and failed VMs."
  filter = join(" ", [
    "resource.type=\"gce_instance\" protoPayload.resourceName:\"/instances/df-\"",
    "logName=\"projects/${var.project_id}/logs/cloudaudit.googleapis.com%2Fsystem_event\"",
    "protoPayload.methodName=(\"compute.instances.preempted\" OR \"compute.instances.hostError\")",
  ])

  metric_descriptor {
    metric_kind  = "DELTA"
    value_type   = "INT64"
    unit         = "1"
    display_name = "Dropforge: VMs preempted or lost"
    labels {
      key         = "method"
      value_type  = "STRING"
      description = "Method name of Compute Engine's system event."
    }
  }

  label_extractors = { method = "EXTRACT(protoPayload.methodName)" }
}
