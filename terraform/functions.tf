# What is deployed: functions/index.ts says who hears which topic, functions/settings.ts who asks for which setting. A
# test holds this table to both (test/terraform/deployment.test.ts).
locals {
  functions = {
    on-upload = {
      description     = "An upload becomes a job, or a report that says why not."
      topic           = "uploads"
      timeout_seconds = 300
      settings        = local.intake_settings
    }
    on-submit = {
      description     = "A message becomes a job, or a report that says why not."
      topic           = "submit"
      timeout_seconds = 300
      settings        = local.intake_settings
    }
    on-control = {
      description = "Cancels jobs."
      topic       = "control"
      settings    = local.store_settings
    }
    provision = {
      description = "Creates the VMs of an attempt."
      topic       = "provision"
      memory_mib  = 512
      # Three waits of two minutes for Compute Engine's operation (infra/google-cloud/compute-engine/create-vm.ts).
      timeout_seconds = 540
      instances_max   = 50
      settings        = local.provision_settings
    }
    teardown = {
      description     = "Deletes the VMs of jobs that are over, and, swept, those that no job owns."
      topic           = "teardown"
      memory_mib      = 512
      timeout_seconds = 300
      settings        = local.store_settings
    }
    watch = {
      description     = "Wakes what is due and pays what is owed."
      topic           = "tick"
      timeout_seconds = 300
      # The next tick finds what this one has left: more of them at once would only contend.
      instances_max = 2
      # A tick that is late is as good as the one after it; it is kept as long as an alert on it needs.
      retention_seconds = 3600
      attempts_max      = 5
      settings          = local.store_settings
    }
    on-interruption = {
      description = "Ends attempts whose VM was preempted or failed."
      topic       = "interruptions"
      settings    = local.store_settings
    }
    report = {
      description = "Writes what became of a job beside its upload."
      topic       = "job-updates"
      settings    = local.store_settings
    }
    on-dead-letter = {
      description = "Puts messages that no try could handle on record, and on their job."
      topic       = "dead-letters"
      settings    = local.intake_settings
    }
    heartbeat = {
      description   = "Hears the VMs, and tells them to go on or to stop."
      instances_max = 20
      # A heartbeat is one write that is waited for: one instance has time for many. More than one needs a whole CPU.
      cpu         = "1"
      concurrency = 40
      settings    = local.heartbeat_settings
    }
    api = {
      description = "The HTTP API and the dashboard behind it."
      ingress     = var.api_access.ingress
      cpu         = "1"
      concurrency = 20
      settings    = local.store_settings
    }
  }

  event_functions = { for name, function in local.functions : name => function if can(function.topic) }
}
